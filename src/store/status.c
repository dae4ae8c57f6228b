#include "store/status.h"

bool status_is_own_condition(const struct kind *kind, struct text type)
{
    const char *const *own = kind->condition_types;
    for (; own && *own; own++)
        if (text_is(type, *own))
            return true;
    return !kind->condition_types;
}

static struct value *copy_entry(struct arena *arena, const struct value *item)
{
    struct value *copy = arena_new_of(arena, struct value);
    *copy = *item;
    copy->next = NULL;
    return copy;
}

static const struct value *first_of(const struct value *list)
{
    value_each (item, list && list->type == VALUE_LIST ? list : NULL)
        return item;
    return NULL;
}

// Those of others stay where they are; ours take the places of ours, the rest goes to the end.
static struct value *merged_conditions(struct arena *arena, const struct kind *kind,
                                       const struct value *old, const struct value *ours)
{
    struct value *list = value_make(arena, VALUE_LIST);
    const struct value *next = first_of(ours);
    value_each (item, old && old->type == VALUE_LIST ? old : NULL) {
        bool is_own = status_is_own_condition(kind, value_text_at(item, "type"));
        const struct value *kept = is_own ? next : item;
        if (is_own && next)
            next = next->next;
        if (kept)
            value_append(list, copy_entry(arena, kept));
    }
    for (; next; next = next->next)
        value_append(list, copy_entry(arena, next));
    return list;
}

static void put(struct arena *arena, const struct kind *kind, struct value *result,
                const struct value *item)
{
    AUTO_BUFFER key = {0};
    if (text_is(item->key, "conditions") && kind->condition_types) {
        struct value *list = merged_conditions(arena, kind, value_find(result, "conditions"), item);
        if (list->count || item->type != VALUE_NULL) {
            value_set(result, item->key, list);
            return;
        }
    }
    if (item->type != VALUE_NULL) {
        value_set(result, item->key, copy_entry(arena, item));
        return;
    }
    buffer_add(&key, item->key.at, item->key.len);
    value_remove(result, key.at);
}

struct value *status_patched(struct arena *arena, const struct kind *kind,
                             const struct value *status, const struct value *patch)
{
    struct value *result = value_make(arena, VALUE_MAP);
    value_each (item, status) {
        value_set(result, item->key, copy_entry(arena, item));
    }
    value_each (item, patch) {
        put(arena, kind, result, item);
    }
    return result;
}

bool status_is_bulk(const struct kind *kind, struct text field)
{
    return kind->bulk_status && text_is(field, kind->bulk_status);
}
