#include "io/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "base/url.h"
#include "io/errno_text.h"

enum { BACKLOG = 512 };

static void set_flag(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof(value));
}

static void set_tcp_flags(int fd)
{
    set_flag(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    set_flag(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_flag(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static void set_udp_flags(int fd, int family)
{
    if (family == AF_INET6)
        set_flag(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    else
        set_flag(fd, IPPROTO_IP, IP_PKTINFO, 1);
}

// The socket, or -1 with errno.
static int open_at(const struct addrinfo *at)
{
    bool is_tcp = at->ai_socktype == SOCK_STREAM;
    int fd = socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (is_tcp)
        set_tcp_flags(fd);
    else
        set_udp_flags(fd, at->ai_family);
    if (at->ai_family == AF_INET6)
        set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && (!is_tcp || listen(fd, BACKLOG) == 0))
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

static int open_text(const char *address, uint16_t port, int type)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = type,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    snprintf(service, sizeof(service), "%u", port);
    if (getaddrinfo(address, service, &hints, &found) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = open_at(found);
    int number = errno;
    freeaddrinfo(found);
    errno = number;
    return fd;
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {0};
    socklen_t len = sizeof(at);
    if (getsockname(fd, &at.any, &len) != 0)
        return 0;
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

static bool fail(const char *address, uint16_t port, int number, struct error *err)
{
    AUTO_BUFFER text = {0};
    struct hostport at = {.port = port};
    snprintf(at.host, sizeof(at.host), "%s", address);
    hostport_write(&text, &at);
    char why[ERRNO_TEXT_MAX];
    error_set(err, FAULT_AGAIN, "SystemError", "%s: %s", text.at, errno_text(number, why));
    if (err)
        err->status = number;
    return false;
}

static bool open_socket(struct listen_socket *out, const char *address, uint16_t port, int type,
                        struct error *err)
{
    bool is_wildcard = address[0] == '\0' || strcmp(address, "::") == 0;
    bool is_fallback = false;
    int fd = open_text(is_wildcard ? "::" : address, port, type);
    if (fd < 0 && is_wildcard && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        is_fallback = true;
        fd = open_text("0.0.0.0", port, type);
    }
    if (fd < 0)
        return fail(address, port, errno, err);
    *out = (struct listen_socket){.fd = fd, .port = port_of(fd), .is_ipv4_fallback = is_fallback};
    return true;
}

bool listen_open(struct listen_socket *out, const char *address, uint16_t port, struct error *err)
{
    return open_socket(out, address, port, SOCK_STREAM, err);
}

bool listen_may_come(const struct error *failure)
{
    return failure->status == EADDRINUSE || failure->status == EADDRNOTAVAIL;
}

bool listen_open_udp(struct listen_socket *out, const char *address, uint16_t port,
                     struct error *err)
{
    return open_socket(out, address, port, SOCK_DGRAM, err);
}
