#include "io/http_server.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/listen.h"
#include "io/loop.h"
#include "io/loop_event.h"

enum {
    MAX_HEAD_OCTETS = 16 * 1024,
    DEFAULT_BODY_OCTETS = 1024 * 1024,
    DEFAULT_CONNECTIONS = 256,
    DEFAULT_HEAD_MS = 10 * 1000,
    DEFAULT_BODY_MS = 30 * 1000,
    ACCEPT_PAUSE_MS = 100,
};

enum phase {
    PHASE_IDLE,     // between requests
    PHASE_HEAD,     // some of a request line or header is there
    PHASE_BODY,     // the head is complete
    PHASE_HANDLED,  // the handler owes an answer
    PHASE_ANSWERED, // the answer is being written
    PHASE_REFUSED,  // evhttp answers by itself: the request was no good
};

// evhttp takes one request at a time from a connection, so both are one struct.
struct http_exchange {
    struct http_server *server;
    struct http_exchange *previous;
    struct http_exchange *next;
    struct bufferevent *stream;
    struct evhttp_connection *connection; // NULL until adopted
    struct evhttp_request *request;       // from PHASE_HANDLED until written
    enum phase phase;
    bool must_close;
    bool is_line_empty;  // of the head, as far as it is here
    int64_t deadline_ms; // 0: none
    int64_t idle_since_ms;
    void *data;
};

struct http_server {
    struct http_server_options options;
    struct loop *loop;
    struct evhttp *evhttp;
    struct evconnlistener *listener;
    struct event *tidy;
    struct loop_timer deadline;
    struct loop_timer pause;
    int64_t armed_ms; // when `deadline` fires; 0: not set
    struct http_exchange *exchanges;
    size_t count;
    struct http_exchange **by_fd;
    size_t by_fd_size;
    uint16_t port;
    bool is_ipv4_fallback;
    bool is_draining;
};

static void cut(struct http_exchange *exchange)
{
    evhttp_connection_free(exchange->connection); // leads to on_closed
}

// ---- deadlines ----

static void set_deadline(struct http_exchange *exchange, int64_t now_ms, int64_t delay_ms)
{
    struct http_server *server = exchange->server;
    exchange->deadline_ms = now_ms + delay_ms;
    if (server->armed_ms != 0 && server->armed_ms <= exchange->deadline_ms)
        return;
    server->armed_ms = exchange->deadline_ms;
    loop_timer_set(server->loop, &server->deadline, delay_ms);
}

static struct http_exchange *find_expired(struct http_server *server, int64_t now_ms)
{
    for (struct http_exchange *at = server->exchanges; at; at = at->next) {
        if (at->connection && at->deadline_ms != 0 && at->deadline_ms <= now_ms)
            return at;
    }
    return NULL;
}

static void on_deadline(void *context)
{
    struct http_server *server = context;
    int64_t now_ms = loop_mono_ms(server->loop);
    struct http_exchange *expired;
    int64_t next_ms = 0;
    server->armed_ms = 0;
    // From the front each time: `gone` may end other connections.
    while ((expired = find_expired(server, now_ms)))
        cut(expired);
    for (struct http_exchange *at = server->exchanges; at; at = at->next) {
        if (at->deadline_ms != 0 && (next_ms == 0 || at->deadline_ms < next_ms))
            next_ms = at->deadline_ms;
    }
    if (next_ms == 0)
        return;
    server->armed_ms = next_ms;
    loop_timer_set(server->loop, &server->deadline, next_ms > now_ms ? next_ms - now_ms : 0);
}

// ---- reading: what evhttp does not tell, its buffers do ----

// True once the empty line behind the headers is among these octets.
static bool ends_head(struct http_exchange *exchange, const char *at, size_t len)
{
    const char *end = at + len;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *stop = feed ? feed : end;
        bool has_text = stop - at > 1 || (stop - at == 1 && *at != '\r');
        if (has_text)
            exchange->is_line_empty = false;
        if (!feed)
            return false;
        if (exchange->is_line_empty)
            return true;
        exchange->is_line_empty = true;
        at = feed + 1;
    }
    return false;
}

