#include "commands/commands.h"

#include <stdio.h>
#include <string.h>

extern const struct command provider_command;

const struct command *const commands[] = {
    &provider_command,
};
const size_t command_count = COUNT_OF(commands);

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

int command_fail(int code, const char *format, ...)
{
    va_list args;
    fputs("signpost: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}
