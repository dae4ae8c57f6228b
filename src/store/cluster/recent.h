#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A cache of at most `capacity` items by 64-bit key; the least recently used one is evicted. Items
// are storage of one size that starts as zeros; pointers to them are valid until the next
// recent_touch().

struct recent;
// `gone` (may be NULL) frees what an item owns; it is called for each item that is evicted or
// removed and, at the end, for the rest.
struct recent *recent_new(size_t capacity, size_t item_octets, void (*gone)(void *item));
void recent_free(struct recent *recent);                 // accepts NULL
void *recent_touch(struct recent *recent, uint64_t key); // finds or adds it; it is the newest then
void *recent_find(const struct recent *recent, uint64_t key); // or NULL; keeps the order
void recent_remove(struct recent *recent, uint64_t key);      // also when it is not there
size_t recent_count(const struct recent *recent);
// Shows items from the oldest on. Only the item that is shown may be removed from within. False
// ends it.
void recent_each(struct recent *recent, bool (*show)(void *context, uint64_t key, void *item),
                 void *context);
