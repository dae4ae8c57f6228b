#pragma once

#include "dns/zone_history.h"

// The RRs of an answer in their order (RFC 5936 2.2, RFC 1995 4), of one version of the zone, which
// is kept as long as this is. Private to dns.

enum primary_shape {
    PRIMARY_ONE_SOA,
    PRIMARY_WHOLE, // SOA, all, SOA
    PRIMARY_STEPS, // SOA; for each step the old SOA, removed, the new SOA, added; SOA
};

struct primary_records {
    enum primary_shape shape;
    const struct zone *zone;
    struct zone_step **steps; // owned
    size_t step_count;
    struct zone_walk walk;
    size_t step;   // that it is at
    size_t item;   // of the step
    bool is_begun; // the first SOA was seen
    bool is_done;  // so was the last one
    const struct rrset *set;
    size_t cursor; // in the set
    struct text rdata;
    bool has_record;
};

void primary_records_init(struct primary_records *records, const struct zone *zone,
                          enum primary_shape shape);
// What is new since that serial: an SOA alone for one who has the newest version, or a newer one;
// the steps; or all, when they are not there any more or not worth it.
void primary_records_init_since(struct primary_records *records, const struct zone_history *history,
                                uint32_t serial);
void primary_records_done(struct primary_records *records); // accepts zeroes
// The next record, which stays the next until it is taken. False: there is none left.
bool primary_records_see(struct primary_records *records, const struct rrset **set,
                         struct text *rdata);
void primary_records_take(struct primary_records *records);
