#include "engine/exchange_state.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "base/table.h"

enum { PROGRESS_MS = 5000 };

// ---- life of an exchange ------------------------------------------------------------------------

static void exchange_came(void *context, const struct ask_result *result);
static void exchange_step(struct exchange *exchange);

static void log_exchange(const struct exchange *exchange, const char *message)
{
    log_line(exchange->engine->log, LOG_DEBUG, message,
             LOG_TEXT("backend", exchange->backend->name), LOG_TEXT("turn", exchange->trace),
             LOG_END);
}

static struct exchange *exchange_new(struct backend *backend, struct session *session,
                                     enum job_kind kind, const char *trace)
{
    struct exchange *exchange = mem_new_of(struct exchange);
    exchange->engine = backend->engine;
    exchange->backend = backend;
    exchange->session = session;
    exchange->session->refs++;
    exchange->carrier = (struct carrier){
        .world = backend->engine->options.world, .came = exchange_came, .context = exchange};
    exchange->begun_ms = exchange->reported_ms = loop_mono_ms(backend->engine->loop);
    if (trace)
        snprintf(exchange->trace, sizeof exchange->trace, "%s", trace);
    else
        engine_draw_trace(backend->engine, exchange->trace);
    exchange->job.kind = kind;
    exchange->job.arena = arena_new();
    exchange->job.trace = exchange->trace;
    list_prepend(&backend->exchanges, exchange);
    backend->engine->exchange_count_all++;
    log_exchange(exchange, "exchange begins");
    return exchange;
}

void exchange_unlink(struct exchange *exchange)
{
    list_remove(&exchange->backend->exchanges, exchange);
    exchange->engine->exchange_count_all--;
    if (exchange->job.kind == JOB_HEALTH)
        exchange->backend->reading--;
    else if (exchange->job.kind != JOB_LEAVE)
        exchange->backend->in_flight--;
    exchange->backend->idle_since_ms = loop_mono_ms(exchange->engine->loop);
}

void exchange_free(struct exchange *exchange)
{
    struct engine *engine = exchange->engine;
    for (size_t i = 0; exchange->busy && i < exchange->job.change_count; i++)
        busy_remove(engine, exchange->busy[i]);
    carrier_cancel(&exchange->carrier);
    if (exchange->provider_exchange)
        exchange->session->provider->end(exchange->provider_exchange);
    session_unref(exchange->session);
    listing_free(exchange->listing);
    table_done(&exchange->by_name);
    arena_free(exchange->job.arena);
    free(exchange);
}

static void exchange_add_claim(struct exchange *exchange, size_t at, uint32_t id)
{
    struct engine *engine = exchange->engine;
    const struct claim *claim = claim_get(engine, id);
    struct change *change = &exchange->job.changes[at];
    exchange->claims[at] = id;
    claim_begin_exchange(engine, id, exchange);
    if (claim_has_failed(claim))
        key_metrics_retry(engine, claim_key(claim));
    claim_fill_change(engine, id, exchange->job.arena, change);
    if (change->op == CHANGE_SET)
        exchange->session->provider->fingerprint(exchange->session->at, &change->set,
                                                 exchange->hashes[at]);
}

static void exchange_add_change_request(struct exchange *exchange, size_t at,
                                        struct change_request *change_request)
{
    exchange->claims[at] = NO_ID;
    exchange->change_requests[at] = change_request;
    change_request->exchange = exchange;
    exchange->job.changes[at].op = change_request->op;
    exchange->job.changes[at].set = *change_request->content;
}

struct engine_change exchange_planned_change(const struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    if (!exchange->change_requests[at])
        return engine_change_of(exchange->engine, exchange->claims[at], change->op, &change->set);
    return (struct engine_change){.act = ENGINE_DELETE,
                                  .backend = exchange->backend->name,
                                  .server = exchange->backend->registry,
                                  .set = &change->set};
}

void exchange_imagine_reading(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct outcome *outcome = &exchange->job.changes[i].outcome;
        if (outcome->is_done)
            continue;
        if (outcome->error)
            exchange->backend->view.unavailable = *outcome->error;
        *outcome = (struct outcome){.is_done = true, .is_uncertain = true};
    }
}

// Reading changes nothing, so a dry run does it, too, where it matters and somebody answers.
static bool may_read(const struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++)
        if (exchange->change_requests[i] || exchange->job.changes[i].op != CHANGE_READ ||
            !claim_is_shown(claim_get(exchange->engine, exchange->claims[i])))
            return false;
    return !exchange->backend->transport_failures;
}

