#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "dns/record.h"

// DNS messages (RFC 1035 section 4, UPDATE of RFC 2136). ldns builds them and turns names into
// text; rdata is checked here, where ldns is lax. Ids are handed in. Octets are whole messages
// without the TCP length.

enum message_rcode {
    RCODE_NOERROR = 0,
    RCODE_FORMERR = 1,
    RCODE_SERVFAIL = 2,
    RCODE_NXDOMAIN = 3,
    RCODE_NOTIMP = 4,
    RCODE_REFUSED = 5,
    RCODE_YXDOMAIN = 6,
    RCODE_YXRRSET = 7,
    RCODE_NXRRSET = 8,
    RCODE_NOTAUTH = 9,
    RCODE_NOTZONE = 10,
};
const char *message_rcode_name(unsigned rcode); // "NOERROR", ... or "unknown RCODE"

// A query for name (no final dot needed; "." is the root) and RR type, class IN, without EDNS.
bool message_query(struct buffer *out, uint16_t id, struct text name, uint16_t rr_type,
                   bool is_recursion_desired, struct error *err);

// An UPDATE under construction.
struct update;
struct update *update_new(struct text zone, struct error *err);
void update_free(struct update *update);
// Prerequisites of RFC 2136 2.4: they look into the zone itself, past wildcards and delegations.
bool update_require_present(struct update *update, struct text name, enum record_type type,
                            struct error *err);
bool update_require_absent(struct update *update, struct text name, enum record_type type,
                           struct error *err);
// The set has exactly these values, whatever its TTL (2.4.2).
bool update_require_values(struct update *update, struct text name, const struct record_set *set,
                           struct error *err);
// The name has no record of any type (2.4.5).
bool update_require_unused(struct update *update, struct text name, struct error *err);
bool update_delete_set(struct update *update, struct text name, enum record_type type,
                       struct error *err);
// Deletes these values alone (RFC 2136 2.5.4).
bool update_delete_values(struct update *update, struct text name, const struct record_set *set,
                          struct error *err);
// Adds every value with the set's TTL; TXT over 255 octets is cut into character-strings; MX and
// SRV take their numbers from the set.
bool update_add_set(struct update *update, struct text name, const struct record_set *set,
                    struct error *err);
bool update_write(struct buffer *out, const struct update *update, uint16_t id, struct error *err);
DEFINE_CLEANUP(update, update_free)

// What a reply says. Record sets carry presentation values: TXT strings joined, names without the
// final dot ("." stays), MX and SRV with their numbers in the set (a set whose records differ in
// numbers is split into one set per triple). `domain` holds the whole owner name, subdomain is "@".
struct message {
    uint16_t id;
    unsigned opcode;
    unsigned rcode;
    bool is_reply;
    bool is_authoritative;
    bool is_truncated;
    struct text question_name; // absent when there is none
    uint16_t question_type;
    struct record_set *answers; // of the eight types; others are skipped and counted
    size_t answer_count;
    size_t skipped_count; // an SOA is not among them
    uint32_t soa_serial;  // of an SOA in the answer section
    bool has_soa;
};
bool message_read(struct arena *arena, struct text octets, struct message *out, struct error *err);

// The RRs of one name and type in a message of any kind, whichever section they stand in: NS and
// glue of a delegation come in a referral, not as an answer. Any type; canonical wire format. The
// name with or without its final dot. Errors have fault SPEC.
struct message_set {
    struct text *rdatas;
    size_t count;
    uint32_t ttl_s; // the lowest
};
bool message_find(struct arena *arena, struct text octets, struct text name, uint16_t rr_type,
                  struct message_set *out, struct error *err);
