#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "store/store.h"

// Health, readiness and metrics over HTTP: GET /healthz, /readyz (?verbose, /readyz/<check>),
// /metrics, and pages of another frontend. What is served depends on the callbacks that are set;
// anything else is 404. Metrics and pages may be for those alone who bear a token that somebody
// else judges, over TLS.

enum probes_result {
    PROBES_ALLOWED,
    PROBES_UNKNOWN,   // 401
    PROBES_FORBIDDEN, // 403
    PROBES_UNSURE,    // 503
};

struct hostport;
struct http_exchange;
struct probes_options {
    const char *address;
    uint16_t port;
    // Fills at most `capacity` lines of readiness and returns their number. NULL: no /readyz.
    size_t (*checks)(void *context, struct store_check *out, size_t capacity);
    // A reason to be restarted: /healthz fails with it. NULL, or NULL returned: there is none.
    const char *(*trouble)(void *context);
    // Prometheus text 0.0.4, appended. NULL: no /metrics.
    void (*metrics)(void *context, struct buffer *out);
    // Pages that another frontend has on this port: is this path one of them, and the answer to a
    // GET or HEAD of it. NULL: there are none.
    bool (*has_page)(struct text path);
    void (*answer_page)(void *context, struct http_exchange *exchange);
    // Whose token is it that came from this address, and may they read /metrics, and pages? Leads
    // to one probes_judged, at once or later, unless `forget` comes first. NULL: everybody may.
    void (*judge)(void *context, struct text token, const char *peer, void *asker);
    void (*forget)(void *context, void *asker);
    // As http_server_options has it.
    void (*listening)(void *context, const struct hostport *at, const char *trouble);
    bool is_tls; // connections are closed until there is a certificate
    void *context;
};

struct probes;
struct loop;
struct probes *probes_new(struct loop *loop, const struct probes_options *options,
                          struct error *err);
void probes_free(struct probes *probes);
const char *probes_trouble(const struct probes *probes); // why it does not listen; NULL: it does
// For connections from now on; with is_tls only.
bool probes_set_certificate(struct probes *probes, struct text certificate_pem,
                            const struct secret *key_pem, struct error *err);
// What became of this asker; it is gone then.
void probes_judged(void *asker, enum probes_result result);
// From now on /readyz fails with "shutting down".
void probes_leave(struct probes *probes);
