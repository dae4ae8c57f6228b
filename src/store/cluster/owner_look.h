#pragma once

#include "base/log.h"
#include "io/world.h"
#include "store/cluster/api.h"

// The owner id for who only reads: as the Lease carries it, else as the first leader will derive
// it. Nothing is written, and a Lease that somebody holds is left alone.

struct owner_look;
struct owner_look_options {
    const struct world *world;
    struct log *log;
    struct api *api;
    const char *namespace_; // of the Lease
    const char *name;
    const char *namespaces; // that are watched, sorted, joined by commas; "": all
    // Once, unless it is freed before. NULL: err names the right that is missing; other failures
    // are tried again.
    void (*done)(void *context, const char *owner_id, const struct error *err);
    void *context;
};
struct owner_look *owner_look_new(const struct owner_look_options *options);
void owner_look_free(struct owner_look *look); // NULL is fine
