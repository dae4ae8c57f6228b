#pragma once

#include "controllers/zone/zone_controller.h"
#include "controllers/zone/zone_life.h"
#include "controllers/zone/zone_tree.h"
#include "controllers/zone/zonefiles.h"

// The shared model of the zone controller: the zone tree, and of each zone which of its contents is
// being written, served, and answered by its servers. Contents are counted: a record is answered
// when the servers of its zone have the content that it came about with, or a later one.

// How long servers may take before it is said that they do not answer a change yet.
enum { ZONE_PATIENCE_MS = 1000 };

struct zones;
struct zone_tree *zones_zone_tree(struct zones *zones);
const struct zone_settings *zones_settings(const struct zones *zones);
// Whose servers follow the zone, or NULL. A slip in spec.servers takes it from nobody, as servers
// drop a zone that leaves their catalog: until it names a group the one before counts.
const struct zones_group *zones_group_of(const struct zones *zones, const struct zone_spec *spec,
                                         const struct zone_status *ours);
struct zone_life *zones_life(struct zones *zones, const struct object *zone);
struct zone_life *zones_life_named(struct zones *zones, struct zone_ref ref); // NULL: not there
struct zonefiles *zones_files(const struct zones *zones);
// Do all servers of its zone have what the record came to last? *since_ms: since when it waits.
bool zones_is_answered(const struct zones *zones, const struct object *record, int64_t *since_ms);

extern const struct shared_model zones_shared_model;
