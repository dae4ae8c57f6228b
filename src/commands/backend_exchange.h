#pragma once

#include "commands/backend.h"
#include "io/world.h"
#include "providers/carrier.h"
#include "providers/provider.h"

// One exchange with one backend of the settings, for commands that have no engine to hold it.
//
//     struct backend_exchange exchange = {.world = world, .done = done, .context = context};
//     if (!backend_exchange_open(&exchange, backend, false, owner_id, err))
//         return false;
//     backend_exchange_begin(&exchange, &job, timeout_ms);   done(context) comes from the loop
//     ...
//     backend_exchange_close(&exchange);

#define EXCHANGE_NO_TRACE "00000000000000000000000000000001"

struct backend_exchange {
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
    struct carrier carrier;
    struct loop_timer pause;
    struct loop_timer deadline;
};

// A session there. A visit only looks, beside whoever keeps the backend. `owner_id` NULL: nothing
// there is ours.
bool backend_exchange_open(struct backend_exchange *exchange,
                           const struct configured_backend *backend, bool is_read_probe,
                           const char *owner_id, struct error *err);
void backend_exchange_close(
    struct backend_exchange *exchange); // breaks off what is under way; {0} is fine
// One at a time; the job outlives it. `done` may begin the next, or close. A backend that is being
// restarted is asked again for a few seconds, with the whole job.
void backend_exchange_begin(struct backend_exchange *exchange, struct job *job, int64_t timeout_ms);
// Gives the session up there, within 500 ms.
void backend_exchange_leave(struct backend_exchange *exchange, struct job *job);
