#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"

enum { PROGRESS_MS = 5000 };

// ---- names in flight ----------------------------------------------------------------------------

struct wanted_name {
    uint16_t registry;
    const char *name;
};

static uint64_t busy_hash_of(uint16_t registry, const char *name)
{
    return hash_octets(name, strlen(name)) ^ registry;
}

static bool busy_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct wanted_name *at = wanted;
    return engine->busy[id].registry == at->registry && !strcmp(engine->busy[id].name, at->name);
}

static uint64_t busy_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return busy_hash_of(engine->busy[id].registry, engine->busy[id].name);
}

static const struct table_ops busy_table_ops = {busy_matches, busy_hash};

static struct table *busy_table(struct engine *engine)
{
    engine->busy_names.ops = &busy_table_ops;
    engine->busy_names.context = engine;
    return &engine->busy_names;
}

bool busy_has(struct engine *engine, uint16_t registry, const char *name)
{
    const struct wanted_name wanted = {registry, name};
    return table_find(busy_table(engine), busy_hash_of(registry, name), &wanted) != TABLE_NONE;
}

uint32_t busy_add(struct engine *engine, uint16_t registry, const char *name)
{
    uint32_t id = engine->free_busy;
    if (id != NO_ID) {
        engine->free_busy = engine->busy[id].next_free;
    } else {
        mem_reserve(&engine->busy, &engine->busy_capacity, (size_t)engine->busy_used + 1);
        id = engine->busy_used++;
    }
    engine->busy[id] = (struct busy_name){.registry = registry, .name = mem_copy_text(name)};
    engine->registries[registry].refs++;
    table_add(busy_table(engine), busy_hash_of(registry, name), id);
    return id;
}

static void busy_remove(struct engine *engine, uint32_t id)
{
    if (id == NO_ID)
        return;
    table_remove(busy_table(engine), busy_hash(engine, id), id);
    engine->registries[engine->busy[id].registry].refs--;
    free(engine->busy[id].name);
    engine->busy[id] = (struct busy_name){.next_free = engine->free_busy};
    engine->free_busy = id;
}

void busy_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->busy_used; id++)
        free(engine->busy[id].name);
    free(engine->busy);
    table_done(&engine->busy_names);
}

// ---- life of an exchange ------------------------------------------------------------------------

static void exchange_step(struct exchange *exchange);
static void exchange_land(struct exchange *exchange);

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
    exchange->begun_ms = exchange->told_ms = loop_mono_ms(backend->engine->loop);
    if (trace)
        snprintf(exchange->trace, sizeof exchange->trace, "%s", trace);
    else
        engine_trace(backend->engine, exchange->trace);
    exchange->job.kind = kind;
    exchange->job.arena = arena_new();
    exchange->job.trace = exchange->trace;
    exchange->next = backend->exchanges;
    backend->exchanges = exchange;
    backend->engine->exchange_count_all++;
    log_exchange(exchange, "exchange begins");
    return exchange;
}

static void exchange_unlink(struct exchange *exchange)
{
    struct exchange **link = &exchange->backend->exchanges;
    while (*link != exchange)
        link = &(*link)->next;
    *link = exchange->next;
    exchange->engine->exchange_count_all--;
    if (exchange->job.kind == JOB_HEALTH)
        exchange->backend->reading--;
    else if (exchange->job.kind == JOB_CHANGES)
        exchange->backend->in_flight--;
    exchange->backend->idle_since_ms = loop_mono_ms(exchange->engine->loop);
}

