#include "engine/exchange_state.h"

#include <string.h>

#include "base/must.h"

// ---- counting -----------------------------------------------------------------------------------

static enum backend_operation operation_of(enum change_op op)
{
    static const enum backend_operation operations[] = {[CHANGE_SET] = OPERATION_UPSERT,
                                                        [CHANGE_REMOVE] = OPERATION_DELETE,
                                                        [CHANGE_READ] = OPERATION_GET};
    return operations[op];
}

static enum backend_operation operation_of_job(const struct job *job)
{
    if (job->kind != JOB_CHANGES)
        return job->kind == JOB_QUESTION ? OPERATION_QUESTION : OPERATION_HEALTH;
    for (size_t i = 1; i < job->change_count; i++)
        if (job->changes[i].op != job->changes[0].op)
            return OPERATION_BATCH;
    return operation_of(job->changes[0].op);
}

// Nothing came of it, as the backend as a whole was unavailable.
static bool is_put_back(const struct outcome *outcome)
{
    return !outcome->is_done && !outcome->error;
}

static void count_request(struct exchange *exchange, enum backend_operation operation,
                          const struct outcome *outcome)
{
    int status = outcome->is_done ? 200 : outcome->error ? outcome->error->status : 0;
    size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    exchange->backend->requests[operation].by_class[class]++;
}

static void count_exchange(struct exchange *exchange)
{
    const struct job *job = &exchange->job;
    int64_t took_ms = loop_mono_ms(exchange->engine->loop) - exchange->begun_ms;
    histogram_add(&exchange->backend->request_seconds[operation_of_job(job)], took_ms);
    for (size_t i = 0; i < job->change_count; i++)
        if (!is_put_back(&job->changes[i].outcome))
            count_request(exchange, operation_of(job->changes[i].op), &job->changes[i].outcome);
    if (job->kind == JOB_HEALTH || job->kind == JOB_QUESTION)
        count_request(exchange, operation_of_job(job), &job->health);
}

static void check_outcomes(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct outcome *outcome = &exchange->job.changes[i].outcome;
        must(outcome->is_done || outcome->error || exchange->job.unavailable ||
             exchange->is_outdated);
    }
}

// ---- receipts -----------------------------------------------------------------------------------

static void release_names(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++)
        busy_remove(exchange->engine, exchange->busy[i]);
    exchange->busy = NULL;
}

// The session may have learned in the exchange how the server stores what the exchange put there:
// then its fingerprint is another one now.
static void learn_hash(struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    uint8_t *hash = exchange->hashes[at];
    uint8_t learned[FINGERPRINT_OCTETS] = {0};
    if (change->op != CHANGE_SET || !change->outcome.is_done)
        return;
    exchange->session->provider->fingerprint(exchange->session->at, &change->set, learned);
    claim_learn(exchange->engine, exchange->claims[at], hash, learned);
    memcpy(hash, learned, sizeof learned);
}

static void report_ended(const struct exchange *exchange, size_t at)
{
    const struct engine_options *options = &exchange->engine->options;
    const struct change *change = &exchange->job.changes[at];
    uint32_t id = exchange->claims[at];
    if (!options->ended || change->op == CHANGE_READ ||
        claim_is_forgotten(claim_get(exchange->engine, id)))
        return;
    const struct engine_change ended =
        engine_change_of(exchange->engine, id, change->op, &change->set);
    options->ended(options->context, &ended, &change->outcome);
}

static const struct controller *controller_of(const struct engine *engine, size_t number)
{
    return number < engine->options.controller_count ? engine->controllers[number].controller
                                                     : NULL;
}

static void report_stray(struct exchange *exchange, size_t at, const struct outcome *outcome)
{
    const struct engine_options *options = &exchange->engine->options;
    const struct engine_change ended = exchange_planned_change(exchange, at);
    if (options->ended)
        options->ended(options->context, &ended, outcome);
    change_log_change(exchange->backend,
                      controller_of(exchange->engine, exchange->backend->controller), NULL,
                      &exchange->job.changes[at], NULL, &exchange->failures);
}

