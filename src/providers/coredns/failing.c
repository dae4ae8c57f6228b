#include "providers/coredns/failing.h"

#include <stdlib.h>
#include <string.h>

// An upstream at a server; of the server itself, which was looked at, the upstream is empty.
struct row {
    char *server;
    char *upstream;
    int64_t count;
    int64_t failed_ms; // mono; 0: not while we looked
};
struct failing {
    struct row *rows;
    size_t count;
    size_t capacity;
};

struct failing *failing_new(void)
{
    return mem_new_of(struct failing);
}

static void forget_all(struct failing *failing)
{
    for (size_t i = 0; i < failing->count; i++) {
        free(failing->rows[i].server);
        free(failing->rows[i].upstream);
    }
    failing->count = 0;
}

void failing_free(struct failing *failing)
{
    if (!failing)
        return;
    forget_all(failing);
    free(failing->rows);
    free(failing);
}

static struct row *find_row(struct failing *failing, struct text server, struct text upstream)
{
    for (size_t i = 0; i < failing->count; i++)
        if (text_is(server, failing->rows[i].server) &&
            text_is(upstream, failing->rows[i].upstream))
            return &failing->rows[i];
    return NULL;
}

static struct row *add_row(struct failing *failing, struct text server, struct text upstream)
{
    mem_reserve(&failing->rows, &failing->capacity, failing->count + 1);
    struct row *row = &failing->rows[failing->count++];
    *row = (struct row){.server = text_dup(server), .upstream = text_dup(upstream)};
    return row;
}

static bool has_failed(struct failing *failing, struct text server, const struct value *item,
                       bool is_first, int64_t mono_ms)
{
    struct row *row = find_row(failing, server, item->key);
    if (!row) {
        row = add_row(failing, server, item->key);
        row->count = is_first ? item->integer : 0;
    }
    // A counter that is smaller began anew.
    if (item->integer != row->count && item->integer > 0)
        row->failed_ms = mono_ms;
    row->count = item->integer;
    return row->failed_ms && mono_ms - row->failed_ms < FAILING_FOR_MS;
}

struct value *failing_note(struct failing *failing, struct arena *arena, struct text server,
                           const struct value *counts, int64_t mono_ms)
{
    struct value *list = value_make(arena, VALUE_LIST);
    if (failing->count + value_count(counts) + 1 > FAILING_MAX)
        forget_all(failing);
    bool is_first = !find_row(failing, server, TEXT(""));
    if (is_first)
        (void)add_row(failing, server, TEXT(""));
    value_each (item, counts)
        if (item->type == VALUE_INT && has_failed(failing, server, item, is_first, mono_ms))
            value_append(list, value_make_text(arena, item->key));
    return list;
}
