#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "controllers/zone/zone_tree_private.h"

// ---- identity -----------------------------------------------------------------------------------

struct tree_entry_key tree_entry_key_of(const struct object *object)
{
    return (struct tree_entry_key){object_namespace(object), object_name(object)};
}

struct tree_entry_key tree_entry_key_of_ref(const struct object *object, const struct zone_ref *ref)
{
    bool has_namespace = ref->namespace_.len > 0;
    return (struct tree_entry_key){has_namespace ? ref->namespace_ : object_namespace(object),
                                   ref->name};
}

static uint64_t hash_of(const struct tree_entry_key *key)
{
    return hash_octets(key->name.at, key->name.len) * 31 +
           hash_octets(key->namespace_.at, key->namespace_.len);
}

static bool is_same(const struct tree_entry_key *a, const struct tree_entry_key *b)
{
    return text_equal(a->name, b->name) && text_equal(a->namespace_, b->namespace_);
}

static bool tree_entry_matches(const void *context, uint32_t id, const void *key)
{
    const struct zone_tree *zone_tree = context;
    return is_same(&zone_tree->tree_entries[id]->key, key);
}

static uint64_t tree_entry_hash(const void *context, uint32_t id)
{
    const struct zone_tree *zone_tree = context;
    return hash_of(&zone_tree->tree_entries[id]->key);
}

struct record_entry_key {
    struct tree_entry_key key;
    uint32_t hash;
};

static struct record_entry_key record_entry_key_of(struct tree_entry_key key)
{
    return (struct record_entry_key){key, (uint32_t)hash_of(&key)};
}

static bool record_entry_matches(const void *context, uint32_t id, const void *key)
{
    const struct zone_tree *zone_tree = context;
    const struct record_entry_key *wanted = key;
    if (zone_tree->record_entry_hashes[id] != wanted->hash)
        return false;
    struct tree_entry_key own = tree_entry_key_of(zone_tree->record_entries[id]->object);
    return is_same(&own, &wanted->key);
}

static uint64_t record_entry_hash(const void *context, uint32_t id)
{
    const struct zone_tree *zone_tree = context;
    return zone_tree->record_entry_hashes[id];
}

static const struct table_ops tree_entry_ops = {tree_entry_matches, tree_entry_hash};
static const struct table_ops record_entry_ops = {record_entry_matches, record_entry_hash};

// ---- tree entries -------------------------------------------------------------------------------

struct tree_entry *tree_entry_find(const struct zone_tree *zone_tree, struct tree_entry_key key)
{
    uint32_t id = table_find(&zone_tree->tree_entry_table, hash_of(&key), &key);
    return id == TABLE_NONE ? NULL : zone_tree->tree_entries[id];
}

static struct tree_entry_key copy_of(struct tree_entry_key key)
{
    char *namespace_ = mem_new(1, key.namespace_.len + key.name.len + 1);
    char *name = namespace_ + key.namespace_.len;
    if (key.namespace_.len)
        memcpy(namespace_, key.namespace_.at, key.namespace_.len);
    if (key.name.len)
        memcpy(name, key.name.at, key.name.len);
    return (struct tree_entry_key){{namespace_, key.namespace_.len}, {name, key.name.len}};
}

static void free_key(const struct tree_entry_key *key)
{
    union {
        const char *shared;
        char *own;
    } cast = {.shared = key->namespace_.at};
    free(cast.own);
}

struct tree_entry *tree_entry_want(struct zone_tree *zone_tree, struct tree_entry_key key)
{
    struct tree_entry *tree_entry = tree_entry_find(zone_tree, key);
    if (tree_entry)
        return tree_entry;
    zone_tree->tree_entry_table.ops = &tree_entry_ops;
    zone_tree->tree_entry_table.context = zone_tree;
    tree_entry = mem_new_of(struct tree_entry);
    tree_entry->key = copy_of(key);
    tree_entry->id = slots_take(&zone_tree->tree_entry_slots);
    mem_reserve(&zone_tree->tree_entries, &zone_tree->tree_entry_capacity,
                zone_tree->tree_entry_slots.end);
    zone_tree->tree_entries[tree_entry->id] = tree_entry;
    table_add(&zone_tree->tree_entry_table, hash_of(&key), tree_entry->id);
    return tree_entry;
}

static bool is_idle(const struct tree_entry *tree_entry)
{
    return !tree_entry->object && !tree_entry->removed && !tree_entry->referrers &&
           !list_first(&tree_entry->lists[LIST_REFERRING]) &&
           !list_first(&tree_entry->lists[LIST_BELOW]);
}

void tree_entry_forsake(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    if (tree_entry->is_idle || tree_entry == &zone_tree->nowhere || !is_idle(tree_entry))
        return;
    tree_entry->is_idle = true;
    mem_reserve(&zone_tree->idle, &zone_tree->idle_capacity, zone_tree->idle_count + 1);
    zone_tree->idle[zone_tree->idle_count++] = tree_entry;
}

void tree_entry_free_idle(struct zone_tree *zone_tree)
{
    for (size_t i = 0; i < zone_tree->idle_count; i++) {
        struct tree_entry *tree_entry = zone_tree->idle[i];
        tree_entry->is_idle = false;
        if (is_idle(tree_entry))
            tree_entry_free(zone_tree, tree_entry);
    }
    zone_tree->idle_count = 0;
    mem_relax(&zone_tree->idle, &zone_tree->idle_capacity);
}

