#pragma once

#include "dns/corefile/address.h"
#include "dns/corefile/coredns.h"

// Which zones the server blocks of a Corefile serve, and where: what CoreDNS makes listeners of,
// and looks through for each query. Texts live in the arena.

// A zone on a port, as one block serves it.
struct served_zone {
    const struct corefile_block *block;
    uint32_t token; // of its key
    const char *transport;
    struct text zone; // with a final dot; in lower case, unless CoreDNS would not match it so
    struct text port;
    const struct text *hosts; // of `bind`, as written; NULL: all addresses
    size_t host_count;
    bool has_view; // only queries that pass its expressions are served
};
struct served_zones {
    struct served_zone *items; // {0} is ready for use; the caller frees it
    size_t count;
    size_t capacity;
};

struct served_options {
    struct coredns_version version;
    uint16_t port; // of zones without one (the flag -dns.port); 0: 53
};

// Adds the zones of one address of a block, without listeners.
void served_zones_add(struct served_zones *zones, struct arena *arena,
                      const struct served_options *options, const struct corefile_block *block,
                      uint32_t token, const struct corefile_address *address);
// Fills in hosts and views; the zones of a block stand together.
void served_zones_find_listeners(struct served_zones *zones, struct arena *arena,
                                 const struct corefile *corefile);
// The first directive of that name in a block, or NULL.
const struct corefile_directive *corefile_find_directive(const struct corefile *corefile,
                                                         const struct corefile_block *block,
                                                         const char *name);
