#pragma once

#include "engine/state.h"

// The store calls of one decision on its own object: finalizer, labels and annotations (the
// write-ahead), and last, behind the objects that it wants written (owned_objects.c), the status.
// Claims are in the registry before that: a controller suspends those that must not be sent until
// its snapshot shows what it wrote ahead.
//
// One call of one key is under way at a time; what else the decision wants is written by the
// reconciliation that the end of the call wakes. Each function returns false when there was nothing
// to send.

// True if the finalizer is to be added, or removed, and is not yet.
bool decision_adds_finalizer(const struct object *object, const struct decision *decision);
bool decision_removes_finalizer(const struct object *object, const struct decision *decision);
// Adds the finalizer and changes labels and annotations, in one call.
bool write_back_metadata(struct engine *engine, uint32_t id, const struct decision *decision);
bool write_back_remove_finalizer(struct engine *engine, uint32_t id,
                                 const struct decision *decision);
// Reads the whole object for the next reconciliation, if the decision wants it.
bool write_back_read_whole(struct engine *engine, uint32_t id, const struct decision *decision);
bool write_back_status(struct engine *engine, uint32_t id, const struct decision *decision);
// A write of the key failed: tries it again later, and logs that. `is_write_ahead`: one that must
// succeed before the status; if waiting does not mend it, the next snapshot shows it
// (snapshot.refused).
void reconcile_write_failed(struct engine *engine, uint32_t id, const struct error *error,
                            bool is_write_ahead);
void writes_free(struct engine *engine);