static void exchange_free(struct exchange *exchange)
{
    struct engine *engine = exchange->engine;
    for (size_t i = 0; exchange->busy && i < exchange->job.change_count; i++)
        busy_remove(engine, exchange->busy[i]);
    loop_timer_cancel(engine->loop, &exchange->timer);
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
    struct claim *claim = &engine->claims[id];
    struct change *change = &exchange->job.changes[at];
    struct text domain = claim_domain(claim);
    struct text subdomain = claim_subdomain(claim);
    exchange->claims[at] = id;
    claim_depart(engine, id, exchange);
    change->may_adopt = claim->pending->may_adopt;
    if (claim->pending->attempts)
        key_metrics_retry(engine, claim->key);
    if (claim_sends(claim) == CLAIM_SET) {
        change->op = CHANGE_SET;
        change->set =
            *content_make_set(exchange->job.arena, claim->pending->content, domain, subdomain);
        exchange->session->provider->fingerprint(exchange->session->at, &change->set,
                                                 exchange->hashes[at]);
        return;
    }
    change->op = claim_sends(claim) == CLAIM_LOOK ? CHANGE_READ : CHANGE_REMOVE;
    change->set = (struct record_set){
        .type = claim->type,
        .domain = text_of(arena_copy(exchange->job.arena, domain.at, domain.len)),
        .subdomain = text_of(arena_copy(exchange->job.arena, subdomain.at, subdomain.len)),
        .priority = -1,
        .weight = -1,
        .port = -1,
    };
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

static struct engine_change planned_change(const struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    if (!exchange->change_requests[at])
        return engine_change_of(exchange->engine, exchange->claims[at], change->op, &change->set);
    return (struct engine_change){.act = ENGINE_DELETE,
                                  .backend = exchange->backend->name,
                                  .server = exchange->backend->registry,
                                  .set = &change->set};
}

// What could not be read counts as read, and as not known. Why is remembered for the plan.
static void imagine_reading(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct outcome *outcome = &exchange->job.changes[i].outcome;
        if (outcome->is_done)
            continue;
        if (outcome->error)
            exchange->backend->view.trouble = *outcome->error;
        *outcome = (struct outcome){.is_done = true, .is_uncertain = true};
    }
}

// Reading changes nothing, so a dry run does it, too, where it matters and somebody answers.
static bool may_read(const struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++)
        if (exchange->change_requests[i] || exchange->job.changes[i].op != CHANGE_READ ||
            !exchange->engine->claims[exchange->claims[i]].pending->is_shown)
            return false;
    return !exchange->backend->transport_failures;
}

// Nothing is said to the backend; all of it counts as done.
static void exchange_imagine(struct exchange *exchange)
{
    imagine_reading(exchange);
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct change *change = &exchange->job.changes[i];
        change->outcome.is_uncertain = change->op == CHANGE_READ;
        if (change->op == CHANGE_READ || exchange->change_requests[i])
            continue;
        const struct engine_change planned = planned_change(exchange, i);
        dry_run_add(exchange->engine->dry_run, &planned);
    }
    exchange_land(exchange);
}

// What stands there is looked at, and the provider says what it would do.
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

static void plan_outcomes(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        enum engine_act act;
        if (!would_change(&exchange->job.changes[i], &act))
            continue;
        struct engine_change planned = planned_change(exchange, i);
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

void exchange_begin_health(struct backend *backend, struct change_request *change_request)
{
    struct exchange *exchange = exchange_new(backend, backend->session, JOB_HEALTH,
                                             change_request ? change_request->trace : NULL);
    backend->reading++;
    if (backend->provider->lists) {
        exchange->listing = listing_new(backend->engine);
        exchange->job.holds = listing_hold;
        exchange->job.context = exchange;
    }
    write_ahead_look(exchange);
    exchange->change_requests = arena_new_array(exchange->job.arena, struct change_request *, 1);
    exchange->change_requests[0] = change_request;
    if (change_request)
        change_request->exchange = exchange;
    exchange_start(exchange);
}

// ---- results ------------------------------------------------------------------------------------

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
        return OPERATION_HEALTH;
    for (size_t i = 1; i < job->change_count; i++)
        if (job->changes[i].op != job->changes[0].op)
            return OPERATION_BATCH;
    return operation_of(job->changes[0].op);
}

// Nothing came of it, as the backend as a whole was in trouble.
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
    if (job->kind == JOB_HEALTH)
        count_request(exchange, OPERATION_HEALTH, &job->health);
}

