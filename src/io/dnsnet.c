#include "io/dnsnet.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/must.h"
#include "io/dns_call.h"
#include "io/errno_text.h"

// ---- the end of a call --------------------------------------------------------------------------

static void call_free(struct dns_call *call)
{
    struct net *net = call->net;
    list_remove(&net->calls, call);
    loop_timer_cancel(net->loop, &call->timer);
    loop_unwatch_fd(net->loop, call->watch);
    if (call->fd >= 0)
        close(call->fd);
    if (call->stream)
        dns_stream_free(call->stream);
    buffer_done(&call->octets);
    buffer_done(&call->unwanted);
    free(call);
}

static void net_destroy(struct net *net)
{
    list_each (stream, &net->kept)
        dns_stream_free(stream);
    free(net->scratch);
    free(net);
}

void dns_call_report(struct dns_call *call, const struct dns_reply *reply)
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

void dns_call_fail(struct dns_call *call, const char *what, const char *detail)
{
    struct dns_reply reply = {0};
    describe(&reply.error, call, what, detail);
    dns_call_report(call, &reply);
}

void dns_call_fail_errno(struct dns_call *call, const char *what, int number)
{
    struct dns_reply reply = {0};
    describe_errno(&reply.error, call, what, number);
    dns_call_report(call, &reply);
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
    AUTO_BUFFER unwanted = call->unwanted;
    call->unwanted = (struct buffer){0};
    if (unwanted.len)
        reply.octets = buffer_text(&unwanted);
    dns_call_report(call, &reply);
}

void dns_call_fail_later(struct dns_call *call, const char *what, int number)
{
    describe_errno(&call->failure, call, what, number);
    call->is_failed = true;
    loop_timer_set(call->net->loop, &call->timer, 0);
}

bool dns_call_has_id(const struct dns_call *call, const void *octets, size_t len)
{
    return len >= DNS_HEADER_OCTETS && memcmp(octets, call->message.at, 2) == 0;
}

// ---- sockets ------------------------------------------------------------------------------------

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

int dns_call_connect(const struct hostport *server, int type)
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

// ---- UDP ----------------------------------------------------------------------------------------

static bool is_wanted(struct dns_call *call, struct text octets)
{
    if (!call->is_wanted || call->is_wanted(call->wanted_by, octets))
        return true;
    if (!call->unwanted.len)
        buffer_add(&call->unwanted, octets.at, octets.len);
    return false;
}

static void on_datagram(void *context, int fd, unsigned interest)
{
    struct dns_call *call = context;
    unsigned char *scratch = call->net->scratch;
    (void)interest;
    for (;;) {
        ssize_t len = recv(fd, scratch, DNS_MAX_OCTETS, 0);
        if (len < 0 && errno == EINTR)
            continue;
        if (len < 0 && errno == EAGAIN)
            return;
        if (len < 0) {
            dns_call_fail_errno(call, "no answer from", errno);
            return;
        }
        struct text octets = {(const char *)scratch, (size_t)len};
        if (!dns_call_has_id(call, scratch, octets.len) || !is_wanted(call, octets))
            continue;
        struct dns_reply reply = {.is_answered = true, .octets = octets};
        dns_call_report(call, &reply);
        return;
    }
}

static void start_udp(struct dns_call *call)
{
    struct net *net = call->net;
    if (!net->scratch)
        net->scratch = mem_new(1, DNS_MAX_OCTETS);
    call->fd = dns_call_connect(&call->server, SOCK_DGRAM);
    if (call->fd < 0 || send(call->fd, call->message.at, call->message.len, 0) < 0) {
        dns_call_fail_later(call, "cannot send to", errno);
        return;
    }
    call->watch = loop_watch_fd(net->loop, call->fd, LOOP_READ, on_datagram, call);
}

// ---- the interface ------------------------------------------------------------------------------

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
    must(request->octets.len >= DNS_HEADER_OCTETS && request->octets.len <= DNS_MAX_OCTETS);
    must(request->use_tcp || !request->has_more);
    struct dns_call *call = mem_new_of(struct dns_call);
    call->net = net;
    call->server = request->server;
    call->timeout_ms = request->timeout_ms;
    call->is_tcp = request->use_tcp;
    call->is_wanted = request->is_wanted;
    call->wanted_by = request->context;
    call->has_more = request->has_more;
    call->max_octets = request->max_octets;
    call->fd = -1;
    call->done = done;
    call->context = context;
    call->timer = (struct loop_timer){.call = on_time, .context = call};
    list_prepend(&net->calls, call);
    copy_message(call, request->octets);
    loop_timer_set(net->loop, &call->timer, request->timeout_ms);
    if (call->is_tcp)
        dns_stream_start(call);
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
    list_each (call, &net->calls)
        call_free(call);
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
