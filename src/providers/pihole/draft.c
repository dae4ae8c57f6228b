#include <stdlib.h>

#include "base/must.h"
#include "providers/pihole/draft_private.h"

static bool is_written(const struct change *change)
{
    const struct outcome *outcome = &change->outcome;
    bool is_refused = outcome->error || outcome->is_foreign;
    return !outcome->is_unchanged && (!is_refused || outcome->replaced);
}

static void collect(struct draft *draft, struct change *const *changes, size_t count)
{
    draft->changes = arena_new_array(draft->arena, struct change *, count + 1);
    for (size_t i = 0; i < count; i++) {
        if (is_written(changes[i]))
            draft->changes[draft->change_count++] = changes[i];
    }
}

struct draft *draft_new(struct list *list, const struct draft_setup *setup,
                        struct change *const *changes, size_t count)
{
    struct draft *draft = mem_new_of(struct draft);
    draft->arena = arena_new();
    draft->list = list;
    draft->setup = *setup;
    draft->fates = mem_new_array(struct fate, list->entry_count + 1);
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->op == CHANGE_REMOVE)
            draft_judge(draft, changes[i]);
    }
    for (size_t i = 0; i < count; i++) {
        if (changes[i]->op != CHANGE_REMOVE)
            draft_judge(draft, changes[i]);
    }
    collect(draft, changes, count);
    draft_lay_out(draft);
    draft_plan_writes(draft);
    return draft;
}

void draft_free(struct draft *draft)
{
    if (!draft)
        return;
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        free(draft->parts[part].at);
    free(draft->fates);
    free(draft->pairs);
    free(draft->writes);
    arena_free(draft->arena);
    free(draft);
}

struct draft_counts draft_counts(const struct draft *draft, enum list_part part)
{
    must(part < LIST_PARTS);
    return draft->counts[part];
}

bool draft_changes_part(const struct draft *draft, enum list_part part)
{
    struct draft_counts counts = draft_counts(draft, part);
    return counts.added || counts.removed || counts.replaced;
}

bool draft_is_packed(const struct draft *draft)
{
    return draft->is_packed;
}

struct change *const *draft_changes(const struct draft *draft, size_t *count)
{
    *count = draft->change_count;
    return draft->changes;
}

bool draft_adopts(const struct draft *draft, enum list_part part, size_t line)
{
    const struct line *at = &draft->list->parts[part].at[line];
    return at->entry_count == 1 && draft->fates[at->entry].is_adopted;
}
