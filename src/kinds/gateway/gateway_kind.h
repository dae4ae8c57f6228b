#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Gateway (gateway.networking.k8s.io/v1): the addresses at which its controller answers for the
// routes that name it. All that is kept of it is that part of its status.
extern const struct kind gateway_kind;

// status.addresses[] of type IPAddress, as written; borrowed from the body.
const struct text *gateway_unpack(struct arena *arena, struct text spec, size_t *count);