static void scan_head(struct http_exchange *exchange, struct evbuffer *input, size_t from,
                      int64_t now_ms)
{
    struct evbuffer_ptr at;
    struct evbuffer_iovec piece;
    size_t len = evbuffer_get_length(input);
    while (from < len) {
        must(evbuffer_ptr_set(input, &at, from, EVBUFFER_PTR_SET) == 0);
        if (evbuffer_peek(input, (ev_ssize_t)(len - from), &at, &piece, 1) < 1)
            return;
        if (ends_head(exchange, piece.iov_base, piece.iov_len)) {
            exchange->phase = PHASE_BODY;
            set_deadline(exchange, now_ms, exchange->server->options.body_timeout_ms);
            return;
        }
        from += piece.iov_len;
    }
}

static void begin_head(struct http_exchange *exchange, struct evbuffer *input, size_t from)
{
    int64_t now_ms = loop_mono_ms(exchange->server->loop);
    if (exchange->phase == PHASE_IDLE) {
        exchange->phase = PHASE_HEAD;
        exchange->is_line_empty = false;
        set_deadline(exchange, now_ms, exchange->server->options.head_timeout_ms);
    }
    scan_head(exchange, input, from, now_ms);
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
    struct http_exchange *exchange = context;
    if (info->n_added == 0 || exchange->phase > PHASE_HEAD)
        return;
    begin_head(exchange, input, evbuffer_get_length(input) - info->n_added);
}

// Output before the handler had the request is one of evhttp's own pages, or "100 Continue".
static void on_output(struct evbuffer *output, const struct evbuffer_cb_info *info, void *context)
{
    struct http_exchange *exchange = context;
    char start[12] = "";
    if (info->n_added == 0 || exchange->phase >= PHASE_HANDLED)
        return;
    evbuffer_copyout(output, start, sizeof(start));
    if (memcmp(start + 8, " 100", 4) == 0)
        return;
    exchange->phase = PHASE_REFUSED;
    event_active(exchange->server->tidy, EV_TIMEOUT, 1);
}

// ---- answers that evhttp makes ----

struct status_text {
    int status;
    const char *text;
};

static const struct status_text refusals[] = {
    {400, "bad request"},
    {413, "body too large"},
    {417, "expectation not supported"},
    {501, "method not supported"},
};

// Nothing of evhttp's page has been written yet: that takes a turn of the loop.
static void rewrite_refusal(struct http_exchange *exchange)
{
    struct evbuffer *output = bufferevent_get_output(exchange->stream);
    char start[13] = "";
    evbuffer_copyout(output, start, sizeof(start) - 1);
    int status = atoi(start + 8);
    const struct status_text *refusal = &refusals[COUNT_OF(refusals) - 1]; // unknown methods get 0
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (refusals[i].status == status)
            refusal = &refusals[i];
    }
    exchange->phase = PHASE_ANSWERED;
    evbuffer_unfreeze(output, 1);
    evbuffer_drain(output, evbuffer_get_length(output));
    evbuffer_freeze(output, 1);
    evbuffer_add_printf(output,
                        "HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n%s\n",
                        refusal->status, refusal->text, strlen(refusal->text) + 1, refusal->text);
    set_deadline(exchange, loop_mono_ms(exchange->server->loop),
                 exchange->server->options.body_timeout_ms);
}

// ---- connections ----

static void unlink_exchange(struct http_exchange *exchange)
{
    struct http_server *server = exchange->server;
    if (exchange->previous)
        exchange->previous->next = exchange->next;
    else
        server->exchanges = exchange->next;
    if (exchange->next)
        exchange->next->previous = exchange->previous;
    server->count--;
}

static void on_closed(struct evhttp_connection *connection, void *context)
{
    struct http_exchange *exchange = context;
    struct http_server *server = exchange->server;
    (void)connection;
    unlink_exchange(exchange);
    server->by_fd[bufferevent_getfd(exchange->stream)] = NULL;
    evbuffer_remove_cb(bufferevent_get_input(exchange->stream), on_input, exchange);
    evbuffer_remove_cb(bufferevent_get_output(exchange->stream), on_output, exchange);
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
    struct bufferevent *stream = bufferevent_socket_new(base, -1, 0);
    must(stream);
    struct http_exchange *exchange = mem_new_of(struct http_exchange);
    exchange->server = server;
    exchange->stream = stream;
    exchange->next = server->exchanges;
    if (exchange->next)
        exchange->next->previous = exchange;
    server->exchanges = exchange;
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
                             server->options.max_body_octets + 2 * MAX_HEAD_OCTETS);
    must(evbuffer_add_cb(bufferevent_get_input(exchange->stream), on_input, exchange));
    must(evbuffer_add_cb(bufferevent_get_output(exchange->stream), on_output, exchange));
    exchange->idle_since_ms = loop_mono_ms(server->loop);
    set_deadline(exchange, exchange->idle_since_ms, server->options.head_timeout_ms);
}