// Nothing is said to the backend; all of it counts as done.
static void exchange_imagine(struct exchange *exchange)
{
    exchange_imagine_reading(exchange);
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct change *change = &exchange->job.changes[i];
        change->outcome.is_uncertain = change->op == CHANGE_READ;
        if (change->op == CHANGE_READ || exchange->change_requests[i])
            continue;
        const struct engine_change planned = exchange_planned_change(exchange, i);
        dry_run_add(exchange->engine->dry_run, &planned);
    }
    exchange_end(exchange);
}

// A dry run of changes: the provider reads what stands there, and says what it would do.
static void exchange_try(struct exchange *exchange)
{
    exchange->job.is_dry_run = true;
    write_ahead_look(exchange);
    exchange_start(exchange);
}

// Of ours something goes where somebody else's keeps it out, or says the same.
static bool would_change(const struct change *change, enum engine_act *act)
{
    const struct outcome *outcome = &change->outcome;
    bool stands = outcome->is_done && !outcome->is_foreign && change->op == CHANGE_SET;
    if (change->op == CHANGE_READ)
        return false;
    if (!stands)
        *act = ENGINE_DELETE;
    else
        *act = outcome->was_created ? ENGINE_CREATE : ENGINE_UPDATE;
    return stands ? !outcome->is_unchanged : outcome->replaced != NULL;
}

void exchange_plan_outcomes(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        enum engine_act act;
        if (!would_change(&exchange->job.changes[i], &act))
            continue;
        struct engine_change planned = exchange_planned_change(exchange, i);
        planned.act = act;
        dry_run_add(exchange->engine->dry_run, &planned);
    }
}

void exchange_begin(struct backend *backend, const struct batch *batch)
{
    size_t count = batch->count;
    const char *trace = batch->change_requests[0] ? batch->change_requests[0]->trace : NULL;
    struct exchange *exchange = exchange_new(backend, backend->session, JOB_CHANGES, trace);
    struct arena *arena = exchange->job.arena;
    backend->in_flight++;
    exchange->job.changes = arena_new_array(arena, struct change, count);
    exchange->job.change_count = count;
    exchange->claims = arena_new_array(arena, uint32_t, count);
    exchange->change_requests = arena_new_array(arena, struct change_request *, count);
    exchange->busy = arena_new_array(arena, uint32_t, count);
    exchange->hashes = arena_alloc(arena, count, sizeof *exchange->hashes);
    for (size_t i = 0; i < count; i++) {
        exchange->busy[i] = batch->busy[i];
        if (batch->change_requests[i])
            exchange_add_change_request(exchange, i, batch->change_requests[i]);
        else
            exchange_add_claim(exchange, i, batch->claims[i]);
    }
    if (exchange->engine->dry_run) {
        if (backend->provider->lists)
            exchange_try(exchange);
        else if (may_read(exchange))
            exchange_start(exchange);
        else
            exchange_imagine(exchange);
        return;
    }
    if (!write_ahead_store(exchange))
        exchange_start(exchange);
}

void exchange_start(struct exchange *exchange)
{
    exchange->provider_exchange =
        exchange->session->provider->begin(exchange->session->at, &exchange->job);
    exchange_step(exchange);
}

void exchange_begin_leave(struct backend *backend, struct session *session)
{
    struct exchange *exchange = exchange_new(backend, session, JOB_LEAVE, NULL);
    write_ahead_look(exchange);
    exchange_start(exchange);
}

void exchange_begin_question(struct backend *backend, struct question_state *question,
                             struct change_request *change_request)
{
    bool is_health = !question || question_is_health(question);
    struct exchange *exchange =
        exchange_new(backend, backend->session, is_health ? JOB_HEALTH : JOB_QUESTION,
                     change_request ? change_request->trace : NULL);
    exchange->question = question;
    if (question) {
        question_set_exchange(question, exchange);
        question_fill_job(question, &exchange->job);
    }
    ++*(is_health ? &backend->reading : &backend->in_flight);
    if (is_health && backend->provider->lists) {
        exchange->listing = listing_new(backend->engine);
        exchange->job.report_existing = listing_add_existing;
        exchange->job.context = exchange;
    }
    write_ahead_look(exchange);
    exchange->change_requests = arena_new_array(exchange->job.arena, struct change_request *, 1);
    exchange->change_requests[0] = change_request;
    if (change_request)
        change_request->exchange = exchange;
    exchange_start(exchange);
}

void exchange_drop_question(struct exchange *exchange)
{
    exchange->question = NULL;
    if (exchange->job.kind == JOB_QUESTION)
        exchange_abort(exchange);
}

// ---- results ------------------------------------------------------------------------------------

