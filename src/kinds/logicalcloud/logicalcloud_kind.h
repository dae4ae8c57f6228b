#pragma once

#include <stddef.h>

#include "base/kind.h"
#include "kinds/kv_pairs.h"

// LogicalCloud (dns.homelab.mortenolsen.pro/v1alpha1): clusters that a project uses together, and
// what is known about them as keys and values. It stands in the namespace of its project.

extern const struct kind logicalcloud_kind;

enum { LOGICALCLOUD_REFERENCES_MAX = 1024 };

struct cluster_reference {
    struct emco_metadata metadata;
    struct text provider; // EMCO names of a cluster provider, and of its cluster
    struct text cluster;
    struct text load_balancer; // an address; absent: none, also where EMCO's placeholder stands
};
struct logicalcloud {
    struct emco_metadata metadata;
    struct text namespace_; // of its Services in each cluster; absent: that of the project
    const struct cluster_reference *references;
    size_t reference_count;
    struct kv_sets kv;
};
// `spec` is the cached body; texts live in the arena.
void logicalcloud_unpack(struct arena *arena, struct text spec, struct logicalcloud *out);
