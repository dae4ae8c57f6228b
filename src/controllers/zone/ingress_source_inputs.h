#pragma once

#include "engine/controller.h"

// What the reconciliation of an Ingress sees beside it.

enum {
    INGRESS_SOURCE_OWNED, // Records that were made for it
    INGRESS_SOURCE_NAMED, // whatever has a name that one of its Records could have
    INGRESS_SOURCE_ZONES, // whose apex one of its hosts is, where that counts
    INGRESS_SOURCE_INPUTS,
};
extern const struct input ingress_source_inputs[INGRESS_SOURCE_INPUTS];
// Does that Zone have the name, and is it live?
bool ingress_source_zone_is(struct arena *arena, const struct object *zone, const char *fqdn);
