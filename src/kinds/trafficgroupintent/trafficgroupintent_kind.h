#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"
#include "kinds/emco_metadata.h"

// TrafficGroupIntent (dns.homelab.mortenolsen.pro/v1alpha1): the services of a deployment intent
// group that are reached from outside. It stands in the namespace of its project.

extern const struct kind trafficgroupintent_kind;

enum { TRAFFICGROUPINTENT_INBOUND_MAX = 1024 };

struct inbound_intent {
    struct emco_metadata metadata;
    struct text app;
    struct text app_label;
    struct text service; // name of the Service
    int64_t port;
    struct text protocol;
    struct text external_name; // as written; absent: it has none
    bool is_external;          // externalSupport: it is meant for the outside
    bool is_istio;             // serviceMesh
};
struct trafficgroupintent {
    struct emco_metadata metadata;
    struct emco_coordinates coordinates;
    const struct inbound_intent *inbound;
    size_t inbound_count;
};
// `spec` is the cached body; texts live in the arena.
void trafficgroupintent_unpack(struct arena *arena, struct text spec,
                               struct trafficgroupintent *out);
// Is a name published for it? One that has a name alone is for other clusters of its cloud.
bool inbound_intent_is_published(const struct inbound_intent *intent);
