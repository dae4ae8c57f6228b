#pragma once

#include "commands/zone/zone_manifests.h"

// The Zones and Records of the configured store (the options of place.h), read once: what zone
// commands look at when they are not told where. Nothing is written, and no lock is taken.
//
//     struct zone_store found;
//     if (!zone_store_read(zones, invocation, &found, &err))
//         return command_fail(2, "%s", err.text);

struct zone_store {
    bool is_cluster;
    size_t unreadable_count; // files, or kinds that may not be listed; each is told on stderr
};
// With --timeout of the invocation for a cluster. Fails when it cannot be read at all (exit 2).
bool zone_store_read(struct zone_manifests *zones, const struct invocation *invocation,
                     struct zone_store *found, struct error *err);
