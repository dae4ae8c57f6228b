#pragma once

#include "base/log.h"
#include "io/world.h"
#include "store/cluster/api.h"

// Events of events.k8s.io/v1: series, a budget for each object, a bounded queue. Never delays,
// never fails; too many are dropped and counted, the Normal ones first.

struct notes;
struct notes *notes_new(const struct world *world, struct log *log, struct api *api,
                        const char *instance); // reportingInstance
void notes_free(struct notes *notes);
void notes_add(struct notes *notes, const struct store_note *note);
// Sends what waits, then calls `done`; `deadline_ms` at most.
void notes_flush(struct notes *notes, int64_t deadline_ms, void (*done)(void *context),
                 void *context);
void notes_write_metrics(const struct notes *notes, struct buffer *out);
