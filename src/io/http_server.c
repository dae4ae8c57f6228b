#include "io/http_server.h"

#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/http_exchange.h"
#include "io/listen.h"
#include "io/loop_event.h"

enum {
    DEFAULT_HEAD_OCTETS = 16 * 1024,
    DEFAULT_BODY_OCTETS = 1024 * 1024,
    DEFAULT_CONNECTIONS = 256,
    DEFAULT_HELD_OCTETS = 32 * 1024 * 1024,
    DEFAULT_HEAD_MS = 10 * 1000,
    DEFAULT_BODY_MS = 30 * 1000,
    ACCEPT_PAUSE_MS = 100,
    LISTEN_AGAIN_MS = 1000,
};

// ---- connections --------------------------------------------------------------------------------

static void on_closed(struct evhttp_connection *connection, void *context)
{
    struct http_exchange *exchange = context;
    struct http_server *server = exchange->server;
    (void)connection;
    list_remove(&server->exchanges, exchange);
    server->count--;
    server->by_fd[bufferevent_getfd(exchange->stream)] = NULL;
    http_guard_unwatch(exchange);
    http_guard_let_go(exchange);
    http_tls_close(exchange->tls);
    if (exchange->phase == PHASE_HANDLED) {
        if (server->options.gone)
            server->options.gone(server->options.context, exchange);
        // When the client broke off, evhttp leaves the request to the one who should answer it.
        if (!evhttp_request_get_connection(exchange->request))
            evhttp_request_free(exchange->request);
    }
    free(exchange);
}

static struct bufferevent *on_accepted(struct event_base *base, void *context)
{
    struct http_server *server = context;
    struct bufferevent *stream =
        server->tls ? http_tls_stream(base, server->tls) : bufferevent_socket_new(base, -1, 0);
    must(stream);
    struct http_exchange *exchange = mem_new_of(struct http_exchange);
    exchange->server = server;
    exchange->stream = stream;
    exchange->tls = server->tls ? bufferevent_openssl_get_ssl(stream) : NULL;
    exchange->phase = server->options.is_tls && !server->tls ? PHASE_LEFT : PHASE_IDLE;
    exchange->idle_since_ms = loop_mono_ms(server->loop);
    list_prepend(&server->exchanges, exchange);
    server->count++;
    event_active(server->tidy, EV_TIMEOUT, 1);
    return stream;
}

// evhttp has given the stream its descriptor and itself as context by now.
static void adopt(struct http_exchange *exchange)
{
    struct http_server *server = exchange->server;
    void *connection = NULL;
    bufferevent_getcb(exchange->stream, NULL, NULL, NULL, &connection);
    exchange->connection = connection;
    size_t fd = (size_t)bufferevent_getfd(exchange->stream);
    size_t old = server->by_fd_size;
    mem_reserve(&server->by_fd, &server->by_fd_size, fd + 1);
    for (size_t i = old; i < server->by_fd_size; i++)
        server->by_fd[i] = NULL;
    server->by_fd[fd] = exchange;
    evhttp_connection_set_closecb(exchange->connection, on_closed, exchange);
    // A stream without bound would take in whatever a client sends ahead.
    bufferevent_setwatermark(exchange->stream, EV_READ, 0,
                             server->options.max_body_octets + 2 * server->options.max_head_octets);
    http_guard_watch(exchange);
    http_guard_set(exchange, exchange->idle_since_ms, server->options.head_timeout_ms);
}

// Half a request is no claim to a place: else whoever sends many of them keeps all others out.
static bool waits_for_client(const struct http_exchange *exchange)
{
    return exchange->phase <= PHASE_BODY;
}

// Has it been refused, so that it only waits for the client to read that?
static bool is_leaving(const struct http_exchange *exchange)
{
    return exchange->phase == PHASE_REJECTED || exchange->phase == PHASE_LINGERS;
}

static bool is_between_requests(const struct http_exchange *exchange)
{
    return exchange->phase == PHASE_IDLE && exchange->deadline_ms == 0;
}

static struct http_exchange *find_oldest(struct http_server *server,
                                         bool (*is_one)(const struct http_exchange *exchange))
{
    struct http_exchange *oldest = NULL;
    list_each (at, &server->exchanges) {
        // Newer ones stand further ahead, so that the last of equals is the oldest.
        if (is_one(at) && (!oldest || at->idle_since_ms <= oldest->idle_since_ms))
            oldest = at;
    }
    return oldest;
}

