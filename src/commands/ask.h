#pragma once

#include "base/url.h"
#include "commands/view.h"
#include "io/dnsnet.h"
#include "io/loop.h"
#include "io/random.h"

// Asks one name server for the record sets of a view's rows (no recursion; UDP, then TCP when the
// answer does not fit) and writes into each row what it answers. Values and the numbers of MX and
// SRV are compared as a set; the TTL is not, as caches count it down. A record that is one among
// others must be among them; those of a delegation count where they stand in its referral.

struct ask_options {
    struct loop *loop;
    struct dnsnet *net;
    struct random *random;
    struct hostport server;
    int64_t timeout_ms; // of one question; 0: 2 s
};

struct ask;
// Calls done once, never from within this call. The view must stay until then, or until ask_free.
struct ask *ask_new(const struct ask_options *options, struct view *view, loop_call *done,
                    void *context);
void ask_free(struct ask *ask); // accepts NULL; what is still open is cancelled
