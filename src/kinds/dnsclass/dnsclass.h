#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/kind.h"
#include "base/secret.h"
#include "kinds/condition.h"
#include "kinds/group.h"

// DNSClass (dns.homelab.mortenolsen.pro/v1alpha1): a DNS backend behind the signed webhook
// protocol.

extern const struct kind dnsclass_kind;
#define DNSCLASS_BACKEND "class-" // the name of a class's backend is this and that of the class

struct dnsclass {
    struct text server;    // as written
    int64_t default_ttl_s; // 300 when not given
    int64_t timeout_s;     // 30 when not given; at most 300
    bool is_timeout_capped;
    bool has_hmac;
    bool has_secret_ref;
    struct text secret_name;
    struct text secret_namespace;
    struct text secret_key;
    struct text secret;         // inline; absent when not given. Never log it
    struct text algorithm;      // "SHA256" or "SHA512"
    struct text signed_path;    // "Auto", "Full", "Relative"
    struct text metadata_style; // "Object", "Inline"
    struct text preflight;      // "Off", "Warn", "Refuse"; absent: Warn where the server offers get
    struct text ca_bundle;      // base64 PEM; absent
    struct text tls_server_name;
    int64_t max_in_flight; // 4 when not given
    // Fields that this version does not honour yet: a bit per row of the table in dnsclass.c. One
    // that is ignored would be a fence that does not hold, so each is an error.
    unsigned unsupported;
};
struct dnsclass_managed {
    struct conditions conditions;
    int64_t last_health_check_s;
    int64_t observed_generation;
    struct text known; // JSON map: server, capabilities and signedPath as they stand in the status
};
// From cached bodies (object_spec, object_managed). out_managed may be NULL.
void dnsclass_unpack(struct arena *arena, struct text spec, struct text ours, struct dnsclass *out,
                     struct dnsclass_managed *out_managed);
void dnsclass_decode(struct arena *arena, const struct value *object, struct dnsclass *out);
// All rules beyond the shape; the texts are a wire contract.
void dnsclass_check(struct arena *arena, const struct dnsclass *dnsclass,
                    struct findings *findings);
// server, normalised: lower-case scheme and host, default port and final `/` dropped. Absent when
// it is no URL.
struct text dnsclass_server(struct arena *arena, const struct dnsclass *dnsclass);

struct dnsclass_status {
    struct conditions conditions;
    int64_t last_health_check_s; // 0: never
    const char *health;          // "Healthy", "Unhealthy", "Unknown"
    const char *health_message;
    int64_t observed_generation;
    const char *server; // whose capabilities and path follow, normalised; NULL: nothing is known
    const struct value *capabilities; // as /health offered them, or NULL; what is known is kept
    const char *signed_path;          // the form found to work, or NULL
};
struct value *dnsclass_status_encode(struct arena *arena, const struct dnsclass_status *status);
