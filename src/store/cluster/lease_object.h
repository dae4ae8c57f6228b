#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"

// Reads and writes a Lease (coordination.k8s.io/v1) as a tree.

// Only for paths and a watch; Leases are never cached.
extern const struct kind lease_kind;
#define LEASE_OWNER_ID "dns.homelab.mortenolsen.pro/owner-id"

// Borrowed from the tree.
struct lease_object {
    struct text version;
    struct text holder; // empty: none
    struct text owner_id;
    int64_t duration_ms; // 0: none is stated
    uint64_t hash;       // of the spec
};
void lease_object_read(struct lease_object *out, const struct value *tree);

struct lease_change {
    const char *namespace_;
    const char *name;
    const char *holder; // "": released; NULL: the spec stays as it is
    int64_t duration_ms;
    int64_t unix_ms;
    const char *owner_id; // NULL: the annotation stays as it is
};
// Writes the body of a PUT that changes `tree` so and keeps everything else, or of a POST (tree
// NULL). Each renewal differs from the one before, even if the clock stood still.
struct value *lease_object_make(struct arena *arena, const struct value *tree,
                                const struct lease_change *change);
