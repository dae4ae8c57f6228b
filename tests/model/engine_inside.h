#pragma once

#include <stdbool.h>
#include <stddef.h>

// What tests and benches ask of an engine that nobody else needs to know.

struct engine;
// Nothing is due, in flight or being written (timers of back-off and questions aside).
bool engine_is_idle(const struct engine *engine);
// How many keys, claims, backends, registries and strings of inputs are in memory: the sum must not
// grow for ever while objects come and go.
size_t engine_items(const struct engine *engine);
