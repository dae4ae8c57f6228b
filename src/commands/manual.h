#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "commands/option.h"

// What is told of the commands: help, manual pages and shell completion, all made of their tables.

// Returns the meaning of an exit code (below EXIT_CODES) of a command, or with NULL of all
// commands.
const char *exit_doc(const struct command *command, int code);

extern const char signpost_summary[]; // one line
extern const char options_doc[];      // where options come from

// On a terminal of 80 columns.
void help_write_summary(struct buffer *out);
// `is_all`: with the options that many commands have, too.
void help_write_command(struct buffer *out, struct arena *arena, const struct command *command,
                        bool is_all);
void help_write_options(struct buffer *out, struct arena *arena); // that many commands have
int help_print(const struct command *command, bool is_all);       // on stdout; an exit code
// Are there commands of two words that begin with it? Then the list of them, as above.
bool help_has_behind(const char *first);
int help_print_behind(const char *first);

// What is said of an option beside its doc: "Default 30s. At least 1ms.", its environment
// variables.
void option_write_facts(struct buffer *out, const struct option *option);
// "[OPTION...] [PATH...]"
void command_write_arguments(struct buffer *out, const struct command *command);

// roff pages of section 1: signpost(1), signpost-run(1).
void man_write_summary(struct buffer *out);
void man_write_command(struct buffer *out, struct arena *arena, const struct command *command);

extern const char *const completion_shells[]; // NULL-terminated
// False: no such shell.
bool completion_write(struct buffer *out, struct arena *arena, const char *shell);
