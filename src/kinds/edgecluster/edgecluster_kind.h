#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
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
// "<provider>.<cluster>" (arena).
const char *edgecluster_object_name(struct arena *arena, struct text provider, struct text cluster);
