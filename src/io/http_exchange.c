#include "io/http_exchange.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/must.h"

// ---- requests -----------------------------------------------------------------------------------

void http_exchange_cut(struct http_exchange *exchange)
{
    evhttp_connection_free(exchange->connection); // leads to on_closed
}

void http_exchange_leave(struct http_exchange *exchange)
{
    exchange->phase = PHASE_LEFT;
    event_active(exchange->server->tidy, EV_TIMEOUT, 1);
}

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

unsigned http_exchange_methods(void)
{
    unsigned all = 0;
    for (size_t i = 0; i < COUNT_OF(methods); i++)
        all |= methods[i].type;
    return all;
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

static bool is_number(const char *text)
{
    return *text && text[strspn(text, "0123456789")] == '\0';
}

// Where a body ends must be beyond doubt (RFC 9112, 6.3).
static bool has_clear_length(const struct http_exchange *exchange)
{
    const char *coding = http_exchange_header(exchange, "Transfer-Encoding", 0);
    const char *length = http_exchange_header(exchange, "Content-Length", 0);
    if (http_exchange_header(exchange, "Content-Length", 1) || (length && !is_number(length)))
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

void http_exchange_begin(struct evhttp_request *request, void *context)
{
    struct http_server *server = context;
    struct evhttp_connection *connection = evhttp_request_get_connection(request);
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
    struct http_exchange *exchange = server->by_fd[fd];
    must(exchange && exchange->connection == connection);
    if (exchange->phase >= PHASE_HANDLED) {
        http_exchange_leave(exchange);
        return;
    }
    exchange->request = request;
    exchange->phase = PHASE_HANDLED;
    exchange->deadline_ms = 0;
    exchange->data = NULL;
    exchange->must_close = leaves_body(exchange);
    if (!has_clear_length(exchange) || !has_clean_target(exchange)) {
        AUTO_BUFFER body = {0};
        const char *type = http_refusal_write(exchange, 400, "bad request", &body);
        exchange->must_close = true;
        http_answer(exchange, 400, type, buffer_text(&body), NULL, 0);
        return;
    }
    server->options.handle(server->options.context, exchange);
    // Answered exchanges are freed by the loop only, so this one is still there.
    if (exchange->phase == PHASE_HANDLED)
        watch_for_end(exchange);
}

// ---- what the handler sees ----------------------------------------------------------------------

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

// ---- answers ------------------------------------------------------------------------------------

static void on_written(struct evhttp_request *request, void *context)
{
    struct http_exchange *exchange = context;
    struct evbuffer *input = bufferevent_get_input(exchange->stream);
    (void)request;
    http_guard_let_go(exchange);
    exchange->request = NULL;
    exchange->phase = PHASE_IDLE;
    exchange->deadline_ms = 0;
    exchange->idle_since_ms = loop_mono_ms(exchange->server->loop);
    if (exchange->must_close || exchange->server->is_draining)
        http_exchange_leave(exchange);
    else if (evbuffer_get_length(input) > 0)
        http_guard_begin(exchange);
}

// What evhttp calls "Client Error" and the like.
static const char *phrase(int status)
{
    static const struct {
        int status;
        const char *text;
    } phrases[] = {
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
    // evhttp itself leaves it out for both.
    if (is_head || evhttp_request_get_command(request) == EVHTTP_REQ_CONNECT) {
        char length[24];
        snprintf(length, sizeof(length), "%zu", body.len);
        evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Length", length);
    }
    if (!is_head && status != 204 && status != 304 && body.len > 0) {
        must(evbuffer_add(evhttp_request_get_output_buffer(request), body.at, body.len) == 0);
    }
}

// Most answers fit into the socket's buffer: writing at once saves a turn of the loop, where the
// octets may go out as they are.
static void write_now(const struct http_exchange *exchange)
{
    struct bufferevent *stream = exchange->stream;
    struct evbuffer *output = bufferevent_get_output(stream);
    if (!exchange->tls) {
        evbuffer_unfreeze(output, 1);
        evbuffer_write(output, bufferevent_getfd(stream));
        evbuffer_freeze(output, 1);
    }
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
    http_guard_set(exchange, loop_mono_ms(server->loop), server->options.body_timeout_ms);
    evhttp_request_set_on_complete_cb(exchange->request, on_written, exchange);
    evhttp_send_reply(exchange->request, status, phrase(status), NULL);
    write_now(exchange);
}
