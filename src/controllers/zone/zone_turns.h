#pragma once

#include "engine/controller.h"

// The turns of the zone controller: of a Zone, of a Record and of a ZoneFile. The memo is the
// overview.

void zone_decide(const struct snapshot *snapshot, void *memo, struct verdict *out);
void record_decide(const struct snapshot *snapshot, void *memo, struct verdict *out);
void zonefile_decide(const struct snapshot *snapshot, void *memo, struct verdict *out);
