#pragma once

#include "base/kind.h"

// The networks of a cluster as OpenShift tells them (config.openshift.io); the one object is named
// NETWORK_NAME.
extern const struct kind network_kind;
#define NETWORK_GROUP "config.openshift.io"
#define NETWORK_NAME "cluster"

// The first network of Services, as CIDR; absent: not known. `spec` is the cached body, from which
// it is borrowed.
struct text network_services(struct text spec);
