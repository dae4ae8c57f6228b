#include <errno.h>
#include <unistd.h>

#include "base/must.h"
#include "io/dns_server_private.h"
#include "io/errno_text.h"

enum { PORT_TRIES = 16 };

static void report_listener(const struct dns_listener *listener)
{
    const struct dns_server_options *options = &listener->server->options;
    if (options->changed)
        options->changed(options->context, &listener->at,
                         listener->is_open ? NULL : listener->failure.text);
}

// ---- watching -----------------------------------------------------------------------------------

static void on_connections(void *context, int fd, unsigned interest)
{
    struct dns_listener *listener = context;
    (void)interest;
    if (!dns_stream_accept(listener->server, fd))
        dns_listener_lose(listener, errno);
}

static void accept_at(struct dns_listener *listener)
{
    if (listener->is_open && !listener->tcp_watch)
        listener->tcp_watch = loop_watch_fd(listener->server->loop, listener->tcp.fd, LOOP_READ,
                                            on_connections, listener);
}

void dns_listeners_accept(struct dns_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++)
        accept_at(&server->listeners[i]);
}

void dns_listeners_pause(struct dns_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        loop_unwatch_fd(server->loop, server->listeners[i].tcp_watch);
        server->listeners[i].tcp_watch = NULL;
    }
}

// ---- opening and closing ------------------------------------------------------------------------

// Any free port is one that is free for both.
static bool open_pair(struct dns_listener *listener, struct error *err)
{
    const struct hostport *at = &listener->at;
    for (unsigned tries = 1;; tries++) {
        if (!listen_open(&listener->tcp, at->host, at->port, err))
            return false;
        if (listen_open_udp(&listener->udp, at->host, listener->tcp.port, err))
            return true;
        close(listener->tcp.fd);
        if (at->port == 0 && err->status == EADDRINUSE && tries < PORT_TRIES)
            continue;
        return error_prefix(err, "udp ");
    }
}

static bool open_at(struct dns_listener *listener)
{
    if (!open_pair(listener, &listener->failure))
        return false;
    listener->is_open = true;
    listener->at.port = listener->tcp.port;
    accept_at(listener);
    listener->udp_watch = loop_watch_fd(listener->server->loop, listener->udp.fd, LOOP_READ,
                                        dns_server_on_datagrams, listener);
    return true;
}

static void close_at(struct dns_listener *listener)
{
    struct loop *loop = listener->server->loop;
    if (!listener->is_open)
        return;
    loop_unwatch_fd(loop, listener->tcp_watch);
    loop_unwatch_fd(loop, listener->udp_watch);
    listener->tcp_watch = NULL;
    close(listener->tcp.fd);
    close(listener->udp.fd);
    listener->is_open = false;
}

static void try_later(struct dns_server *server)
{
    loop_timer_set(server->loop, &server->retry, server->options.retry_ms);
}

static void on_retry(void *context)
{
    struct dns_server *server = context;
    for (size_t i = 0; i < server->listener_count; i++) {
        struct dns_listener *listener = &server->listeners[i];
        if (listener->is_open)
            continue;
        if (open_at(listener))
            report_listener(listener);
        else
            try_later(server);
    }
}

bool dns_listener_is_lost(int number)
{
    return number == EINVAL || number == EBADF || number == ENOTSOCK;
}

void dns_listener_lose(struct dns_listener *listener, int number)
{
    AUTO_BUFFER at = {0};
    char why[ERRNO_TEXT_MAX];
    hostport_write(&at, &listener->at);
    error_set(&listener->failure, FAULT_AGAIN, "SystemError", "%s: %s", buffer_text(&at).at,
              errno_text(number, why));
    close_at(listener);
    report_listener(listener);
    try_later(listener->server);
}

bool dns_listeners_open(struct dns_server *server, const struct hostport *at, size_t count,
                        struct error *err)
{
    server->retry = (struct loop_timer){.call = on_retry, .context = server};
    for (size_t i = 0; i < count; i++) {
        struct dns_listener *listener = &server->listeners[server->listener_count++];
        *listener = (struct dns_listener){.server = server, .at = at[i]};
        if (open_at(listener))
            continue;
        if (!listen_may_come(&listener->failure)) {
            if (err)
                *err = listener->failure;
            return false;
        }
        report_listener(listener);
        try_later(server);
    }
    return true;
}

void dns_listeners_close(struct dns_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++)
        close_at(&server->listeners[i]);
    loop_timer_cancel(server->loop, &server->retry);
}

// ---- what is told of them -----------------------------------------------------------------------

uint16_t dns_server_port(const struct dns_server *server, size_t at)
{
    must(at < server->listener_count);
    return server->listeners[at].at.port;
}

const char *dns_server_trouble(const struct dns_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        if (!server->listeners[i].is_open)
            return server->listeners[i].failure.text;
    }
    return NULL;
}

bool dns_server_is_ipv4_fallback(const struct dns_server *server)
{
    for (size_t i = 0; i < server->listener_count; i++) {
        if (server->listeners[i].tcp.is_ipv4_fallback)
            return true;
    }
    return false;
}
