#include "store/cluster/recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/table.h"

// Behind each link stands the item. The ring runs from the oldest to the newest.
struct link {
    uint64_t key;
    uint32_t older;
    uint32_t newer;
};

struct recent {
    struct table by_key;
    char *places;
    size_t place_octets;
    size_t item_octets;
    size_t capacity;
    size_t room; // places that are allocated
    size_t made; // places that were ever used
    uint32_t oldest;
    uint32_t newest;
    uint32_t spare; // chained by `newer`
    void (*gone)(void *item);
};

static struct link *link_at(const struct recent *recent, uint32_t id)
{
    return (struct link *)(void *)(recent->places + id * recent->place_octets);
}

static void *item_at(const struct recent *recent, uint32_t id)
{
    return link_at(recent, id) + 1;
}

static bool key_matches(const void *context, uint32_t id, const void *key)
{
    return link_at(context, id)->key == *(const uint64_t *)key;
}

static uint64_t key_hash(const void *context, uint32_t id)
{
    return link_at(context, id)->key;
}

static const struct table_ops key_ops = {.matches = key_matches, .hash = key_hash};

// ---- the ring -----------------------------------------------------------------------------------

static void unlink_id(struct recent *recent, uint32_t id)
{
    const struct link *link = link_at(recent, id);
    if (link->older == TABLE_NONE)
        recent->oldest = link->newer;
    else
        link_at(recent, link->older)->newer = link->newer;
    if (link->newer == TABLE_NONE)
        recent->newest = link->older;
    else
        link_at(recent, link->newer)->older = link->older;
}

static void link_newest(struct recent *recent, uint32_t id)
{
    struct link *link = link_at(recent, id);
    link->older = recent->newest;
    link->newer = TABLE_NONE;
    if (recent->newest == TABLE_NONE)
        recent->oldest = id;
    else
        link_at(recent, recent->newest)->newer = id;
    recent->newest = id;
}

static void drop(struct recent *recent, uint32_t id)
{
    struct link *link = link_at(recent, id);
    if (recent->gone)
        recent->gone(item_at(recent, id));
    unlink_id(recent, id);
    table_remove(&recent->by_key, link->key, id);
    link->newer = recent->spare;
    recent->spare = id;
}

// ---- places -------------------------------------------------------------------------------------

static void grow(struct recent *recent)
{
    size_t room = recent->room ? 2 * recent->room : 8;
    recent->room = room < recent->capacity ? room : recent->capacity;
    recent->places = mem_resize(recent->places, recent->room, recent->place_octets);
}

static uint32_t take_place(struct recent *recent)
{
    uint32_t id = recent->spare;
    if (id == TABLE_NONE && recent->made == recent->capacity)
        drop(recent, recent->oldest);
    else if (id == TABLE_NONE && recent->made == recent->room)
        grow(recent);
    id = recent->spare;
    if (id == TABLE_NONE)
        return (uint32_t)recent->made++;
    recent->spare = link_at(recent, id)->newer;
    return id;
}

// ---- public -------------------------------------------------------------------------------------

struct recent *recent_new(size_t capacity, size_t item_octets, void (*gone)(void *item))
{
    size_t align = _Alignof(max_align_t);
    struct recent *recent = mem_new_of(struct recent);
    must(capacity > 0 && capacity < TABLE_NONE);
    recent->by_key = (struct table){.ops = &key_ops, .context = recent};
    recent->item_octets = item_octets;
    recent->place_octets = (sizeof(struct link) + item_octets + align - 1) / align * align;
    recent->capacity = capacity;
    recent->oldest = recent->newest = recent->spare = TABLE_NONE;
    recent->gone = gone;
    return recent;
}

void recent_free(struct recent *recent)
{
    if (!recent)
        return;
    while (recent->oldest != TABLE_NONE)
        drop(recent, recent->oldest);
    table_done(&recent->by_key);
    free(recent->places);
    free(recent);
}

void *recent_find(const struct recent *recent, uint64_t key)
{
    uint32_t id = table_find(&recent->by_key, key, &key);
    return id == TABLE_NONE ? NULL : item_at(recent, id);
}

void *recent_touch(struct recent *recent, uint64_t key)
{
    uint32_t id = table_find(&recent->by_key, key, &key);
    if (id != TABLE_NONE) {
        unlink_id(recent, id);
        link_newest(recent, id);
        return item_at(recent, id);
    }
    id = take_place(recent);
    link_at(recent, id)->key = key;
    memset(item_at(recent, id), 0, recent->item_octets);
    table_add(&recent->by_key, key, id);
    link_newest(recent, id);
    return item_at(recent, id);
}

void recent_remove(struct recent *recent, uint64_t key)
{
    uint32_t id = table_find(&recent->by_key, key, &key);
    if (id != TABLE_NONE)
        drop(recent, id);
}

size_t recent_count(const struct recent *recent)
{
    return recent->by_key.count;
}

void recent_each(struct recent *recent, bool (*show)(void *context, uint64_t key, void *item),
                 void *context)
{
    for (uint32_t id = recent->oldest, next; id != TABLE_NONE; id = next) {
        next = link_at(recent, id)->newer;
        if (!show(context, link_at(recent, id)->key, item_at(recent, id)))
            return;
    }
}
