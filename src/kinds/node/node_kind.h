#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// Core Node, cluster scoped: whether pods may be scheduled to it, and under what it is reached. The
// body begins with its labels.
extern const struct kind node_kind;

struct node_taint {
    struct text key;
    struct text value;  // absent: none
    struct text effect; // "NoSchedule", "PreferNoSchedule", "NoExecute"
};
struct node_address {
    struct text type; // "InternalIP", "ExternalIP", "Hostname", ...
    struct text address;
};
struct node {
    bool is_ready; // condition Ready is True
    bool is_unschedulable;
    const struct node_taint *taints;
    size_t taint_count;
    const struct node_address *addresses;
    size_t address_count;
};
// `spec` is the cached body, from which the texts are borrowed.
void node_unpack(struct arena *arena, struct text spec, struct node *out);
// Does the node of that body have all these labels, as a nodeSelector asks for? None are always
// had.
bool node_has_labels(struct text spec, const struct text_pair *labels, size_t count);
