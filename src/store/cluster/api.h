#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/log.h"
#include "base/text.h"
#include "io/world.h"
#include "store/cluster/kubeconfig.h"
#include "store/store.h"

// A client of one API server: address, TLS, credentials with their rotation, and the meaning of
// replies. Paths are sent as given, after the server's own prefix.

struct api;
// Takes ownership of `access`.
struct api *api_new(const struct world *world, struct log *log, struct kube_access *access);
void api_free(struct api *api); // calls under way end without their callback
// Reads credentials, CA and client certificate again (SIGHUP).
void api_reload(struct api *api);

enum { API_TIMEOUT_MS = 60 * 1000, API_FOREVER = -1 };

// Borrowed for the length of the call to api_send.
struct api_request {
    const char *method;
    const char *path;         // with its query: "/api/v1/namespaces?limit=500"
    const char *content_type; // of the body; NULL: application/json
    const char *accept;       // NULL: application/json
    struct text body;         // absent: none
    const char *agent;        // joins the User-Agent: "/leader-election"; or NULL
    int64_t timeout_ms;       // whole request; 0: API_TIMEOUT_MS, of a watch none; API_FOREVER
    bool is_watch;            // a connection of its own, with probes
    size_t max_body_octets;   // 0: 3 MiB
    // Gets the body of a 2xx as it comes, and nothing first: the head is here. May cancel.
    void (*piece)(void *context, struct text piece);
};

// Lives for the length of the callback.
struct api_reply {
    bool is_ok; // 2xx
    // Set otherwise: fault, retry_ms (from Retry-After; after a 401 it grows to 30 s), status, code
    // (the reason of the Status body, such as Expired) and text, which is the Status' message; for
    // a 403 after a word on what refused: rights, a quota, or admission. If the object was deleted
    // and created again since the uid that guards the write, the status is 409 whatever the server
    // said.
    struct error error;
    int status;           // 0: no reply
    bool is_fate_unknown; // of a write: it may have taken effect all the same
    struct text body;     // empty where `piece` had it
    const char *cause;    // first details.causes[].reason of a Status; or ""
    const char *audit_id; // finds the request in the server's audit log; or "". For error logs
};
typedef void api_done(void *context, const struct api_reply *reply);
// Does the API server itself say that there is no object at this path? A 404 without a Status comes
// from a server that is starting, or from a proxy.
static inline bool api_reply_is_absent(const struct api_reply *reply)
{
    return reply->status == 404 && text_is(text_of(reply->error.code), "NotFound");
}

// Calls `refused` for each 403, before the request's own callback. It must not free the api.
void api_watch_refusals(struct api *api,
                        void (*refused)(void *context, const char *method, const char *path),
                        void *context);

struct api_call;
// Sends a request. `done` is called once, never from within api_send(). After a 401 the request is
// sent once more with a fresh credential before it is reported (fault AUTH).
struct api_call *api_send(struct api *api, const struct api_request *request, api_done *done,
                          void *context);
void api_cancel(struct api *api, struct api_call *call); // no callback follows

// "/apis/<group>/<version>/namespaces/<ns>/<plural>/<name>/<sub>": namespace_ and name may be
// empty, sub NULL. Segments are escaped.
void api_path(struct buffer *out, const struct kind *kind, struct text namespace_, struct text name,
              const char *sub);
// The same with another version of the kind than the one of its table.
void api_version_path(struct buffer *out, const struct kind *kind, const char *version,
                      struct text namespace_, struct text name, const char *sub);
void api_query_escape(struct buffer *out, struct text text);

// For commands that read once: puts before the error of a reply which server it is, where its
// address and the credential come from, and whether it was reached at all.
void api_blame(const struct api *api, struct error *err);

// One line of /readyz: does the server accept our credentials?
struct store_check api_check(const struct api *api);
// Counts how long a request waited for the sender's own rate limit.
void api_count_wait(struct api *api, const char *method, int64_t waited_ms);
void api_write_metrics(const struct api *api, struct buffer *out); // rest_client_*
