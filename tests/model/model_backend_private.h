#pragma once

#include "base/when.h"
#include "model/model_backend.h"

// Shared by what is behind model_backend.h: the network (model_backend.c), servers of the webhook
// protocol (model_webhook.c), Pi-holes (model_pihole_host.c).

struct model_host_ops {
    // Does what the request wants; what the call says arrives when call->delay_ms are over.
    void (*serve)(struct model_host *host, struct http_call *call,
                  const struct http_request *request, const struct model_request *kept);
    // It is about to arrive: the last moment to break it off. May be NULL.
    void (*arrive)(struct model_host *host, struct http_call *call);
    // The call is over, or was given up. Once for each that was served. May be NULL.
    void (*leave)(struct model_host *host, struct http_call *call);
    void (*free)(struct model_host *host);
};

struct model_host {
    const struct model_host_ops *ops;
    struct model_host *next;
    char *url;
};

enum { CALL_HEADERS_MAX = 6 };

struct http_call {
    struct model_backend *backend;
    struct http_call *next;
    struct model_host *host; // by which it is served; or NULL
    struct loop *loop;       // of who sent it
    struct loop *timer_loop; // on which the timer runs: until the host has answered, the network's
    struct loop_timer timer;
    http_done *done;
    void *context;
    size_t request; // its number
    struct http_reply reply;
    struct http_header headers[CALL_HEADERS_MAX];
    size_t header_count;
    int64_t delay_ms;
    int64_t ahead_ms; // the clock of the host
    char date[WHEN_TEXT_MAX];
    char *body;
    uint64_t flight; // at a Pi-hole
};

// First of that name, nocase; "" without.
const char *model_backend_header(const struct http_request *request, const char *name);
void model_backend_answer(struct http_call *call, int status, struct text body);
void model_backend_add_header(struct http_call *call, const char *name, const char *value);
void model_backend_break(struct http_call *call, enum http_failure failure, const char *text);

struct model_webhook *model_webhook_new(struct loop *loop, const char *url);
struct model_host *model_webhook_own(struct model_webhook *server);
bool model_webhook_is_health(const char *path);
struct model_host *model_pihole_host_new(struct loop *loop, const char *url,
                                         struct model_pihole *pihole); // which it owns
// NULL: it is another sort.
struct model_webhook *model_host_webhook(struct model_host *host);
