#pragma once

#include <ldns/ldns.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "dns/dname.h"

// DNS wire format as message.c and tsig.c share it: a cursor over foreign octets that never leaves
// them, and names through ldns. Private to dns.

enum { WIRE_HEADER = 12, WIRE_MESSAGE_MAX = 65535, WIRE_NAME_MAX = 255 };

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

void wire_add_u16(struct buffer *out, unsigned number);

// A presentation name, with or without final dot, always taken as absolute. Caller frees. Errors
// have fault SPEC.
ldns_rdf *wire_name_new(struct text name, struct error *err);

static inline void wire_rdf_cleanup(ldns_rdf **at)
{
    ldns_rdf_deep_free(*at);
}
#define AUTO_RDF __attribute__((cleanup(wire_rdf_cleanup))) ldns_rdf
