#pragma once

#include "commands/option.h"
#include "dns/corefile/lint.h"

// Which CoreDNS reads a Corefile: its release and the plugins of its build.

// The rows that stand behind --coredns and --plugins.
#define COREFILE_BUILD_OPTIONS                                                                     \
    {.name = "coredns",                                                                            \
     .type = OPTION_TEXT,                                                                          \
     .placeholder = "VERSION",                                                                     \
     .doc =                                                                                        \
         "The release that will read the file. The newest that Signpost knows when not given."},   \
    {                                                                                              \
        .name = "plugins", .type = OPTION_LIST, .placeholder = "FILE|+NAME|-NAME",                 \
        .doc = "Plugins that its build has beside the standard ones, or lacks; or the file that "  \
               "lists all it has, a line each, such as the plugin.cfg that it was made from."      \
    }

// Fills version, plugins and directives from these options; texts live as long as the invocation.
bool corefile_build_read(const struct invocation *invocation, struct corefile_lint_options *out,
                         struct error *err);
