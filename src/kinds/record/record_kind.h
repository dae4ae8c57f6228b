#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/condition.h"
#include "kinds/zone_ref.h"

// Record (kubi.zone/v1alpha1): one RR of whichever zone adopts it.

extern const struct kind record_kind;

// The spec as written. Borrowed from what it was read from.
struct record_spec {
    struct text domain_name;
    struct zone_ref ref;
    struct text type;
    struct text class_; // "IN" when not given
    bool has_ttl;
    int64_t ttl_s;
    struct text rdata;
};
struct record_status {
    struct text fqdn; // absent: none
    struct zone_ref zone;
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
    struct text parent_label;     // of metadata; absent: none
};

void record_unpack(struct arena *arena, struct text spec, struct text ours, struct record_spec *out,
                   struct record_status *out_status);
void record_decode(struct arena *arena, const struct value *object, struct record_spec *out);
// Of a whole object.
void record_status_decode(const struct value *object, struct record_status *out);
// All fields, null where one is to go.
const struct value *record_status_encode(struct arena *arena, const struct record_status *status);
