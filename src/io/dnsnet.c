#include "io/dnsnet.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/errno_text.h"
#include "io/loop.h"

enum {
    MAX_MESSAGE = 65535,
    HEADER_OCTETS = 12,
    LENGTH_OCTETS = 2,
    KEEP_MS = 2000,
    MAX_KEPT = 64,
};

// A TCP connection: owned by the call that uses it, or kept by the net between two calls.
struct stream {
    struct net *net;
    struct stream *next; // kept streams
    struct hostport server;
    struct dns_call *call; // NULL: kept
    int fd;
    bool is_used; // has carried an exchange before
    bool is_writing;
    struct loop_fd *watch;
    struct loop_timer timer; // ends a kept stream
    size_t sent;
    struct buffer input; // from the length on
};

struct dns_call {
    struct net *net;
    struct dns_call *previous;
    struct dns_call *next;
    struct hostport server;
    struct buffer octets; // TCP: with the length in front
    struct text message;  // in octets
    int64_t timeout_ms;
    struct loop_timer timer;
    struct error failure; // what to say when the timer fires, unless it is a time-out
    bool is_failed;
    bool is_tcp;
    struct stream *stream; // TCP
    int fd;                // UDP, or -1
    struct loop_fd *watch;
    dns_done *done;
    void *context;
};

struct net {
    struct dnsnet dnsnet;
    struct loop *loop;
    struct dns_call *calls;
    struct stream *kept;
    size_t kept_count;
    unsigned char *scratch; // MAX_MESSAGE octets, for UDP
    bool is_reporting;
    bool is_freed;
};

// ---- the end of a call ----

static void stream_free(struct stream *stream)
{
    struct loop *loop = stream->net->loop;
    loop_timer_cancel(loop, &stream->timer);
    loop_unwatch_fd(loop, stream->watch);
    if (stream->fd >= 0)
        close(stream->fd);
    buffer_done(&stream->input);
    free(stream);
}

static void call_free(struct dns_call *call)
{
    struct net *net = call->net;
    if (call->previous)
        call->previous->next = call->next;
    else
        net->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    loop_timer_cancel(net->loop, &call->timer);
    loop_unwatch_fd(net->loop, call->watch);
    if (call->fd >= 0)
        close(call->fd);
    if (call->stream)
        stream_free(call->stream);
    buffer_done(&call->octets);
    free(call);
}

static void net_destroy(struct net *net)
{
    while (net->kept) {
        struct stream *stream = net->kept;
        net->kept = stream->next;
        stream_free(stream);
    }
    free(net->scratch);
    free(net);
}

// The call is gone afterwards, and the net with it if the callback frees that.
static void report(struct dns_call *call, const struct dns_reply *reply)
{
    struct net *net = call->net;
    dns_done *done = call->done;
    void *context = call->context;
    bool was_reporting = net->is_reporting;
    net->is_reporting = true;
    call_free(call);
    done(context, reply);
    net->is_reporting = was_reporting;
    if (net->is_freed && !was_reporting)
        net_destroy(net);
}

static void describe(struct error *err, const struct dns_call *call, const char *what,
                     const char *detail)
{
    AUTO_BUFFER at = {0};
    hostport_write(&at, &call->server);
    error_set(err, FAULT_AGAIN, "ServerUnreachable", "%s %s (%s): %s", what, at.at,
              call->is_tcp ? "tcp" : "udp", detail);
}

static void describe_errno(struct error *err, const struct dns_call *call, const char *what,
                           int number)
{
    char why[ERRNO_TEXT_MAX];
    describe(err, call, what, errno_text(number, why));
    err->status = number;
}

static void report_failure(struct dns_call *call, const char *what, const char *detail)
{
    struct dns_reply reply = {0};
    describe(&reply.error, call, what, detail);
    report(call, &reply);
}

static void report_errno(struct dns_call *call, const char *what, int number)
{
    struct dns_reply reply = {0};
    describe_errno(&reply.error, call, what, number);
    report(call, &reply);
}

static void on_time(void *context)
{
    struct dns_call *call = context;
    struct dns_reply reply = {.is_timeout = !call->is_failed};
    if (call->is_failed) {
        reply.error = call->failure;
    } else {
        char within[40];
        snprintf(within, sizeof(within), "none within %lld ms", (long long)call->timeout_ms);
        describe(&reply.error, call, "no answer from", within);
    }
    report(call, &reply);
}

