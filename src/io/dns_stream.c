#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/dns_call.h"

enum {
    LENGTH_OCTETS = 2,
    KEEP_MS = 2000,
    MAX_KEPT = 64,
};

void dns_stream_free(struct dns_stream *stream)
{
    struct loop *loop = stream->net->loop;
    loop_timer_cancel(loop, &stream->timer);
    loop_unwatch_fd(loop, stream->watch);
    if (stream->fd >= 0)
        close(stream->fd);
    buffer_done(&stream->input);
    free(stream);
}

static void on_stream(void *context, int fd, unsigned interest);

static void watch_stream(struct dns_stream *stream, bool is_writing)
{
    struct loop *loop = stream->net->loop;
    if (stream->watch && stream->is_writing == is_writing)
        return;
    loop_unwatch_fd(loop, stream->watch);
    stream->is_writing = is_writing;
    stream->watch =
        loop_watch_fd(loop, stream->fd, is_writing ? LOOP_WRITE : LOOP_READ, on_stream, stream);
}

static void drop_kept(struct dns_stream *stream)
{
    list_remove(&stream->net->kept, stream);
    stream->net->kept_count--;
    dns_stream_free(stream);
}

static void on_kept_long_enough(void *context)
{
    drop_kept(context);
}

static void keep(struct dns_stream *stream)
{
    struct net *net = stream->net;
    if (net->is_freed || net->kept_count == MAX_KEPT) {
        dns_stream_free(stream);
        return;
    }
    stream->call = NULL;
    stream->is_used = true;
    buffer_clear(&stream->input);
    list_prepend(&net->kept, stream);
    net->kept_count++;
    loop_timer_set(net->loop, &stream->timer, KEEP_MS);
}

static struct dns_stream *take_kept(struct net *net, const struct hostport *server)
{
    list_each (stream, &net->kept) {
        if (stream->server.port != server->port || strcmp(stream->server.host, server->host) != 0)
            continue;
        list_remove(&net->kept, stream);
        net->kept_count--;
        loop_timer_cancel(net->loop, &stream->timer);
        return stream;
    }
    return NULL;
}

static struct dns_stream *open_stream(struct net *net, const struct hostport *server)
{
    int fd = dns_call_connect(server, SOCK_STREAM);
    if (fd < 0)
        return NULL;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct dns_stream *stream = mem_new_of(struct dns_stream);
    stream->net = net;
    stream->fd = fd;
    stream->server = *server;
    stream->timer = (struct loop_timer){.call = on_kept_long_enough, .context = stream};
    return stream;
}

static void assign(struct dns_call *call, struct dns_stream *stream)
{
    call->stream = stream;
    stream->call = call;
    stream->sent = 0;
    watch_stream(stream, true);
}

static bool is_query(const struct dns_call *call)
{
    return ((unsigned char)call->message.at[2] & 0x78) == 0;
}

// A server may close a kept connection just when it is used again. RFC 7766, 6.2.4 has queries
// sent again then; an UPDATE may have been done already.
static void on_lost(struct dns_stream *stream, const char *what, int number)
{
    struct dns_call *call = stream->call;
    if (!call) {
        drop_kept(stream);
        return;
    }
    if (!stream->is_used || stream->input.len + call->heard > 0 || !is_query(call)) {
        if (number != 0)
            dns_call_fail_errno(call, what, number);
        else
            dns_call_fail(call, what, "connection closed");
        return;
    }
    call->stream = NULL;
    dns_stream_free(stream);
    struct dns_stream *fresh = open_stream(call->net, &call->server);
    if (fresh)
        assign(call, fresh);
    else
        dns_call_fail_errno(call, "cannot connect to", errno);
}

static void write_stream(struct dns_stream *stream)
{
    const struct buffer *octets = &stream->call->octets;
    while (stream->sent < octets->len) {
        ssize_t len =
            send(stream->fd, octets->at + stream->sent, octets->len - stream->sent, MSG_NOSIGNAL);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno == EAGAIN)
            return;
        if (len < 0) {
            on_lost(stream, stream->sent > 0 ? "lost the connection to" : "cannot connect to",
                    errno);
            return;
        }
        stream->sent += (size_t)len;
    }
    watch_stream(stream, false);
}

// The length in front of the message, or 0 while it is not there.
static size_t announced(const struct dns_stream *stream)
{
    if (stream->input.len < LENGTH_OCTETS)
        return 0;
    const unsigned char *at = (const unsigned char *)stream->input.at;
    return (size_t)at[0] << 8 | at[1];
}

static void refuse_length(struct dns_call *call)
{
    char text[64];
    snprintf(text, sizeof text, "it has more than %zu octets", call->max_octets);
    dns_call_fail(call, "no usable answer from", text);
}

// The message is one of many, and not the last.
static bool is_gone_on_from(struct dns_stream *stream, struct text octets)
{
    struct dns_call *call = stream->call;
    if (!call->has_more || !call->has_more(call->context, octets))
        return false;
    call->heard += octets.len;
    buffer_clear(&stream->input);
    loop_timer_set(call->net->loop, &call->timer, call->timeout_ms);
    return true;
}

static void take_answer(struct dns_stream *stream, size_t len)
{
    struct dns_call *call = stream->call;
    struct dns_reply reply = {.is_answered = true,
                              .octets = {stream->input.at + LENGTH_OCTETS, len}};
    if (!dns_call_has_id(call, reply.octets.at, len)) {
        dns_call_fail(call, "no usable answer from", "message id is another");
        return;
    }
    if (call->max_octets && call->heard + len > call->max_octets) {
        refuse_length(call);
        return;
    }
    if (is_gone_on_from(stream, reply.octets))
        return;
    AUTO_BUFFER input = stream->input;
    bool has_more = input.len > LENGTH_OCTETS + len;
    stream->input = (struct buffer){0};
    call->stream = NULL;
    if (has_more)
        dns_stream_free(stream);
    else
        keep(stream);
    dns_call_report(call, &reply);
}

// Exactly up to the end of the message: first its length, then the rest.
static void read_stream(struct dns_stream *stream)
{
    for (;;) {
        size_t len = announced(stream);
        bool has_length = stream->input.len >= LENGTH_OCTETS;
        size_t want = (has_length ? LENGTH_OCTETS + len : LENGTH_OCTETS) - stream->input.len;
        if (has_length && want == 0) {
            take_answer(stream, len);
            return;
        }
        char piece[4096];
        ssize_t got = recv(stream->fd, piece, want < sizeof(piece) ? want : sizeof(piece), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            on_lost(stream, "lost the connection to", got < 0 ? errno : 0);
            return;
        }
        buffer_add(&stream->input, piece, (size_t)got);
    }
}

static void on_stream(void *context, int fd, unsigned interest)
{
    struct dns_stream *stream = context;
    (void)fd, (void)interest;
    // A kept connection has nothing to say but its end.
    if (!stream->call)
        drop_kept(stream);
    else if (stream->is_writing)
        write_stream(stream);
    else
        read_stream(stream);
}

void dns_stream_start(struct dns_call *call)
{
    struct dns_stream *stream = take_kept(call->net, &call->server);
    if (!stream)
        stream = open_stream(call->net, &call->server);
    if (!stream) {
        dns_call_fail_later(call, "cannot connect to", errno);
        return;
    }
    assign(call, stream);
}
