#pragma once

#include "commands/setup.h"
#include "engine/engine.h"

// Lines of /readyz for the backends that stand in settings, named after their backends
// ("pihole-upstairs"): each holds when that backend answered and let us in, on a standby always.
// Texts live until the loop comes around.
size_t backend_checks(const struct setup *setup, const struct engine *engine, int64_t now_ms,
                      struct store_check *out, size_t capacity);
