#pragma once

#include "engine/state.h"

// What a decision changes in its own object: marks and the finalizer before any exchange, and last,
// behind the objects that it wants written (owned_objects.c), the status. One call of one key is
// under way at a time. Each returns false when there was nothing to send, and wakes its key by how
// it ended.

bool write_back_adds_finalizer(const struct object *object, const struct decision *decision);
bool write_back_removes_finalizer(const struct object *object, const struct decision *decision);
bool write_back_ahead(struct engine *engine, uint32_t id, const struct decision *decision);
bool write_back_finalizer_away(struct engine *engine, uint32_t id, const struct decision *decision);
bool write_back_read_whole(struct engine *engine, uint32_t id, const struct decision *decision);
bool write_back_status(struct engine *engine, uint32_t id, const struct decision *decision);
