#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Core Service: the address under which pods are reached. The body begins with its labels.
extern const struct kind service_kind;

struct service {
    struct text cluster_ip; // "None": it is headless
    struct text spec;       // spec as JSON; absent: there is none
};
// `spec` is the cached body, from which the texts are borrowed.
void service_unpack(struct text spec, struct service *out);

// Under what it is reached, from where.
struct service_addresses {
    struct text type; // "ClusterIP", "NodePort", "LoadBalancer", ...; absent: ClusterIP
    const struct text *cluster_ips; // of both families; none when it is headless
    size_t cluster_ip_count;
    const struct text *ips; // of its load balancer
    size_t ip_count;
    const struct text *hostnames; // of its load balancer
    size_t hostname_count;
};
void service_addresses_unpack(struct arena *arena, struct text spec, struct service_addresses *out);
