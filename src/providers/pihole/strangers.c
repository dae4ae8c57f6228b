#include <stdlib.h>

#include "base/digest.h"
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

void strangers_done(struct strangers *strangers)
{
    free(strangers->hashes);
    *strangers = (struct strangers){0};
}

bool strangers_have(const struct strangers *strangers, struct text line)
{
    uint64_t hash = hash_of(line);
    return strangers->count &&
           bsearch(&hash, strangers->hashes, strangers->count, sizeof hash, compare);
}

static void note_part(struct strangers *strangers, const struct list *list, enum list_part part,
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

void strangers_note(struct strangers *strangers, const struct list *list,
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