static struct http_exchange *find_largest_waiting(struct http_server *server)
{
    struct http_exchange *largest = NULL;
    list_each (at, &server->exchanges) {
        if (waits_for_client(at) && at->held_octets > (largest ? largest->held_octets : 0))
            largest = at;
    }
    return largest;
}

// Whoever kept a connection for later finds it closed, as he would after a while; whoever has yet
// to be answered for the first time is told.
static bool turn_away(struct http_exchange *exchange)
{
    if (!is_between_requests(exchange) && http_guard_turn_away(exchange))
        return true;
    http_exchange_cut(exchange);
    return false;
}

static void make_room(struct http_server *server)
{
    struct http_exchange *one;
    size_t leaving = 0;
    list_each (at, &server->exchanges)
        leaving += is_leaving(at);
    while (server->count - leaving > server->options.max_connections &&
           (one = find_oldest(server, waits_for_client)))
        leaving += turn_away(one);
    for (; leaving > server->options.max_connections; leaving--)
        http_exchange_cut(find_oldest(server, is_leaving));
    while (server->held_octets > server->options.max_held_octets &&
           (one = find_largest_waiting(server)))
        http_exchange_cut(one);
}

// Those between two requests while draining, too; fresh ones may still bring their first.
static bool is_over(const struct http_exchange *exchange)
{
    return exchange->phase == PHASE_LEFT ||
           (exchange->server->is_draining && is_between_requests(exchange));
}

// What must not happen while evhttp is at work on a connection.
static void on_tidy(evutil_socket_t fd, short what, void *context)
{
    struct http_server *server = context;
    (void)fd, (void)what;
    list_each (at, &server->exchanges) {
        if (!at->connection)
            adopt(at);
        if (at->phase == PHASE_REFUSED)
            http_guard_refuse(at);
        if (is_over(at))
            http_exchange_cut(at);
    }
    make_room(server);
}

// Out of descriptors or memory: the loop would spin on the same error.
static void on_short(evutil_socket_t fd, short what, void *context)
{
    struct http_server *server = context;
    (void)fd, (void)what;
    struct http_exchange *oldest = find_oldest(server, is_leaving);
    if (!oldest)
        oldest = find_oldest(server, waits_for_client);
    // What was just accepted may have sent a request that is not read yet.
    int64_t since_ms = loop_mono_ms(server->loop) - ACCEPT_PAUSE_MS;
    if (oldest && oldest->connection && oldest->idle_since_ms <= since_ms)
        http_exchange_cut(oldest);
    evconnlistener_disable(server->listener);
    loop_timer_set(server->loop, &server->pause, ACCEPT_PAUSE_MS);
}

// The context of a listener is evhttp's, not ours; what is ours is found by the descriptor.
static void on_accept_error(struct evconnlistener *listener, void *context)
{
    (void)context;
    event_base_active_by_fd(evconnlistener_get_base(listener), evconnlistener_get_fd(listener),
                            EV_WRITE);
}

static void on_pause_over(void *context)
{
    struct http_server *server = context;
    evconnlistener_enable(server->listener);
}

// ---- the server ---------------------------------------------------------------------------------

static void fill_options(struct http_server_options *out, const struct http_server_options *in)
{
    *out = *in;
    out->address = NULL;
    if (out->max_head_octets == 0)
        out->max_head_octets = DEFAULT_HEAD_OCTETS;
    if (out->max_body_octets == 0)
        out->max_body_octets = DEFAULT_BODY_OCTETS;
    if (out->max_connections == 0)
        out->max_connections = DEFAULT_CONNECTIONS;
    if (out->max_held_octets == 0)
        out->max_held_octets = DEFAULT_HELD_OCTETS;
    if (out->head_timeout_ms == 0)
        out->head_timeout_ms = DEFAULT_HEAD_MS;
    if (out->body_timeout_ms == 0)
        out->body_timeout_ms = DEFAULT_BODY_MS;
}

static void drop_warning(int severity, const char *text)
{
    (void)severity, (void)text;
}

