#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Service (v1), as far as we look at that of the cluster's DNS.

extern const struct kind service_kind;

struct service {
    struct text cluster_ip; // "None": it has none; absent: not yet
};
// From a cached body (object_spec); texts are borrowed from it.
void service_unpack(struct text spec, struct service *out);
