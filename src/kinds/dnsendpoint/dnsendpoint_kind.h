#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// DNSEndpoint (externaldns.k8s.io/v1alpha1): record sets that external-dns publishes. We write it
// and read those of others. The body begins with its labels.

extern const struct kind dnsendpoint_kind;

struct endpoint {
    struct text dns_name;
    struct text type; // "A", "CNAME", ...
    const struct text *targets;
    size_t target_count;
    int64_t ttl_s;                      // 0: not set
    struct text set_identifier;         // absent: none
    const struct text_pair *properties; // providerSpecific
    size_t property_count;
};
struct dnsendpoint {
    const struct endpoint *endpoints;
    size_t count;
    const struct text_pair *annotations; // those of our group
    size_t annotation_count;
    int64_t generation;
    int64_t observed_generation; // external-dns has read that, whatever it made of it; 0: none yet
};
// `spec` is the cached body; texts live in the arena.
void dnsendpoint_unpack(struct arena *arena, struct text spec, struct dnsendpoint *out);
// The spec of the object, for writing it.
struct value *dnsendpoint_encode(struct arena *arena, const struct endpoint *endpoints,
                                 size_t count);
// Are they the same record set, with the same targets in the same order and the same TTL?
bool endpoint_is_same(const struct endpoint *a, const struct endpoint *b);
// Why external-dns drops an endpoint of that type with that target, without a word but in its log:
// "must not end in a dot"; NULL: it does not.
const char *dnsendpoint_target_fault(struct text type, struct text target);
