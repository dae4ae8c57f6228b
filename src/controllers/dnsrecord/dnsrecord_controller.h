#pragma once

#include "engine/controller.h"

// DNSRecord: claims the record's key, sends it through the backend of its class, follows changes of
// name, type, class and server without leaving anything behind, and deletes it in the end.

extern const struct controller dnsrecord_controller;

// In force when the snapshot brings no settings: dnsrecord_defaults, equal to the fallbacks of the
// controller's table.
struct dnsrecord_settings {
    int64_t orphan_after_ms; // then a deletion that can't be carried out is given up
    bool conflict_names;     // name the holder of a lost name across namespaces
};
extern const struct dnsrecord_settings dnsrecord_defaults;
