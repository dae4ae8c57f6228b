#pragma once

#include "commands/option.h"
#include "commands/setup.h"
#include "dns/zones_config.h"

// The zones configuration: its file, which `signpost run` follows as it changes, beside the hidden
// primary that its servers ask.

// A command that serves no zones has use for the first alone.
enum { ZONES_LOOK_OPTION_COUNT = 1, ZONES_OPTION_COUNT = 3 };
extern const struct option
    zones_options[ZONES_OPTION_COUNT]; // zones-config, primary-listen, zone-file-dir

// The configuration that --zones-config names, its keys pretended: nobody is talked to. True with
// *out NULL: none is named.
bool zones_config_look(const struct invocation *invocation, struct zones_config **out,
                       struct error *err);
// Reads the content of such a file. `path` stands in the texts of faults, which live in the arena.
struct zones_config *zones_config_parse(struct arena *arena, const char *path, struct text content,
                                        struct error *err);
// Points the controllers' settings at the configuration, behind a pointer that stays. Not here: it
// is another process that has it, so what it says is not known.
void zones_config_use(const struct setup *setup, const struct zones_config *const *config,
                      bool is_here);
