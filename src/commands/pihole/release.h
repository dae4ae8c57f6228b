#pragma once

#include "commands/setup.h"
#include "dns/record.h"

// All that is ours in a Pi-hole is removed, and what the ledger knows of it forgotten: for one that
// is not kept any more.

struct release {
    struct setup *setup;
    const struct configured_backend *backend;
    int64_t timeout_ms; // until we lead, and for each exchange
    // What came of each; `fault` NULL: it is gone.
    void (*reported)(void *context, const struct record_set *set, const char *fault);
    // What can carry no mark of ours, and no ledger names: it stays, whosever it is.
    void (*left)(void *context, const struct record_set *set);
    void *context;
};
// Takes the lead first. False: it could not, or lost it, or the lists could not be read.
bool pihole_release(const struct release *release, struct error *err);