void exchange_abort(struct exchange *exchange)
{
    struct engine *engine = exchange->engine;
    log_exchange(exchange, "exchange broken off");
    write_ahead_abort(exchange);
    carrier_cancel(&exchange->carrier);
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        if (exchange->change_requests[i])
            change_request_free(exchange->change_requests[i]);
        else
            claim_unanswered(engine, exchange->claims[i], exchange->job.changes[i].op);
    }
    if (exchange->job.kind == JOB_HEALTH && exchange->change_requests[0])
        change_request_free(exchange->change_requests[0]);
    exchange_unlink(exchange);
    if (exchange->question)
        question_abort(exchange->question, engine);
    exchange_free(exchange);
}

void exchanges_abort(struct backend *backend)
{
    for (struct exchange *exchange; (exchange = list_first(&backend->exchanges));)
        exchange_abort(exchange);
}

// ---- talking ------------------------------------------------------------------------------------

static struct moment moment_of(const struct engine *engine)
{
    return (struct moment){.unix_ms = loop_unix_ms(engine->loop),
                           .mono_ms = loop_mono_ms(engine->loop),
                           .random = engine->options.world->random};
}

static void report_progress(struct exchange *exchange, int64_t now_ms)
{
    if (!exchange->job.writes.open || now_ms - exchange->reported_ms < PROGRESS_MS)
        return;
    exchange->reported_ms = now_ms;
    change_log_progress(exchange->backend, &exchange->job);
}

static void exchange_handle_reply(struct exchange *exchange, const struct ask_result *result)
{
    struct moment moment = moment_of(exchange->engine);
    exchange->session->provider->handle_reply(exchange->provider_exchange, &moment, result);
    report_progress(exchange, moment.mono_ms);
    exchange_step(exchange);
}

static bool is_change_outdated(const struct exchange *exchange, size_t at)
{
    const struct claim *claim = claim_get(exchange->engine, exchange->claims[at]);
    const struct change *change = &exchange->job.changes[at];
    return claim_is_forgotten(claim) ||
           claim_backend(exchange->engine, claim) != exchange->backend ||
           claim_op(claim) != change->op ||
           (change->op == CHANGE_SET && !claim_wants(claim, exchange->hashes[at]));
}

// While an exchange waits its changes may be edited or deleted, and its backend may get another
// server.
static bool is_outdated(const struct exchange *exchange)
{
    if (exchange->job.kind == JOB_CHANGES && exchange->session != exchange->backend->session)
        return true;
    for (size_t i = 0; i < exchange->job.change_count; i++)
        if (!exchange->change_requests[i] && is_change_outdated(exchange, i))
            return true;
    return false;
}

static void exchange_came(void *context, const struct ask_result *result)
{
    struct exchange *exchange = context;
    exchange->is_outdated = result->kind == ASK_WAIT && is_outdated(exchange);
    if (exchange->is_outdated)
        exchange_end(exchange);
    else
        exchange_handle_reply(exchange, result);
}

// The answer of such a question would say nothing of the server that the backend has now, and the
// next question waits for its end.
static bool is_idle_question(const struct backend *backend, const struct exchange *exchange)
{
    bool is_question = exchange->job.kind == JOB_HEALTH || exchange->job.kind == JOB_QUESTION;
    return is_question && !exchange->change_requests[0] && !backend->provider->is_serial;
}

void exchanges_move_elsewhere(struct backend *backend)
{
    list_each (exchange, &backend->exchanges) {
        exchange->session->is_elsewhere = true;
        if (is_idle_question(backend, exchange))
            exchange_abort(exchange);
    }
}

void exchanges_end_waiting(struct backend *backend)
{
    list_each (at, &backend->exchanges) {
        if (at->carrier.kind == ASK_WAIT)
            exchange_abort(at);
    }
    engine_schedule(backend->engine);
}

static void exchange_step(struct exchange *exchange)
{
    struct moment moment = moment_of(exchange->engine);
    struct ask ask = {0};
    enum ask_kind kind =
        exchange->session->provider->ask(exchange->provider_exchange, &moment, &ask);
    if (kind != ASK_DONE && kind != ASK_WAIT && !engine_may_write(exchange->engine)) {
        exchange_abort(exchange);
        return;
    }
    must(!(kind == ASK_FILE && ask.file.is_replaced && exchange->engine->dry_run));
    if (!carrier_send(&exchange->carrier, kind, &ask))
        exchange_end(exchange);
    else if (kind == ASK_WAIT && exchange->engine->is_stopping)
        exchanges_end_waiting(exchange->backend);
}
