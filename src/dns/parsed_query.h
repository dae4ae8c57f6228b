#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dns/wire.h"

// What a request to a server asks (RFC 1035 4.1, RFC 1995 3, RFC 6891 6.1). Private to dns.

struct parsed_query {
    uint16_t id;
    uint16_t flags;
    unsigned opcode;
    bool is_whole; // the rest was read, too: else FORMERR
    size_t question_count;
    struct wire_question question; // the first
    bool has_edns;
    unsigned edns_version;
    uint16_t payload; // octets that a UDP reply may have
    bool has_serial;
    uint32_t serial; // of an SOA of that name in the authority section
};
// False: no header, or it is a reply: nobody answers to that. *out must stay where it is.
bool parsed_query_read(struct text octets, struct parsed_query *out);