// A stray that was not removed is found again by the next listing.
static void give_change_request(struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    struct change_request *change_request = exchange->change_requests[at];
    struct outcome outcome = change->outcome;
    if (is_put_back(&outcome))
        outcome.error = exchange->job.unavailable;
    if (change_request->is_stray) {
        report_stray(exchange, at, &outcome);
        if (change_request->is_approved && outcome.is_done)
            backend_ask_now(exchange->backend);
    }
    change_request_answer(change_request, &outcome);
}

static void log_change(struct exchange *exchange, size_t at)
{
    const struct engine *engine = exchange->engine;
    const struct claim *claim = claim_get(engine, exchange->claims[at]);
    if (claim_is_forgotten(claim))
        return;
    const struct key *key = &engine->keys[claim_key(claim)];
    change_log_change(exchange->backend, controller_of(engine, key->controller), key->object,
                      &exchange->job.changes[at], claim, &exchange->failures);
}

static void give_receipts(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        const struct change *change = &exchange->job.changes[i];
        if (exchange->change_requests[i]) {
            give_change_request(exchange, i);
            continue;
        }
        if (is_put_back(&change->outcome)) {
            claim_put_back(exchange->engine, exchange->claims[i], change->op);
            continue;
        }
        log_change(exchange, i);
        learn_hash(exchange, i);
        report_ended(exchange, i);
        claim_finish(exchange->engine, exchange->claims[i], change, exchange->hashes[i],
                     exchange->trace);
    }
}

// A backend whose ledger cannot be stored is unavailable, however well its server is.
static void report_availability(struct exchange *exchange)
{
    const struct error *why = exchange->job.unavailable;
    if (why)
        backend_set_unavailable(exchange->backend, why, !exchange->job.is_listed);
    else if (!exchange->job.is_dry_run)
        backend_set_unavailable(exchange->backend, write_ahead_why_degraded(exchange->backend),
                                false);
}

// ---- the end ------------------------------------------------------------------------------------

static bool has_gone(const struct exchange *exchange, size_t at)
{
    const struct change_request *change_request = exchange->change_requests[at];
    const struct outcome *outcome = &exchange->job.changes[at].outcome;
    return change_request && change_request->is_stray && !change_request->is_approved &&
           outcome->is_done && !outcome->was_absent;
}

static size_t count_gone(const struct exchange *exchange)
{
    size_t count = 0;
    for (size_t i = 0; i < exchange->job.change_count; i++)
        count += has_gone(exchange, i);
    return count;
}

void exchange_end(struct exchange *exchange)
{
    struct backend *backend = exchange->backend;
    bool is_elsewhere = exchange->session->is_elsewhere;
    check_outcomes(exchange);
    count_exchange(exchange);
    exchange_unlink(exchange);
    engine_guard_count(backend, count_gone(exchange));
    write_ahead_settle(exchange);
    if (backend->provider->is_serial)
        report_availability(exchange);
    if (exchange->job.is_dry_run)
        exchange_plan_outcomes(exchange);
    if (exchange->job.kind == JOB_HEALTH) {
        if (exchange->job.is_listed)
            listing_end(exchange);
        if (exchange->change_requests[0]) {
            exchange->job.health.found = NULL;
            change_request_answer(exchange->change_requests[0], &exchange->job.health);
        } else if (!is_elsewhere) {
            backend_take_answer(backend, &exchange->job);
        }
    } else if (exchange->job.kind == JOB_QUESTION) {
        backend_judge(backend, &exchange->job, exchange->trace);
    } else if (exchange->job.kind == JOB_CHANGES) {
        release_names(exchange);
        backend_judge(backend, &exchange->job, exchange->trace);
        if (exchange->engine->dry_run && !backend->provider->lists)
            exchange_imagine_reading(exchange);
        if (exchange->job.answer && !is_elsewhere)
            backend_take_answer(backend, &exchange->job);
        give_receipts(exchange);
        change_log_failures(backend, exchange->failures);
    }
    if (exchange->question)
        question_end(exchange->question, backend, is_elsewhere ? NULL : &exchange->job);
    if (!is_elsewhere)
        backend_learn(backend, exchange->job.learned);
    exchange_free(exchange);
    if (backend->provider->lists)
        engine_release_memory_soon(backend->engine);
    engine_schedule(backend->engine);
}
