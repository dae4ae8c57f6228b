#include "store/cache.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/slab.h"
#include "base/table.h"

// The objects of one kind.
struct shard {
    const struct kind *kind;
    struct table table;
    const struct object **objects;
    size_t count;
    size_t capacity;
    size_t octets;
    uint64_t *marks; // a bit for each object, by its place
    size_t mark_words;
};

struct cache {
    struct slab *slab; // of those that were made here
    struct cache_observer observer;
    struct shard **shards;
    size_t count;
    size_t capacity;
};

struct identity {
    struct text namespace_;
    struct text name;
};

static uint64_t hash_identity(struct text namespace_, struct text name)
{
    return hash_octets(namespace_.at, namespace_.len) * 31 + hash_octets(name.at, name.len);
}

static uint64_t hash_of(const struct object *object)
{
    return hash_identity(object_namespace(object), object_name(object));
}

static bool shard_matches(const void *context, uint32_t id, const void *key)
{
    const struct shard *shard = context;
    const struct identity *identity = key;
    const struct object *object = shard->objects[id];
    return text_equal(object_name(object), identity->name) &&
           text_equal(object_namespace(object), identity->namespace_);
}

static uint64_t shard_hash(const void *context, uint32_t id)
{
    const struct shard *shard = context;
    return hash_of(shard->objects[id]);
}

static const struct table_ops shard_ops = {.matches = shard_matches, .hash = shard_hash};

static struct shard *find_shard(const struct cache *cache, const struct kind *kind)
{
    for (size_t i = 0; i < cache->count; i++)
        if (cache->shards[i]->kind == kind)
            return cache->shards[i];
    return NULL;
}

static struct shard *need_shard(struct cache *cache, const struct kind *kind)
{
    struct shard *shard = find_shard(cache, kind);
    if (shard)
        return shard;
    shard = mem_new_of(struct shard);
    shard->kind = kind;
    shard->table.ops = &shard_ops;
    shard->table.context = shard;
    mem_reserve(&cache->shards, &cache->capacity, cache->count + 1);
    cache->shards[cache->count++] = shard;
    return shard;
}

static void shard_free(struct shard *shard)
{
    for (size_t i = 0; i < shard->count; i++)
        object_unref(shard->objects[i]);
    table_done(&shard->table);
    free(shard->objects);
    free(shard->marks);
    free(shard);
}

struct cache *cache_new(void)
{
    struct cache *cache = mem_new_of(struct cache);
    cache->slab = slab_new();
    return cache;
}

void cache_free(struct cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        shard_free(cache->shards[i]);
    free(cache->shards);
    slab_free(cache->slab);
    free(cache);
}

static uint32_t find_id(const struct shard *shard, struct text namespace_, struct text name)
{
    struct identity identity = {namespace_, name};
    return table_find(&shard->table, hash_identity(namespace_, name), &identity);
}

const struct object *cache_find(const struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name)
{
    const struct shard *shard = find_shard(cache, kind);
    uint32_t id = shard ? find_id(shard, namespace_, name) : TABLE_NONE;
    return id == TABLE_NONE ? NULL : shard->objects[id];
}

struct object *cache_make(struct cache *cache, const struct kind *kind, const char *finalizer,
                          const struct value *tree)
{
    struct object *object = object_pack(cache->slab, object_new(kind, finalizer, tree));
    if (cache->observer.made)
        cache->observer.made(cache->observer.context, object, finalizer, tree);
    return object;
}

struct object *cache_make_graft(struct cache *cache, const struct object *metadata,
                                const struct object *bodies)
{
    struct object *object = object_pack(cache->slab, object_graft(metadata, bodies));
    if (cache->observer.grafted)
        cache->observer.grafted(cache->observer.context, object, metadata, bodies);
    return object;
}

void cache_observe(struct cache *cache, const struct cache_observer *observer)
{
    cache->observer = observer ? *observer : (struct cache_observer){0};
}

// ---- marks of a pass ----------------------------------------------------------------------------

static bool is_marked(const struct shard *shard, uint32_t id)
{
    return id / 64 < shard->mark_words && (shard->marks[id / 64] >> (id % 64) & 1);
}

