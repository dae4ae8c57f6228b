#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// The canary: which Corefile a CoreDNS has loaded, asked of itself. A Corefile of ours ends in a
// server block that answers TXT of version.bind. in the class CH with the config id. The answer
// changes exactly when the new file is live; a file that was refused leaves the old one.
//
//     canary_query(&octets, id);
//     if (canary_read(answer, id, &reply, &err))
//         state = canary_judge(&reply, wanted);

enum { CANARY_TEXT_MAX = 255 };

// Appends the query: 30 octets, without recursion and EDNS.
void canary_query(struct buffer *out, uint16_t id);
// Is it an answer to the query of that id? For dns_request.is_wanted.
bool canary_is_reply(struct text octets, uint16_t id);

struct canary_reply {
    unsigned rcode;
    char text[CANARY_TEXT_MAX + 1]; // the first TXT record, fit to show; empty: there is none
};
// Fails for what is no answer to the query (AGAIN) or malformed (SPEC). A refusal is an answer.
bool canary_read(struct text octets, uint16_t id, struct canary_reply *out, struct error *err);
// The config id that was answered, borrowed from the reply; NULL: the answer names none, as that of
// a CoreDNS with a Corefile that is not ours.
const char *canary_config_id(const struct canary_reply *reply);

enum canary_state {
    CANARY_CURRENT, // runs the wanted config
    CANARY_OLD,     // runs another of ours
    CANARY_SILENT,  // names none, or did not answer
};
// `reply` NULL: there was none. `wanted` NULL: any id will do.
enum canary_state canary_judge(const struct canary_reply *reply, const char *wanted);