static void check_outcomes(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        struct outcome *outcome = &exchange->job.changes[i].outcome;
        must(outcome->is_done || outcome->error || exchange->job.trouble || exchange->is_outdated);
    }
}

// While the backend is in trial, what is due shares the one probe's fate: a dead server costs one
// time-out a step, not one a record.
static void share_failure(struct backend *backend, const struct error *error, const char *trace)
{
    for (int line = 0; line < 2; line++)
        while (backend->due[line].first != NO_ID) {
            uint32_t id = backend->due[line].first;
            claim_unqueue(backend->engine, id);
            claim_fail(backend->engine, id, error, trace);
        }
}

// The failure that speaks for the backend: of the change that could not be talked about.
static const struct error *first_error(const struct job *job)
{
    for (size_t i = 0; i < job->change_count; i++) {
        const struct error *error = job->changes[i].outcome.error;
        if (error && (!job->is_transport_failure || error->fault == FAULT_AGAIN))
            return error;
    }
    return NULL;
}

static bool has_done(const struct job *job)
{
    for (size_t i = 0; i < job->change_count; i++)
        if (job->changes[i].outcome.is_done)
            return true;
    return false;
}

// The backend was said to be out of reach, or to refuse us, and now this.
static bool contradicts_health(const struct exchange *exchange)
{
    const struct backend_view *view = &exchange->backend->view;
    if (!view->answered_s || view->is_answer_ok)
        return false;
    bool was_unreachable = view->answer_error.fault == FAULT_AGAIN && !view->answer_error.status;
    bool was_refused = view->answer_error.fault == FAULT_AUTH;
    return was_unreachable || (was_refused && has_done(&exchange->job));
}

static void backend_judge(struct exchange *exchange)
{
    struct backend *backend = exchange->backend;
    if (exchange->job.kind != JOB_CHANGES)
        return;
    const struct error *error = first_error(&exchange->job);
    if (!exchange->job.is_transport_failure) {
        backend->transport_failures = 0;
        if (contradicts_health(exchange))
            backend_ask_anew(backend);
        if (error && error->fault == FAULT_LIMIT && error->retry_ms > 0)
            backend->blocked_until_ms = loop_mono_ms(backend->engine->loop) + error->retry_ms;
        return;
    }
    backend->transport_failures++;
    if (backend->transport_failures > 3 && error)
        share_failure(backend, error, exchange->trace);
}

static void release_names(struct exchange *exchange)
{
    for (size_t i = 0; i < exchange->job.change_count; i++)
        busy_remove(exchange->engine, exchange->busy[i]);
    exchange->busy = NULL;
}

// What the session learned in the exchange counts for what the exchange put there.
static void learn_hash(struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    struct claim *claim = &exchange->engine->claims[exchange->claims[at]];
    uint8_t *hash = exchange->hashes[at];
    uint8_t learned[FINGERPRINT_OCTETS] = {0};
    if (change->op != CHANGE_SET || !change->outcome.is_done)
        return;
    exchange->session->provider->fingerprint(exchange->session->at, &change->set, learned);
    if (claim_wants(claim, hash))
        claim_set_wanted(exchange->engine, claim, learned);
    memcpy(hash, learned, sizeof learned);
}

