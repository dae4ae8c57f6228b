#pragma once

#include "base/log.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Finds the owner id for a store that only reads: the one in the Lease, else the one that the first
// leader will derive. Nothing is written.

struct owner_look;
struct owner_look_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const char *namespace_; // of the Lease
    const char *name;
    const char *namespaces; // that are watched, sorted, joined by commas; "": all
    // Called once. owner_id NULL: err names the missing right; other failures are tried again.
    void (*done)(void *context, const char *owner_id, const struct error *err);
    void *context;
};
struct owner_look *owner_look_new(const struct owner_look_options *options);
void owner_look_free(struct owner_look *look); // NULL is fine