static struct http_exchange *find_oldest_idle(struct http_server *server)
{
    struct http_exchange *oldest = NULL;
    for (struct http_exchange *at = server->exchanges; at; at = at->next) {
        // Newer ones stand further ahead, so that the last of equals is the oldest.
        if (at->phase == PHASE_IDLE && (!oldest || at->idle_since_ms <= oldest->idle_since_ms))
            oldest = at;
    }
    return oldest;
}

// Those between two requests; fresh ones may still bring their first.
static void close_kept(struct http_server *server)
{
    for (struct http_exchange *at = server->exchanges, *next; at; at = next) {
        next = at->next;
        if (at->phase == PHASE_IDLE && at->deadline_ms == 0)
            cut(at);
    }
}

// What must not happen while evhttp is at work on a connection.
static void on_tidy(evutil_socket_t fd, short what, void *context)
{
    struct http_server *server = context;
    struct http_exchange *idle;
    (void)fd, (void)what;
    for (struct http_exchange *at = server->exchanges; at; at = at->next) {
        if (!at->connection)
            adopt(at);
        if (at->phase == PHASE_REFUSED)
            rewrite_refusal(at);
    }
    while (server->count > server->options.max_connections && (idle = find_oldest_idle(server)))
        cut(idle);
    if (server->is_draining)
        close_kept(server);
}

static void on_accept_error(struct evconnlistener *listener, void *context)
{
    struct http_server *server = context;
    struct http_exchange *idle = find_oldest_idle(server);
    if (idle && idle->connection)
        cut(idle);
    // Out of descriptors or memory: the loop would spin on the same error.
    evconnlistener_disable(listener);
    loop_timer_set(server->loop, &server->pause, ACCEPT_PAUSE_MS);
}

static void on_pause_over(void *context)
{
    struct http_server *server = context;
    evconnlistener_enable(server->listener);
}

// ---- requests ----

struct method {
    enum evhttp_cmd_type type;
    const char *name;
};

static const struct method methods[] = {
    {EVHTTP_REQ_POST, "POST"},       {EVHTTP_REQ_GET, "GET"},     {EVHTTP_REQ_DELETE, "DELETE"},
    {EVHTTP_REQ_PUT, "PUT"},         {EVHTTP_REQ_PATCH, "PATCH"}, {EVHTTP_REQ_HEAD, "HEAD"},
    {EVHTTP_REQ_OPTIONS, "OPTIONS"}, {EVHTTP_REQ_TRACE, "TRACE"}, {EVHTTP_REQ_CONNECT, "CONNECT"},
};

static const struct method *method_of(const struct http_exchange *exchange)
{
    enum evhttp_cmd_type type = evhttp_request_get_command(exchange->request);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (methods[i].type == type)
            return &methods[i];
    }
    must(false);
    return NULL;
}

// Where evhttp expects no body (GET, HEAD), it would read one as the next request.
static bool leaves_body(const struct http_exchange *exchange)
{
    if (evbuffer_get_length(evhttp_request_get_input_buffer(exchange->request)) > 0)
        return false;
    const char *length = http_exchange_header(exchange, "Content-Length", 0);
    return (length && strcmp(length, "0") != 0) ||
           http_exchange_header(exchange, "Transfer-Encoding", 0);
}

// Where a body ends must be beyond doubt (RFC 9112, 6.3).
static bool has_clear_length(const struct http_exchange *exchange)
{
    const char *coding = http_exchange_header(exchange, "Transfer-Encoding", 0);
    const char *length = http_exchange_header(exchange, "Content-Length", 0);
    if (http_exchange_header(exchange, "Content-Length", 1))
        return false;
    return !coding || (!length && strcasecmp(coding, "chunked") == 0 &&
                       !http_exchange_header(exchange, "Transfer-Encoding", 1));
}

static bool has_clean_target(const struct http_exchange *exchange)
{
    const unsigned char *at = (const unsigned char *)evhttp_request_get_uri(exchange->request);
    while (*at > ' ' && *at != 0x7f)
        at++;
    return *at == '\0';
}

