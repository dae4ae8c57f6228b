#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/kind.h"
#include "dns/record.h"
#include "kinds/condition.h"
#include "kinds/group.h"

// DNSRecord (dns.homelab.mortenolsen.pro/v1alpha1): one record set at the backend of a class.

extern const struct kind dnsrecord_kind;
#define DNSRECORD_FINALIZER DNS_GROUP "/finalizer"
#define DNSRECORD_CLAIMS DNS_GROUP "/claims"

enum {
    DNSRECORD_VALUES_MAX = 256,
    DNSRECORD_VALUE_OCTETS_MAX = 4096,
    DNSRECORD_CLAIMS_MAX = 8,
    DNSRECORD_TTL_DEFAULT = 300, // when neither record nor class names one
};

// The spec as written, and the annotations that people set. Borrowed from what it was read from.
struct dnsrecord {
    struct text type;
    struct text domain;
    struct text subdomain;
    struct text class_name;
    struct text *values;
    size_t value_count;
    int64_t ttl_s;    // 0: not given
    int32_t priority; // -1: not given
    int32_t weight;
    int32_t port;
    bool is_retained; // deletionPolicy: Retain
    bool is_paused;
    bool is_force_deleted;
    struct text retry; // absent when the annotation is not there
};
// A change that the server refused after something had been deleted for it: what the status says of
// that, also after a restart.
struct dnsrecord_refusal {
    struct text spec;   // which spec was refused: 32 hex digits
    struct text reason; // "ValidationFailed" or "Conflict"
    struct text code;
    struct text text;
};
// A record set that may exist at a server: written ahead in the annotation `claims`.
struct dnsrecord_claim {
    struct text class_name;
    struct text server; // normalised URL
    enum record_type type;
    struct text domain;
    struct text subdomain;
    const struct record_set *was; // what stood there before a change that deletes first; or NULL
    struct text replaces; // what stood there before our first write, for people; absent: nothing
    // The server refused the spec, and `was` stands in for it; or NULL.
    const struct dnsrecord_refusal *refusal;
};
struct dnsrecord_applied {
    struct dnsrecord_claim key; // `was` is NULL
    // All octets 0: not known. The last 8 alone: not known either, as an earlier version stored the
    // first half alone.
    uint8_t hash[FINGERPRINT_OCTETS];
    int64_t time_s;
};
// Compares the first halves alone if one of both has no more.
bool dnsrecord_is_same_hash(const uint8_t a[FINGERPRINT_OCTETS],
                            const uint8_t b[FINGERPRINT_OCTETS]);
enum dnsrecord_state {
    RECORD_STATE_NONE,
    RECORD_STATE_PENDING,
    RECORD_STATE_CREATED,
    RECORD_STATE_UPDATED,
    RECORD_STATE_DELETED,
    RECORD_STATE_ERROR,
};
// What stands in the object because we wrote it.
struct dnsrecord_managed {
    bool has_broken_claims; // the annotation is there and does not decode
    struct dnsrecord_claim *claims;
    size_t claim_count;
    struct dnsrecord_applied *applied;
    size_t applied_count;
    struct conditions conditions; // without messages
    enum dnsrecord_state state;
    int64_t last_sync_s;  // 0: never
    int64_t error_time_s; // of status.error
    int64_t observed_generation;
    unsigned attempts; // 0: none failed
    int64_t next_attempt_s;
    uint8_t attempt_hash[8];
};

// From cached bodies (object_spec, object_managed). out_managed may be NULL.
void dnsrecord_unpack(struct arena *arena, struct text spec, struct text ours,
                      struct dnsrecord *out, struct dnsrecord_managed *out_managed);
void dnsrecord_decode(struct arena *arena, const struct value *object, struct dnsrecord *out);
// All rules beyond the shape; the texts are a wire contract ("spec.values[0] must be a valid IPv4
// address: ..."). False when there is an error among the findings; else *out is what goes to the
// server, with ttl_s = the record's, or default_ttl_s. Called by admission, check and every
// reconciliation.
bool dnsrecord_resolve(struct arena *arena, const struct dnsrecord *record, uint32_t default_ttl_s,
                       struct record_set *out, struct findings *findings);

// Same server, type, domain and subdomain; the class does not count.
bool dnsrecord_claim_is_same_place(const struct dnsrecord_claim *a,
                                   const struct dnsrecord_claim *b);
// The claim of a spec, whatever its values are. False: its class, name or type can't be a key's.
bool dnsrecord_claim_of(struct arena *arena, const struct dnsrecord *record, struct text server,
                        struct dnsrecord_claim *out);
// The annotation's JSON, and back (false: broken, or a name or type that can't be a key).
const char *dnsrecord_claims_encode(struct arena *arena, const struct dnsrecord_claim *claims,
                                    size_t count);
bool dnsrecord_claims_decode(struct arena *arena, struct text json, struct dnsrecord_claim **claims,
                             size_t *count);

struct dnsrecord_status {
    struct conditions conditions;
    enum dnsrecord_state state;
    int64_t last_sync_s;
    struct text fqdn;
    int64_t observed_generation;
    bool has_error;
    const char *error_code;
    const char *error_message;
    int64_t error_time_s;
    const char *error_trace_id; // or NULL
    const struct dnsrecord_applied *applied;
    size_t applied_count;
    unsigned attempts;       // 0: left out
    int64_t next_attempt_s;  // 0: left out
    uint8_t attempt_hash[8]; // left out without attempts
};
// All fields that we own, JSON null where one is to go: ready for store_patch_status.
struct value *dnsrecord_status_encode(struct arena *arena, const struct dnsrecord_status *status);
