#pragma once

#include "io/world.h"
#include "store/store.h"

// A store over another, for trying what would be: it reads what that one reads, and takes each
// write as done without passing it on. The state after a write is told in its reply alone, a status
// only of kinds that are written ahead, and the cache stays as it is, but for objects that we make
// of kinds that are read: they come to the cache and go from it with events, as whoever wants them
// waits for what comes before what goes. It leads from the start, as nothing is at stake.

// Who waits for all of it to be read.
struct dry_waiter {
    void (*unsynced)(void *context, const char *why); // a kind cannot be read
    void *context;
};
// Takes `below` over: one that was opened for reading.
struct store *dry_new(const struct world *world, struct store *below,
                      const struct dry_waiter *waiter);
