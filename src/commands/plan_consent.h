#pragma once

#include "commands/configured_store.h"

// A person's word on a DNSPlan: its checksum is put into its spec.approve, as if somebody edited
// the object. Whoever leads hears it; nothing is locked for it.

struct consent {
    struct arena *arena;
    const struct configured_store *place; // found, and with the options of one
    const char *name;                     // of the DNSPlan
    const char *checksum;                 // that it has to have; NULL: whatever it has
    // Once it is given:
    const char *given;   // the checksum
    const char *backend; // whose records go
    int64_t removals;    // how many
    bool was_given;      // before
    bool is_refused;     // it was read, and is none to approve
};
// Fails where there is none of that name (status 404), where it is over, or has another checksum:
// then it is refused. Besides where it cannot be read or written.
bool plan_consent(struct consent *consent, struct error *err);
