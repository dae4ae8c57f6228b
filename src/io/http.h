#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// HTTP messages, and the client as an interface: the real one is http_curl_new (libcurl multi on
// the loop), tests hand in their own. HTTP/1.1, keep-alive, redirects never followed.

struct http_header {
    const char *name;
    const char *value;
};

struct http_tls {
    const char *ca_pem;          // NULL: the system's CAs
    const char *server_name;     // SNI and name check; NULL: host of the URL
    const char *certificate_pem; // of the client, with its chain; NULL: none
    const char *key_pem;
    bool is_unverified; // any server is believed
    // "sha256//" and the base64 of the SHA-256 of its public key: the server that has it is
    // believed and no other, whatever certificate and name are. NULL: none.
    const char *pin;
    bool reports_peer; // the reply's `peer` is wanted; with a pin it is there anyway
};

// Borrowed by http_send for the length of the call to it only.
struct http_request {
    const char *method;
    const char *url;
    const struct http_header *headers;
    size_t header_count;
    struct text body;   // absent: none (not even Content-Length)
    int64_t timeout_ms; // whole request; 0: no limit
    int64_t connect_timeout_ms;
    size_t max_header_octets; // 0: 16 KiB
    size_t max_body_octets;   // 0: 1 MiB
    struct http_tls tls;
    // http, https or socks5 URL; "": none; NULL: as the environment says. TLS with the proxy
    // itself: ca_pem counts beside the system's CAs, is_unverified as with the server.
    const char *proxy;
    const char *user_agent; // NULL: the client's
    // A connection of its own, closed at the end, with probes: a path that is dead ends it within
    // 30 s.
    bool is_alone;
    // All requests to a host and port that say so have one connection between them: the second
    // waits for the first, and an old connection that can't be used is closed before a new one is
    // opened. Through an HTTP proxy its host and port count. Never with is_alone.
    bool is_single;
    // A connection that has been idle for so long is not used again; 2 or more. 0: two minutes.
    unsigned max_idle_s;
    // Gets the body of a 2xx reply in pieces as they come, with the context of `done`; it is not
    // gathered then and may be of any length. The first piece has no octets: the head has come. May
    // send, cancel any call, its own too, and free the client.
    void (*piece)(void *context, struct text piece);
};

enum http_failure {
    HTTP_OK,          // a status came; 4xx and 5xx too
    HTTP_UNREACHABLE, // resolve, connect, TLS, reset
    HTTP_TIMEOUT,
    HTTP_TOO_BIG, // header or body over the limit
    HTTP_ABORTED, // http_cancel
};

// A server with TLS, by its certificate.
struct http_peer {
    char pin[56];    // as in struct http_tls; "": not known
    int64_t until_s; // Unix: when its certificate expires
};

// Lives for the length of the callback.
struct http_reply {
    enum http_failure failure;
    struct error error; // fault AGAIN unless failure is HTTP_OK; text without secrets
    bool is_unsent;     // of a failure: no part of the request can have been heard. POST and
                        // PATCH that may have been are never sent a second time
    bool is_tls;        // of a failure: one side does not take the other's certificate, or its own
    bool is_other_key;  // is_tls, and because the server's key is not the pinned one
    // Of a reply and of is_other_key, on the first request of a connection; not known on others.
    struct http_peer peer;
    int status;
    struct text body;
    const struct http_header *headers;
    size_t header_count;
};
const char *http_reply_header(const struct http_reply *reply, const char *name); // nocase, first
// Retry-After in milliseconds from now_s (Unix time, seconds) on: seconds or a date (RFC 9110
// section 10.2.3), counted as one hour where it is longer. False: absent, unreadable or past; *ms
// is then 0.
bool http_reply_retry_after(const struct http_reply *reply, int64_t now_s, int64_t *ms);

typedef void http_done(void *context, const struct http_reply *reply);
struct http_call;
struct http;
struct http_ops {
    struct http_call *(*send)(struct http *http, const struct http_request *request,
                              http_done *done, void *context);
    void (*cancel)(struct http *http, struct http_call *call);
    void (*free)(struct http *http);
};
struct http {
    const struct http_ops *ops;
};

struct loop;
// Proxies as in Go programs: HTTP_PROXY, HTTPS_PROXY, NO_PROXY of either case, read once here.
// No curl handle or CA bundle exists before the first request.
struct http *http_curl_new(struct loop *loop, const char *user_agent);
static inline void http_free(struct http *http)
{
    if (http)
        http->ops->free(http);
}
// Calls done exactly once, never from within http_send, unless cancelled first.
static inline struct http_call *http_send(struct http *http, const struct http_request *request,
                                          http_done *done, void *context)
{
    return http->ops->send(http, request, done, context);
}
// The call ends without its callback.
static inline void http_cancel(struct http *http, struct http_call *call)
{
    http->ops->cancel(http, call);
}
