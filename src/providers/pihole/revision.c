#include <stdlib.h>

#include "base/must.h"
#include "providers/pihole/revision_private.h"

static bool is_written(const struct change *change)
{
    const struct outcome *outcome = &change->outcome;
    bool is_refused = outcome->error || outcome->is_foreign;
    return !outcome->is_unchanged && (!is_refused || outcome->replaced);
}

static void collect(struct revision *revision, struct change *const *changes, size_t count)
{
    revision->changes = arena_new_array(revision->arena, struct change *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (is_written(changes[i]))
            revision->changes[revision->change_count++] = changes[i];
    }
}

struct revision *revision_new(struct list *list, const struct revision_setup *setup,
                              struct change *const *changes, size_t count)
{
    struct revision *revision = mem_new_of(struct revision);
    revision->arena = arena_new();
    revision->list = list;
    revision->setup = *setup;
    revision->fates = mem_new_array(struct fate, list->entry_count + 1);
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->op == CHANGE_REMOVE)
            revision_judge(revision, changes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->op != CHANGE_REMOVE)
            revision_judge(revision, changes[i]);
    }
    collect(revision, changes, count);
    revision_lay_out(revision);
    revision_plan_writes(revision);
    return revision;
}

void revision_free(struct revision *revision)
{
    if (!revision)
        return;
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        free(revision->parts[part].at);
    free(revision->fates);
    free(revision->pairs);
    free(revision->writes);
    arena_free(revision->arena);
    free(revision);
}

struct revision_counts revision_counts(const struct revision *revision, enum list_part part)
{
    must(part < LIST_PARTS);
    return revision->counts[part];
}

bool revision_changes_part(const struct revision *revision, enum list_part part)
{
    struct revision_counts counts = revision_counts(revision, part);
    return counts.added || counts.removed || counts.replaced;
}

struct change *const *revision_changes(const struct revision *revision, size_t *count)
{
    *count = revision->change_count;
    return revision->changes;
}

bool revision_adopts(const struct revision *revision, enum list_part part, size_t line)
{
    const struct line *at = &revision->list->parts[part].at[line];
    return at->entry_count == 1 && revision->fates[at->entry].is_adopted;
}
