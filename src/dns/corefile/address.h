#pragma once

#include "dns/corefile/coredns.h"
#include "dns/corefile/corefile.h"

// The addresses in front of a server block: "dns://example.org:1053", "10.0.0.0/24", ".".

enum {
    ADDRESS_ZONE_LEN_MAX = 255,
};

struct corefile_address {
    const char *transport;    // "dns", "tls", "quic", "grpc", "https", "https3", "unix"
    struct text port;         // empty: the transport's own
    const struct text *zones; // as written, or the reverse zones of a CIDR; at least one
    size_t zone_count;
};

// Takes "tls://" and the like off the text; "dns" where there is none that the release knows.
const char *corefile_take_transport(struct text *text, struct coredns_version version);
// As the newest CoreDNS reads it. NULL, or its words for what is wrong.
const char *corefile_address_read(struct arena *arena, struct text text,
                                  struct corefile_address *out);
// Reads it as that release of CoreDNS does.
const char *corefile_address_read_as(struct arena *arena, struct text text,
                                     struct coredns_version version, struct corefile_address *out);
// The port of a transport, as digits; `port` is that of plain DNS.
struct text corefile_address_port(struct arena *arena, const struct corefile_address *address,
                                  uint16_t port);
// With a final dot; in lower case unless is_kept.
struct text corefile_zone_name(struct arena *arena, struct text zone, bool is_kept);
// Does a name lie in a zone? Both with a final dot.
bool corefile_zone_has(struct text zone, struct text name);
// The reverse zones of a network, in order: 10.0.0.0/23 has two. False: it is no CIDR.
bool corefile_reverse_zones(struct arena *arena, struct text cidr, const struct text **zones,
                            size_t *count);
