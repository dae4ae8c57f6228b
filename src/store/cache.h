#pragma once

#include "store/object.h"

// All objects of a store, found by identity. It calls nobody when they change.
struct cache;
struct cache *cache_new(void);
void cache_free(struct cache *cache);
// Borrowed; NULL when absent.
const struct object *cache_find(const struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name);
// What stores make objects with: as object_new() and object_graft() do it, in memory where the
// cache keeps its objects close together, and before the eyes of the observer. Not filed yet.
struct object *cache_make(struct cache *cache, const struct kind *kind, const char *finalizer,
                          const struct value *tree);
struct object *cache_make_graft(struct cache *cache, const struct object *metadata,
                                const struct object *bodies);
// Hears of each object that is made, before anybody else has it. Copied; NULL: nobody does.
struct cache_observer {
    void (*made)(void *context, const struct object *object, const char *finalizer,
                 const struct value *tree);
    void (*grafted)(void *context, const struct object *object, const struct object *metadata,
                    const struct object *bodies);
    void *context;
};
void cache_observe(struct cache *cache, const struct cache_observer *observer);
// Takes over the reference of `object`; returns the replaced state with its reference, or NULL.
const struct object *cache_put(struct cache *cache, struct object *object);
// The same for an object that is in the cache; whether a pass under way has seen it is kept.
const struct object *cache_replace(struct cache *cache, struct object *object);
// Returns the removed state with its reference, or NULL.
const struct object *cache_take(struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name);
size_t cache_count(const struct cache *cache, const struct kind *kind); // NULL kind: all
size_t cache_octets(const struct cache *cache, const struct kind *kind);
// Calls back for every object of the kind (NULL: of all); the cache must not be changed meanwhile.
void cache_each(const struct cache *cache, const struct kind *kind,
                void (*call)(void *context, const struct object *object), void *context);

// Begins a pass over all objects of a kind (in one namespace; absent text: in all). Objects that
// are put or marked before its end exist; the rest does not. Passes of different namespaces may
// overlap.
void cache_begin_pass(struct cache *cache, const struct kind *kind, struct text namespace_);
void cache_mark(struct cache *cache, const struct object *object); // an object that is in the cache
// The next object that the pass has not seen, borrowed; NULL: none is left. *cursor starts at 0.
// The caller may take that object out before the next call, and change nothing else meanwhile.
const struct object *cache_unmarked(const struct cache *cache, const struct kind *kind,
                                    struct text namespace_, uint32_t *cursor);
