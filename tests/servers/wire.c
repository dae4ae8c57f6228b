#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/must.h"

enum {
    IDLE_MS = 5000,
    REQUEST_MS = 30000,
    HEAD_MAX = 16 * 1024,
    HEADERS_MAX = 64,
    BODY_MAX = 8 * 1024 * 1024,
    PIECE = 16 * 1024,
    BACKLOG = 64,
};

enum phase { PHASE_READING, PHASE_ASKED, PHASE_WRITING };

struct wire {
    struct loop *loop;
    struct wire_calls calls;
    int listener;
    struct loop_fd *listening;
    int64_t idle_ms;
    SSL_CTX *tls;
    struct wire_client *clients;
    size_t client_count;
};

struct wire_client {
    struct wire *wire;
    struct wire_client *next;
    struct wire_client *before;
    int fd;
    SSL *tls;
    struct loop_fd *watched;
    struct loop_timer timer; // idle, or what is to be done once the stack is empty
    enum phase phase;
    void *note;
    bool is_gone;        // it has closed its side
    bool is_last;        // close after this reply
    bool is_next;        // the next request had begun before this reply was written
    struct arena *arena; // of the request's head
    struct buffer in;
    size_t request_len; // octets of `in` that the request takes
    struct buffer out[2];
    size_t written; // of both
};

static void on_ready(void *context, int fd, unsigned interest);

// ---- connections --------------------------------------------------------------------------------

static void watch(struct wire_client *client, unsigned interest)
{
    loop_unwatch_fd(client->wire->loop, client->watched);
    client->watched = loop_watch_fd(client->wire->loop, client->fd, interest, on_ready, client);
}

static void end_request(struct wire_client *client)
{
    const struct wire_calls *calls = &client->wire->calls;
    if (client->phase != PHASE_READING)
        calls->ended(calls->context, client);
    client->phase = PHASE_READING;
}

static void close_stream(struct wire_client *client)
{
    if (client->tls) {
        if (SSL_is_init_finished(client->tls))
            SSL_shutdown(client->tls);
        SSL_free(client->tls);
        ERR_clear_error();
    }
    close(client->fd);
}

static void unlink_client(struct wire_client *client)
{
    if (client->before)
        client->before->next = client->next;
    else
        client->wire->clients = client->next;
    if (client->next)
        client->next->before = client->before;
    client->wire->client_count--;
}

void wire_drop(struct wire_client *client)
{
    end_request(client);
    loop_unwatch_fd(client->wire->loop, client->watched);
    loop_timer_cancel(client->wire->loop, &client->timer);
    close_stream(client);
    unlink_client(client);
    arena_free(client->arena);
    buffer_done(&client->in);
    buffer_done(&client->out[0]);
    buffer_done(&client->out[1]);
    free(client);
}

static void set_timer(struct wire_client *client, int64_t delay_ms)
{
    loop_timer_set(client->wire->loop, &client->timer, delay_ms);
}

// ---- octets -------------------------------------------------------------------------------------

enum { AGAIN = 0, FAILED = -1 };

static ssize_t tls_result(SSL *tls, int result)
{
    if (result > 0)
        return result;
    int error = SSL_get_error(tls, result);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? AGAIN : FAILED;
}

static ssize_t socket_result(ssize_t result, bool is_end)
{
    if (result > 0)
        return result;
    bool is_again = result < 0 && (errno == EAGAIN || errno == EINTR);
    return is_again && !is_end ? AGAIN : FAILED;
}

static ssize_t read_some(struct wire_client *client, void *out, int size)
{
    if (client->tls)
        return tls_result(client->tls, SSL_read(client->tls, out, size));
    ssize_t got = recv(client->fd, out, (size_t)size, 0);
    return socket_result(got, got == 0);
}

static ssize_t write_some(struct wire_client *client, struct text octets)
{
    if (client->tls)
        return tls_result(client->tls, SSL_write(client->tls, octets.at, (int)octets.len));
    return socket_result(send(client->fd, octets.at, octets.len, MSG_NOSIGNAL), false);
}

// All that is there, up to a limit. The end of the stream is remembered.
static void read_all(struct wire_client *client)
{
    ssize_t got = 1;
    while (got > 0 && client->in.len < HEAD_MAX + BODY_MAX) {
        buffer_reserve(&client->in, PIECE + 1);
        got = read_some(client, client->in.at + client->in.len, PIECE);
        if (got > 0)
            client->in.len += (size_t)got;
    }
    if (got != AGAIN)
        client->is_gone = true;
}

// ---- requests -----------------------------------------------------------------------------------

