#pragma once

#include "store/object.h"

// All objects of a store by identity. Files them and calls nobody.
struct cache;
struct cache *cache_new(void);
void cache_free(struct cache *cache);
// Borrowed; NULL when absent.
const struct object *cache_find(const struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name);
// Moves a new object, to which nobody else refers, into memory where the cache keeps its objects
// close together.
struct object *cache_adopt(struct cache *cache, struct object *object);
// Takes the reference of `object`; the replaced state is returned with its reference, or NULL.
const struct object *cache_put(struct cache *cache, struct object *object);
// The same for one that is there, but whether a pass under way met it stays as it is.
const struct object *cache_replace(struct cache *cache, struct object *object);
// Returns the removed state with its reference, or NULL.
const struct object *cache_take(struct cache *cache, const struct kind *kind,
                                struct text namespace_, struct text name);
size_t cache_count(const struct cache *cache, const struct kind *kind); // NULL kind: all
size_t cache_octets(const struct cache *cache, const struct kind *kind);
// Calls with every object of the kind (NULL: all); the cache must not be changed meanwhile.
void cache_each(const struct cache *cache, const struct kind *kind,
                void (*call)(void *context, const struct object *object), void *context);

// A pass through all objects of a kind (in one namespace; absent text: all): those that are put or
// marked until its end are there, the rest is not. Passes of different namespaces may overlap.
void cache_begin_pass(struct cache *cache, const struct kind *kind, struct text namespace_);
void cache_mark(struct cache *cache, const struct object *object); // one that is in it
// The next object that the pass did not meet, borrowed; NULL: none is left. *cursor starts at 0. It
// may be taken out before the next call; nothing else may change meanwhile.
const struct object *cache_unmarked(const struct cache *cache, const struct kind *kind,
                                    struct text namespace_, uint32_t *cursor);
