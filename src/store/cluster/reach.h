#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// What somebody may read of a cluster, found out before it is read once: one short list of each
// kind, where it is wanted. A server that does not answer, or knows nobody by our credential, is
// told at once and in one sentence; a right that is missing is that of whoever asks.
//
//     reach = reach_new(&options);   // options.done comes once
//     const char *const *namespaces = reach_namespaces(reach);

enum reach_state {
    REACH_UNKNOWN,
    REACH_READABLE,
    REACH_FORBIDDEN, // somewhere where it is wanted
    REACH_MISSING,   // the server does not have this kind
};

struct reach;
struct reach_options {
    const struct world *world;
    struct api *api; // borrowed
    const struct kind *const *kinds;
    size_t kind_count;
    const char *const *namespaces; // NULL-terminated; NULL: all
    // Where not all namespaces may be read, this one is; NULL: none is.
    const char *fallback;
    int64_t timeout_ms;
    // Once, not from within reach_new(): err NULL when it is known of each kind, else why not.
    void (*done)(void *context, const struct error *err);
    void *context;
};
struct reach *reach_new(const struct reach_options *options);
void reach_free(struct reach *reach); // accepts NULL; not from within `done`

enum reach_state reach_state(const struct reach *reach, const struct kind *kind);
// Those that were wanted, or the fallback alone; NULL: all. Borrowed from options.
const char *const *reach_namespaces(const struct reach *reach);
bool reach_is_narrowed(const struct reach *reach);
// Of several namespaces that were wanted, those of which nothing of ours may be read count no more,
// unless all are such.
void reach_skip_unreadable(struct reach *reach);
// "User \"jane\" may not list dnsclasses, dnsplans at cluster scope": of the kinds that `wanted`
// lets through (NULL: all); nothing where none is forbidden. A line for each place.
void reach_write_refusals(const struct reach *reach, struct buffer *out,
                          bool (*wanted)(const void *context, const struct kind *kind),
                          const void *context);
// The same of what narrowed it.
void reach_write_narrowing(const struct reach *reach, struct buffer *out);
