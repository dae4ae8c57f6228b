#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/must.h"
#include "commands/commands.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_values(const struct invocation *invocation)
{
    const char **items;
    for (size_t i = 0; i < invocation->value_count; i++) {
        const struct option *option = invocation->values[i].option;
        switch (option->type) {
        case OPTION_INT:
            must(!option->max || option_int(invocation, option->name) <= option->max);
            break;
        case OPTION_DURATION:
            option_ms(invocation, option->name);
            break;
        case OPTION_LIST:
            option_list(invocation, option->name, &items);
            break;
        case OPTION_FLAG:
        case OPTION_TEXT:
        case OPTION_CHOICE:
        case OPTION_ADDRESS:
            break;
        }
        must(option_source(invocation, option->name));
    }
}

// The file behind --config: every value that is let through can be asked for.
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    char word[64];
    char *words[] = {word};
    struct invocation invocation;
    struct error err = {0};
    int file = memfd_create("config", MFD_CLOEXEC);
    must(file >= 0 && write(file, at, len) == (ssize_t)len);
    snprintf(word, sizeof word, "--config=/proc/self/fd/%d", file);
    if (invocation_parse(&invocation, arena, command_find("run"), 1, words, &err))
        check_values(&invocation);
    else
        must(err.text[0]);
    close(file);
    return 0;
}
