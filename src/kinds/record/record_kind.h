#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/text.h"
#include "dns/dname.h"
#include "kinds/condition.h"
#include "kinds/zone_ref.h"

// Record (kubi.zone/v1alpha1): one RR of whichever zone adopts it.

extern const struct kind record_kind;

// A TTL that is there and is no number. A server whose CRD has other types may let anything
// through: such a value is not taken for absent.
#define RECORD_TTL_UNREAD INT64_MIN

// The spec as written. Borrowed from what it was read from.
struct record_spec {
    struct text domain_name;
    struct zone_ref ref;
    struct text type;
    struct text class_; // "IN" when not given, "" when it is no text
    bool has_ttl;
    int64_t ttl_s; // or RECORD_TTL_UNREAD
    struct text rdata;
    // Of metadata: the Ingress in the same namespace that it was made for; absent: people wrote it.
    struct text ingress;
    struct text ingress_uid;
};
// The label by which what we made is known.
#define RECORD_MADE_LABEL "app.kubernetes.io/managed-by"
#define RECORD_MADE_BY "signpost"

struct record_status {
    struct text fqdn; // absent: none
    struct zone_ref zone;
    int64_t observed_generation;
    struct conditions conditions; // without messages when unpacked
    struct text parent_label;     // of metadata; absent: none
};

void record_unpack(struct arena *arena, struct text spec, struct text ours, struct record_spec *out,
                   struct record_status *out_status);
void record_decode(const struct value *object, struct record_spec *out);
// From a whole object, not a cached body.
void record_status_decode(const struct value *object, struct record_status *out);
// All fields, null where one is to go.
const struct value *record_status_encode(struct arena *arena, const struct record_status *status);

// What is wrong with a Record by itself, one field after the other: REASON_NONE, or a reason with
// its text, which begins with the field. `err` may be NULL.
// The name as written; one to be completed gets the root's label.
enum reason record_read_name(const struct record_spec *spec, uint8_t out[DNAME_MAX],
                             struct dname *name, struct error *err);
enum reason record_read_type(const struct record_spec *spec, uint16_t *type, struct error *err);
enum reason record_check_ttl(const struct record_spec *spec, struct error *err);
enum reason record_check_class(const struct record_spec *spec, struct error *err);
struct record_place {
    uint16_t type;
    struct dname zone;  // completes names in rdata
    struct dname owner; // full
};
// In wire format, in place of what the buffer held. `marks`: enum rdata_mark.
enum reason record_read_rdata(const struct record_spec *spec, const struct record_place *place,
                              struct buffer *rdata, unsigned *marks, struct error *err);
