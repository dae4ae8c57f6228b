#pragma once

#include "store/store.h"

// A store that hands everything on and tells each Event to one who listens.
struct store *tap_store_new(struct store *inner,
                            void (*noted)(void *context, const struct store_note *note),
                            void *context); // freeing it frees the inner one
