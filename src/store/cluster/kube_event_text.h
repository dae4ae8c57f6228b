#pragma once

#include <stdint.h>

#include "base/text.h"
#include "store/store.h"

// Writes an Event (events.k8s.io/v1) as JSON, each field within the server's limits: 128 octets,
// 1024 for the note.

// Identifies a series: a hash of type, action, reason and object.
uint64_t kube_event_series(const struct kube_event *event);
// Identifies the object whose budget it uses.
uint64_t kube_event_object(const struct kube_event *event);

// The namespace of the regarded object, or "default".
struct text kube_event_namespace(const struct kube_event *event);
// "<regarded name>.<hex of ns>", cut so that it is a name.
void kube_event_write_name(struct buffer *out, struct text regarded, int64_t unix_ns);
// All fields after metadata; ends with the closing brace. `version` is that of the regarded
// object: "apps/v1"; the other one that of the related object, if there is one.
void kube_event_write_rest(struct buffer *out, const struct kube_event *event, const char *version,
                           const char *related_version, const char *instance, int64_t unix_us);
// Appends the whole Event, from its name, namespace and rest.
void kube_event_write(struct buffer *out, struct text name, struct text namespace_,
                      struct text rest);
// Appends the merge patch that refreshes a series.
void kube_event_write_series(struct buffer *out, uint32_t count, int64_t last_unix_us);
