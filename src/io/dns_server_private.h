#pragma once

#include "base/list.h"
#include "io/dns_server.h"
#include "io/listen.h"
#include "io/loop.h"

// Private to dns_server: dns_server.c speaks UDP, dns_server_listen.c owns the sockets that are
// listened at, dns_server_stream.c has the connections.

enum {
    DNS_SERVER_HEADER_OCTETS = 12,
    DNS_SERVER_MESSAGE_MAX = 65535,
    DNS_SERVER_UNACKED_MAX = 8,
};

// Open, or with the reason why it is not.
struct dns_listener {
    struct dns_server *server;
    struct hostport at; // a free port is that one from then on
    bool is_open;
    struct error failure;
    struct listen_socket tcp;
    struct listen_socket udp;
    struct loop_fd *tcp_watch; // NULL while accepting pauses
    struct loop_fd *udp_watch;
};

// An answer that is written, up to the octet `end`, and not acknowledged yet.
struct dns_unacked {
    struct dns_answer answer;
    uint64_t end;
};

struct dns_connection {
    struct link link;
    struct dns_server *server;
    int fd;
    struct loop_fd *watch;
    unsigned interest;
    uint8_t address[16];
    uint16_t port;
    bool is_known;
    bool has_ended;    // the peer sends no more
    bool is_answering; // `answer` is not at its end
    bool is_waiting;   // for another answer of that address to end
    struct dns_answer answer;
    struct buffer input;
    struct buffer output;
    size_t sent;      // of `output`
    uint64_t written; // of all that was ever sent
    uint64_t acknowledged;
    struct dns_unacked unacked[DNS_SERVER_UNACKED_MAX];
    size_t unacked_count;
    int64_t progress_ms;
    int64_t look_ms; // how long until it is asked again what is acknowledged
    struct loop_timer timer;
};

struct dns_server {
    struct loop *loop;
    struct dns_server_options options;
    struct dns_listener listeners[DNS_SERVER_ADDRESSES_MAX];
    size_t listener_count;
    LIST_OF(struct dns_connection) connections; // newest first
    size_t connection_count;
    struct loop_timer pause;  // of accepting
    struct loop_timer resume; // of those that wait
    struct loop_timer retry;  // of addresses that are not to be had
    struct dns_rate *strangers;
    struct dns_rate *known;
    struct dns_bucket together;
    unsigned char *scratch;
    struct buffer datagram;
};

bool dns_server_is_known(const struct dns_server *server, const uint8_t address[16]);
// May it send one more request?
bool dns_server_admits(struct dns_server *server, const uint8_t address[16], bool is_known);

// Opens all; what may be had later is tried again. Fails with what will never be.
bool dns_listeners_open(struct dns_server *server, const struct hostport *at, size_t count,
                        struct error *err);
void dns_listeners_close(struct dns_server *server);
// Watches all that are open for connections again.
void dns_listeners_accept(struct dns_server *server);
void dns_listeners_pause(struct dns_server *server);
// Does this errno say that the socket itself is of no use any more?
bool dns_listener_is_lost(int number);
void dns_listener_lose(struct dns_listener *listener, int number);
void dns_server_on_datagrams(void *context, int fd, unsigned interest); // of a listener

// Everything that is to be accepted, but not all in one go. False, with errno: nothing ever will.
bool dns_stream_accept(struct dns_server *server, int fd);
void dns_stream_resume(struct dns_server *server);
void dns_stream_free_all(struct dns_server *server);
