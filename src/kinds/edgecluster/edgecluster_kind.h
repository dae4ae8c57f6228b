#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
#include "kinds/condition.h"
#include "kinds/kv_pairs.h"

// EdgeCluster (dns.homelab.mortenolsen.pro/v1alpha1), cluster scoped: a cluster of a provider, what
// is known about it as keys and values, and how it is reached. Its object is called
// "<provider>.<cluster>", each part as emco_object_name makes it.

extern const struct kind edgecluster_kind;

enum { EDGECLUSTER_LABELS_MAX = 256 };

struct edgecluster {
    struct emco_metadata metadata; // its name is that of the cluster
    struct text provider;
    struct kv_sets kv;
    const struct text *labels;
    size_t label_count;
    bool is_local; // the cluster that we run in
    // The Secret with its kubeconfig; name absent: there is none.
    struct text kubeconfig_namespace;
    struct text kubeconfig_name;
    struct text kubeconfig_key;
};
// `spec` is the cached body; texts live in the arena.
void edgecluster_unpack(struct arena *arena, struct text spec, struct edgecluster *out);
// Is it read through the API server that its kubeconfig names?
static inline bool edgecluster_is_remote(const struct edgecluster *cluster)
{
    return !cluster->is_local && cluster->kubeconfig_name.len;
}

// Of one that is read through its kubeconfig; of any other it is empty.
struct edgecluster_status {
    struct conditions conditions; // Reachable
    struct text version;          // of its API server; absent: not known
    int64_t observed_generation;
};
const struct value *edgecluster_status_encode(struct arena *arena,
                                              const struct edgecluster_status *status);
// `spec` and `ours` are the cached bodies; texts live in the arena.
void edgecluster_status_unpack(struct arena *arena, struct text spec, struct text ours,
                               struct edgecluster_status *out);
// "<provider>.<cluster>" (arena).
const char *edgecluster_object_name(struct arena *arena, struct text provider, struct text cluster);
