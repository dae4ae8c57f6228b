#pragma once

#include "engine/controller.h"

// The turns of the zone controller: of a Zone and of a Record. The memo is the overview.

void zone_decide(const struct snapshot *snapshot, void *memo, struct verdict *out);
void record_decide(const struct snapshot *snapshot, void *memo, struct verdict *out);
