#pragma once

#include "base/kind.h"
#include "kinds/emco_metadata.h"

// ClusterProvider (dns.homelab.mortenolsen.pro/v1alpha1), cluster scoped: under whose name clusters
// stand.

extern const struct kind clusterprovider_kind;

// `spec` is the cached body; texts live in the arena.
struct emco_metadata clusterprovider_unpack(struct arena *arena, struct text spec);
