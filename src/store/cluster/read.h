#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/value.h"
#include "io/world.h"
#include "store/cluster/kubeconfig.h"

// For `signpost status`: reads all objects of some kinds once, as whole trees, without opening a
// store. It needs the rights to list and watch them. A kind that is not installed has no objects;
// one that may not be read is left out and reported.

struct cluster_read;
struct cluster_read_options {
    const struct world *world;
    struct log *log;               // may be NULL
    struct kube_access *access;    // becomes the reader's
    const char *const *namespaces; // NULL-terminated; NULL: all
    const struct kind *const *kinds;
    size_t kind_count;
    int64_t timeout_ms;
    // An object may be reported twice if a list was broken off and began again.
    void (*object)(void *context, const struct kind *kind, const struct value *tree);
    // Reports a kind that may not be listed: why, and what to do.
    void (*left_out)(void *context, const struct kind *kind, const char *text);
    // The last call, once. err NULL: everything that may be read was reported; else why nothing, or
    // not everything, came in time. The reader must not be freed from within.
    void (*done)(void *context, const struct error *err);
    void *context;
};
struct cluster_read *cluster_read_new(const struct cluster_read_options *options);
void cluster_read_free(struct cluster_read *read); // accepts NULL
