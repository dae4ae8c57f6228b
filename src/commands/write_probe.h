#pragma once

#include "base/url.h"
#include "commands/setup.h"

// `check --live --write` at the backends of the settings: a name below signpost-check.invalid is
// added, asked for, and removed again, so that nothing is left of it.

struct write_probe {
    struct setup *setup;
    int64_t timeout_ms; // until we lead, and for each exchange
    const struct hostport
        *resolver; // NULL: where the backend's URL leads, at the port that it names
    // level "ok" or "error".
    void (*reported)(void *context, const char *level, const char *what, const char *text);
    void *context;
};
// Takes the lead first. False: it could not, or lost it.
bool write_probe(const struct write_probe *probe, struct error *err);
