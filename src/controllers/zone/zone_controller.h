#pragma once

#include "dns/zones_config.h"
#include "engine/controller.h"

// Zones and the records in them: adoption, delegation, compiling, numbering, and whether the
// servers answer it; the text of zones in ConfigMaps; Records for Ingresses. One controller for
// Zone and its companions for Record and ZoneFile, who share a shared model, and for Ingress.

extern const struct controller zone_controller;

// In force when the snapshot brings no settings: the same as the fallbacks of the table.
struct zone_settings {
    int64_t status_entries;
    const char *claims;             // "delegated" or "open"
    const char *const *nameservers; // "NAME[=ADDR,...]", NULL-terminated; or NULL
    bool ingress_record_creation;   // switches the companion for Ingress on
    // The zones configuration as it is now, behind a pointer that stays; NULL, or NULL behind it:
    // there is none.
    const struct zones_config *const *config;
    // The configuration is not to be had here: whatever group a Zone names may be there, with
    // whatever limits.
    bool is_config_elsewhere;
};
extern const struct zone_settings zone_defaults;
