#pragma once

#include "commands/setup.h"
#include "dns/record.h"

// Lines of a predecessor in Pi-holes that become ours: our mark is added to each, in its place.
// Those that can carry none, aliases above all, become ours by an entry in the ledger alone.

struct adoption {
    const struct configured_backend *backend;
    struct text name;
    enum record_type type;
    struct text *values; // all that stand there of that name and type
    size_t value_count;
    uint32_t ttl_s; // of an alias; 0: none
};
struct adoptions {
    struct adoption *items;
    size_t count;
    size_t capacity;
};
// Texts go into the arena. What is no address is passed over.
void adoptions_add(struct adoptions *adoptions, struct arena *arena,
                   const struct configured_backend *backend, struct text name, struct text address);
// "www.home.lan,app.home.lan,300". What is none is passed over.
void adoptions_add_alias(struct adoptions *adoptions, struct arena *arena,
                         const struct configured_backend *backend, struct text line);
void adoptions_done(struct adoptions *adoptions);

struct adopt {
    struct setup *setup;
    const struct adoptions *adoptions;
    int64_t timeout_ms; // until we lead, and for each exchange
    // What came of each; `fault` NULL: it is ours.
    void (*reported)(void *context, const struct adoption *adoption, const char *fault);
    void *context;
};
// Takes the lead first. False: it could not, or lost it.
bool pihole_adopt(const struct adopt *adopt, struct error *err);
