#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// Deployment (apps/v1): what its pods are, and how many are up to date. The body begins with its
// labels.
extern const struct kind deployment_kind;

#define DEPLOYMENT_CONTAINER "coredns"

struct deployment {
    struct text image; // of the container DEPLOYMENT_CONTAINER, or else of the first
    struct text spec;  // as JSON; absent: there is none
    int64_t wanted;    // spec.replicas; 1 where it is absent, as an API server has it
    int64_t generation;
    int64_t observed_generation; // that which the numbers below are about; 0: none yet
    int64_t replicas;
    int64_t updated;
    int64_t available;
};
// `spec` is the cached body, from which the texts are borrowed.
void deployment_unpack(struct text spec, struct deployment *out);
// The annotations of our group, and of those below it.
const struct text_pair *deployment_annotations(struct arena *arena, struct text spec,
                                               size_t *count);
