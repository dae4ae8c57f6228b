#pragma once

#include "commands/option.h"
#include "commands/pihole_memory.h"
#include "controllers/ingress/targets.h"

// `check --live` at the Pi-holes: logs in as a visitor beside whoever keeps them, asks what would
// keep names out, looks at what stands there, and logs out. Nothing is written.

struct pihole_read_probe {
    const struct invocation *invocation;
    const struct pihole_targets *targets;
    const char *owner_id;               // whose marks are ours; NULL: nobody's yet
    const struct pihole_memory *memory; // NULL: nothing is remembered
    int64_t timeout_ms;                 // for each of them
    // A line of what was found: level "ok", "warn" or "error".
    void (*told)(void *context, const char *level, const char *what, const char *text);
    // Instead: what came of the look at a target: the answer of a visitor, or NULL; and what is in
    // the way, of looking or else of writing there, or NULL. Borrowed for the length of the call.
    void (*seen)(void *context, const struct pihole_target *target, const struct value *answer,
                 const struct error *trouble);
    void *context;
};
bool pihole_read_probe(const struct pihole_read_probe *read_probe, struct error *err);
// "it lets us in, API v6, 1 session in use; 4 lines of hosts, 1 ours, ..."
void pihole_read_probe_describe(struct buffer *out, const struct pihole_read_probe *read_probe,
                                const struct pihole_target *target, const struct value *answer);
