#pragma once

#include <ldns/ldns.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "dns/dname.h"

// DNS wire format as all that reads messages shares it: a cursor over foreign octets that never
// leaves them, and names, with ldns and without. Private to dns.

enum { WIRE_HEADER = 12, WIRE_MESSAGE_MAX = 65535, WIRE_NAME_MAX = 255 };
enum { OPCODE_QUERY = 0, OPCODE_NOTIFY = 4 };
enum { CLASS_IN = 1, CLASS_ANY = 255 };
// RR types of single messages.
enum { RR_OPT = 41, RR_TSIG = 250, RR_IXFR = 251, RR_AXFR = 252 };
// Bits of a header's second 16.
enum {
    FLAG_REPLY = 0x8000,
    FLAG_OPCODE = 0x7800,
    FLAG_AUTHORITATIVE = 0x0400,
    FLAG_TRUNCATED = 0x0200,
    FLAG_RECURSION_DESIRED = 0x0100,
    FLAG_RCODE = 0x000f,
    OPCODE_SHIFT = 11,
};

struct wire {
    const uint8_t *at;
    size_t len;
    size_t position;
};

struct wire wire_of(struct text octets);
bool wire_read_u16(struct wire *wire, uint16_t *out);
bool wire_read_u32(struct wire *wire, uint32_t *out);
bool wire_skip(struct wire *wire, size_t len);
// Moves behind a name without following its pointer.
bool wire_skip_name(struct wire *wire);
// Decompresses the name at the cursor and moves behind it; NULL when it is malformed. Caller frees.
ldns_rdf *wire_read_name(struct wire *wire);
// The same without ldns and in lower case, into `out`, which *name points to. False: malformed; the
// cursor stays.
bool wire_take_name(struct wire *wire, uint8_t out[DNAME_MAX], struct dname *name);

struct wire_header {
    uint16_t id;
    uint16_t flags;
    uint16_t counts[4]; // questions, then RRs of each section
};
bool wire_take_header(struct wire *wire, struct wire_header *out);

struct wire_question {
    uint8_t name_octets[DNAME_MAX];
    struct dname name; // in name_octets: it must not move
    uint16_t type;
    uint16_t class;
};
bool wire_take_question(struct wire *wire, struct wire_question *out);

struct wire_record {
    uint8_t owner_octets[DNAME_MAX];
    struct dname owner; // in owner_octets: it must not move
    uint16_t type;
    uint16_t class;
    uint32_t ttl;
    uint16_t rdata_len;
    size_t rdata_at; // in the message
};
bool wire_take_record(struct wire *wire, struct wire_record *out);
// Of an SOA. False: it is malformed.
bool wire_read_serial(const struct wire *wire, const struct wire_record *soa, uint32_t *serial);

void wire_add_u16(struct buffer *out, unsigned number);

// A presentation name, with or without final dot, always taken as absolute. Caller frees. Errors
// have fault SPEC.
ldns_rdf *wire_name_new(struct text name, struct error *err);

static inline void wire_rdf_cleanup(ldns_rdf **at)
{
    ldns_rdf_deep_free(*at);
}
#define AUTO_RDF __attribute__((cleanup(wire_rdf_cleanup))) ldns_rdf