static void set_mark(struct shard *shard, uint32_t id, bool is_set)
{
    size_t need = (size_t)id / 64 + 1;
    size_t had = shard->mark_words;
    mem_reserve(&shard->marks, &shard->mark_words, need);
    for (size_t i = had; i < shard->mark_words; i++)
        shard->marks[i] = 0;
    uint64_t bit = (uint64_t)1 << (id % 64);
    shard->marks[id / 64] = is_set ? shard->marks[id / 64] | bit : shard->marks[id / 64] & ~bit;
}

static bool is_within(const struct object *object, struct text namespace_)
{
    return !namespace_.at || text_equal(object_namespace(object), namespace_);
}

void cache_begin_pass(struct cache *cache, const struct kind *kind, struct text namespace_)
{
    struct shard *shard = need_shard(cache, kind);
    for (uint32_t id = 0; id < shard->count; id++)
        if (is_within(shard->objects[id], namespace_))
            set_mark(shard, id, false);
}

void cache_mark(struct cache *cache, const struct object *object)
{
    struct shard *shard = need_shard(cache, object->kind);
    uint32_t id = find_id(shard, object_namespace(object), object_name(object));
    must(id != TABLE_NONE);
    set_mark(shard, id, true);
}

const struct object *cache_unmarked(const struct cache *cache, const struct kind *kind,
                                    struct text namespace_, uint32_t *cursor)
{
    const struct shard *shard = find_shard(cache, kind);
    for (; shard && *cursor < shard->count; ++*cursor)
        if (!is_marked(shard, *cursor) && is_within(shard->objects[*cursor], namespace_))
            return shard->objects[*cursor];
    return NULL;
}

// ---- filing -------------------------------------------------------------------------------------

const struct object *cache_put(struct cache *cache, struct object *object)
{
    struct shard *shard = need_shard(cache, object->kind);
    uint32_t id = find_id(shard, object_namespace(object), object_name(object));
    shard->octets += object_octets(object);
    if (id != TABLE_NONE) {
        const struct object *old = shard->objects[id];
        shard->octets -= object_octets(old);
        shard->objects[id] = object;
        set_mark(shard, id, true);
        return old;
    }
    mem_reserve(&shard->objects, &shard->capacity, shard->count + 1);
    shard->objects[shard->count] = object;
    table_add(&shard->table, hash_of(object), (uint32_t)shard->count);
    set_mark(shard, (uint32_t)shard->count, true);
    shard->count++;
    return NULL;
}

const struct object *cache_replace(struct cache *cache, struct object *object)
{
    struct shard *shard = need_shard(cache, object->kind);
    uint32_t id = find_id(shard, object_namespace(object), object_name(object));
    must(id != TABLE_NONE);
    bool was_marked = is_marked(shard, id);
    const struct object *old = cache_put(cache, object);
    set_mark(shard, id, was_marked);
    return old;
}

// The last object moves into the gap.
static void close_gap(struct shard *shard, uint32_t id)
{
    uint32_t last = (uint32_t)--shard->count;
    if (id == last)
        return;
    uint64_t hash = hash_of(shard->objects[last]);
    table_remove(&shard->table, hash, last);
    shard->objects[id] = shard->objects[last];
    set_mark(shard, id, is_marked(shard, last));
    table_add(&shard->table, hash, id);
}

const struct object *cache_take(struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name)
{
    struct shard *shard = find_shard(cache, kind);
    uint32_t id = shard ? find_id(shard, namespace_, name) : TABLE_NONE;
    if (id == TABLE_NONE)
        return NULL;
    const struct object *taken = shard->objects[id];
    table_remove(&shard->table, hash_of(taken), id);
    close_gap(shard, id);
    shard->octets -= object_octets(taken);
    return taken;
}

size_t cache_count(const struct cache *cache, const struct kind *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < cache->count; i++)
        if (!kind || cache->shards[i]->kind == kind)
            count += cache->shards[i]->count;
    return count;
}

size_t cache_octets(const struct cache *cache, const struct kind *kind)
{
    size_t octets = 0;
    for (size_t i = 0; i < cache->count; i++)
        if (!kind || cache->shards[i]->kind == kind)
            octets += cache->shards[i]->octets;
    return octets;
}

void cache_each(const struct cache *cache, const struct kind *kind,
                void (*call)(void *context, const struct object *object), void *context)
{
    for (size_t i = 0; i < cache->count; i++) {
        const struct shard *shard = cache->shards[i];
        for (size_t n = 0; (!kind || shard->kind == kind) && n < shard->count; n++)
            call(context, shard->objects[n]);
    }
}