void tree_entry_free(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    table_remove(&zone_tree->tree_entry_table, hash_of(&tree_entry->key), tree_entry->id);
    zone_tree->tree_entries[tree_entry->id] = NULL;
    slots_give(&zone_tree->tree_entry_slots, tree_entry->id);
    compile_free(zone_tree, tree_entry);
    rules_free(tree_entry->rules);
    object_unref(tree_entry->object);
    object_unref(tree_entry->removed);
    free(tree_entry->own);
    free(tree_entry->now.octets);
    free_key(&tree_entry->key);
    free(tree_entry);
}

void tree_entry_report(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    if (tree_entry->is_reported)
        return;
    tree_entry->is_reported = true;
    mem_reserve(&zone_tree->reported, &zone_tree->reported_capacity, zone_tree->reported_count + 1);
    zone_tree->reported[zone_tree->reported_count++] = tree_entry;
}

void tree_entry_touch_record_entries(struct zone_tree *zone_tree, struct tree_entry *tree_entry,
                                     enum record_entry_list list)
{
    list_each (record_entry, &tree_entry->lists[list])
        record_entry_touch(zone_tree, record_entry, RECORD_ENTRY_IS_FRESH);
}

// ---- record entries -----------------------------------------------------------------------------

struct record_entry *record_entry_find(const struct zone_tree *zone_tree, struct tree_entry_key key)
{
    struct record_entry_key wanted = record_entry_key_of(key);
    uint32_t id = table_find(&zone_tree->record_entry_table, wanted.hash, &wanted);
    return id == TABLE_NONE ? NULL : zone_tree->record_entries[id];
}

struct record_entry *record_entry_new(struct zone_tree *zone_tree, const struct object *object)
{
    struct record_entry *record_entry = slab_take(zone_tree->slab, sizeof *record_entry);
    *record_entry = (struct record_entry){.object = object_ref(object),
                                          .id = slots_take(&zone_tree->record_entry_slots)};
    mem_reserve(&zone_tree->record_entries, &zone_tree->record_entry_capacity,
                zone_tree->record_entry_slots.end);
    mem_reserve(&zone_tree->record_entry_hashes, &zone_tree->record_entry_hash_capacity,
                zone_tree->record_entry_slots.end);
    zone_tree->record_entry_table.ops = &record_entry_ops;
    zone_tree->record_entry_table.context = zone_tree;
    zone_tree->record_entries[record_entry->id] = record_entry;
    zone_tree->record_entry_hashes[record_entry->id] =
        record_entry_key_of(tree_entry_key_of(object)).hash;
    table_add(&zone_tree->record_entry_table, record_entry_hash(zone_tree, record_entry->id),
              record_entry->id);
    return record_entry;
}

static void forget(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    table_remove(&zone_tree->record_entry_table, record_entry_hash(zone_tree, record_entry->id),
                 record_entry->id);
    zone_tree->record_entries[record_entry->id] = NULL;
    slots_give(&zone_tree->record_entry_slots, record_entry->id);
    object_unref(record_entry->object);
    record_entry->object = NULL;
}

void record_entry_free(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    if (record_entry->object) {
        record_entry_withdraw(zone_tree, record_entry);
        record_entry_hang(zone_tree, record_entry, NULL, LIST_REFERRING);
        forget(zone_tree, record_entry);
    }
    if (record_entry->state & RECORD_ENTRY_IS_TOUCHED)
        record_entry->state |= RECORD_ENTRY_IS_GONE;
    else
        slab_give(record_entry, sizeof *record_entry);
}

void record_entry_withdraw(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    if (!record_entry->entry)
        return;
    zone_compiler_remove(record_entry->home->compiler, record_entry->entry);
    record_entry->entry = NULL;
    compile_due(zone_tree, record_entry->home);
}

static void unhang(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    struct tree_entry *home = record_entry->home;
    list_remove(&home->lists[record_entry->list], record_entry);
    record_entry->home = NULL;
    tree_entry_forsake(zone_tree, home);
}

void record_entry_hang(struct zone_tree *zone_tree, struct record_entry *record_entry,
                       struct tree_entry *home, enum record_entry_list list)
{
    if (record_entry->home == home && (!home || record_entry->list == list))
        return;
    record_entry_set_narrowed(zone_tree, record_entry, false);
    if (record_entry->home)
        unhang(zone_tree, record_entry);
    if (!home)
        return;
    record_entry->home = home;
    record_entry->list = list;
    list_prepend(&home->lists[list], record_entry);
}

void record_entry_touch(struct zone_tree *zone_tree, struct record_entry *record_entry,
                        unsigned states)
{
    record_entry->state |= (uint8_t)states;
    if (record_entry->state & RECORD_ENTRY_IS_TOUCHED)
        return;
    record_entry->state |= RECORD_ENTRY_IS_TOUCHED;
    mem_reserve(&zone_tree->touched, &zone_tree->touched_capacity, zone_tree->touched_count + 1);
    zone_tree->touched[zone_tree->touched_count++] = record_entry;
}

void record_entry_set_narrowed(struct zone_tree *zone_tree, struct record_entry *record_entry,
                               bool is_narrowed)
{
    if (is_narrowed == !!(record_entry->state & RECORD_ENTRY_IS_NARROWED))
        return;
    record_entry->state ^= RECORD_ENTRY_IS_NARROWED;
    record_entry->home->narrowed_count += is_narrowed ? 1 : (size_t)-1;
    tree_entry_report(zone_tree, record_entry->home);
}