static void tell_ended(const struct exchange *exchange, size_t at)
{
    const struct engine_options *options = &exchange->engine->options;
    const struct change *change = &exchange->job.changes[at];
    uint32_t id = exchange->claims[at];
    if (!options->ended || change->op == CHANGE_READ ||
        claim_is_forgotten(&exchange->engine->claims[id]))
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

static void tell_stray(struct exchange *exchange, size_t at, const struct outcome *outcome)
{
    const struct engine_options *options = &exchange->engine->options;
    const struct engine_change ended = planned_change(exchange, at);
    if (options->ended)
        options->ended(options->context, &ended, outcome);
    change_log_change(exchange->backend,
                      controller_of(exchange->engine, exchange->backend->controller), NULL,
                      &exchange->job.changes[at], &exchange->failures);
}

// A stray that was not removed is found again by the next list.
static void give_change_request(struct exchange *exchange, size_t at)
{
    const struct change *change = &exchange->job.changes[at];
    struct change_request *change_request = exchange->change_requests[at];
    struct outcome outcome = change->outcome;
    if (is_put_back(&outcome))
        outcome.error = exchange->job.trouble;
    if (change_request->is_stray) {
        tell_stray(exchange, at, &outcome);
        exchange->backend->is_question_due |=
            change_request->is_approved && outcome.is_done && exchange->backend->has_question;
    }
    change_request_answer(change_request, &outcome);
}

static void tell_words(struct exchange *exchange, size_t at)
{
    const struct engine *engine = exchange->engine;
    const struct claim *claim = &engine->claims[exchange->claims[at]];
    if (claim_is_forgotten(claim))
        return;
    const struct key *key = &engine->keys[claim->key];
    change_log_change(exchange->backend, controller_of(engine, key->controller), key->object,
                      &exchange->job.changes[at], &exchange->failures);
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
        tell_words(exchange, i);
        learn_hash(exchange, i);
        tell_ended(exchange, i);
        claim_finish(exchange->engine, exchange->claims[i], change, exchange->hashes[i],
                     exchange->trace);
    }
}

// A ledger that cannot be stored stays a trouble, however well the backend is.
static void hear_trouble(struct exchange *exchange)
{
    const struct error *trouble = exchange->job.trouble;
    if (trouble)
        backend_hear_trouble(exchange->backend, trouble, !exchange->job.is_listed);
    else if (!exchange->job.is_dry_run)
        backend_hear_trouble(exchange->backend, write_ahead_trouble(exchange->backend), false);
}

static void exchange_land(struct exchange *exchange)
{
    struct backend *backend = exchange->backend;
    check_outcomes(exchange);
    count_exchange(exchange);
    exchange_unlink(exchange);
    holds_count(exchange);
    write_ahead_settle(exchange);
    if (backend->provider->is_serial)
        hear_trouble(exchange);
    if (exchange->job.is_dry_run)
        plan_outcomes(exchange);
    if (exchange->job.kind == JOB_HEALTH) {
        if (exchange->job.is_listed)
            listing_end(exchange);
        if (exchange->change_requests[0]) {
            exchange->job.health.found = NULL;
            change_request_answer(exchange->change_requests[0], &exchange->job.health);
        } else {
            backend_answered(backend, exchange);
        }
    } else if (exchange->job.kind == JOB_CHANGES) {
        release_names(exchange);
        backend_judge(exchange);
        if (exchange->engine->dry_run && !backend->provider->lists)
            imagine_reading(exchange);
        if (exchange->job.answer)
            backend_take_answer(backend, exchange);
        give_receipts(exchange);
        change_log_failures(backend, exchange->failures);
    }
    backend_learn(backend, exchange);
    exchange_free(exchange);
    if (backend->provider->lists)
        engine_release_soon(backend->engine);
    engine_schedule(backend->engine);
}

void exchange_abort(struct exchange *exchange)
{
    struct engine *engine = exchange->engine;
    log_exchange(exchange, "exchange broken off");
    write_ahead_abort(exchange);
    if (exchange->http)
        http_cancel(engine->options.world->http, exchange->http);
    if (exchange->dns)
        dns_cancel(engine->options.world->dns, exchange->dns);
    for (size_t i = 0; i < exchange->job.change_count; i++) {
        if (exchange->change_requests[i])
            change_request_free(exchange->change_requests[i]);
        else
            claim_unanswered(engine, exchange->claims[i], exchange->job.changes[i].op);
    }
    if (exchange->job.kind == JOB_HEALTH && exchange->change_requests[0])
        change_request_free(exchange->change_requests[0]);
    exchange_unlink(exchange);
    exchange_free(exchange);
}

// ---- talking ------------------------------------------------------------------------------------

