#pragma once

#include "engine/controller.h"

// The backends that stand in the settings of controllers (struct controller's open), for commands
// that look at each of them: `check --live`, `status --live`, /readyz of `run`.

struct backend {
    const struct controller *controller;
    void *settings; // the controller's, which begin with a struct backend_access
    size_t at;
    const struct provider *provider;
    const char *backend; // "pihole-upstairs"
    const char *name;    // "upstairs": the backend's without the provider's
    const char *url;     // normalised
    const char *title;   // "Pi-hole upstairs", for people
    bool is_unverified;
};
struct backends {
    struct backend *items;
    size_t count;
};
// Adds those of one controller; texts and items live in the arena.
void backends_add(struct arena *arena, struct backends *backends,
                  const struct controller *controller, void *settings);
// By backend; NULL: there is none.
const struct backend *backends_find(const struct backends *backends, struct text backend);
// "the Pi-hole did not answer within --timeout"
const char *backend_late_text(struct arena *arena, const struct backend *backend);
// Which backend does a ledger's page of that name belong to, and whose is it? False: to none that a
// provider's backends could have. *name is the backend's without the provider's.
bool backend_of_page(struct text page, const struct provider **provider, struct text *name);
