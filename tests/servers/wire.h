#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "io/http.h"
#include "io/loop.h"

// HTTP/1.1 as Pi-hole's web server speaks it, with what shows at the socket: the head and the body
// of a reply leave as two small writes on a socket without TCP_NODELAY, so a client that delays its
// ACKs waits 40 ms for the body; connections that idle are closed after 5 s; the port can be closed
// and opened again while the process lives. With a certificate it speaks TLS.
//
//     struct wire *wire = wire_new(loop, &calls);
//     if (!wire_open(wire, port, &err)) ...
//
// What it serves stands behind `calls`. One client has one request at a time.

struct wire;
struct wire_client; // a connection; the handle of its request as long as there is one
struct ssl_ctx_st;

struct wire_request {
    const char *method;
    struct text target; // path and query, as sent
    const struct http_header *headers;
    size_t header_count;
    struct text body; // absent: none
};
struct wire_reply {
    int status;
    const struct http_header *headers; // beside Content-Length and Connection
    size_t header_count;
    struct text body; // absent: none, as with 204
    bool is_cut;      // close after so many octets of head and body
    size_t cut_octets;
};
struct wire_calls {
    void *context;
    // A request is complete. To be answered with wire_reply: now, later or never. What it points to
    // is gone after the call.
    void (*asked)(void *context, struct wire_client *client, const struct wire_request *request);
    // Once for each request: its reply is written, or its client is gone.
    void (*ended)(void *context, struct wire_client *client);
};

// `calls` are copied.
struct wire *wire_new(struct loop *loop, const struct wire_calls *calls);
void wire_free(struct wire *wire); // all clients end

// Listens on 127.0.0.1. Fails with errno's text; no-op while it is open.
bool wire_open(struct wire *wire, uint16_t port, struct error *err);
// Connections are refused from here on; those that are there stay.
void wire_close(struct wire *wire);
bool wire_is_open(const struct wire *wire);
// Closes all connections.
void wire_drop_clients(struct wire *wire);
size_t wire_client_count(const struct wire *wire);

void wire_set_idle(struct wire *wire, int64_t idle_ms);
// TLS for connections accepted from here on, with a reference of its own; NULL: plain.
void wire_set_tls(struct wire *wire, struct ssl_ctx_st *context);

// Ends the request; the client may be gone afterwards. Only between asked and ended.
void wire_reply(struct wire_client *client, const struct wire_reply *reply);
// Closes the connection without a word.
void wire_drop(struct wire_client *client);

// A slot for the caller's own pointer, NULL when a request is complete.
void *wire_note(const struct wire_client *client);
void wire_set_note(struct wire_client *client, void *note);
