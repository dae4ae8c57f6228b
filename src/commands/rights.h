#pragma once

#include "base/memory.h"
#include "base/right.h"
#include "engine/controller.h"

// All that one process may ask of an API server: the rows of its controllers, and those of what
// every process stands on (Lease, events, certificates). `manifests` prints them as RBAC, `run`
// asks for each at its start.

struct rights_needs {
    const struct controller *const *controllers;
    void *const *settings; // of each of them; NULL: rows that depend on them are needed
    size_t controller_count;
    const char *lease_name;
    bool has_owner_id;       // given, so that none is derived
    bool keeps_certificates; // serves admission with certificates of its own making
    bool judges_bearers;     // asks whose a token is: --metrics-secure
};

// Objects that every installation has by these names.
#define RIGHTS_CERTIFICATE_SECRET "signpost-webhook-cert"
#define RIGHTS_ADMISSION_CONFIGURATION "signpost"

// Each row once, in the arena; the last has no resource.
const struct kube_right *rights_make(struct arena *arena, const struct rights_needs *needs);