// While the answer takes its time, the stream is read on for the sake of its end alone: evhttp
// ends the process when its own reader is called now.
static void watch_for_end(struct http_exchange *exchange)
{
    bufferevent_data_cb write;
    bufferevent_event_cb event;
    void *context;
    bufferevent_getcb(exchange->stream, NULL, &write, &event, &context);
    bufferevent_setcb(exchange->stream, NULL, write, event, context);
    bufferevent_enable(exchange->stream, EV_READ);
}

static void on_request(struct evhttp_request *request, void *context)
{
    struct http_server *server = context;
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    struct http_exchange *exchange = server->by_fd[fd];
    must(exchange && exchange->connection == connection && exchange->phase < PHASE_HANDLED);
    exchange->request = request;
    exchange->phase = PHASE_HANDLED;
    exchange->deadline_ms = 0;
    exchange->data = NULL;
    exchange->must_close = leaves_body(exchange);
    if (!has_clear_length(exchange) || !has_clean_target(exchange)) {
        exchange->must_close = true;
        http_answer(exchange, 400, "text/plain", TEXT("bad request\n"), NULL, 0);
        return;
    }
    server->options.handle(server->options.context, exchange);
    // Answered exchanges are freed by the loop only, so this one is still there.
    if (exchange->phase == PHASE_HANDLED)
        watch_for_end(exchange);
}

// ---- the server ----

static void fill_options(struct http_server_options *out, const struct http_server_options *in)
{
    *out = *in;
    out->address = NULL;
    if (out->max_body_octets == 0)
        out->max_body_octets = DEFAULT_BODY_OCTETS;
    if (out->max_connections == 0)
        out->max_connections = DEFAULT_CONNECTIONS;
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
    evhttp_set_max_headers_size(evhttp, MAX_HEAD_OCTETS);
    evhttp_set_max_body_size(evhttp, (ev_ssize_t)server->options.max_body_octets);
    evhttp_set_default_content_type(evhttp, NULL);
    // Reads a body that is too large to its end, lest a reset overtakes the 413.
    evhttp_set_flags(evhttp, EVHTTP_SERVER_LINGERING_CLOSE);
    unsigned allowed = 0;
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        allowed |= methods[i].type;
    evhttp_set_allowed_methods(evhttp, (ev_uint16_t)allowed);
    evhttp_set_bevcb(evhttp, on_accepted, server);
    evhttp_set_gencb(evhttp, on_request, server);
    return evhttp;
}

