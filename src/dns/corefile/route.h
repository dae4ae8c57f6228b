#pragma once

#include "dns/corefile/corefile.h"
#include "dns/corefile/served_zone.h"

// Which server block of a Corefile answers a query, and why, as CoreDNS decides it: at each address
// that it listens on, the longest zone that the name lies in wins, whatever the order of the
// blocks, and the root zone comes last. A query for DS, which belongs to the parent of a zone, goes
// to the shortest such zone instead. All of it is made in the arena and borrows from the corefile.
//
//     const struct corefile_query query = {name, RR_A};
//     corefile_find_routes(arena, corefile, &served, &query, &routes);

struct corefile_query {
    struct text name; // as corefile_query_name() makes it
    uint16_t type;    // of RRs
};
// Makes a name in lower case, with A-labels and a final dot. Errors have fault SPEC.
bool corefile_query_name(struct arena *arena, struct text text, struct text *out,
                         struct error *err);

enum route_reason {
    ROUTE_LONGEST, // the longest zone that the name lies in
    ROUTE_PARENT,  // the shortest, as the query is for DS
    ROUTE_ROOT,    // no other zone has the name
    ROUTE_NONE,    // no zone has it: REFUSED
};

// The server block that takes the query, where it arrives at one of the addresses.
struct corefile_route {
    const char *transport; // "dns", "tls", ...
    struct text host;      // of `bind`; empty: all addresses of the machine
    struct text port;
    const struct corefile_block *block; // NULL: ROUTE_NONE
    uint32_t token;                     // of the key that has the zone
    struct text zone;                   // with a final dot
    // The block has a `view`, which may pass the query on to the next route of that address.
    bool is_conditional;
    enum route_reason reason;
};
struct corefile_routes {
    struct corefile_route *items; // address by address, in the order of the file
    size_t count;
};
// The last route of each address is not conditional. Zones that CoreDNS would refuse are left out.
void corefile_find_routes(struct arena *arena, const struct corefile *corefile,
                          const struct served_options *served, const struct corefile_query *query,
                          struct corefile_routes *out);

// What one plugin does with the query.
struct route_step {
    struct text plugin;
    uint32_t token;   // of its name, in the directive that it is about
    struct text zone; // of its own zones the one that has the name; empty: it has none, or all
    bool is_last;     // whatever it makes of the query, no plugin behind it sees it
    const struct text *upstreams; // as written; of forward and grpc
    size_t upstream_count;
    const char *text; // a sentence without subject and full stop: "answers from memory ..."
};
enum route_end {
    ROUTE_ENDS_ANSWERED, // the last step is that of a plugin that passes nothing on
    ROUTE_ENDS_FAILED,   // no plugin is left for what the steps do not answer: SERVFAIL
    ROUTE_ENDS_REFUSED,  // the block has no plugin that handles queries: REFUSED
};
struct route_steps {
    struct route_step *items; // in compiled order, up to the last that sees the query
    size_t count;
    enum route_end end;
};
// Lists the plugins of the block that the query meets, as far as the Corefile alone tells. Plugins
// that only watch, or that the name or the type does not concern, have no step. Needs a corefile
// whose directives are all known (corefile_lint).
void corefile_find_steps(struct arena *arena, const struct corefile *corefile,
                         const struct corefile_block *block, const struct corefile_query *query,
                         struct route_steps *out);
