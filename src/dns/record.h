#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

// Record sets as people write them and as they travel: type, owner name (split into domain and
// subdomain), TTL and values. Everything here is pure; texts live in the arena that is handed in.

enum record_type {
    RECORD_A,
    RECORD_AAAA,
    RECORD_CNAME,
    RECORD_TXT,
    RECORD_MX,
    RECORD_SRV,
    RECORD_NS,
    RECORD_PTR,
    RECORD_TYPES, // their number
};

struct record_set {
    enum record_type type;
    struct text domain;    // lower-case A-labels, no final dot
    struct text subdomain; // "@", or labels as in domain
    uint32_t ttl_s;
    const struct text *values; // normalised; order as written, no duplicates
    size_t value_count;
    int32_t priority; // MX, SRV: 0..65535; otherwise -1
    int32_t weight;   // SRV
    int32_t port;     // SRV
};

const char *record_type_name(enum record_type type);              // "A", ...
uint16_t record_type_number(enum record_type type);               // IANA RR type
bool record_type_parse(struct text text, enum record_type *type); // upper case only

// Owner names (RFC 1035 2.3.1 widened as people need it): labels of letters, digits, `-`, `_`,
// each 1..63 octets; non-ASCII labels become A-labels (libidn2, non-transitional, never STD3);
// lower-cased; one final dot dropped. Blanks, control characters and / ? # % " \ are refused.
// Errors have fault SPEC and a text that says which label and why.
bool domain_normalise(struct arena *arena, struct text text, struct text *out, struct error *err);
// Besides: "@" alone, and a leftmost label "*".
bool subdomain_normalise(struct arena *arena, struct text text, struct text *out,
                         struct error *err);
// "www" + "example.com" = "www.example.com"; "@" gives the domain. Fails over 253 octets.
bool record_name_join(struct arena *arena, struct text domain, struct text subdomain,
                      struct text *out, struct error *err);
// A host name as a target: labels as above (`_` allowed), final dot dropped, IDN turned, not an IP
// literal; "." alone stays "." when allow_root.
bool target_normalise(struct arena *arena, struct text text, bool allow_root, struct text *out,
                      struct error *err);

// Of a digest of what a record set comes to at one backend.
enum { FINGERPRINT_OCTETS = 16 };

// What kind of text a type's value is, for error texts: "IPv4 address", "IPv6 address",
// "domain name", "text".
const char *record_value_noun(enum record_type type);
// One value as it goes on the wire: A a dotted quad without leading zeros; AAAA IPv6 text (sent as
// typed, no zone id, not IPv4-mapped); names by target_normalise (root only for MX and SRV); TXT
// raw UTF-8 without control characters but tab. Error text is the explanation alone ("leading zeros
// are not allowed").
bool record_value_normalise(struct arena *arena, enum record_type type, struct text text,
                            struct text *out, struct error *err);
// Is the value, of type A or AAAA and as above, an address that no host has? Such are the
// unspecified one and those of multicast; of IPv4 also all that begins with 0 (RFC 1122 3.2.1.3),
// what is reserved (RFC 1112 4) and the broadcast address. False for other types.
bool record_value_is_of_no_host(enum record_type type, struct text value);
// Canonical text for comparing: AAAA as RFC 5952, names in lower case without final dot, the rest
// unchanged.
struct text record_value_canonical(struct arena *arena, enum record_type type, struct text value);
// Type, TTL, the numbers that the type has, and the values as a set in canonical form. The owner
// name does not count: servers and people split it differently.
bool record_set_equal(const struct record_set *a, const struct record_set *b);
// Type and owner name as a key, whatever the split into domain and subdomain. All normalised.
bool record_set_is_same_key(const struct record_set *a, const struct record_set *b);
uint64_t record_set_key_hash(const struct record_set *set);
struct record_set record_set_copy(struct arena *arena, const struct record_set *set);
// Does `name` equal `zone` or lie below it, on a label boundary? Both normalised.
bool name_is_within(struct text name, struct text zone);
// TXT text cut into character-strings of at most 255 octets: the number of strings.
size_t txt_string_count(struct text value);
