#pragma once

#include "commands/option.h"

// The options of `signpost run` that say where objects are, shared by commands that look at the
// same store: dir, state-dir, allow-empty, store.
enum { STORE_OPTION_COUNT = 4 };
extern const struct option store_options[STORE_OPTION_COUNT];
