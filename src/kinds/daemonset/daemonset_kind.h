#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "base/value.h"

// DaemonSet (apps/v1), as far as we look at that of CoreDNS.

extern const struct kind daemonset_kind;

struct daemonset_label {
    struct text key;
    struct text value;
};
struct daemonset {
    struct text image;       // of its first container
    struct text config_id;   // annotation of its Pods; absent: none
    struct text tolerations; // as JSON; absent: none
    const struct daemonset_label *node_selector;
    size_t node_selector_count;
    const struct text *config_maps; // that its volumes name, in order
    size_t config_map_count;
    // How many Pods.
    int64_t desired;
    int64_t updated;
    int64_t available;
};
// From a cached body (object_spec); texts are borrowed from it.
void daemonset_unpack(struct arena *arena, struct text spec, struct daemonset *out);
