#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What was used lately, by a 64-bit key: at most `capacity` items, of which the one that was not
// touched for longest makes room for a new one. Items are zeroed storage of one size; pointers to
// them hold until the next touch.

struct recent;
// `gone` (may be NULL) lets go of what an item owns; it is called for evicted, removed and, at the
// end, all others.
struct recent *recent_new(size_t capacity, size_t item_octets, void (*gone)(void *item));
void recent_free(struct recent *recent);                 // accepts NULL
void *recent_touch(struct recent *recent, uint64_t key); // found, or made of zeros; now the newest
void *recent_find(const struct recent *recent, uint64_t key); // or NULL; touches nothing
void recent_remove(struct recent *recent, uint64_t key);      // also when it is not there
size_t recent_count(const struct recent *recent);
// From the oldest on; what is shown, and nothing else, may be removed from within. False ends it.
void recent_each(struct recent *recent, bool (*show)(void *context, uint64_t key, void *item),
                 void *context);
