#pragma once

#include "base/memory.h"
#include "base/value.h"
#include "kinds/dnsupdaterecord/external_dns_render.h"

// The objects by which an external-dns runs for a DNSUpdateRecord: its account with what it may do
// in its namespace, and the Deployment. Only what we set stands in them.

struct external_dns_workload {
    const struct update_record *record;
    const struct external_dns_start *start;
    struct text project; // EMCO name
    struct text namespace_;
    struct text image;   // absent: the Deployment has none, and no API server takes it
    struct text version; // "v0.22.0"
    // Of the Secrets that are referred to: another value rolls the pod. Absent: none.
    struct text secret_checksum;
};

enum external_dns_object {
    EXTERNAL_DNS_ACCOUNT,
    EXTERNAL_DNS_ROLE,
    EXTERNAL_DNS_ROLE_BINDING,
    EXTERNAL_DNS_DEPLOYMENT,
    EXTERNAL_DNS_OBJECTS,
};
// In the order in which they are made; whole, with apiVersion and kind (arena).
void external_dns_objects_make(struct arena *arena, const struct external_dns_workload *workload,
                               struct value *out[EXTERNAL_DNS_OBJECTS]);
