#pragma once

#include "engine/controller.h"

// The backends that stand in the settings of controllers (struct controller's open), for commands
// that look at each of them: `check --live`, `status --live`, /readyz of `run`.

struct configured_backend {
    const struct controller *controller;
    void *settings; // the controller's, which begin with a struct backend_access
    size_t at;
    const struct provider *provider;
    const char *label; // "pihole-upstairs": as the engine knows it
    const char *name;  // "upstairs": the label without the provider
    const char *url;   // normalised
    const char *title; // "Pi-hole upstairs", for people
    bool is_unverified;
};
struct configured_backends {
    struct configured_backend *items;
    size_t count;
};
// Adds those of one controller; texts and items live in the arena.
void backends_add(struct arena *arena, struct configured_backends *backends,
                  const struct controller *controller, void *settings);
// By label; NULL: there is none.
const struct configured_backend *backends_find(const struct configured_backends *backends,
                                               struct text label);
// "the Pi-hole did not answer within --timeout"
const char *backend_late_text(struct arena *arena, const struct configured_backend *backend);
// Which backend does a ledger's page of that name belong to, and whose is it? False: to none that a
// provider's backends could have. *name is that of its label.
bool backend_of_shard(struct text shard, const struct provider **provider, struct text *name);
