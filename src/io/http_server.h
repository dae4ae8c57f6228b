#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "base/url.h"
#include "io/http.h"

// HTTP/1.1 server on libevent's evhttp, with the caps that evhttp lacks: 16 KiB of head, a body
// limit, 10 s for a complete head and 30 s for a complete body (both configurable), at most
// max_connections, at most max_held_octets of requests, TCP_NODELAY. One handler gets every
// complete request. Of too many connections the one goes whose client has been waited for longest:
// it is closed if it is between two requests, and refused with 503 and Retry-After otherwise. At
// most max_connections more are kept until their clients have read that.

struct http_exchange; // one request waiting for its reply

struct http_server_options {
    const char *address;      // "" = all; a wildcard falls back to IPv4 where IPv6 is missing
    uint16_t port;            // 0: any free one
    size_t max_head_octets;   // 0: 16 KiB; larger is answered 431
    size_t max_body_octets;   // 0: 1 MiB; larger is answered 413
    unsigned max_connections; // 0: 256
    // Of requests that are not complete, together; 0: 32 MiB. The largest of them is cut.
    size_t max_held_octets;
    int64_t head_timeout_ms; // 0: 10 s
    int64_t body_timeout_ms; // 0: 30 s
    // TLS 1.2 or later, which counts towards head_timeout_ms. Until http_server_set_tls brings a
    // certificate, connections are closed as soon as they are accepted.
    bool is_tls;
    // Called for every complete request; must lead to exactly one http_answer, now or later.
    void (*handle)(void *context, struct http_exchange *exchange);
    // The client went away before the answer: forget the exchange, http_answer must not follow.
    void (*gone)(void *context, struct http_exchange *exchange);
    // Writes the body (of refusal_type; NULL: application/json) of a reply that the server itself
    // makes: 400, 413, 414, 417, 431, 501, 503; `text` says why. Only the exchange's peer is known.
    // NULL: the text, in plain.
    void (*write_refusal)(void *context, const struct http_exchange *exchange, int status,
                          const char *text, struct buffer *out);
    const char *refusal_type;
    // A port that somebody else has and an address that is not there yet are tried again every
    // second; called at the first failure, and with NULL once it listens after all. NULL: whatever
    // cannot be had ends the start.
    void (*listening)(void *context, const struct hostport *at, const char *trouble);
    void *context;
};

struct http_server;
struct loop;
// Fails with the address and errno's text ("127.0.0.1:8080: address already in use").
struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    struct error *err);
void http_server_free(struct http_server *server); // open connections are cut
uint16_t http_server_port(const struct http_server *server);
// Why it does not listen; NULL: it does.
const char *http_server_trouble(const struct http_server *server);
// Every address of both families was asked for, but this machine has no IPv6.
bool http_server_is_ipv4_fallback(const struct http_server *server);
// New replies carry `Connection: close`; idle connections close.
void http_server_drain(struct http_server *server);

struct http_server_tls {
    struct text certificate_pem; // the server's own, then those between it and the CA
    const struct secret *key_pem;
};
// Borrowed for the length of the call. Connections accepted from now on get this certificate, open
// ones go on with theirs. ALPN: http/1.1 and nothing else. Fails, and leaves everything as it was,
// when the two cannot be read or do not belong together. For a server with is_tls only.
bool http_server_set_tls(struct http_server *server, const struct http_server_tls *tls,
                         struct error *err);

// Valid until http_answer or `gone`.
const char *http_exchange_method(const struct http_exchange *exchange);
const char *http_exchange_target(const struct http_exchange *exchange); // raw path and query
struct text http_exchange_body(const struct http_exchange *exchange);
// The nth header of that name (any case), or NULL; so that "exactly once" can be checked.
const char *http_exchange_header(const struct http_exchange *exchange, const char *name,
                                 size_t nth);
const char *http_exchange_peer(const struct http_exchange *exchange); // address without port
// A slot for the handler's own pointer.
void http_exchange_set_data(struct http_exchange *exchange, void *data);
void *http_exchange_data(const struct http_exchange *exchange);
// Headers beyond Content-Type, Content-Length and Date; may be NULL.
void http_answer(struct http_exchange *exchange, int status, const char *content_type,
                 struct text body, const struct http_header *headers, size_t header_count);