// For what goes wrong within dns_send, which must not call back.
static void fail_later(struct dns_call *call, const char *what, int number)
{
    describe_errno(&call->failure, call, what, number);
    call->is_failed = true;
    loop_timer_set(call->net->loop, &call->timer, 0);
}

static bool has_same_id(const struct dns_call *call, const void *octets, size_t len)
{
    return len >= HEADER_OCTETS && memcmp(octets, call->message.at, 2) == 0;
}

// ---- sockets ----

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool read_address(union address *out, socklen_t *len, const struct hostport *server)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    snprintf(service, sizeof(service), "%u", server->port);
    if (getaddrinfo(server->host, service, &hints, &found) != 0)
        return false;
    must(found->ai_addrlen <= sizeof(*out));
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

// A connected (TCP: connecting) socket, or -1 with errno.
static int open_socket(const struct hostport *server, int type)
{
    union address address = {0};
    socklen_t len = 0;
    if (!read_address(&address, &len, server)) {
        errno = EINVAL;
        return -1;
    }
    int fd = socket(address.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, &address.any, len) == 0 || errno == EINPROGRESS)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

// ---- UDP ----

static void on_datagram(void *context, int fd, unsigned interest)
{
    struct dns_call *call = context;
    unsigned char *scratch = call->net->scratch;
    (void)interest;
    for (;;) {
        ssize_t len = recv(fd, scratch, MAX_MESSAGE, 0);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno == EAGAIN)
            return;
        if (len < 0) {
            report_errno(call, "no answer from", errno);
            return;
        }
        if (!has_same_id(call, scratch, (size_t)len))
            continue;
        struct dns_reply reply = {.is_answered = true,
                                  .octets = {(const char *)scratch, (size_t)len}};
        report(call, &reply);
        return;
    }
}

static void start_udp(struct dns_call *call)
{
    struct net *net = call->net;
    if (!net->scratch)
        net->scratch = mem_new(1, MAX_MESSAGE);
    call->fd = open_socket(&call->server, SOCK_DGRAM);
    if (call->fd < 0 || send(call->fd, call->message.at, call->message.len, 0) < 0) {
        fail_later(call, "cannot send to", errno);
        return;
    }
    call->watch = loop_watch_fd(net->loop, call->fd, LOOP_READ, on_datagram, call);
}

// ---- TCP ----

static void on_stream(void *context, int fd, unsigned interest);

static void watch_stream(struct stream *stream, bool is_writing)
{
    struct loop *loop = stream->net->loop;
    if (stream->watch && stream->is_writing == is_writing)
        return;
    loop_unwatch_fd(loop, stream->watch);
    stream->is_writing = is_writing;
    stream->watch =
        loop_watch_fd(loop, stream->fd, is_writing ? LOOP_WRITE : LOOP_READ, on_stream, stream);
}

static void drop_kept(struct stream *stream)
{
    struct stream **at = &stream->net->kept;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    stream->net->kept_count--;
    stream_free(stream);
}

static void on_kept_long_enough(void *context)
{
    drop_kept(context);
}

static void keep(struct stream *stream)
{
    struct net *net = stream->net;
    if (net->is_freed || net->kept_count == MAX_KEPT) {
        stream_free(stream);
        return;
    }
    stream->call = NULL;
    stream->is_used = true;
    buffer_clear(&stream->input);
    stream->next = net->kept;
    net->kept = stream;
    net->kept_count++;
    loop_timer_set(net->loop, &stream->timer, KEEP_MS);
}

static struct stream *take_kept(struct net *net, const struct hostport *server)
{
    for (struct stream **at = &net->kept; *at; at = &(*at)->next) {
        struct stream *stream = *at;
        if (stream->server.port != server->port || strcmp(stream->server.host, server->host) != 0)
            continue;
        *at = stream->next;
        net->kept_count--;
        loop_timer_cancel(net->loop, &stream->timer);
        return stream;
    }
    return NULL;
}

static struct stream *open_stream(struct net *net, const struct hostport *server)
{
    int fd = open_socket(server, SOCK_STREAM);
    if (fd < 0)
        return NULL;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    struct stream *stream = mem_new_of(struct stream);
    stream->net = net;
    stream->fd = fd;
    stream->server = *server;
    stream->timer = (struct loop_timer){.call = on_kept_long_enough, .context = stream};
    return stream;
}

