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

struct kube_events;
// `instance`: reportingInstance. `versions` are borrowed.
struct kube_events *kube_events_new(const struct world *world, struct log *log, struct api *api,
                                    const struct versions *versions, const char *instance);
void kube_events_free(struct kube_events *events);
void kube_events_add(struct kube_events *events, const struct kube_event *event);
// Sends what waits, then calls `done`, perhaps from within; `deadline_ms` at most. Once, and
// nothing is added any more.
void kube_events_flush(struct kube_events *events, int64_t deadline_ms, void (*done)(void *context),
                       void *context);
void kube_events_write_metrics(const struct kube_events *events,
                               struct buffer *out); // signpost_events_*

// What it takes.
extern const struct kube_right kube_events_rights[];
