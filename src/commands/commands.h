#pragma once

#include "commands/option.h"

// All commands; main.c is the table's reader, help, manual page and completion come from it too.
extern const struct command *const commands[];
extern const size_t command_count;
const struct command *command_find(const char *name);

// Prints "signpost: <text>" on stderr and returns `code`.
int command_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
