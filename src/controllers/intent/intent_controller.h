#pragma once

#include "engine/controller.h"

// DNS update records: the names under which the services of apps are reached, written as
// DNSEndpoints, which an external-dns for each record carries to its DNS provider. One controller
// for DNSPublication and one for DNSUpdateRecord, who share a shared model (model.h).

extern const struct controller intent_controller;

struct intent_settings {
    const char *version; // of external-dns, where a record names none: "v0.22.0"
    const char *image;   // NULL: none was given
};
// In force when the snapshot brings no settings.
extern const struct intent_settings intent_defaults;
// The rows of both controllers.
enum { INTENT_SETTINGS = 2 };
extern const struct controller_setting intent_setting_rows[INTENT_SETTINGS];
