#pragma once

#include "engine/controller.h"

// The turns of the zone controller: of a Zone, of a Record and of a ZoneFile, with the overview,
// and of an Ingress, without it; and what admission says of a Zone.

void zone_decide(const struct snapshot *snapshot, void *model, struct verdict *out);
void record_decide(const struct snapshot *snapshot, void *model, struct verdict *out);
void mirror_decide(const struct snapshot *snapshot, void *model, struct verdict *out);
void zonefile_decide(const struct snapshot *snapshot, void *model, struct verdict *out);

// What a Zone's status would call invalid, or warn of, in its own spec.
void zone_admit(const struct value *object, struct findings *findings);
