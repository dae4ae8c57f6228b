#include "store/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"

enum { BITS = 64 };

static void set_bit(struct backlog *backlog, uint32_t id)
{
    size_t word = id / BITS;
    size_t known = backlog->word_count;
    mem_reserve(&backlog->waiting, &backlog->word_count, word + 1);
    memset(backlog->waiting + known, 0, (backlog->word_count - known) * sizeof *backlog->waiting);
    backlog->waiting[word] |= UINT64_C(1) << id % BITS;
}

static bool clear_bit(struct backlog *backlog, uint32_t id)
{
    if (!backlog_has(backlog, id))
        return false;
    backlog->waiting[id / BITS] &= ~(UINT64_C(1) << id % BITS);
    return true;
}

// Drops what is stale and what stands there twice.
static void squeeze(struct backlog *backlog)
{
    size_t kept = 0;
    for (size_t i = backlog->first; i < backlog->end; i++)
        if (clear_bit(backlog, backlog->items[i].id))
            backlog->items[kept++] = backlog->items[i];
    for (size_t i = 0; i < kept; i++)
        set_bit(backlog, backlog->items[i].id);
    backlog->first = 0;
    backlog->end = kept;
}

static void make_room(struct backlog *backlog)
{
    if (backlog->end < backlog->capacity)
        return;
    squeeze(backlog);
    mem_reserve(&backlog->items, &backlog->capacity, backlog->end + backlog->end / 4 + 1);
}

static void empty(struct backlog *backlog)
{
    backlog->first = backlog->end = 0;
    mem_relax(&backlog->items, &backlog->capacity);
}

void backlog_done(struct backlog *backlog)
{
    free(backlog->items);
    free(backlog->waiting);
    *backlog = (struct backlog){0};
}

bool backlog_has(const struct backlog *backlog, uint32_t id)
{
    size_t word = id / BITS;
    return word < backlog->word_count && backlog->waiting[word] >> id % BITS & 1;
}

void backlog_add(struct backlog *backlog, uint32_t id, uint32_t now_ms)
{
    must(!backlog_has(backlog, id));
    make_room(backlog);
    set_bit(backlog, id);
    backlog->items[backlog->end++] = (struct backlog_item){id, now_ms};
    backlog->depth++;
}

bool backlog_remove(struct backlog *backlog, uint32_t id)
{
    if (!clear_bit(backlog, id))
        return false;
    if (--backlog->depth == 0)
        empty(backlog);
    return true;
}

const struct backlog_item *backlog_first(struct backlog *backlog)
{
    if (!backlog->depth)
        return NULL;
    while (!backlog_has(backlog, backlog->items[backlog->first].id))
        backlog->first++;
    return &backlog->items[backlog->first];
}
