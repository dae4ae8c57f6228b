#include <event2/buffer.h>
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/http_exchange.h"

enum { LINGER_MS = 1000 };

// ---- deadlines ----------------------------------------------------------------------------------

void http_guard_set(struct http_exchange *exchange, int64_t now_ms, int64_t delay_ms)
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
    list_each (at, &server->exchanges) {
        if (at->connection && at->deadline_ms != 0 && at->deadline_ms <= now_ms)
            return at;
    }
    return NULL;
}

void http_guard_on_time(void *context)
{
    struct http_server *server = context;
    int64_t now_ms = loop_mono_ms(server->loop);
    struct http_exchange *expired;
    int64_t next_ms = 0;
    server->armed_ms = 0;
    // From the front each time: `gone` may end other connections.
    while ((expired = find_expired(server, now_ms)))
        http_exchange_cut(expired);
    list_each (at, &server->exchanges) {
        if (at->deadline_ms != 0 && (next_ms == 0 || at->deadline_ms < next_ms))
            next_ms = at->deadline_ms;
    }
    if (next_ms == 0)
        return;
    server->armed_ms = next_ms;
    loop_timer_set(server->loop, &server->deadline, next_ms > now_ms ? next_ms - now_ms : 0);
}

// ---- what evhttp does not tell, its buffers do --------------------------------------------------

// True once the empty line behind the headers is among these octets.
static bool ends_head(struct http_exchange *exchange, const char *at, size_t len)
{
    const char *end = at + len;
    while (at < end) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *stop = feed ? feed : end;
        exchange->head_octets += (size_t)(stop - at) + (feed != NULL);
        bool has_text = stop - at > 1 || (stop - at == 1 && *at != '\r');
        if (has_text)
            exchange->is_line_empty = false;
        if (!feed)
            return false;
        if (exchange->is_line_empty)
            return true;
        exchange->is_line_empty = true;
        exchange->has_line = true;
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
            exchange->idle_since_ms = now_ms;
            http_guard_set(exchange, now_ms, exchange->server->options.body_timeout_ms);
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
        exchange->is_line_empty = exchange->has_line = false;
        exchange->head_octets = 0;
        http_guard_set(exchange, now_ms, exchange->server->options.head_timeout_ms);
    }
    scan_head(exchange, input, from, now_ms);
}

// Many large halves of requests would take all memory there is.
static void hold(struct http_exchange *exchange, size_t octets)
{
    struct http_server *server = exchange->server;
    exchange->held_octets += octets;
    server->held_octets += octets;
    if (server->held_octets > server->options.max_held_octets)
        event_active(server->tidy, EV_TIMEOUT, 1);
}

void http_guard_let_go(struct http_exchange *exchange)
{
    exchange->server->held_octets -= exchange->held_octets;
    exchange->held_octets = 0;
}

static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *context)
{
    struct http_exchange *exchange = context;
    if (info->n_added == 0 || exchange->phase > PHASE_BODY)
        return;
    hold(exchange, info->n_added);
    if (exchange->phase == PHASE_BODY)
        return;
    begin_head(exchange, input, evbuffer_get_length(input) - info->n_added);
}

void http_guard_begin(struct http_exchange *exchange)
{
    struct evbuffer *input = bufferevent_get_input(exchange->stream);
    hold(exchange, evbuffer_get_length(input));
    begin_head(exchange, input, 0);
}

// The status in a status line at the front, or 0. A client can make evhttp write "HTTP/1.13 400".
static int64_t page_status(struct evbuffer *output)
{
    char start[32] = "";
    int64_t status = 0;
    ev_ssize_t len = evbuffer_copyout(output, start, sizeof(start));
    const char *blank = len > 0 ? memchr(start, ' ', (size_t)len) : NULL;
    if (!blank || start + len - blank < 4)
        return 0;
    return text_to_int64((struct text){blank + 1, 3}, &status) ? status : 0;
}

// A close while octets of the client are still to be read is a reset, which may overtake the page:
// our half closes, and what comes is dropped for a moment.
static void linger(struct http_exchange *exchange)
{
    exchange->phase = PHASE_LINGERS;
    http_tls_close(exchange->tls);
    shutdown(bufferevent_getfd(exchange->stream), SHUT_WR);
    http_guard_set(exchange, loop_mono_ms(exchange->server->loop), LINGER_MS);
}

static void drop_input(struct bufferevent *stream, void *context)
{
    struct evbuffer *input = bufferevent_get_input(stream);
    (void)context;
    evbuffer_drain(input, evbuffer_get_length(input));
}

