#pragma once

#include "engine/controller.h"

// What the turn of an Ingress sees beside it.

enum {
    MIRROR_OWNED, // Records that were made for it
    MIRROR_NAMED, // whatever has a name that one of its Records could have
    MIRROR_ZONES, // whose apex one of its hosts is, where that counts
    MIRROR_GATHERS,
};
extern const struct gather mirror_gathers[MIRROR_GATHERS];
// Does that Zone have the name, and is it live?
bool mirror_zone_is(struct arena *arena, const struct object *zone, const char *fqdn);
