#pragma once

#include <stddef.h>

// Memory for small things that stay, by the hundred thousand: packed by size in chunks of their
// own. What lives for a moment lies elsewhere and leaves no holes between them when it goes, and a
// chunk goes back to the system with the last thing in it, unless hardly anything was ever in it.
//
//     char *name = slab_take(names, len + 1);
//     slab_give(name, len + 1);

enum { SLAB_OCTETS_MAX = 1024 }; // bigger things are plain allocations

struct slab;
struct slab *slab_new(void);
// NULL is fine. What was not given back stays until it is.
void slab_free(struct slab *slab);
// Not zeroed, never NULL. Aligned to 8 octets where `octets` is a multiple of 8, else to 4.
void *slab_take(struct slab *slab, size_t octets) __attribute__((returns_nonnull));
// `octets` as when it was taken.
void slab_give(void *at, size_t octets);
// Memory of the chunks, used or not.
size_t slab_octets(const struct slab *slab);
