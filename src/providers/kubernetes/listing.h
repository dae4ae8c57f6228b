#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/value.h"

// What lists of an API server come to: the addresses of Services and of Nodes, page by page, in the
// order in which they came. Everything lives in the arena.

enum {
    LISTING_SERVICES_MAX = 10000,
    LISTING_NODES_MAX = 10000,
    LISTING_ADDRESSES_MAX = 16, // of one kind, of one Service or Node: the first ones count
};

struct listing {
    struct arena *arena;
    struct value *services; // list of {name, type, clusterIPs, ips, hostnames}
    struct value *nodes;    // list of {externalIPs, internalIPs}; NULL: none was asked for
    size_t service_count;
    size_t node_count;
    bool has_node_ports; // a Service is reached through nodes
};
void listing_init(struct listing *listing, struct arena *arena);
// Adds a page, of which nothing is kept. False: that are too many.
bool listing_add_services(struct listing *listing, const struct value *page, struct error *err);
// Of Nodes only those count that are ready and take pods.
bool listing_add_nodes(struct listing *listing, const struct value *page, struct error *err);
