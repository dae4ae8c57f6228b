#pragma once

// Before evhttp, whose HTTP_OK is a macro.
#include "io/http_server.h"

#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "base/list.h"
#include "io/http_tls.h"
#include "io/loop.h"

// Private to the HTTP server. http_server.c accepts and closes connections, http_exchange.c gives
// requests to the handler and writes its answers, http_tls.c encrypts them, http_guard.c has what
// evhttp lacks: deadlines that a dribbling client cannot put off, and refusals without HTML.

enum phase {
    PHASE_IDLE,     // between requests
    PHASE_HEAD,     // some of a request line or header is there
    PHASE_BODY,     // the head is complete
    PHASE_HANDLED,  // the handler owes an answer
    PHASE_ANSWERED, // the answer is being written
    PHASE_REFUSED,  // evhttp answers by itself: the request was no good
    PHASE_REJECTED, // our page in place of evhttp's is being written
    PHASE_LINGERS,  // it is written and our half closed: what the client still sends is dropped
    PHASE_LEFT,     // nothing more comes of it
};

// evhttp takes one request at a time from a connection, so both are one struct.
struct http_exchange {
    struct link link;
    struct http_server *server;
    struct bufferevent *stream;
    SSL *tls;                             // the stream's own; NULL: plain
    struct evhttp_connection *connection; // NULL until adopted
    struct evhttp_request *request;       // from PHASE_HANDLED until written
    enum phase phase;
    bool must_close;
    bool is_line_empty;    // of the head, as far as it is here
    bool has_line;         // the request line is here
    size_t head_octets;    // so far
    size_t held_octets;    // of the request, so far
    int64_t deadline_ms;   // 0: none
    int64_t idle_since_ms; // that long its client has been waited for
    void *data;
};

struct http_server {
    struct http_server_options options;
    struct loop *loop;
    struct evhttp *evhttp;
    struct evconnlistener *listener; // NULL: not yet
    struct hostport at;
    struct error failure; // why not
    struct loop_timer retry;
    struct event *tidy;
    struct event *shortage; // active when a connection could not be accepted
    struct loop_timer deadline;
    struct loop_timer pause;
    int64_t armed_ms;                        // when `deadline` fires; 0: not set
    LIST_OF(struct http_exchange) exchanges; // newest first
    size_t count;
    size_t held_octets; // of all exchanges
    struct http_exchange **by_fd;
    size_t by_fd_size;
    SSL_CTX *tls; // for new connections; NULL until a certificate is set
    uint16_t port;
    bool is_ipv4_fallback;
    bool is_draining;
};

// Body (appended) and content type of a reply that the server itself makes.
const char *http_refusal_write(const struct http_exchange *exchange, int status, const char *text,
                               struct buffer *out);
// Arms the exchange's deadline; when it passes, the connection is cut.
void http_guard_set(struct http_exchange *exchange, int64_t now_ms, int64_t delay_ms);
// The timer behind all deadlines; context is the server.
void http_guard_on_time(void *context);
// Begins to look at what comes and goes on a connection.
void http_guard_watch(struct http_exchange *exchange);
void http_guard_unwatch(struct http_exchange *exchange);
// Its request is answered or dropped: nothing is held of it any more.
void http_guard_let_go(struct http_exchange *exchange);
// Octets of the next request are here already.
void http_guard_begin(struct http_exchange *exchange);
// Replaces the page that evhttp made for a request in PHASE_REFUSED.
void http_guard_refuse(struct http_exchange *exchange);
// Answers 503 at any time before the handler has a request; false: TLS is not that far.
bool http_guard_turn_away(struct http_exchange *exchange);

void http_exchange_cut(struct http_exchange *exchange); // frees it
// The same as soon as evhttp is through with it, if evhttp does not close it by itself: after a
// CONNECT it goes on reading, whatever was answered.
void http_exchange_leave(struct http_exchange *exchange);
// What evhttp calls for each request; context is the server.
void http_exchange_begin(struct evhttp_request *request, void *context);
// The methods that evhttp shall let through.
unsigned http_exchange_methods(void);
