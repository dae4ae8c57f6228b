#pragma once

#include "base/value.h"
#include "commands/option.h"
#include "dns/corefile/corefile.h"

// Corefiles from disk, with what they import and the variables that they name.

struct corefile_files {
    struct arena *arena;
    const char *root;       // --import-root, or NULL: imports count from the Corefile's folder
    const char **variables; // --env: "NAME=VALUE"
    size_t variable_count;
    struct corefile_world world; // to be handed to the parser; filled by corefile_files_init()
};

// The rows that stand behind --import-root and --env.
#define COREFILE_FILES_OPTIONS                                                                     \
    {.name = "import-root",                                                                        \
     .type = OPTION_TEXT,                                                                          \
     .placeholder = "DIR",                                                                         \
     .doc = "The folder that takes the place of the Corefile's own for imports: absolute paths "   \
            "are looked up in it by their last name, as a ConfigMap's keys are."},                 \
    {                                                                                              \
        .name = "env", .type = OPTION_LIST, .placeholder = "NAME=VALUE",                           \
        .doc = "A variable that the Corefile may name as {$NAME}. Others are not set: those of "   \
               "this shell are not those of CoreDNS."                                              \
    }

bool corefile_files_init(struct corefile_files *files, const struct invocation *invocation,
                         struct error *err);
// Reads a Corefile, "-" from stdin.
bool corefile_files_read(const struct corefile_files *files, const char *path,
                         struct corefile_file *out, struct error *err);

// The row behind --output of a command whose answer is one text, and what that prints: the text, or
// the tree that holds the same as JSON. Returns the exit code.
extern const char *const corefile_outputs[];
#define COREFILE_OUTPUT_OPTION                                                                     \
    OUTPUT_OPTION(corefile_outputs, "For people, or as one JSON document.")
int corefile_print(const struct invocation *invocation, const struct buffer *text,
                   const struct value *tree);
