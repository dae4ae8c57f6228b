#pragma once

#include "base/kind.h"

// Node (v1), of which we look at whether it is ready.

extern const struct kind node_kind;

bool node_is_ready(struct text spec); // from a cached body (object_spec)
