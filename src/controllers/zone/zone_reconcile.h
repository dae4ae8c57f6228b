#pragma once

#include "engine/controller.h"

// The reconciliations of the zone controller: of a Zone, of a Record and of a ZoneFile, with the
// shared model, and of an Ingress, without it; and what admission says of a Zone.

void zone_decide(const struct snapshot *snapshot, void *model, struct decision *out);
void record_decide(const struct snapshot *snapshot, void *model, struct decision *out);
void ingress_source_decide(const struct snapshot *snapshot, void *model, struct decision *out);
void zonefile_decide(const struct snapshot *snapshot, void *model, struct decision *out);

// What a Zone's status would call invalid, or warn of, in its own spec.
void zone_admit(const struct value *object, struct findings *findings);
