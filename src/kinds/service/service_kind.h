#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// Core Service: the addresses under which pods are reached. The body begins with its labels.
extern const struct kind service_kind;

struct service_port {
    struct text name;
    int64_t port;
    struct text protocol; // "TCP" where it is absent, as an API server has it
    struct text target;   // a number or the name of a port; absent: not given
};
struct service {
    struct text cluster_ip; // "None": it is headless
    const struct text *cluster_ips;
    size_t cluster_ip_count;
    const struct text *ip_families; // "IPv4", "IPv6"
    size_t ip_family_count;
    const struct service_port *ports;
    size_t port_count;
    const struct text_pair *selector;
    size_t selector_count;
};
// `spec` is the cached body, from which the texts are borrowed.
void service_unpack(struct arena *arena, struct text spec, struct service *out);
