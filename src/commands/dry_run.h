#pragma once

#include "commands/preview.h"
#include "commands/proposal.h"
#include "commands/setup.h"

// A dry run from beginning to end: reads the store, reconciles all keys, and collects what would be
// sent. Nothing is written, no lock or lease is taken, no backend is talked to unless that is
// wanted.

struct dry_run {
    struct setup *setup;
    int64_t timeout_ms; // until all is read
    // In a cluster, controllers that may not read what they need are left out, and told so on
    // stderr. Not set: then there is no dry run.
    bool takes_part;
    bool leaves_backends;            // those that stand in the settings are not even looked at
    const struct previews *previews; // of what would be served; NULL: it is no part of it
    // NULL, or: each DNSClass's server is asked for its health in the end, and what came of it
    // told.
    void (*health)(void *context, const char *class_name, const struct outcome *outcome);
    // All pages of ledgers. May be NULL, as may the next.
    void (*shards)(void *context, const struct store_shard *shards, size_t count);
    // Of all that was read, in the end.
    void (*look)(void *context, const struct cache *cache);
    void *context;
    bool is_part;            // set: controllers were left out
    const char *owner_id;    // set: as the store has it, or NULL
    const char *owner_fault; // set: why it cannot be known, or NULL
};
// Fills the proposal and closes it. False: not all could be read; err says what and why.
bool run_dry(struct dry_run *dry_run, struct proposal *out, struct error *err);
