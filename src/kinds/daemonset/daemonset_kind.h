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
    struct text spec;  // spec as JSON
    int64_t generation;
    int64_t observed_generation; // that which the numbers below are about; 0: none yet
    int64_t desired;
    int64_t current;
    int64_t updated;
    int64_t available;
    int64_t ready;
};
// `spec` is the cached body, from which the texts are borrowed.
void daemonset_unpack(struct text spec, struct daemonset *out);
