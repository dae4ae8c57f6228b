#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "providers/pihole/revision_private.h"

static uint64_t hash_of(struct text line)
{
    return hash_octets(line.at, line.len);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

void line_set_done(struct line_set *set)
{
    free(set->hashes);
    *set = (struct line_set){0};
}

// Where it stands, or belongs.
static size_t place_of(const struct line_set *set, uint64_t hash)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->hashes[middle] < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool line_set_has(const struct line_set *set, struct text line)
{
    uint64_t hash = hash_of(line);
    size_t at = place_of(set, hash);
    return at < set->count && set->hashes[at] == hash;
}

void line_set_add(struct line_set *set, struct text line)
{
    uint64_t hash = hash_of(line);
    size_t at = place_of(set, hash);
    if (at < set->count && set->hashes[at] == hash)
        return;
    mem_reserve(&set->hashes, &set->capacity, set->count + 1);
    memmove(&set->hashes[at + 1], &set->hashes[at], (set->count - at) * sizeof hash);
    set->hashes[at] = hash;
    set->count++;
}

static void note_part(struct line_set *strangers, const struct list *list, enum list_part part,
                      const struct revision *revision)
{
    for (size_t i = 0; i < list->parts[part].count; i++) {
        const struct line *line = &list->parts[part].at[i];
        if (line->whose != WHOSE_SOMEBODYS || line->has_comment ||
            (revision && revision_adopts(revision, part, i)))
            continue;
        mem_reserve(&strangers->hashes, &strangers->capacity, strangers->count + 1);
        strangers->hashes[strangers->count++] = hash_of(line->text);
    }
}

void strangers_note(struct line_set *strangers, const struct list *list,
                    const struct revision *revision)
{
    strangers->count = 0;
    mem_relax(&strangers->hashes, &strangers->capacity);
    // Tagged lines are never in the ledger, so it cannot be wrong about them.
    if (!list->rules.has_tags)
        note_part(strangers, list, LIST_HOSTS, revision);
    note_part(strangers, list, LIST_CNAMES, revision);
    if (strangers->count)
        qsort(strangers->hashes, strangers->count, sizeof *strangers->hashes, compare);
}

void revision_note_written(const struct revision *revision, size_t i, struct line_set *written)
{
    const struct write *write = &revision->writes[i];
    if (write->verb == REVISION_PUT)
        line_set_add(written, write->text);
    for (enum list_part part = 0; part < LIST_PARTS && write->verb == REVISION_PATCH; part++) {
        for (size_t at = 0; write->writes[part] && at < revision->parts[part].count; at++) {
            if (revision->parts[part].at[at].is_new)
                line_set_add(written, revision->parts[part].at[at].text);
        }
    }
}
