#pragma once

#include "controllers/ingress/wants.h"
#include "engine/controller.h"

// Inside this folder: Ingresses and routes as sources of names. What a kind has of its own stands
// in one row of a table; all else is the same for each.

// inputs[0] of those kinds that are reached through Gateways.
extern const struct input sources_gateways;
// The log lines of their changes.
#define INGRESS_WORDS(word)                                                                        \
    {                                                                                              \
        .started = "reconcile started", .created = "dns record created",                           \
        .updated = "dns record updated", .deleted = "dns record deleted",                          \
        .failed = "pihole api error", .object = (word), .name = "host", .address = "ip",           \
        .target = "target", .before = "old_", .after = "new_", .backend = "pihole",                \
        .prefix = "pihole-"                                                                        \
    }
// decide() and admit() of their controllers, whatever the kind.
void sources_decide(const struct snapshot *snapshot, void *model, struct decision *out);
void sources_admit(const struct value *object, struct findings *findings);
