#pragma once

#include "base/error.h"
#include "base/list.h"
#include "base/text.h"
#include "base/url.h"
#include "io/dnsnet.h"
#include "io/loop.h"

// Private to dnsnet: one request until its callback. dnsnet.c owns the calls and speaks UDP,
// dns_stream.c speaks TCP.

enum { DNS_MAX_OCTETS = 65535, DNS_HEADER_OCTETS = 12 };

// A TCP connection: owned by the call that uses it, or kept by the net between two calls.
struct dns_stream {
    struct link link; // of kept ones
    struct net *net;
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
    struct link link;
    struct net *net;
    struct hostport server;
    struct buffer octets;   // TCP: with the length in front
    struct text message;    // in octets
    struct buffer unwanted; // the first answer over UDP that was
    bool (*is_wanted)(const void *context, struct text octets);
    const void *wanted_by;
    bool (*has_more)(void *context, struct text octets);
    size_t max_octets;
    size_t heard; // octets of the answer's messages before
    int64_t timeout_ms;
    struct loop_timer timer;
    struct error failure; // what to say when the timer fires, unless it is a time-out
    bool is_failed;
    bool is_tcp;
    struct dns_stream *stream; // TCP
    int fd;                    // UDP, or -1
    struct loop_fd *watch;
    dns_done *done;
    void *context;
};

struct net {
    struct dnsnet dnsnet;
    struct loop *loop;
    LIST_OF(struct dns_call) calls;
    LIST_OF(struct dns_stream) kept;
    size_t kept_count;
    unsigned char *scratch; // DNS_MAX_OCTETS, for UDP
    bool is_reporting;
    bool is_freed;
};

// Ends the call with a reply: it is gone afterwards, and the net with it if the callback frees
// that.
void dns_call_report(struct dns_call *call, const struct dns_reply *reply);
// "WHAT SERVER (tcp): DETAIL", and the same with errno's text.
void dns_call_fail(struct dns_call *call, const char *what, const char *detail);
void dns_call_fail_errno(struct dns_call *call, const char *what, int number);
// For what goes wrong within dns_send, which must not call back.
void dns_call_fail_later(struct dns_call *call, const char *what, int number);
bool dns_call_has_id(const struct dns_call *call, const void *octets, size_t len);
// A connected (TCP: connecting) socket, or -1 with errno.
int dns_call_connect(const struct hostport *server, int type);

// Over a kept connection, or a new one.
void dns_stream_start(struct dns_call *call);
void dns_stream_free(struct dns_stream *stream);
