#pragma once

#include "controllers/zone/zone_controller.h"
#include "controllers/zone/zone_life.h"
#include "controllers/zone/zone_tree.h"
#include "controllers/zone/zonefiles.h"

// The shared model of the zone controller: the zone tree, and the versions of each zone
// (zone_life.h). A record is answered when all servers of its zone have the content that it became
// part of, or a newer one.

// How long servers may take before the status says that they do not answer a change yet.
enum { ZONE_PATIENCE_MS = 1000 };

struct zones;
struct zone_tree *zones_zone_tree(struct zones *zones);
const struct zone_settings *zones_settings(const struct zones *zones);
// The group of servers of the zone, or NULL. If spec.servers names a group that does not exist, the
// previous group counts: a slip must not take the zone out of a catalog, whose servers would drop
// it.
const struct zones_group *zones_group_of(const struct zones *zones, const struct zone_spec *spec,
                                         const struct zone_status *ours);
// The versions of a Zone; NULL: the model does not have it.
struct zone_life *zones_life(struct zones *zones, const struct object *zone);
struct zone_life *zones_life_named(struct zones *zones, struct zone_ref ref);
struct zonefiles *zones_files(const struct zones *zones);
// True if all servers of its zone answer the record as it is now. *since_ms: since when it waits,
// or waited; Unix, 0: not known.
bool zones_is_answered(const struct zones *zones, const struct object *record, int64_t *since_ms);

extern const struct shared_model zones_shared_model;
