#pragma once

#include "engine/controller.h"
#include "kinds/zone_ref.h"

// Which ZoneFiles name which Zones and ConfigMaps, and who is to have a reconciliation when one of
// them changes. Part of the shared model.

struct zones;
struct zonefiles;
struct zonefiles *zonefiles_new(void);
void zonefiles_free(struct zonefiles *files);
// A state of a ZoneFile; if it says something else, it is woken, and the Zones that it names or
// named before, and who writes the same ConfigMap, now or before.
void zonefiles_put(struct zonefiles *files, const struct object *object);
void zonefiles_remove(struct zonefiles *files, const struct object *object);
// A state of a Zone: who names it is woken when its content or its acceptance is another.
void zonefiles_look(struct zonefiles *files, const struct object *zone);
// Whatever it has now: who names it is woken.
void zonefiles_touch(struct zonefiles *files, const struct object *zone);
// Wakes those.
void zonefiles_settle(struct zonefiles *files, struct zones *zones,
                      const struct shared_model_calls *calls);
// The one ZoneFile that names the Zone and may; NULL: none does, or more than one.
const struct object *zonefiles_only(const struct zonefiles *files, const struct object *zone);
// The oldest of the other ZoneFiles that write the same ConfigMap, if that is older; NULL: this one
// has it.
const struct object *zonefiles_rival(const struct zonefiles *files, const struct object *file);
// A Zone that a ZoneFile names, with its namespace.
struct zone_ref zonefile_ref(const struct object *file, struct zone_ref ref);