struct http_server *http_server_new(struct loop *loop, const struct http_server_options *options,
                                    struct error *err)
{
    struct listen_socket socket;
    must(options->handle);
    if (!listen_open(&socket, options->address, options->port, err))
        return NULL;
    struct http_server *server = mem_new_of(struct http_server);
    struct event_base *base = loop_event_base(loop);
    fill_options(&server->options, options);
    server->loop = loop;
    server->port = socket.port;
    server->is_ipv4_fallback = socket.is_ipv4_fallback;
    server->deadline = (struct loop_timer){.call = on_deadline, .context = server};
    server->pause = (struct loop_timer){.call = on_pause_over, .context = server};
    server->tidy = event_new(base, -1, 0, on_tidy, server);
    // libevent warns on stderr about what clients send.
    event_set_log_callback(drop_warning);
    server->evhttp = open_evhttp(server);
    server->listener = evconnlistener_new(
        base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, socket.fd);
    must(server->tidy && server->listener);
    must(evhttp_bind_listener(server->evhttp, server->listener));
    evconnlistener_set_error_cb(server->listener, on_accept_error);
    return server;
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    evhttp_free(server->evhttp);
    // Those accepted in this very turn, which evhttp closed without a word.
    while (server->exchanges) {
        struct http_exchange *exchange = server->exchanges;
        unlink_exchange(exchange);
        free(exchange);
    }
    loop_timer_cancel(server->loop, &server->deadline);
    loop_timer_cancel(server->loop, &server->pause);
    event_free(server->tidy);
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

void http_server_drain(struct http_server *server)
{
    server->is_draining = true;
    event_active(server->tidy, EV_TIMEOUT, 1);
}

// ---- exchanges ----

const char *http_exchange_method(const struct http_exchange *exchange)
{
    return method_of(exchange)->name;
}

const char *http_exchange_target(const struct http_exchange *exchange)
{
    const char *target = evhttp_request_get_uri(exchange->request);
    const char *authority = target[0] == '/' ? NULL : strstr(target, "://");
    if (!authority)
        return target;
    const char *path = strchr(authority + 3, '/');
    return path ? path : "/";
}

struct text http_exchange_body(const struct http_exchange *exchange)
{
    struct evbuffer *input = evhttp_request_get_input_buffer(exchange->request);
    size_t len = evbuffer_get_length(input);
    if (len == 0)
        return TEXT("");
    return (struct text){(const char *)evbuffer_pullup(input, -1), len};
}

const char *http_exchange_header(const struct http_exchange *exchange, const char *name, size_t nth)
{
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(exchange->request);
    for (const struct evkeyval *at = headers->tqh_first; at; at = at->next.tqe_next) {
        if (strcasecmp(at->key, name) == 0 && nth-- == 0)
            return at->value;
    }
    return NULL;
}

const char *http_exchange_peer(const struct http_exchange *exchange)
{
    static const char mapped[] = "::ffff:";
    char *address = NULL;
    ev_uint16_t port;
    evhttp_connection_get_peer(exchange->connection, &address, &port);
    bool is_mapped = strncmp(address, mapped, sizeof(mapped) - 1) == 0;
    return is_mapped ? address + sizeof(mapped) - 1 : address;
}

void http_exchange_set_data(struct http_exchange *exchange, void *data)
{
    exchange->data = data;
}

void *http_exchange_data(const struct http_exchange *exchange)
{
    return exchange->data;
}

static void on_written(struct evhttp_request *request, void *context)
{
    struct http_exchange *exchange = context;
    struct evbuffer *input = bufferevent_get_input(exchange->stream);
    (void)request;
    exchange->request = NULL;
    exchange->phase = PHASE_IDLE;
    exchange->deadline_ms = 0;
    exchange->idle_since_ms = loop_mono_ms(exchange->server->loop);
    if (exchange->server->is_draining)
        event_active(exchange->server->tidy, EV_TIMEOUT, 1);
    else if (evbuffer_get_length(input) > 0)
        begin_head(exchange, input, 0);
}

// What evhttp calls "Client Error" and the like.
static const char *phrase(int status)
{
    static const struct status_text phrases[] = {
        {408, "Request Timeout"},       {413, "Content Too Large"}, {422, "Unprocessable Content"},
        {428, "Precondition Required"}, {429, "Too Many Requests"},
    };
    for (size_t i = 0; i < COUNT_OF(phrases); i++) {
        if (phrases[i].status == status)
            return phrases[i].text;
    }
    return NULL;
}

static void add_body(struct http_exchange *exchange, int status, struct text body)
{
    struct evhttp_request *request = exchange->request;
    bool is_head = evhttp_request_get_command(request) == EVHTTP_REQ_HEAD;
    if (is_head) {
        char length[24];
        snprintf(length, sizeof(length), "%zu", body.len);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", length);
    } else if (status != 204 && status != 304 && body.len > 0) {
        must(evbuffer_add(evhttp_request_get_output_buffer(request), body.at, body.len) == 0);
    }
}

// Most answers fit into the socket's buffer: writing at once saves a turn of the loop.
static void write_now(struct bufferevent *stream)
{
    struct evbuffer *output = bufferevent_get_output(stream);
    evbuffer_unfreeze(output, 1);
    evbuffer_write(output, bufferevent_getfd(stream));
    evbuffer_freeze(output, 1);
    if (evbuffer_get_length(output) == 0)
        bufferevent_trigger(stream, EV_WRITE, BEV_TRIG_DEFER_CALLBACKS);
    else // a client that closed its half still gets the answer
        bufferevent_disable(stream, EV_READ);
}

void http_answer(struct http_exchange *exchange, int status, const char *content_type,
                 struct text body, const struct http_header *headers, size_t header_count)
{
    struct http_server *server = exchange->server;
    must(exchange->phase == PHASE_HANDLED && status >= 200 && status <= 599);
    struct evkeyvalq *out = evhttp_request_get_output_headers(exchange->request);
    if (content_type)
        evhttp_add_header(out, "Content-Type", content_type);
    for (size_t i = 0; i < header_count; i++)
        evhttp_add_header(out, headers[i].name, headers[i].value);
    if (server->is_draining || exchange->must_close)
        evhttp_add_header(out, "Connection", "close");
    add_body(exchange, status, body);
    exchange->phase = PHASE_ANSWERED;
    set_deadline(exchange, loop_mono_ms(server->loop), server->options.body_timeout_ms);
    evhttp_request_set_on_complete_cb(exchange->request, on_written, exchange);
    evhttp_send_reply(exchange->request, status, phrase(status), NULL);
    write_now(exchange->stream);
}
