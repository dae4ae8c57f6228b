#include "engine/recent_changes.h"

#include <stdlib.h>
#include <string.h>

#include "engine/state.h"

enum { ERROR_OCTETS_MAX = 1024 };

// The texts are its own.
struct entry {
    struct recent_change change;
    char *texts[4];
};

struct recent_changes {
    struct entry entries[RECENT_CHANGES_MAX]; // a ring
    size_t next;
    size_t count;
};

struct recent_changes *recent_changes_new(void)
{
    return mem_new_of(struct recent_changes);
}

static void entry_clear(struct entry *entry)
{
    for (size_t i = 0; i < COUNT_OF(entry->texts); i++)
        free(entry->texts[i]);
    *entry = (struct entry){0};
}

void recent_changes_free(struct recent_changes *changes)
{
    if (!changes)
        return;
    for (size_t i = 0; i < RECENT_CHANGES_MAX; i++)
        entry_clear(&changes->entries[i]);
    free(changes);
}

// The n-th newest, from 0.
static size_t place_of(const struct recent_changes *changes, size_t n)
{
    return (changes->next + RECENT_CHANGES_MAX - 1 - n) % RECENT_CHANGES_MAX;
}

static bool is_same(const struct recent_change *a, const struct recent_change *b)
{
    return a->type == b->type && !strcmp(a->what, b->what) && !strcmp(a->object, b->object) &&
           !strcmp(a->backend, b->backend);
}

// The entries that are newer move down by one.
static void take_out(struct recent_changes *changes, size_t n)
{
    entry_clear(&changes->entries[place_of(changes, n)]);
    for (; n; n--)
        changes->entries[place_of(changes, n)] = changes->entries[place_of(changes, n - 1)];
    changes->next = place_of(changes, 0);
    changes->entries[changes->next] = (struct entry){0};
    changes->count--;
}

// What fails again and again takes one place. Returns how often it has failed so far.
static unsigned take_earlier(struct recent_changes *changes, const struct recent_change *change)
{
    for (size_t n = 0; n < changes->count; n++) {
        const struct recent_change *there = &changes->entries[place_of(changes, n)].change;
        unsigned times = there->times;
        if (!is_same(there, change))
            continue;
        take_out(changes, n);
        return times;
    }
    return 0;
}

static char *copy_cut(const char *text)
{
    return text_dup(utf8_prefix(text_of(text), ERROR_OCTETS_MAX));
}

void recent_changes_add(struct recent_changes *changes, const struct recent_change *change)
{
    if (!changes)
        return;
    bool is_failure = change->type == CHANGE_HAS_FAILED;
    unsigned times = is_failure ? take_earlier(changes, change) + 1 : 1;
    struct entry *entry = &changes->entries[changes->next];
    entry_clear(entry);
    entry->texts[0] = copy_cut(change->what);
    entry->texts[1] = copy_cut(change->object);
    entry->texts[2] = copy_cut(change->backend);
    entry->texts[3] = copy_cut(change->error);
    entry->change = *change;
    entry->change.what = entry->texts[0];
    entry->change.object = entry->texts[1];
    entry->change.backend = entry->texts[2];
    entry->change.error = entry->texts[3];
    entry->change.times = times;
    changes->next = (changes->next + 1) % RECENT_CHANGES_MAX;
    changes->count += changes->count < RECENT_CHANGES_MAX;
}

void engine_each_recent_change(const struct engine *engine,
                               void (*call)(void *context, const struct recent_change *change),
                               void *context)
{
    const struct recent_changes *changes = engine->recent_changes;
    for (size_t n = 0; changes && n < changes->count; n++)
        call(context, &changes->entries[place_of(changes, n)].change);
}
