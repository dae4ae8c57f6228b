#pragma once

#include <stdbool.h>
#include <stdint.h>

// Which refused requests are worth a log line, for each frontend that strangers reach. Of the same
// peer and code the 1st, 2nd, 4th, 8th ... 1024th are, from then on one an hour. Resident and
// bounded: peers beyond the 256 of the last hour count together.

struct refusals;
struct refusals *refusals_new(void);
void refusals_free(struct refusals *refusals); // accepts NULL

struct refusal {
    bool is_worth_reporting;
    bool is_of_many; // counted among "other peers"
    uint64_t count;  // of this peer and code, this one included; it begins anew after an hour
};
struct refusal refusals_count(struct refusals *refusals, const char *peer, const char *code,
                              int64_t mono_ms);
