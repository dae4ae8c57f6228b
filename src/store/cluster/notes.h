#pragma once

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/versions.h"
#include "store/store.h"

// Events of events.k8s.io/v1. Never delays, never fails; what is too much is dropped and counted.
//
// What is noted again within 6 min of the last time is one Event with a series: written at its
// second time, then counted in memory and refreshed every 30 min. An object has 25 requests, and
// one more per 300 s. 1,000 wait at most; beyond that Normal ones are dropped, and a Warning pushes
// out the oldest Normal one. A request is tried 12 times.

struct notes;
// `instance`: reportingInstance. `versions` are borrowed.
struct notes *notes_new(const struct world *world, struct log *log, struct api *api,
                        const struct versions *versions, const char *instance);
void notes_free(struct notes *notes);
void notes_add(struct notes *notes, const struct store_note *note);
// Sends what waits, then calls `done`, perhaps from within; `deadline_ms` at most. Once, and
// nothing is added any more.
void notes_flush(struct notes *notes, int64_t deadline_ms, void (*done)(void *context),
                 void *context);
void notes_write_metrics(const struct notes *notes, struct buffer *out); // signpost_events_*

// What it takes.
extern const struct kube_right notes_rights[];
