#pragma once

#include "engine/controller.h"

// DNSClass: keeps the backend to its server open, asks for the server's health, and says so in the
// class's status. It blocks no record: what a record needs to know it sees in the backend.

extern const struct controller dnsclass_controller;

// In force when the snapshot brings no settings: dnsclass_defaults, equal to the fallbacks of the
// controller's table.
struct dnsclass_settings {
    int64_t health_interval_ms;
    int64_t retry_base_ms;
    int64_t retry_max_ms;
    int64_t retry_attempts;
    int64_t orphan_after_ms; // so long deletions go on with the last known spec and Secret
};
extern const struct dnsclass_settings dnsclass_defaults;
