#include "commands/zone/zone_ages.h"

#include <stdlib.h>
#include <string.h>

#include "store/folder/name.h"

struct age {
    const char *key;
    const char *created;
};

struct zone_ages {
    struct arena *arena;
    struct age *items;
    size_t count;
    size_t capacity;
};

static int compare(const void *a, const void *b)
{
    const struct age *left = a;
    const struct age *right = b;
    return strcmp(left->key, right->key);
}

static void take_entry(void *context, const struct folder_entry *entry)
{
    struct zone_ages *ages = context;
    struct text created = value_text_at(entry->tree, "metadata.creationTimestamp");
    const struct object_ref_key object = {entry->kind,
                                          value_text_at(entry->tree, "metadata.namespace"),
                                          value_text_at(entry->tree, "metadata.name")};
    AUTO_BUFFER key = {0};
    if (!entry->kind || !created.len || entry->is_duplicate)
        return;
    name_write_key(&key, &object);
    mem_reserve(&ages->items, &ages->capacity, ages->count + 1);
    ages->items[ages->count++] = (struct age){arena_copy_text(ages->arena, key.at),
                                              arena_copy(ages->arena, created.at, created.len)};
}

struct zone_ages *zone_ages_read(const struct folder_options *options, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    CLEANUP(zone_ages) struct zone_ages *ages = mem_new_of(struct zone_ages);
    ages->arena = arena_new();
    if (!folder_read(options, arena, take_entry, ages, err))
        return NULL;
    if (ages->count)
        qsort(ages->items, ages->count, sizeof *ages->items, compare);
    return steal(ages);
}

void zone_ages_free(struct zone_ages *ages)
{
    if (!ages)
        return;
    arena_free(ages->arena);
    free(ages->items);
    free(ages);
}

const char *zone_ages_find(const struct zone_ages *ages, const struct object_ref_key *object)
{
    AUTO_BUFFER key = {0};
    if (!ages || !ages->count)
        return NULL;
    name_write_key(&key, object);
    const struct age wanted = {.key = key.at};
    const struct age *found =
        bsearch(&wanted, ages->items, ages->count, sizeof *ages->items, compare);
    return found ? found->created : NULL;
}
