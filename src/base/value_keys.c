#include <stdlib.h>

#include "base/memory.h"
#include "base/value_private.h"

enum { PAIRWISE_MAX = 16 }; // entries up to which keys are compared without sorting

bool keys_fail_duplicate(const struct value *a, const struct value *b, struct error *err)
{
    bool is_later =
        a->key_line > b->key_line || (a->key_line == b->key_line && a->key_column > b->key_column);
    const struct value *later = is_later ? a : b;
    const struct value *first = is_later ? b : a;
    AUTO_BUFFER shown = {0};
    text_clean(&shown, later->key, VALUE_SHOWN_MAX);
    return error_set(err, FAULT_SPEC, "InvalidYAML", "%u:%u: duplicate key \"%s\", first at %u:%u",
                     later->key_line, later->key_column, buffer_text(&shown).at, first->key_line,
                     first->key_column);
}

static bool check_few(const struct value *map, struct error *err)
{
    value_each (a, map) {
        for (const struct value *b = a->next; b; b = b->next) {
            if (text_equal(a->key, b->key))
                return keys_fail_duplicate(a, b, err);
        }
    }
    return true;
}

static bool check_many(const struct value *map, struct error *err)
{
    autofree const struct value **entries = value_sort(map->first, map->count);
    for (size_t i = 1; i < map->count; i++) {
        if (text_equal(entries[i - 1]->key, entries[i]->key))
            return keys_fail_duplicate(entries[i - 1], entries[i], err);
    }
    return true;
}

bool keys_check_unique(const struct value *map, struct error *err)
{
    return map->count <= PAIRWISE_MAX ? check_few(map, err) : check_many(map, err);
}

struct merge {
    struct value *into;
    const struct value **own; // sorted; explicit keys win
    size_t own_count;
    struct value *added; // first entry that came through the merge
    size_t seen;
};

static bool merge_has(const struct merge *merge, const struct value *entry)
{
    for (const struct value *item = merge->added; item; item = item->next) {
        if (text_equal(item->key, entry->key))
            return true;
    }
    return merge->own_count &&
           bsearch(&entry, merge->own, merge->own_count, sizeof *merge->own, value_compare_keys);
}

static bool merge_map(struct merge *merge, const struct value *source)
{
    struct value *next;
    if (source->type != VALUE_MAP)
        return false;
    for (struct value *item = source->first; item; item = next) {
        next = item->next;
        if (++merge->seen > KEYS_MERGED_MAX)
            return false;
        if (merge_has(merge, item))
            continue;
        value_link(merge->into, item);
        if (!merge->added)
            merge->added = item;
    }
    return true;
}

bool keys_merge(struct value *map, const struct value *source)
{
    autofree const struct value **own = map->count ? value_sort(map->first, map->count) : NULL;
    struct merge merge = {.into = map, .own = own, .own_count = map->count};
    if (source->type != VALUE_LIST)
        return merge_map(&merge, source);
    value_each (item, source) {
        if (!merge_map(&merge, item))
            return false;
    }
    return true;
}
