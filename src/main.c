#include "commands/commands.h"

#include <stdio.h>
#include <string.h>

static int unknown(const char *word)
{
    const char *names[64];
    size_t count = 0;
    for (size_t i = 0; i < command_count && count < COUNT_OF(names); i++)
        names[count++] = commands[i]->name;
    const char *nearest = text_nearest(text_of(word), names, count);
    if (nearest)
        return command_fail(2, "unknown command %s; did you mean %s?", word, nearest);
    return command_fail(2, "unknown command %s; `signpost help` lists them", word);
}

static int run(struct arena *arena, const struct command *command, int count, char **words)
{
    struct invocation invocation;
    struct error err;
    if (!invocation_parse(&invocation, arena, command, count, words, &err))
        return command_fail(2, "%s", err.text);
    return command->run(&invocation);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return command_fail(2, "a command is expected; `signpost help` lists them");
    const struct command *command = command_find(argv[1]);
    if (!command)
        return unknown(argv[1]);
    CLEANUP(arena) struct arena *arena = arena_new();
    return run(arena, command, argc - 2, argv + 2);
}
