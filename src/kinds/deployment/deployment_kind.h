#pragma once

#include "base/kind.h"

// Deployment (apps/v1), as far as we look at that of CoreDNS.

extern const struct kind deployment_kind;

struct deployment {
    struct text image; // of its first container
    // How many Pods.
    int64_t replicas;
    int64_t updated;
    int64_t available;
};
// From a cached body (object_spec); texts are borrowed from it.
void deployment_unpack(struct text spec, struct deployment *out);
