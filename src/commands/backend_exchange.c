#include "commands/backend_exchange.h"

#include "base/must.h"

enum { LEAVE_MS = 500, PATIENCE_MS = 3000 };

#define NOBODY "?" // no owner id

static void step(struct backend_exchange *exchange);
static bool may_pass(const struct backend_exchange *exchange);
static void try_again(struct backend_exchange *exchange);

static struct moment moment_of(const struct backend_exchange *exchange)
{
    struct loop *loop = exchange->world->loop;
    return (struct moment){loop_unix_ms(loop), loop_mono_ms(loop), exchange->world->random};
}

static void end(struct backend_exchange *exchange)
{
    loop_timer_cancel(exchange->world->loop, &exchange->deadline);
    loop_timer_cancel(exchange->world->loop, &exchange->pause);
    carrier_cancel(&exchange->carrier);
    if (exchange->exchange)
        exchange->provider->end(exchange->exchange);
    exchange->exchange = NULL;
}

static void finish(struct backend_exchange *exchange, bool is_late)
{
    end(exchange);
    exchange->is_late = is_late;
    exchange->done(exchange->context);
}

static void handle_reply(void *context, const struct ask_result *result)
{
    struct backend_exchange *exchange = context;
    struct moment moment = moment_of(exchange);
    exchange->provider->handle_reply(exchange->exchange, &moment, result);
    step(exchange);
}

static void time_is_over(void *context)
{
    finish(context, true);
}

static void step(struct backend_exchange *exchange)
{
    struct moment moment = moment_of(exchange);
    struct ask ask = {0};
    enum ask_kind kind = exchange->provider->ask(exchange->exchange, &moment, &ask);
    if (carrier_send(&exchange->carrier, kind, &ask))
        return;
    if (may_pass(exchange))
        try_again(exchange);
    else
        finish(exchange, false);
}

static void begin(void *context)
{
    struct backend_exchange *exchange = context;
    exchange->exchange = exchange->provider->begin(exchange->session, exchange->job);
    exchange->carrier =
        (struct carrier){.world = exchange->world, .came = handle_reply, .context = exchange};
    step(exchange);
}

static void begin_in(struct backend_exchange *exchange, int64_t delay_ms)
{
    exchange->pause =
        (struct loop_timer){.call = begin, .context = exchange, .handle = exchange->pause.handle};
    loop_timer_set(exchange->world->loop, &exchange->pause, delay_ms);
}

// Too early to say what is wrong: as a rule its resolver is being restarted.
static bool may_pass(const struct backend_exchange *exchange)
{
    const struct error *trouble = exchange->job->unavailable;
    return trouble && !*trouble->reason && exchange->job->kind != JOB_LEAVE &&
           loop_mono_ms(exchange->world->loop) - exchange->began_ms + trouble->retry_ms <
               PATIENCE_MS;
}

static void try_again(struct backend_exchange *exchange)
{
    struct job *job = exchange->job;
    int64_t retry_ms = job->unavailable->retry_ms;
    exchange->provider->end(exchange->exchange);
    exchange->exchange = NULL;
    job->unavailable = NULL;
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome = (struct outcome){0};
    begin_in(exchange, retry_ms);
}

void backend_exchange_begin(struct backend_exchange *exchange, struct job *job, int64_t timeout_ms)
{
    must(!exchange->exchange);
    exchange->job = job;
    exchange->began_ms = loop_mono_ms(exchange->world->loop);
    exchange->deadline = (struct loop_timer){.call = time_is_over, .context = exchange};
    loop_timer_set(exchange->world->loop, &exchange->deadline, timeout_ms);
    // An exchange that ends at once must not call back from within this function.
    begin_in(exchange, 0);
}

void backend_exchange_leave(struct backend_exchange *exchange, struct job *job)
{
    *job = (struct job){.kind = JOB_LEAVE, .arena = job->arena, .trace = EXCHANGE_NO_TRACE};
    backend_exchange_begin(exchange, job, LEAVE_MS);
}

bool backend_exchange_open(struct backend_exchange *exchange,
                           const struct configured_backend *backend, bool is_read_probe,
                           const char *owner_id, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct backend_want want = {0};
    struct question question = {0};
    struct backend_access *access = backend->settings;
    struct backend_access before = *access;
    access->is_read_probe = is_read_probe;
    must(backend->controller->open(backend->settings, backend->at, arena, &want, &question));
    *access = before;
    const struct session_setup setup = {
        .config = want.config,
        .secret = want.secret,
        .owner_id = owner_id ? owner_id : NOBODY,
    };
    exchange->provider = backend->provider;
    bool is_open = exchange->provider->open(&setup, &exchange->session, err);
    secret_unref(want.secret);
    return is_open;
}

void backend_exchange_close(struct backend_exchange *exchange)
{
    if (!exchange->world)
        return;
    end(exchange);
    if (exchange->session)
        exchange->provider->close(exchange->session);
    exchange->session = NULL;
}
