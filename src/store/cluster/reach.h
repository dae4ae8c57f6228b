#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Finds out what the user of a command may read in a cluster, by one short list of each kind in
// each wanted namespace. A server that does not answer, or does not accept the credential, is
// reported at once in one sentence; missing rights are the user's.
//
//     reach = reach_new(&options);   // options.done comes once
//     const char *const *namespaces = reach_namespaces(reach);

enum reach_state {
    REACH_UNKNOWN,
    REACH_READABLE,
    REACH_FORBIDDEN, // in some namespace where it is wanted
    REACH_MISSING,   // the server does not have this kind
};

struct reach;
struct reach_options {
    const struct world *world;
    struct api *api; // borrowed
    const struct kind *const *kinds;
    size_t kind_count;
    const char *const *namespaces; // NULL-terminated; NULL: all
    // The namespace to read where not all may be read; NULL: none.
    const char *fallback;
    int64_t timeout_ms;
    // Called once, not from within reach_new(). err NULL: the result is known for each kind.
    void (*done)(void *context, const struct error *err);
    void *context;
};
struct reach *reach_new(const struct reach_options *options);
void reach_free(struct reach *reach); // accepts NULL; not from within `done`

enum reach_state reach_state(const struct reach *reach, const struct kind *kind);
// The wanted namespaces, or the fallback alone; NULL: all. Borrowed from options.
const char *const *reach_namespaces(const struct reach *reach);
bool reach_is_narrowed(const struct reach *reach);
// Drops wanted namespaces in which no kind may be read, unless that is so in all.
void reach_skip_unreadable(struct reach *reach);
// "User \"jane\" may not list dnsclasses, dnsplans at cluster scope": of the kinds that `wanted`
// lets through (NULL: all); nothing where none is forbidden. A line for each place.
void reach_write_refusals(const struct reach *reach, struct buffer *out,
                          bool (*wanted)(const void *context, const struct kind *kind),
                          const void *context);
// The same for what narrowed the namespaces.
void reach_write_narrowing(const struct reach *reach, struct buffer *out);
