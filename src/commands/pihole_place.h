#pragma once

#include "commands/process.h"
#include "controllers/ingress/targets.h"
#include "engine/engine.h"

// The Pi-holes of `signpost run` while it runs: files with tokens and certificates are followed as
// they change, and each Pi-hole has a line in /readyz. Resident, one a process.

struct pihole_place;
struct pihole_place_options {
    const struct process_world *process;
    struct engine *engine;
    struct pihole_targets *targets; // tokens and certificates in it are replaced
    const char *file;               // that names the targets; NULL: none. Looked at, not followed
    struct arena *arena;            // for the life of the process
    bool is_required;               // a Pi-hole that cannot be worked with makes the whole unready
};
// Before the engine starts. Says in the log what may not be meant so. Without targets it does
// nothing.
struct pihole_place *pihole_place_new(const struct pihole_place_options *options);
void pihole_place_free(struct pihole_place *place); // accepts NULL; before the engine
// Where the controller does not run: a setting of Pi-holes that was given is warned of.
void pihole_place_tell_idle(const struct invocation *invocation, struct log *log);
void pihole_place_reload(struct pihole_place *place); // SIGHUP; accepts NULL
// `pihole-<name>`: holds when that Pi-hole answered and let us in, on a standby always. Texts live
// until the next turn of the loop.
size_t pihole_place_checks(const struct pihole_place *place, struct store_check *out,
                           size_t capacity);
