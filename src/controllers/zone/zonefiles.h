#pragma once

#include "engine/controller.h"
#include "kinds/zone_ref.h"

// Which ZoneFiles name which Zones and ConfigMaps, and which of them are to be reconciled when one
// changes: these are woken by the next zonefiles_settle(). Part of the shared model.

struct zones;
struct zonefiles;
struct zonefiles *zonefiles_new(void);
void zonefiles_free(struct zonefiles *files);
// Adds a ZoneFile, or replaces its earlier state. If its spec is another, these are woken: itself,
// the Zones that it names or named before, and the ZoneFiles that write the same ConfigMap, now or
// before.
void zonefiles_put(struct zonefiles *files, const struct object *object);
void zonefiles_remove(struct zonefiles *files, const struct object *object);
// A new state of a Zone: the ZoneFiles that name it are woken if its content or its acceptance is
// another.
void zonefiles_put_zone(struct zonefiles *files, const struct object *zone);
// Wakes the ZoneFiles that name the Zone in any case.
void zonefiles_wake_for(struct zonefiles *files, const struct object *zone);
// Wakes all that are due.
void zonefiles_settle(struct zonefiles *files, struct zones *zones,
                      const struct shared_model_calls *calls);
// The one ZoneFile that names the Zone and may; NULL: none does, or more than one.
const struct object *zonefiles_only(const struct zonefiles *files, const struct object *zone);
// The oldest of the other ZoneFiles that write the same ConfigMap, if it is older than this one;
// NULL: this one writes it.
const struct object *zonefiles_rival(const struct zonefiles *files, const struct object *file);
// A Zone that a ZoneFile names, with its namespace.
struct zone_ref zonefile_ref(const struct object *file, struct zone_ref ref);
