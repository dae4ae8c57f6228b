#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/random.h"
#include "io/x509.h"

// What to do next about the certificates of the admission webhook, from what lies in the Secret and
// in the webhook configuration alone: so a restart, or another replica, goes on where it was. Pure.
//
//     no Secret, or a broken one     make all of it
//     steady: ca, leaf by ca         caBundle is ca
//     announced: ca and next         caBundle is ca + next; shown for a minute: leaf by next
//     switched: leaf by next         a week later caBundle is next, then next becomes ca
//
// So a leaf is never served before every API server can know its CA, and a CA goes only when
// nothing that it signed is served any more.

enum {
    WEBHOOK_CA_S = 3650 * 86400,
    WEBHOOK_LEAF_S = 90 * 86400,
    WEBHOOK_BACKDATED_S = 3600,
    WEBHOOK_SHOWN_S = 60,       // that both CAs stand in caBundle before the leaf is switched
    WEBHOOK_KEPT_S = 7 * 86400, // that the old CA stays after that
    WEBHOOK_LOOK_S = 12 * 3600, // at the latest the next look
};

// A Secret's content, decoded. A pair that is not there has no certificate.
struct webhook_keys {
    struct x509_pair ca;
    struct x509_pair next; // the CA to come
    struct x509_pair leaf;
    char *rotate;  // annotation rotate-ca: a change asks for a new CA. NULL: none
    char *rotated; // annotation ca-rotated: the one that was heeded last. NULL: none
};
void webhook_keys_done(struct webhook_keys *keys); // leaves it zeroed

// caBundle of the configuration's webhooks.
struct webhook_bundle {
    bool is_there; // the configuration is, with a webhook in it
    bool is_left;  // to cert-manager, by its annotation: hands off
    bool is_mixed; // not all webhooks have the same one
    struct text pem;
};

struct webhook_now {
    const struct webhook_keys *keys; // NULL: there is no Secret
    struct webhook_bundle bundle;
    const char *const *hosts; // that the leaf must be good for; the first is its name
    size_t host_count;
    int64_t now_s;
    int64_t shown_since_s; // since when the configuration was seen with both CAs, without a break;
                           // 0: it is not, or nobody looked. Counted anew after a restart
};

enum webhook_step {
    WEBHOOK_REST, // until wake_s
    // Writes of the Secret:
    WEBHOOK_MAKE,        // CA and leaf
    WEBHOOK_RENEW_LEAF,  // by the CA that signed it
    WEBHOOK_ANNOUNCE_CA, // a next CA
    WEBHOOK_SWITCH_LEAF, // leaf by the next CA
    WEBHOOK_DROP_CA,     // the next one takes its place
    // Writes of the configuration:
    WEBHOOK_SET_BUNDLE,    // what was there is what we left there
    WEBHOOK_REPAIR_BUNDLE, // somebody else changed it
};

struct webhook_plan {
    enum webhook_step step;
    const char *why;    // for log and event
    const char *bundle; // arena: what caBundle shall be; NULL: it is not ours to say
    bool is_shown;      // the configuration shows both CAs
    int64_t wake_s;     // REST
};
void webhook_plan(struct arena *arena, const struct webhook_now *now, struct webhook_plan *out);

// The Secret's content after a step that writes it. `out` is the caller's.
bool webhook_keys_make(const struct webhook_now *now, enum webhook_step step, struct random *random,
                       struct webhook_keys *out, struct error *err);
// Is there a leaf with its key that a frontend can serve?
bool webhook_keys_serve(const struct webhook_keys *keys);
