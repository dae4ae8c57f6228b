#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/pihole_annotations.h"

// Ingress (networking.k8s.io/v1): which hosts people publish, and at which addresses their
// controller answers. Its status is that of others; ours in it are annotations pihole.io/*.
extern const struct kind ingress_kind;

// Of status.loadBalancer.ingress[]. Absent: not given.
struct ingress_point {
    struct text ip;
    struct text hostname;
};
struct ingress_spec {
    struct text class_; // spec.ingressClassName; absent: none
    const struct text
        *hosts; // of the rules, as written, in their order; rules without one left out
    size_t host_count;
    const struct text *tls_hosts;
    size_t tls_host_count;
    const struct ingress_point *points;
    size_t point_count;
    struct pihole_annotations pihole;
};
// The texts are borrowed from the body.
void ingress_unpack(struct arena *arena, struct text spec, struct ingress_spec *out);