static void assign(struct dns_call *call, struct stream *stream)
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
static void on_lost(struct stream *stream, const char *what, int number)
{
    struct dns_call *call = stream->call;
    if (!call) {
        drop_kept(stream);
        return;
    }
    if (!stream->is_used || stream->input.len > 0 || !is_query(call)) {
        if (number != 0)
            report_errno(call, what, number);
        else
            report_failure(call, what, "connection closed");
        return;
    }
    call->stream = NULL;
    stream_free(stream);
    struct stream *fresh = open_stream(call->net, &call->server);
    if (fresh)
        assign(call, fresh);
    else
        report_errno(call, "cannot connect to", errno);
}

static void write_stream(struct stream *stream)
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
static size_t announced(const struct stream *stream)
{
    if (stream->input.len < LENGTH_OCTETS)
        return 0;
    const unsigned char *at = (const unsigned char *)stream->input.at;
    return (size_t)at[0] << 8 | at[1];
}

static void take_answer(struct stream *stream, size_t len)
{
    struct dns_call *call = stream->call;
    struct dns_reply reply = {.is_answered = true,
                              .octets = {stream->input.at + LENGTH_OCTETS, len}};
    if (!has_same_id(call, reply.octets.at, len)) {
        report_failure(call, "no usable answer from", "message id is another");
        return;
    }
    AUTO_BUFFER input = stream->input;
    bool has_more = input.len > LENGTH_OCTETS + len;
    stream->input = (struct buffer){0};
    call->stream = NULL;
    if (has_more)
        stream_free(stream);
    else
        keep(stream);
    report(call, &reply);
}

// Exactly up to the end of the message: first its length, then the rest.
static void read_stream(struct stream *stream)
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
    struct stream *stream = context;
    (void)fd, (void)interest;
    // A kept connection has nothing to say but its end.
    if (!stream->call)
        drop_kept(stream);
    else if (stream->is_writing)
        write_stream(stream);
    else
        read_stream(stream);
}

static void start_tcp(struct dns_call *call)
{
    struct stream *stream = take_kept(call->net, &call->server);
    if (!stream)
        stream = open_stream(call->net, &call->server);
    if (!stream) {
        fail_later(call, "cannot connect to", errno);
        return;
    }
    assign(call, stream);
}

// ---- the interface ----

static void copy_message(struct dns_call *call, struct text message)
{
    if (call->is_tcp) {
        buffer_add_char(&call->octets, (char)(message.len >> 8));
        buffer_add_char(&call->octets, (char)(message.len & 0xff));
    }
    buffer_add(&call->octets, message.at, message.len);
    call->message = (struct text){call->octets.at + call->octets.len - message.len, message.len};
}

static struct dns_call *net_send(struct dnsnet *dnsnet, const struct dns_request *request,
                                 dns_done *done, void *context)
{
    struct net *net = (struct net *)dnsnet;
    must(request->octets.len >= HEADER_OCTETS && request->octets.len <= MAX_MESSAGE);
    struct dns_call *call = mem_new_of(struct dns_call);
    call->net = net;
    call->server = request->server;
    call->timeout_ms = request->timeout_ms;
    call->is_tcp = request->use_tcp;
    call->fd = -1;
    call->done = done;
    call->context = context;
    call->timer = (struct loop_timer){.call = on_time, .context = call};
    call->next = net->calls;
    if (call->next)
        call->next->previous = call;
    net->calls = call;
    copy_message(call, request->octets);
    loop_timer_set(net->loop, &call->timer, request->timeout_ms);
    if (call->is_tcp)
        start_tcp(call);
    else
        start_udp(call);
    return call;
}

static void net_cancel(struct dnsnet *dnsnet, struct dns_call *call)
{
    (void)dnsnet;
    call_free(call);
}

static void net_free(struct dnsnet *dnsnet)
{
    struct net *net = (struct net *)dnsnet;
    while (net->calls)
        call_free(net->calls);
    net->is_freed = true;
    if (!net->is_reporting)
        net_destroy(net);
}

struct dnsnet *dnsnet_new(struct loop *loop)
{
    static const struct dnsnet_ops ops = {
        .send = net_send,
        .cancel = net_cancel,
        .free = net_free,
    };
    struct net *net = mem_new_of(struct net);
    net->dnsnet.ops = &ops;
    net->loop = loop;
    return &net->dnsnet;
}