static void on_refused_end(struct bufferevent *stream, short what, void *context)
{
    (void)stream, (void)what;
    http_exchange_leave(context);
}

// Output before the handler had the request is one of evhttp's own pages, or "100 Continue".
static void on_output(struct evbuffer *output, const struct evbuffer_cb_info *info, void *context)
{
    struct http_exchange *exchange = context;
    if (exchange->phase == PHASE_REJECTED && evbuffer_get_length(output) == 0)
        linger(exchange);
    if (info->n_added == 0 || exchange->phase >= PHASE_HANDLED)
        return;
    if (page_status(output) == 100)
        return;
    exchange->phase = PHASE_REFUSED;
    event_active(exchange->server->tidy, EV_TIMEOUT, 1);
}

void http_guard_watch(struct http_exchange *exchange)
{
    must(evbuffer_add_cb(bufferevent_get_input(exchange->stream), on_input, exchange));
    must(evbuffer_add_cb(bufferevent_get_output(exchange->stream), on_output, exchange));
}

void http_guard_unwatch(struct http_exchange *exchange)
{
    evbuffer_remove_cb(bufferevent_get_input(exchange->stream), on_input, exchange);
    evbuffer_remove_cb(bufferevent_get_output(exchange->stream), on_output, exchange);
}

// ---- refusals -----------------------------------------------------------------------------------

struct refusal {
    int status;
    const char *text;
    const char *header; // whole lines; ""
};

static const struct refusal refusals[] = {
    {400, "bad request", ""},           {413, "body too large", ""},
    {414, "request line too long", ""}, {417, "expectation not supported", ""},
    {431, "header too large", ""},      {503, "too many connections", "Retry-After: 1\r\n"},
    {501, "method not supported", ""},
};

// To evhttp a head that is too long is one like any other that it cannot read.
static int64_t refused_status(const struct http_exchange *exchange)
{
    int64_t status = page_status(bufferevent_get_output(exchange->stream));
    if (status != 400 || exchange->head_octets <= exchange->server->options.max_head_octets)
        return status;
    return exchange->has_line ? 431 : 414;
}

const char *http_refusal_write(const struct http_exchange *exchange, int status, const char *text,
                               struct buffer *out)
{
    const struct http_server_options *options = &exchange->server->options;
    if (options->write_refusal) {
        options->write_refusal(options->context, exchange, status, text, out);
        return options->refusal_type ? options->refusal_type : "application/json";
    }
    buffer_printf(out, "%s\n", text);
    return "text/plain";
}

static void drop_output(const struct http_exchange *exchange)
{
    struct evbuffer *output = bufferevent_get_output(exchange->stream);
    // Streams with TLS never freeze it, and fail when another does.
    if (!exchange->tls)
        evbuffer_unfreeze(output, 1);
    evbuffer_drain(output, evbuffer_get_length(output));
    if (!exchange->tls)
        evbuffer_freeze(output, 1);
}

// evhttp does nothing for the connection any more.
static void reject(struct http_exchange *exchange, int64_t status)
{
    AUTO_BUFFER body = {0};
    struct evbuffer *output = bufferevent_get_output(exchange->stream);
    // The last is for unknown methods, which evhttp gives the status 0.
    const struct refusal *refusal = &refusals[COUNT_OF(refusals) - 1];
    for (size_t i = 0; i < COUNT_OF(refusals); i++) {
        if (refusals[i].status == status)
            refusal = &refusals[i];
    }
    drop_output(exchange);
    const char *type = http_refusal_write(exchange, refusal->status, refusal->text, &body);
    evbuffer_add_printf(output,
                        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                        "%sConnection: close\r\n\r\n",
                        refusal->status, refusal->text, type, body.len, refusal->header);
    evbuffer_add(output, body.at, body.len);
    exchange->phase = PHASE_REJECTED;
    http_guard_let_go(exchange);
    // evhttp would close as soon as the page is written.
    bufferevent_setcb(exchange->stream, drop_input, NULL, on_refused_end, exchange);
    bufferevent_enable(exchange->stream, EV_READ | EV_WRITE);
    drop_input(exchange->stream, NULL);
    http_guard_set(exchange, loop_mono_ms(exchange->server->loop),
                   exchange->server->options.body_timeout_ms);
}

// Nothing of evhttp's page has been written yet: that takes a turn of the loop.
void http_guard_refuse(struct http_exchange *exchange)
{
    reject(exchange, refused_status(exchange));
}

bool http_guard_turn_away(struct http_exchange *exchange)
{
    if (exchange->tls && !SSL_is_init_finished(exchange->tls))
        return false;
    exchange->phase = PHASE_REFUSED;
    reject(exchange, 503);
    return true;
}