static struct moment moment_of(const struct engine *engine)
{
    return (struct moment){.unix_ms = loop_unix_ms(engine->loop),
                           .mono_ms = loop_mono_ms(engine->loop),
                           .random = engine->options.world->random};
}

static void tell_progress(struct exchange *exchange, int64_t now_ms)
{
    if (!exchange->job.writes.open || now_ms - exchange->told_ms < PROGRESS_MS)
        return;
    exchange->told_ms = now_ms;
    change_log_progress(exchange->backend, &exchange->job);
}

static void exchange_hear(struct exchange *exchange, const struct heard *heard)
{
    struct moment moment = moment_of(exchange->engine);
    exchange->http = NULL;
    exchange->dns = NULL;
    exchange->session->provider->hear(exchange->provider_exchange, &moment, heard);
    tell_progress(exchange, moment.mono_ms);
    exchange_step(exchange);
}

static void http_came(void *context, const struct http_reply *reply)
{
    exchange_hear(context, &(struct heard){.kind = ASK_HTTP, .http = reply});
}

static void dns_came(void *context, const struct dns_reply *reply)
{
    exchange_hear(context, &(struct heard){.kind = ASK_DNS, .dns = reply});
}

static bool is_change_outdated(const struct exchange *exchange, size_t at)
{
    const struct claim *claim = &exchange->engine->claims[exchange->claims[at]];
    const struct change *change = &exchange->job.changes[at];
    return claim_is_forgotten(claim) ||
           claim_backend(exchange->engine, claim) != exchange->backend ||
           claim_op(claim) != change->op ||
           (change->op == CHANGE_SET && !claim_wants(claim, exchange->hashes[at]));
}

// What an exchange was to carry may be edited or deleted while it waits, and where to may change.
static bool is_outdated(const struct exchange *exchange)
{
    if (exchange->job.kind == JOB_CHANGES && exchange->session != exchange->backend->session)
        return true;
    for (size_t i = 0; i < exchange->job.change_count; i++)
        if (!exchange->change_requests[i] && is_change_outdated(exchange, i))
            return true;
    return false;
}

static void wait_over(void *context)
{
    struct exchange *exchange = context;
    exchange->is_waiting = false;
    exchange->is_outdated = is_outdated(exchange);
    if (exchange->is_outdated)
        exchange_land(exchange);
    else
        exchange_hear(exchange, &(struct heard){.kind = ASK_WAIT});
}

static void exchange_wait(struct exchange *exchange, int64_t wait_ms)
{
    struct loop *loop = exchange->engine->loop;
    exchange->is_waiting = true;
    exchange->timer = (struct loop_timer){
        .call = wait_over, .context = exchange, .handle = exchange->timer.handle};
    loop_timer_set(loop, &exchange->timer, wait_ms);
    if (exchange->engine->is_stopping)
        exchanges_end_waiting(exchange->backend);
}

void exchanges_end_waiting(struct backend *backend)
{
    for (struct exchange *at = backend->exchanges, *next; at; at = next) {
        next = at->next;
        if (at->is_waiting)
            exchange_abort(at);
    }
    engine_schedule(backend->engine);
}

static void exchange_step(struct exchange *exchange)
{
    const struct world *world = exchange->engine->options.world;
    struct moment moment = moment_of(exchange->engine);
    struct ask ask = {0};
    enum ask_kind kind =
        exchange->session->provider->ask(exchange->provider_exchange, &moment, &ask);
    if ((kind == ASK_HTTP || kind == ASK_DNS) && !engine_may_write(exchange->engine)) {
        exchange_abort(exchange);
        return;
    }
    switch (kind) {
    case ASK_HTTP:
        exchange->http = http_send(world->http, &ask.http, http_came, exchange);
        return;
    case ASK_DNS:
        exchange->dns = dns_send(world->dns, &ask.dns, dns_came, exchange);
        return;
    case ASK_WAIT:
        exchange_wait(exchange, ask.wait_ms);
        return;
    case ASK_DONE:
        exchange_land(exchange);
        return;
    }
}
