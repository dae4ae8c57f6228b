#pragma once

#include <stdbool.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/value.h"

// Status of an object as every store keeps it: ours, and what others wrote into it.

// A kind that names no types of its own has all of them.
bool status_is_own_condition(const struct kind *kind, struct text type);

// A field that counts for nothing when two states are compared.
bool status_is_bulk(const struct kind *kind, struct text field);

// `status` (NULL: none) after the patch of store_patch_status(). Entries are shared with both; the
// result lives in the arena.
struct value *status_patched(struct arena *arena, const struct kind *kind,
                             const struct value *status, const struct value *patch);
