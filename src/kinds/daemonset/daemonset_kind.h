#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// DaemonSet (apps/v1), as far as it runs a name server on the nodes: what its pods are made of, and
// how far they are. The body begins with its labels.
extern const struct kind daemonset_kind;

#define DAEMONSET_CONTAINER "dns"

struct daemonset {
    struct text image; // of the container DAEMONSET_CONTAINER, or else of the first
    const struct text_pair *node_selector;
    size_t node_selector_count;
    struct text tolerations;        // as tolerations_write() has them (kinds/pod_spec.h)
    struct text config_id;          // the template's CONFIG_ID_ANNOTATION; absent: none
    struct text max_unavailable;    // of rolling updates: "10%" or "1"; absent: not given
    const struct text *config_maps; // those that volumes of the template are made of
    size_t config_map_count;
    int64_t generation;
    int64_t observed_generation; // that which the numbers below are about; 0: none yet
    int64_t desired;
    int64_t current;
    int64_t updated;
    int64_t available;
    int64_t ready;
};
// `spec` is the cached body, from which the texts are borrowed.
void daemonset_unpack(struct arena *arena, struct text spec, struct daemonset *out);
