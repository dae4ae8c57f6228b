#pragma once

#include <stddef.h>
#include <stdint.h>

#include "dns/zone.h"

// A zone as it is served: the newest version, and the steps by which it came about, for incremental
// transfers (RFC 1995). Steps are forgotten, the oldest first, beyond 1000 of them, 4 MiB, or a
// quarter of the zone's own size.

enum { ZONE_STEPS_MAX = 1000, ZONE_STEPS_OCTETS_MAX = 4 << 20 };

// From one version to the next; immutable, shared by reference.
struct zone_step {
    uint32_t refs;
    struct rrset *old_soa;
    struct rrset *new_soa;
    struct zone_delta delta;
};
struct zone_step *zone_step_ref(const struct zone_step *step);
void zone_step_unref(const struct zone_step *step); // accepts NULL

struct zone_history;
struct zone_history *zone_history_new(void);
void zone_history_free(struct zone_history *history); // accepts NULL
DEFINE_CLEANUP(zone_history, zone_history_free)
// A version whose serial comes after the newest one's: a step is kept. One with the newest's serial
// and content takes its place. Else the history begins anew. Takes a reference of its own.
void zone_history_publish(struct zone_history *history, const struct zone *zone);
const struct zone *zone_history_newest(const struct zone_history *history); // borrowed; NULL: none
// The steps from that serial to the newest, borrowed, the first one first; 0: not all are there, or
// it is the newest.
size_t zone_history_steps(const struct zone_history *history, uint32_t serial,
                          struct zone_step *const **steps);
// Of the records in all steps, as transferred without compression.
size_t zone_history_octets(const struct zone_history *history);
