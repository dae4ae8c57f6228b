#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/value.h"
#include "dns/record.h"
#include "io/http.h"
#include "io/loop.h"
#include "model/model_pihole.h"

// A virtual network of servers behind one `struct http`. A request is routed by scheme, host and
// port of its URL. Some are of the webhook protocol: each keeps records by owner name and type, as
// a name server does (a CNAME beside other data is ignored in silence), checks signatures, nonces
// and time stamps, and misbehaves on demand. Others are Pi-holes. Every request is kept.
//
//     struct model_backend *backend = model_backend_new(loop);
//     struct model_webhook *home = model_backend_add(backend, "http://dns.test:8080");
//     world.http = model_backend_http(backend);

struct model_backend;
struct model_webhook;
struct model_host; // a server of either sort

struct model_request {
    const struct model_host *host; // NULL: nobody listens there
    const char *method;
    const char *path;
    const char *body; // "" without
    int64_t at_ms;    // loop_mono_ms
    int status;       // of the reply; 0 while it is under way or when none came
    bool is_question; // health; of a Pi-hole all that changes none of its lists
    bool is_signed;
};

struct model_backend *model_backend_new(struct loop *loop);
void model_backend_free(struct model_backend *backend);
struct http *model_backend_http(struct model_backend *backend); // http_free leaves the backend
// For a process with a loop of its own, where replies arrive.
struct http *model_backend_http_new(struct model_backend *backend, struct loop *loop);
struct model_webhook *model_backend_add(struct model_backend *backend, const char *url);
struct model_webhook *model_backend_find(struct model_backend *backend, const char *url);
// It lives as long as the network. Its clock is that of the loop: now_ms is loop_mono_ms.
struct model_pihole *model_backend_add_pihole(struct model_backend *backend, const char *url,
                                              const char *password);
const struct model_host *model_backend_host(const struct model_backend *backend, const char *url);
const char *model_host_url(const struct model_host *host);
size_t model_backend_request_count(const struct model_backend *backend);
const struct model_request *model_backend_request(const struct model_backend *backend, size_t at);

// The request after `skip` further ones (health apart) meets the fault, once.
enum model_network_fault {
    NETWORK_FAILS,   // nothing arrives: unreachable
    NETWORK_LOSES,   // the server acts, its reply is lost
    NETWORK_SILENCE, // acts, no reply; stops the loop: the process dies here
};
void model_backend_fault(struct model_backend *backend, unsigned skip,
                         enum model_network_fault fault);
size_t model_backend_change_count(const struct model_backend *backend); // requests but health
bool model_backend_met_fault(const struct model_backend *backend);

// ---- one server ---------------------------------------------------------------------------------

enum { WEBHOOK_KEYS_MAX = 4 };
// How it is set up. Texts are copied.
void model_webhook_set_keys(struct model_webhook *server, const char *const *keys, size_t count);
void model_webhook_set_algorithm(struct model_webhook *server, bool is_sha512);
// Requests come with this prefix; with `is_stripped` a proxy takes it away before signatures are
// checked.
void model_webhook_set_prefix(struct model_webhook *server, const char *prefix, bool is_stripped);
void model_webhook_set_delay(struct model_webhook *server, int64_t delay_ms);
void model_webhook_set_clock(struct model_webhook *server, int64_t ahead_ms);
// What GET /health says: status, body. NULL body: healthy, with `capabilities` (JSON or NULL).
void model_webhook_set_health(struct model_webhook *server, int status, const char *body);
void model_webhook_set_capabilities(struct model_webhook *server, const char *json);

// A rule is asked before the server does anything; the first that fits answers.
enum webhook_behaviour {
    WEBHOOK_DOWN,      // unreachable
    WEBHOOK_TIMEOUT,   // accepts, says nothing
    WEBHOOK_ANSWERS,   // status, headers and body of the rule, nothing done
    WEBHOOK_ACTS_LOST, // done, then the connection breaks
    WEBHOOK_ACTS,      // done, then status and body of the rule
};
struct webhook_rule {
    const char *method;   // NULL: any
    const char *contains; // in path or body; NULL: any
    bool with_health;     // GET /health too
    unsigned times;       // 0: until cleared
    enum webhook_behaviour behaviour;
    int status;
    const char *retry_after; // header, or NULL
    const char *body;        // or NULL
};
void model_webhook_add_rule(struct model_webhook *server, const struct webhook_rule *rule);
void model_webhook_clear_rules(struct model_webhook *server);

// A record that stands there: values joined with blanks in sorted order, or NULL.
struct webhook_record {
    const char *type;
    const char *name;    // owner name
    struct text content; // body's `record` as JSON
};
const struct webhook_record *model_webhook_find(const struct model_webhook *server,
                                                const char *type, const char *name);
size_t model_webhook_count(const struct model_webhook *server);
const struct webhook_record *model_webhook_at(const struct model_webhook *server, size_t at);
// Someone else takes it away, or puts it there.
void model_webhook_drop(struct model_webhook *server, const char *type, const char *name);
void model_webhook_put(struct model_webhook *server, const char *type, const char *name,
                       const char *content);
