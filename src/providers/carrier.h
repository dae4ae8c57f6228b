#pragma once

#include "io/world.h"
#include "providers/provider.h"

// Carries out what one exchange of a provider asks for (ask() of provider.h), one thing at a time:
// sends the request or message, reads or replaces the file, runs the process, waits; and hands what
// came of it on. For whoever drives a provider: the engine, and commands that have no engine.
//
//     struct carrier carrier = {.world = world, .came = came, .context = self};
//     if (carrier_send(&carrier, kind, &ask))
//         return; // came(self, result) is called once, from the loop
//     ... ASK_DONE: nothing is under way

struct carrier {
    const struct world *world;
    void (*came)(void *context, const struct ask_result *result);
    void *context;
    enum ask_kind kind; // of what is under way; ASK_DONE: nothing is
    union {
        struct http_call *http;
        struct dns_call *dns;
        struct local_call *local;
    } call;
    struct loop_timer timer;
};

// False: it was ASK_DONE. What the ask points to is borrowed until the answer.
bool carrier_send(struct carrier *carrier, enum ask_kind kind, const struct ask *ask);
// Breaks off what is under way, which is not answered any more. Also where nothing is.
void carrier_cancel(struct carrier *carrier);
