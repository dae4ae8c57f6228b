#pragma once

#include <stdbool.h>

#include "dns/message.h"

// What an answer says about one record set of our zone. A name at or below a delegation is answered
// by a referral: its NS and glue records count as held. What a referral does not show may still be
// in the zone.

struct answered_set {
    bool is_authoritative;        // a server that holds the zone speaks
    const struct record_set *set; // of the type, or NULL; several MX or SRV numbers make one set
    bool is_split;                // its records differ in numbers
    struct text delegation;       // the answer is its referral; absent: there is none
    bool is_glue;      // an address of one of its name servers, so that the referral shows it
    const char *shown; // everything at the name, in words: "A 192.0.2.1 (TTL 300)", or "nothing"
};
// `name` and `zone` are normalised. Lives in the arena.
struct answered_set answered_set_read(struct arena *arena, struct text octets,
                                      const struct message *message, struct text zone,
                                      struct text name, enum record_type type);
// It is the record set, values as a set, TTL included.
bool answered_set_equals(const struct answered_set *answered, const struct record_set *set);
