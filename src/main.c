#include "base/hash.h"
#include "base/memory.h"
#include "base/secret.h"
#include "commands/commands.h"
#include "commands/manual.h"
#include "io/random.h"

#include <string.h>

// Flags that stand in place of a command.
static const struct {
    const char *flag;
    const char *command;
} aliases[] = {{"--help", "help"}, {"-h", "help"}, {"--version", "version"}};

static const struct command *find(int count, const char *const *words, int *taken)
{
    for (size_t i = 0; i < COUNT_OF(aliases); i++) {
        if (strcmp(words[0], aliases[i].flag))
            continue;
        *taken = 1;
        return command_find(aliases[i].command);
    }
    return command_match(count, words, taken);
}

// "zone --help", where commands begin with that word and none is it.
static bool is_behind_wanted(int count, const char *const *words)
{
    return count == 2 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h")) &&
           help_has_behind(words[0]);
}

static int run(const struct command *command, int count, char **words)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct invocation invocation;
    struct error err;
    if (!invocation_parse(&invocation, arena, command, count, words, &err))
        return command_fail(2, "%s", err.text);
    if (invocation.wants_help)
        return help_print(command, false);
    return command->run(&invocation);
}

int main(int argc, char **argv)
{
    int count = argc - 1;
    int taken;
    uint8_t key[16];
    mem_setup();
    secret_keep_from_dumps();
    random_early(key, sizeof key);
    hash_key_set(key);
    if (argc < 2)
        return command_fail(2, "a command is expected; `signpost help` lists them");
    const char *const *words = (const char *const *)argv + 1;
    const struct command *command = find(count, words, &taken);
    if (!command && is_behind_wanted(count, words))
        return help_print_behind(words[0]);
    if (!command)
        return command_fail_unknown(count, words);
    return run(command, count - taken, argv + 1 + taken);
}
