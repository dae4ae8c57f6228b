#pragma once

#include "commands/proposal.h"
#include "dns/zones_config.h"
#include "store/store.h"

// The zones of a plan: what is served now, as the statuses of Zones have it, beside what a dry run
// would have served; by name, as another Zone may come to have it. One a dry run.
//
//     struct plan_zones *zones = plan_zones_new(arena, config);
//     waiting = plan_zones_look(zones, engine, store, answered, context);
//     ... plan_zones_take_gone() of each Zone that is gone, when all have answered
//     plan_zones_report(zones, proposal);

struct plan_zones;
// NULL: the zones configuration is not known, so servers and catalogs of zones stay as they are.
struct plan_zones *plan_zones_new(struct arena *arena, const struct zones_config *config);
void plan_zones_free(struct plan_zones *zones); // accepts NULL
// Of a dry run that rests. Returns how many Zones had to be asked for: `answered` comes for each.
size_t plan_zones_look(struct plan_zones *zones, const struct engine *engine, struct store *store,
                       void (*answered)(void *context), void *context);
// The last state of a Zone that is gone, with its status.
void plan_zones_take_gone(struct plan_zones *zones, const struct value *tree);
// Adds the changes to a proposal that is not closed yet.
void plan_zones_report(const struct plan_zones *zones, struct proposal *proposal);
