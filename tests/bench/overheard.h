#pragma once

#include "store/store.h"

// A store whose events and writes a bench hears on their way to the engine and to the store.
struct overheard {
    struct store_ops ops; // first: the store's own, with those of below in between
    const struct store_ops *own;
    struct store_sink sink; // the engine's
    void (*event)(void *context, const struct store_event *event);
    void (*apply)(void *context); // may be NULL
    void *context;
};

// With `event`, `apply` and `context` set; before the store is started. It stays until the store is
// freed.
void overheard_begin(struct overheard *overheard, struct store *store);
