#pragma once

#include "base/log.h"
#include "base/right.h"
#include "io/world.h"
#include "store/cluster/api.h"
#include "store/cluster/api_versions.h"
#include "store/store.h"

// Sends Events (events.k8s.io/v1). It never delays its caller and never fails; Events beyond the
// limits are dropped and counted.
//
// An Event that repeats within 6 min becomes one Event with a series: the series is written at the
// second occurrence, then counted in memory and refreshed every 30 min. Each object may cause 25
// requests, and one more per 300 s. At most 1,000 Events wait; beyond that Normal ones are dropped,
// and a Warning replaces the oldest Normal one. A request is tried 12 times.

struct kube_events;
// `instance`: reportingInstance. `versions` are borrowed.
struct kube_events *kube_events_new(const struct world *world, struct log *log, struct api *api,
                                    const struct api_versions *versions, const char *instance);
void kube_events_free(struct kube_events *events);
void kube_events_add(struct kube_events *events, const struct kube_event *event);
// Sends what waits, then calls `done`, perhaps from within and after `deadline_ms` at the latest.
// Called once; nothing may be added afterwards.
void kube_events_flush(struct kube_events *events, int64_t deadline_ms, void (*done)(void *context),
                       void *context);
void kube_events_write_metrics(const struct kube_events *events,
                               struct buffer *out); // signpost_events_*

// The rights that it needs.
extern const struct kube_right kube_events_rights[];
