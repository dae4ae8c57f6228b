#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/url.h"

// DNS messages as octets over UDP and TCP; what they mean is dns/message's business. An interface:
// the real one is dnsnet_new, tests hand in their own.

struct dns_request {
    struct hostport server; // an IP address and port
    struct text octets;     // a whole message without TCP length
    bool use_tcp;           // else UDP
    int64_t timeout_ms;     // whole exchange; with has_more for each message
    // Over UDP anybody can send what looks like an answer: false has it passed over, and the wait
    // goes on. Called until the callback. NULL: any is taken.
    bool (*is_wanted)(const void *context, struct text octets);
    const void *context;
    // Over TCP an answer may have many messages (a zone transfer): called with each and the context
    // of dns_send; false: that was the last, and the reply has it. Not to cancel or free in. NULL:
    // there is one.
    bool (*has_more)(void *context, struct text octets);
    size_t max_octets; // of all messages together; 0: no limit
};

// Lives for the length of the callback. A UDP answer is taken only from the asked address, with the
// asked message id and if it is wanted; others are ignored until the time-out, whose reply shows
// the first one that was not wanted in `octets`.
struct dns_reply {
    bool is_answered;
    bool is_timeout;
    struct error error; // when not answered
    struct text octets;
};

typedef void dns_done(void *context, const struct dns_reply *reply);
struct dns_call;
struct dnsnet;
struct dnsnet_ops {
    struct dns_call *(*send)(struct dnsnet *net, const struct dns_request *request, dns_done *done,
                             void *context);
    void (*cancel)(struct dnsnet *net, struct dns_call *call);
    void (*free)(struct dnsnet *net);
};
struct dnsnet {
    const struct dnsnet_ops *ops;
};

struct loop;
// TCP connections are kept for 2 s and used again by the next request to that server.
struct dnsnet *dnsnet_new(struct loop *loop);
static inline void dnsnet_free(struct dnsnet *net)
{
    if (net)
        net->ops->free(net);
}
// Calls done exactly once, never from within this call, unless cancelled first.
static inline struct dns_call *dns_send(struct dnsnet *net, const struct dns_request *request,
                                        dns_done *done, void *context)
{
    return net->ops->send(net, request, done, context);
}
static inline void dns_cancel(struct dnsnet *net, struct dns_call *call)
{
    net->ops->cancel(net, call);
}
