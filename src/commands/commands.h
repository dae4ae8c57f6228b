#pragma once

#include "commands/option.h"

// All commands; main.c is the table's reader, help, manual page and completion come from it too.
extern const struct command *const commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);
// The command that the words begin with, one of two words before one of one; *taken says how many
// they are. NULL: none.
const struct command *command_match(int count, const char *const *words, int *taken);
// The name nearest to what the words begin with, or NULL. For "did you mean".
const char *command_nearest(int count, const char *const *words);

// Prints "signpost: <text>" on stderr and returns `code`.
int command_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
// "unknown command X; did you mean Y?" on stderr; returns 2.
int command_fail_unknown(int count, const char *const *words);
