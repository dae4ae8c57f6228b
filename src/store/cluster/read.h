#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/log.h"
#include "base/value.h"
#include "io/world.h"
#include "store/cluster/kubeconfig.h"

// For `signpost status`: all objects of some kinds, once, as whole trees, without opening a store.
// It wants the rights to list and watch them, and no others. A kind that is not installed has no
// objects; one that may not be read is left out, and told so.

struct cluster_read;
struct cluster_read_options {
    const struct world *world;
    struct log *log;               // may be NULL
    struct kube_access *access;    // taken over
    const char *const *namespaces; // NULL-terminated; NULL: all
    const struct kind *const *kinds;
    size_t kind_count;
    int64_t timeout_ms;
    // Once more where a list broke off and began again.
    void (*object)(void *context, const struct kind *kind, const struct value *tree);
    // Of a list that may not be read: why, and what to do.
    void (*left_out)(void *context, const struct kind *kind, const char *text);
    // Once, the last call: err NULL when all were told that could be read, else why not: nothing
    // could, or not in time. Not freed from within.
    void (*done)(void *context, const struct error *err);
    void *context;
};
struct cluster_read *cluster_read_new(const struct cluster_read_options *options);
void cluster_read_free(struct cluster_read *read); // accepts NULL
