#pragma once

#include "commands/option.h"
#include "commands/pihole_memory.h"
#include "controllers/ingress/targets.h"

// `check --live` at the Pi-holes: logs in as a visitor beside whoever keeps them, asks what would
// keep names out, looks at what stands there, and logs out. Nothing is written.

struct pihole_visit {
    const struct invocation *invocation;
    const struct pihole_targets *targets;
    const char *owner_id;               // whose marks are ours; NULL: nobody's yet
    const struct pihole_memory *memory; // NULL: nothing is remembered
    int64_t timeout_ms;                 // for each of them
    // A line of what was found: level "ok", "warn" or "error".
    void (*told)(void *context, const char *level, const char *what, const char *text);
    // Instead: what came of the look at a target; the answer of a visitor, or why there is none.
    // Borrowed for the length of the call.
    void (*seen)(void *context, const struct pihole_target *target, const struct value *answer,
                 const char *fault);
    void *context;
};
bool pihole_visit(const struct pihole_visit *visit, struct error *err);
