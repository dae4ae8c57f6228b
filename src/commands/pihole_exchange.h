#pragma once

#include "controllers/ingress/targets.h"
#include "io/world.h"
#include "providers/provider.h"

// One exchange with one Pi-hole, for commands that have no engine to hold it.
//
//     struct pihole_exchange exchange = {.world = world, .done = done, .context = context};
//     if (!pihole_exchange_open(&exchange, targets, target, owner_id, err))
//         return false;
//     pihole_exchange_begin(&exchange, &job, timeout_ms);   done(context) comes from the loop
//     ...
//     pihole_exchange_close(&exchange);

#define PIHOLE_NO_TRACE "00000000000000000000000000000001"

struct pihole_exchange {
    const struct world *world;
    void (*done)(void *context); // the job has what came of it; is_late: it was broken off
    void *context;
    bool is_late;
    // Inside.
    const struct provider *provider;
    void *session;
    struct job *job;
    void *exchange;
    int64_t began_ms;
    struct http_call *call;
    struct loop_timer pause;
    struct loop_timer deadline;
};

// A session there. `owner_id` NULL: nothing there is ours.
bool pihole_exchange_open(struct pihole_exchange *exchange, const struct pihole_targets *targets,
                          const struct pihole_target *target, const char *owner_id,
                          struct error *err);
void pihole_exchange_close(
    struct pihole_exchange *exchange); // breaks off what is under way; {0} is fine
// One at a time; the job outlives it. `done` may begin the next, or close. A Pi-hole that is being
// restarted is asked again for a few seconds, with the whole job.
void pihole_exchange_begin(struct pihole_exchange *exchange, struct job *job, int64_t timeout_ms);
// Gives the session up there, within 500 ms.
void pihole_exchange_leave(struct pihole_exchange *exchange, struct job *job);
