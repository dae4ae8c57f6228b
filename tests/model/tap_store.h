#pragma once

#include "store/store.h"

// A store that hands everything on and tells each Event to one who listens (or NULL).
struct store *tap_store_new(struct store *inner,
                            void (*noted)(void *context, const struct kube_event *note),
                            void *context); // freeing it frees the inner one
// What the inner store knows of a kind counts for nothing, or for what it is, as far as whoever
// started the store can tell.
void tap_store_set_synced(struct store *store, const struct kind *kind, bool is_synced);
