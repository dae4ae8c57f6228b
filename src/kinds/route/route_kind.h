#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/pihole_annotations.h"

// Routes of the Gateway API (gateway.networking.k8s.io): which hosts people publish, and through
// which Gateways. Their status is that of others; ours in it are annotations pihole.io/*. All have
// one form, and a TCPRoute has no host names.
extern const struct kind httproute_kind;
extern const struct kind grpcroute_kind;
extern const struct kind tlsroute_kind;
extern const struct kind tcproute_kind;

enum { ROUTE_GATEWAYS_MAX = 64 };

struct route_spec {
    const struct text *hosts; // as written, in their order
    size_t host_count;
    // "namespace/name" of those that it names as parents, at most ROUTE_GATEWAYS_MAX.
    const struct text *gateways;
    size_t gateway_count;
    struct pihole_annotations pihole;
};
// The texts are borrowed from the body.
void route_unpack(struct arena *arena, struct text spec, struct route_spec *out);
