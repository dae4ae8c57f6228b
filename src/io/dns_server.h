#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/url.h"
#include "io/dns_rate.h"

// A DNS server as octets, over UDP and TCP at the same ports; what they mean is the handler's
// business. An answer is pulled message by message, only as fast as its peer reads: beside what the
// kernel holds, 128 KiB of it are in memory at most.
//
// Peers that are known are told from strangers. Strangers have few requests a second, each and
// together; what is above that is dropped without a word. Over UDP they get no answer that is much
// larger than their request. At most 256 connections: 8 of one stranger and 64 of all strangers,
// 192 of one known peer. For one more the longest idle one goes, of strangers first (a stranger's
// also when it is not idle, for a known peer), else the new one. Requests of one connection are
// answered in order, those of one address 8 at a time. 30 s without a whole request or an octet
// taken of an answer end a connection.
//
// An address that somebody else has, or that this machine has not got now, does not fail the
// server, nor do sockets that are lost later: each is tried again every second.

struct dns_server_request {
    struct text octets; // a whole message without TCP length; 12 octets at least
    bool is_tcp;
    uint8_t address[16]; // as io/address.h has it
    uint16_t port;
};
// An answer under way.
struct dns_answer {
    // Appends the next message, 65,535 octets at most, without TCP length. False: there was none
    // left. Over UDP it is called once.
    bool (*next)(void *context, struct buffer *out);
    // The last call, always made. Delivered: the peer has acknowledged all of it (UDP: it was
    // sent).
    void (*end)(void *context, bool is_delivered);
    void *context;
};

enum {
    DNS_SERVER_CONNECTIONS_MAX = 256,
    DNS_SERVER_STRANGERS_MAX = 64,
    DNS_SERVER_ADDRESSES_MAX = 16
};

struct dns_server_options {
    const struct hostport *at; // IP addresses; "" or "::" for all of both families
    size_t count;              // DNS_SERVER_ADDRESSES_MAX at most
    // False: nothing is answered. Not to free the server in.
    bool (*handle)(void *context, const struct dns_server_request *request, struct dns_answer *out);
    // NULL: nobody is.
    bool (*is_known)(void *context, const uint8_t address[16]);
    // An address cannot be listened at, for this reason, or (NULL) can be again. May come from
    // within dns_server_new. May be NULL itself.
    void (*changed)(void *context, const struct hostport *at, const char *trouble);
    void *context;
    int64_t timeout_ms;               // 0: 30 s
    int64_t retry_ms;                 // 0: 1 s
    struct dns_rate_limit each;       // stranger; 0: 20 a second, 50 at once
    struct dns_rate_limit together;   // all strangers; 0: 1000 a second, 1000 at once
    struct dns_rate_limit each_known; // 0: 5000 a second, 10000 at once
};

struct dns_server;
struct loop;
struct random;
// Fails with the address and errno's text where it will never be had.
struct dns_server *dns_server_new(struct loop *loop, struct random *random,
                                  const struct dns_server_options *options, struct error *err);
void dns_server_free(struct dns_server *server); // ends all answers; accepts NULL
uint16_t dns_server_port(const struct dns_server *server, size_t at);
// The first address that is not listened at, and why. NULL: all are. Borrowed until the next turn
// of the loop.
const char *dns_server_trouble(const struct dns_server *server);
// Every address of both families was asked for, but this machine has no IPv6.
bool dns_server_is_ipv4_fallback(const struct dns_server *server);
