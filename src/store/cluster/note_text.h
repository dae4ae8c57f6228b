#pragma once

#include <stdint.h>

#include "base/text.h"
#include "store/store.h"

// An Event of events.k8s.io/v1 as JSON, each field within the server's limits (128 octets, the
// note 1024).

// Which notes are one series: type, action, reason and the object.
uint64_t note_series(const struct store_note *note);
uint64_t note_object(const struct store_note *note); // whose budget it uses

// Of the regarded object, or "default".
struct text note_namespace(const struct store_note *note);
// "<regarded name>.<hex of ns>", cut so that it is a name.
void note_write_name(struct buffer *out, struct text regarded, int64_t unix_ns);
// All fields behind metadata; ends with the closing brace. `version` is that of the regarded
// object: "apps/v1".
void note_write_rest(struct buffer *out, const struct store_note *note, const char *version,
                     const char *instance, int64_t unix_us);
// The whole, of name, namespace and rest.
void note_write_event(struct buffer *out, struct text name, struct text namespace_,
                      struct text rest);
// Merge patch of a series.
void note_write_series(struct buffer *out, uint32_t count, int64_t last_unix_us);
