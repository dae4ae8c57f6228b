#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Network (config.openshift.io/v1), cluster scoped: how the networks of an OpenShift cluster are
// laid out. What is kept of the one that counts, `cluster`, is where Services have their addresses.
extern const struct kind network_kind;
#define NETWORK_NAME "cluster"

// status.serviceNetwork[], or spec.serviceNetwork[] while there is none, as written; borrowed from
// the body.
const struct text *network_unpack(struct arena *arena, struct text spec, size_t *count);
