#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// A bound socket, non-blocking and close-on-exec: TCP, listening, whose accepted connections
// inherit TCP_NODELAY and keep-alive probes; or UDP, whose datagrams come with the address that
// they were sent to (IP_PKTINFO, IPV6_PKTINFO).
struct listen_socket {
    int fd;
    uint16_t port;
    bool is_ipv4_fallback; // asked for every address, but this machine has no IPv6
};

// The address is an IP or "" for all of both families; port 0 takes any free one. Fails with the
// address and errno's text.
bool listen_open(struct listen_socket *out, const char *address, uint16_t port, struct error *err);
bool listen_open_udp(struct listen_socket *out, const char *address, uint16_t port,
                     struct error *err);
// Of a failure of these: somebody else has the port, or the address is one that comes and goes.
bool listen_may_come(const struct error *failure);
