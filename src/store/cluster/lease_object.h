#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"

// A Lease of coordination.k8s.io/v1 as a tree: what it says, and what we make of it.

// Shape alone, for paths and a watch; it is never filed in a cache.
extern const struct kind lease_kind;
#define LEASE_OWNER_ID "dns.homelab.mortenolsen.pro/owner-id"

// Borrowed from the tree.
struct lease_object {
    struct text version;
    struct text holder; // empty: nobody
    struct text owner_id;
    int64_t duration_ms; // 0: it does not say
    uint64_t hash;       // of the spec
};
void lease_object_read(struct lease_object *out, const struct value *tree);

struct lease_change {
    const char *namespace_;
    const char *name;
    const char *holder; // "": given back; NULL: the spec stays as it is
    int64_t duration_ms;
    int64_t unix_ms;
    const char *owner_id; // NULL: the annotation stays as it is
};
// The body of a PUT that makes `tree` into that, with all else that stands there, or of a POST
// (tree NULL). Each renewal differs from the one before, even where the clock stood still.
struct value *lease_object_make(struct arena *arena, const struct value *tree,
                                const struct lease_change *change);