static struct evhttp *open_evhttp(struct http_server *server)
{
    struct evhttp *evhttp = evhttp_new(loop_event_base(server->loop));
    must(evhttp);
    evhttp_set_max_headers_size(evhttp, (ev_ssize_t)server->options.max_head_octets);
    evhttp_set_max_body_size(evhttp, (ev_ssize_t)server->options.max_body_octets);
    evhttp_set_default_content_type(evhttp, NULL);
    evhttp_set_allowed_methods(evhttp, (ev_uint16_t)http_exchange_methods());
    evhttp_set_bevcb(evhttp, on_accepted, server);
    evhttp_set_gencb(evhttp, http_exchange_begin, server);
    return evhttp;
}

static void listen_at(struct http_server *server, const struct listen_socket *socket)
{
    struct event_base *base = loop_event_base(server->loop);
    server->port = socket->port;
    server->is_ipv4_fallback = socket->is_ipv4_fallback;
    server->listener = evconnlistener_new(
        base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, socket->fd);
    must(server->listener);
    must(evhttp_bind_listener(server->evhttp, server->listener));
    // Nothing is ever written to a listening socket, so that only on_accept_error makes this
    // active.
    server->shortage = event_new(base, socket->fd, EV_WRITE | EV_PERSIST, on_short, server);
    must(server->shortage && event_add(server->shortage, NULL) == 0);
    evconnlistener_set_error_cb(server->listener, on_accept_error);
}

static void on_retry(void *context)
{
    struct http_server *server = context;
    struct listen_socket socket;
    if (!listen_open(&socket, server->at.host, server->at.port, &server->failure)) {
        loop_timer_set(server->loop, &server->retry, LISTEN_AGAIN_MS);
        return;
    }
    listen_at(server, &socket);
    server->options.listening(server->options.context, &server->at, NULL);
}

static void listen_later(struct http_server *server, const struct error *failure)
{
    server->failure = *failure;
    server->port = server->at.port;
    loop_timer_set(server->loop, &server->retry, LISTEN_AGAIN_MS);
    server->options.listening(server->options.context, &server->at, server->failure.text);
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    struct error *err)
{
    struct listen_socket socket;
    struct error failure = {0};
    must(options->handle);
    bool is_open = listen_open(&socket, options->address, options->port, &failure);
    if (!is_open && !(options->listening && listen_may_come(&failure))) {
        if (err)
            *err = failure;
        return NULL;
    }
    struct http_server *server = mem_new_of(struct http_server);
    fill_options(&server->options, options);
    server->loop = loop;
    server->at.port = options->port;
    snprintf(server->at.host, sizeof server->at.host, "%s", options->address);
    server->deadline = (struct loop_timer){.call = http_guard_on_time, .context = server};
    server->pause = (struct loop_timer){.call = on_pause_over, .context = server};
    server->retry = (struct loop_timer){.call = on_retry, .context = server};
    server->tidy = event_new(loop_event_base(loop), -1, 0, on_tidy, server);
    must(server->tidy);
    // libevent warns on stderr about what clients send.
    event_set_log_callback(drop_warning);
    server->evhttp = open_evhttp(server);
    if (is_open)
        listen_at(server, &socket);
    else
        listen_later(server, &failure);
    return server;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    if (server->shortage)
        event_free(server->shortage);
    evhttp_free(server->evhttp);
    // Those accepted in this very turn, which evhttp closed without a word.
    list_each (at, &server->exchanges)
        free(at);
    loop_timer_cancel(server->loop, &server->deadline);
    loop_timer_cancel(server->loop, &server->pause);
    loop_timer_cancel(server->loop, &server->retry);
    event_free(server->tidy);
    SSL_CTX_free(server->tls);
    free(server->by_fd);
    free(server);
}

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

bool http_server_is_ipv4_fallback(const struct http_server *server)
{
    return server->is_ipv4_fallback;
}

const char *http_server_trouble(const struct http_server *server)
{
    return server->listener ? NULL : server->failure.text;
}

bool http_server_set_tls(struct http_server *server, const struct http_server_tls *tls,
                         struct error *err)
{
    must(server->options.is_tls);
    SSL_CTX *context = http_tls_context(tls, err);
    if (!context)
        return false;
    SSL_CTX_free(server->tls);
    server->tls = context;
    return true;
}

void http_server_drain(struct http_server *server)
{
    server->is_draining = true;
    event_active(server->tidy, EV_TIMEOUT, 1);
}