static const char *find_header(const struct wire_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

static bool has_header(const struct wire_request *request, const char *name, const char *value)
{
    const char *found = find_header(request, name);
    return found && strcasecmp(found, value) == 0;
}

static char *copy(struct arena *arena, struct text text)
{
    return arena_copy(arena, text.at, text.len);
}

static bool parse_header(struct arena *arena, struct http_header *header, struct text line)
{
    struct text name;
    if (!text_cut(&line, ':', &name) || !line.at)
        return false;
    header->name = copy(arena, name);
    header->value = copy(arena, text_trim(line));
    return true;
}

static bool parse_first(struct arena *arena, struct wire_request *request, struct text line)
{
    struct text method;
    line = text_trim(line);
    if (!text_cut(&line, ' ', &method) || !text_cut(&line, ' ', &request->target))
        return false;
    request->method = copy(arena, method);
    return text_is(line, "HTTP/1.1");
}

static bool parse_head(struct arena *arena, struct wire_request *request, struct text head)
{
    struct http_header *headers = arena_new_array(arena, struct http_header, HEADERS_MAX);
    struct text line;
    request->headers = headers;
    if (!text_cut(&head, '\n', &line) || !parse_first(arena, request, line))
        return false;
    while (text_cut(&head, '\n', &line) && text_trim(line).len) {
        if (request->header_count == HEADERS_MAX ||
            !parse_header(arena, &headers[request->header_count++], line))
            return false;
    }
    return true;
}

static bool find_body_len(const struct wire_request *request, size_t *out)
{
    const char *field = find_header(request, "content-length");
    int64_t len = 0;
    if (field && (!text_to_int64(text_of(field), &len) || len < 0 || len > BODY_MAX))
        return false;
    *out = (size_t)len;
    return !find_header(request, "transfer-encoding");
}

static void send_continue(struct wire_client *client, const struct wire_request *request)
{
    if (has_header(request, "expect", "100-continue"))
        write_some(client, TEXT("HTTP/1.1 100 Continue\r\n\r\n"));
}

static void ask(struct wire_client *client, struct wire_request *request)
{
    const struct wire_calls *calls = &client->wire->calls;
    client->is_last = has_header(request, "connection", "close");
    client->phase = PHASE_ASKED;
    client->note = NULL;
    if (!client->is_gone)
        loop_timer_cancel(client->wire->loop, &client->timer);
    calls->asked(calls->context, client, request);
}

// Hands over the request as soon as it is complete; the client may be gone afterwards. What is no
// HTTP/1.1, too long or chunked closes the connection.
static void parse(struct wire_client *client)
{
    struct text in = buffer_text(&client->in);
    const char *end = memmem(in.at, in.len, "\r\n\r\n", 4);
    struct wire_request request = {0};
    size_t head_len = end ? (size_t)(end - in.at) + 4 : 0, body_len = 0;
    if (!end && in.len <= HEAD_MAX)
        return;
    arena_reset(client->arena);
    if (!end || !parse_head(client->arena, &request, (struct text){in.at, head_len}) ||
        !find_body_len(&request, &body_len)) {
        wire_drop(client);
        return;
    }
    if (in.len < head_len + body_len) {
        if (in.len == head_len)
            send_continue(client, &request);
        return;
    }
    if (body_len)
        request.body = (struct text){in.at + head_len, body_len};
    client->request_len = head_len + body_len;
    ask(client, &request);
}

// A client that sent a request and closed gets it done, without a reply.
static void on_input(struct wire_client *client)
{
    bool is_reading = client->phase == PHASE_READING;
    if (client->is_gone)
        loop_unwatch_fd(client->wire->loop, steal(client->watched));
    if (client->is_gone || is_reading)
        set_timer(client, client->is_gone ? 0 : REQUEST_MS);
    if (is_reading && client->in.len)
        parse(client);
}

static void on_timer(void *context)
{
    struct wire_client *client = context;
    bool is_next = client->is_next && !client->is_gone;
    client->is_next = false;
    if (is_next)
        on_input(client);
    else
        wire_drop(client);
}

// ---- replies ------------------------------------------------------------------------------------

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {{200, "OK"},
                {201, "Created"},
                {204, "No Content"},
                {302, "Found"},
                {400, "Bad Request"},
                {401, "Unauthorized"},
                {403, "Forbidden"},
                {404, "Not Found"},
                {405, "Method Not Allowed"},
                {410, "Gone"},
                {429, "Too Many Requests"},
                {500, "Internal Server Error"},
                {502, "Bad Gateway"},
                {503, "Service Unavailable"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return "Unknown";
}

static void write_head(struct wire_client *client, const struct wire_reply *reply)
{
    struct buffer *out = &client->out[0];
    buffer_printf(out, "HTTP/1.1 %d %s\r\n", reply->status, reason_of(reply->status));
    for (size_t i = 0; i < reply->header_count; i++)
        buffer_printf(out, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
    if (reply->body.at)
        buffer_printf(out, "Content-Length: %zu\r\n", reply->body.len);
    buffer_printf(out, "Connection: %s\r\n\r\n", client->is_last ? "close" : "keep-alive");
}

static void cut(struct wire_client *client, size_t keep)
{
    struct buffer *head = &client->out[0], *body = &client->out[1];
    if (keep >= head->len + body->len)
        return;
    client->is_last = true;
    body->len = keep > head->len ? keep - head->len : 0;
    head->len = keep < head->len ? keep : head->len;
}

static void finish(struct wire_client *client)
{
    end_request(client);
    if (client->is_last || client->is_gone) {
        wire_drop(client);
        return;
    }
    buffer_drop_front(&client->in, client->request_len);
    buffer_clear(&client->out[0]);
    buffer_clear(&client->out[1]);
    client->written = 0;
    watch(client, LOOP_READ);
    client->is_next = client->in.len > 0;
    set_timer(client, client->is_next ? 0 : client->wire->idle_ms);
}

// What is left of the piece that is under way; empty when all is written.
static struct text next_piece(const struct wire_client *client)
{
    size_t skip = client->written;
    for (size_t i = 0; i < COUNT_OF(client->out); i++) {
        if (skip < client->out[i].len)
            return (struct text){client->out[i].at + skip, client->out[i].len - skip};
        skip -= client->out[i].len;
    }
    return (struct text){0};
}

static void write_on(struct wire_client *client)
{
    struct text piece = next_piece(client);
    while (piece.len) {
        ssize_t sent = write_some(client, piece);
        if (sent == AGAIN) {
            watch(client, LOOP_WRITE);
            return;
        }
        if (sent < 0) {
            wire_drop(client);
            return;
        }
        client->written += (size_t)sent;
        piece = next_piece(client);
    }
    finish(client);
}

void wire_reply(struct wire_client *client, const struct wire_reply *reply)
{
    must(client->phase == PHASE_ASKED);
    client->phase = PHASE_WRITING;
    if (client->is_gone) {
        wire_drop(client);
        return;
    }
    write_head(client, reply);
    buffer_add(&client->out[1], reply->body.at, reply->body.len);
    if (reply->is_cut)
        cut(client, reply->cut_octets);
    write_on(client);
}

static void on_ready(void *context, int fd, unsigned interest)
{
    struct wire_client *client = context;
    (void)fd, (void)interest;
    if (client->phase == PHASE_WRITING) {
        write_on(client);
        return;
    }
    read_all(client);
    on_input(client);
}

void *wire_note(const struct wire_client *client)
{
    return client->note;
}

void wire_set_note(struct wire_client *client, void *note)
{
    client->note = note;
}

// ---- the port -----------------------------------------------------------------------------------

static void add_client(struct wire *wire, int fd)
{
    struct wire_client *client = mem_new_of(struct wire_client);
    *client = (struct wire_client){.wire = wire, .fd = fd, .next = wire->clients};
    if (client->next)
        client->next->before = client;
    wire->clients = client;
    wire->client_count++;
    client->arena = arena_new();
    client->timer = (struct loop_timer){.call = on_timer, .context = client};
    if (wire->tls) {
        client->tls = SSL_new(wire->tls);
        must(client->tls && SSL_set_fd(client->tls, fd) == 1);
        SSL_set_mode(client->tls,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_set_accept_state(client->tls);
    }
    watch(client, LOOP_READ);
    set_timer(client, wire->idle_ms);
}

static void on_connection(void *context, int fd, unsigned interest)
{
    struct wire *wire = context;
    (void)interest;
    int client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0)
        add_client(wire, client);
}

struct wire *wire_new(struct loop *loop, const struct wire_calls *calls)
{
    struct wire *wire = mem_new_of(struct wire);
    *wire = (struct wire){.loop = loop, .calls = *calls, .listener = -1, .idle_ms = IDLE_MS};
    return wire;
}

bool wire_is_open(const struct wire *wire)
{
    return wire->listener >= 0;
}

bool wire_open(struct wire *wire, uint16_t port, struct error *err)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (wire_is_open(wire))
        return true;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
    must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0);
    if (bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int number = errno;
        close(fd);
        return error_set_errno(err, number, "127.0.0.1:%u", port);
    }
    wire->listener = fd;
    wire->listening = loop_watch_fd(wire->loop, fd, LOOP_READ, on_connection, wire);
    return true;
}

void wire_close(struct wire *wire)
{
    if (!wire_is_open(wire))
        return;
    loop_unwatch_fd(wire->loop, steal(wire->listening));
    close(wire->listener);
    wire->listener = -1;
}

void wire_drop_clients(struct wire *wire)
{
    for (struct wire_client *client = wire->clients, *next; client; client = next) {
        next = client->next;
        wire_drop(client);
    }
}

size_t wire_client_count(const struct wire *wire)
{
    return wire->client_count;
}

void wire_set_idle(struct wire *wire, int64_t idle_ms)
{
    wire->idle_ms = idle_ms;
}

void wire_set_tls(struct wire *wire, struct ssl_ctx_st *context)
{
    if (context)
        must(SSL_CTX_up_ref(context) == 1);
    SSL_CTX_free(wire->tls);
    wire->tls = context;
}

void wire_free(struct wire *wire)
{
    if (!wire)
        return;
    wire_close(wire);
    wire_drop_clients(wire);
    wire_set_tls(wire, NULL);
    free(wire);
}
