#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"

enum { PROGRESS_MS = 5000 };

// ---- names in flight ----------------------------------------------------------------------------

struct wanted_name {
    uint16_t book;
    const char *name;
};

static uint64_t busy_hash_of(uint16_t book, const char *name)
{
    return hash_octets(name, strlen(name)) ^ book;
}

static bool busy_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct wanted_name *at = wanted;
    return engine->busy[id].book == at->book && !strcmp(engine->busy[id].name, at->name);
}

static uint64_t busy_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return busy_hash_of(engine->busy[id].book, engine->busy[id].name);
}

static const struct table_ops busy_table_ops = {busy_matches, busy_hash};

static struct table *busy_table(struct engine *engine)
{
    engine->busy_names.ops = &busy_table_ops;
    engine->busy_names.context = engine;
    return &engine->busy_names;
}

bool busy_has(struct engine *engine, uint16_t book, const char *name)
{
    const struct wanted_name wanted = {book, name};
    return table_find(busy_table(engine), busy_hash_of(book, name), &wanted) != TABLE_NONE;
}

uint32_t busy_add(struct engine *engine, uint16_t book, const char *name)
{
    uint32_t id = engine->free_busy;
    if (id != NO_ID) {
        engine->free_busy = engine->busy[id].next_free;
    } else {
        mem_reserve(&engine->busy, &engine->busy_capacity, (size_t)engine->busy_used + 1);
        id = engine->busy_used++;
    }
    engine->busy[id] = (struct busy_name){.book = book, .name = mem_copy_text(name)};
    engine->books[book].refs++;
    table_add(busy_table(engine), busy_hash_of(book, name), id);
    return id;
}

static void busy_remove(struct engine *engine, uint32_t id)
{
    if (id == NO_ID)
        return;
    table_remove(busy_table(engine), busy_hash(engine, id), id);
    engine->books[engine->busy[id].book].refs--;
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

// ---- life of a flight ---------------------------------------------------------------------------

static void flight_step(struct flight *flight);
static void flight_land(struct flight *flight);

static void log_flight(const struct flight *flight, const char *message)
{
    log_line(flight->engine->log, LOG_DEBUG, message, LOG_TEXT("lane", flight->lane->name),
             LOG_TEXT("turn", flight->trace), LOG_END);
}

static struct flight *flight_new(struct lane *lane, struct seat *seat, enum job_kind kind,
                                 const char *trace)
{
    struct flight *flight = mem_new_of(struct flight);
    flight->engine = lane->engine;
    flight->lane = lane;
    flight->seat = seat;
    flight->seat->refs++;
    flight->begun_ms = flight->told_ms = loop_mono_ms(lane->engine->loop);
    if (trace)
        snprintf(flight->trace, sizeof flight->trace, "%s", trace);
    else
        engine_trace(lane->engine, flight->trace);
    flight->job.kind = kind;
    flight->job.arena = arena_new();
    flight->job.trace = flight->trace;
    flight->next = lane->flights;
    lane->flights = flight;
    lane->engine->flights_in_air++;
    log_flight(flight, "talk begins");
    return flight;
}

static void flight_unlink(struct flight *flight)
{
    struct flight **link = &flight->lane->flights;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    flight->engine->flights_in_air--;
    if (flight->job.kind == JOB_HEALTH)
        flight->lane->reading--;
    else if (flight->job.kind == JOB_CHANGES)
        flight->lane->in_flight--;
    flight->lane->idle_since_ms = loop_mono_ms(flight->engine->loop);
}

static void flight_free(struct flight *flight)
{
    struct engine *engine = flight->engine;
    for (size_t i = 0; flight->busy && i < flight->job.change_count; i++)
        busy_remove(engine, flight->busy[i]);
    loop_timer_cancel(engine->loop, &flight->timer);
    if (flight->talk)
        flight->seat->provider->end(flight->talk);
    seat_unref(flight->seat);
    listing_free(flight->listing);
    table_done(&flight->by_name);
    arena_free(flight->job.arena);
    free(flight);
}

static void flight_add_claim(struct flight *flight, size_t at, uint32_t id)
{
    struct engine *engine = flight->engine;
    struct claim *claim = &engine->claims[id];
    struct change *change = &flight->job.changes[at];
    struct text domain = claim_domain(claim);
    struct text subdomain = claim_subdomain(claim);
    flight->claims[at] = id;
    claim->pending->flight = flight;
    change->may_adopt = claim->pending->may_adopt;
    if (claim->pending->attempts)
        tally_retry(engine, claim->key);
    if (claim_sends(claim) == CLAIM_SET) {
        change->op = CHANGE_SET;
        change->set =
            *content_make_set(flight->job.arena, claim->pending->content, domain, subdomain);
        flight->seat->provider->fingerprint(flight->seat->at, &change->set, flight->hashes[at]);
        return;
    }
    change->op = claim_sends(claim) == CLAIM_LOOK ? CHANGE_READ : CHANGE_REMOVE;
    change->set = (struct record_set){
        .type = claim->type,
        .domain = text_of(arena_copy(flight->job.arena, domain.at, domain.len)),
        .subdomain = text_of(arena_copy(flight->job.arena, subdomain.at, subdomain.len)),
        .priority = -1,
        .weight = -1,
        .port = -1,
    };
}

static void flight_add_wish(struct flight *flight, size_t at, struct wish *wish)
{
    flight->claims[at] = NO_ID;
    flight->wishes[at] = wish;
    wish->flight = flight;
    flight->job.changes[at].op = wish->op;
    flight->job.changes[at].set = *wish->content;
}

static struct engine_change planned_change(const struct flight *flight, size_t at)
{
    const struct change *change = &flight->job.changes[at];
    if (!flight->wishes[at])
        return engine_change_of(flight->engine, flight->claims[at], change->op, &change->set);
    return (struct engine_change){.act = ENGINE_DELETE,
                                  .lane = flight->lane->name,
                                  .server = flight->lane->book,
                                  .set = &change->set};
}

// What could not be read counts as read, and as not known. Why is remembered for the plan.
static void imagine_reading(struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++) {
        struct outcome *outcome = &flight->job.changes[i].outcome;
        if (outcome->is_done)
            continue;
        if (outcome->error)
            flight->lane->view.trouble = *outcome->error;
        *outcome = (struct outcome){.is_done = true, .is_uncertain = true};
    }
}

// Reading changes nothing, so a dry run does it, too, where it matters and somebody answers.
static bool may_read(const struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++)
        if (flight->wishes[i] || flight->job.changes[i].op != CHANGE_READ ||
            !flight->engine->claims[flight->claims[i]].pending->is_shown)
            return false;
    return !flight->lane->transport_failures;
}

// Nothing is said to the backend; all of it counts as done.
static void flight_imagine(struct flight *flight)
{
    imagine_reading(flight);
    for (size_t i = 0; i < flight->job.change_count; i++) {
        struct change *change = &flight->job.changes[i];
        change->outcome.is_uncertain = change->op == CHANGE_READ;
        if (change->op == CHANGE_READ || flight->wishes[i])
            continue;
        const struct engine_change planned = planned_change(flight, i);
        dry_run_add(flight->engine->dry_run, &planned);
    }
    flight_land(flight);
}

// What stands there is looked at, and the provider says what it would do.
static void flight_try(struct flight *flight)
{
    flight->job.is_trial = true;
    ahead_look(flight);
    flight_talk(flight);
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

static void plan_outcomes(struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++) {
        enum engine_act act;
        if (!would_change(&flight->job.changes[i], &act))
            continue;
        struct engine_change planned = planned_change(flight, i);
        planned.act = act;
        dry_run_add(flight->engine->dry_run, &planned);
    }
}

void flight_begin(struct lane *lane, const struct batch *batch)
{
    size_t count = batch->count;
    const char *trace = batch->wishes[0] ? batch->wishes[0]->trace : NULL;
    struct flight *flight = flight_new(lane, lane->seat, JOB_CHANGES, trace);
    struct arena *arena = flight->job.arena;
    lane->in_flight++;
    flight->job.changes = arena_new_array(arena, struct change, count);
    flight->job.change_count = count;
    flight->claims = arena_new_array(arena, uint32_t, count);
    flight->wishes = arena_new_array(arena, struct wish *, count);
    flight->busy = arena_new_array(arena, uint32_t, count);
    flight->hashes = arena_alloc(arena, count, sizeof *flight->hashes);
    for (size_t i = 0; i < count; i++) {
        flight->busy[i] = batch->busy[i];
        if (batch->wishes[i])
            flight_add_wish(flight, i, batch->wishes[i]);
        else
            flight_add_claim(flight, i, batch->claims[i]);
    }
    if (flight->engine->dry_run) {
        if (lane->provider->lists)
            flight_try(flight);
        else if (may_read(flight))
            flight_talk(flight);
        else
            flight_imagine(flight);
        return;
    }
    if (!ahead_write(flight))
        flight_talk(flight);
}

void flight_talk(struct flight *flight)
{
    flight->talk = flight->seat->provider->begin(flight->seat->at, &flight->job);
    flight_step(flight);
}

void flight_begin_leave(struct lane *lane, struct seat *seat)
{
    struct flight *flight = flight_new(lane, seat, JOB_LEAVE, NULL);
    ahead_look(flight);
    flight_talk(flight);
}

void flight_begin_health(struct lane *lane, struct wish *wish)
{
    struct flight *flight = flight_new(lane, lane->seat, JOB_HEALTH, wish ? wish->trace : NULL);
    lane->reading++;
    if (lane->provider->lists) {
        flight->listing = listing_new(lane->engine);
        flight->job.holds = listing_hold;
        flight->job.context = flight;
    }
    ahead_look(flight);
    flight->wishes = arena_new_array(flight->job.arena, struct wish *, 1);
    flight->wishes[0] = wish;
    if (wish)
        wish->flight = flight;
    flight_talk(flight);
}

// ---- results ------------------------------------------------------------------------------------

static enum lane_operation operation_of(enum change_op op)
{
    static const enum lane_operation operations[] = {[CHANGE_SET] = OPERATION_UPSERT,
                                                     [CHANGE_REMOVE] = OPERATION_DELETE,
                                                     [CHANGE_READ] = OPERATION_GET};
    return operations[op];
}

static enum lane_operation operation_of_job(const struct job *job)
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

static void count_request(struct flight *flight, enum lane_operation operation,
                          const struct outcome *outcome)
{
    int status = outcome->is_done ? 200 : outcome->error ? outcome->error->status : 0;
    size_t class = status >= 100 && status < 600 ? (size_t)status / 100 : 0;
    flight->lane->requests[operation].by_class[class]++;
}

static void count_flight(struct flight *flight)
{
    const struct job *job = &flight->job;
    int64_t took_ms = loop_mono_ms(flight->engine->loop) - flight->begun_ms;
    histogram_add(&flight->lane->request_seconds[operation_of_job(job)], took_ms);
    for (size_t i = 0; i < job->change_count; i++)
        if (!is_put_back(&job->changes[i].outcome))
            count_request(flight, operation_of(job->changes[i].op), &job->changes[i].outcome);
    if (job->kind == JOB_HEALTH)
        count_request(flight, OPERATION_HEALTH, &job->health);
}

static void check_outcomes(struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++) {
        struct outcome *outcome = &flight->job.changes[i].outcome;
        must(outcome->is_done || outcome->error || flight->job.trouble || flight->is_outdated);
    }
}

// While the backend is in trial, what is due shares the one probe's fate: a dead server costs one
// time-out a step, not one a record.
static void share_failure(struct lane *lane, const struct error *error, const char *trace)
{
    for (int line = 0; line < 2; line++)
        while (lane->due[line].first != NO_ID) {
            uint32_t id = lane->due[line].first;
            lane_unqueue(lane, id);
            claim_fail(lane->engine, id, error, trace);
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
static bool contradicts_health(const struct flight *flight)
{
    const struct lane_view *view = &flight->lane->view;
    if (!view->answered_s || view->is_answer_ok)
        return false;
    bool was_unreachable = view->answer_error.fault == FAULT_AGAIN && !view->answer_error.status;
    bool was_refused = view->answer_error.fault == FAULT_AUTH;
    return was_unreachable || (was_refused && has_done(&flight->job));
}

static void lane_judge(struct flight *flight)
{
    struct lane *lane = flight->lane;
    if (flight->job.kind != JOB_CHANGES)
        return;
    const struct error *error = first_error(&flight->job);
    if (!flight->job.is_transport_failure) {
        lane->transport_failures = 0;
        if (contradicts_health(flight))
            lane_ask_anew(lane);
        if (error && error->fault == FAULT_LIMIT && error->retry_ms > 0)
            lane->blocked_until_ms = loop_mono_ms(lane->engine->loop) + error->retry_ms;
        return;
    }
    lane->transport_failures++;
    if (lane->transport_failures > 3 && error)
        share_failure(lane, error, flight->trace);
}

static void release_names(struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++)
        busy_remove(flight->engine, flight->busy[i]);
    flight->busy = NULL;
}

// What the seat learned in the talk counts for what the talk put there.
static void learn_hash(struct flight *flight, size_t at)
{
    const struct change *change = &flight->job.changes[at];
    struct claim *claim = &flight->engine->claims[flight->claims[at]];
    uint8_t *hash = flight->hashes[at];
    uint8_t learned[FINGERPRINT_OCTETS] = {0};
    if (change->op != CHANGE_SET || !change->outcome.is_done)
        return;
    flight->seat->provider->fingerprint(flight->seat->at, &change->set, learned);
    if (claim_wants(claim, hash))
        claim_set_wanted(flight->engine, claim, learned);
    memcpy(hash, learned, sizeof learned);
}

static void tell_ended(const struct flight *flight, size_t at)
{
    const struct engine_options *options = &flight->engine->options;
    const struct change *change = &flight->job.changes[at];
    uint32_t id = flight->claims[at];
    if (!options->ended || change->op == CHANGE_READ || flight->engine->claims[id].is_forgotten)
        return;
    const struct engine_change ended =
        engine_change_of(flight->engine, id, change->op, &change->set);
    options->ended(options->context, &ended, &change->outcome);
}

static const struct controller *controller_of(const struct engine *engine, size_t number)
{
    return number < engine->options.controller_count ? engine->controllers[number].controller
                                                     : NULL;
}

static void tell_stray(struct flight *flight, size_t at, const struct outcome *outcome)
{
    const struct engine_options *options = &flight->engine->options;
    const struct engine_change ended = planned_change(flight, at);
    if (options->ended)
        options->ended(options->context, &ended, outcome);
    words_tell_change(flight->lane, controller_of(flight->engine, flight->lane->controller), NULL,
                      &flight->job.changes[at], &flight->failures);
}

// A stray that was not removed is found again by the next list.
static void give_wish(struct flight *flight, size_t at)
{
    const struct change *change = &flight->job.changes[at];
    struct wish *wish = flight->wishes[at];
    struct outcome outcome = change->outcome;
    if (is_put_back(&outcome))
        outcome.error = flight->job.trouble;
    if (wish->is_stray) {
        tell_stray(flight, at, &outcome);
        flight->lane->is_question_due |=
            wish->is_approved && outcome.is_done && flight->lane->has_question;
    }
    wish_answer(wish, &outcome);
}

static void tell_words(struct flight *flight, size_t at)
{
    const struct engine *engine = flight->engine;
    const struct claim *claim = &engine->claims[flight->claims[at]];
    if (claim->is_forgotten)
        return;
    const struct key *key = &engine->keys[claim->key];
    words_tell_change(flight->lane, controller_of(engine, key->controller), key->object,
                      &flight->job.changes[at], &flight->failures);
}

static void give_receipts(struct flight *flight)
{
    for (size_t i = 0; i < flight->job.change_count; i++) {
        const struct change *change = &flight->job.changes[i];
        if (flight->wishes[i]) {
            give_wish(flight, i);
            continue;
        }
        if (is_put_back(&change->outcome)) {
            claim_put_back(flight->engine, flight->claims[i], change->op);
            continue;
        }
        tell_words(flight, i);
        learn_hash(flight, i);
        tell_ended(flight, i);
        claim_finish(flight->engine, flight->claims[i], change, flight->hashes[i], flight->trace);
    }
}

// A ledger that cannot be stored stays a trouble, however well the backend is.
static void hear_trouble(struct flight *flight)
{
    const struct error *trouble = flight->job.trouble;
    if (trouble)
        lane_hear_trouble(flight->lane, trouble, !flight->job.is_listed);
    else if (!flight->job.is_trial)
        lane_hear_trouble(flight->lane, ahead_trouble(flight->lane), false);
}

static void flight_land(struct flight *flight)
{
    struct lane *lane = flight->lane;
    check_outcomes(flight);
    count_flight(flight);
    flight_unlink(flight);
    holds_count(flight);
    ahead_settle(flight);
    if (lane->provider->is_serial)
        hear_trouble(flight);
    if (flight->job.is_trial)
        plan_outcomes(flight);
    if (flight->job.kind == JOB_HEALTH) {
        if (flight->job.is_listed)
            listing_end(flight);
        if (flight->wishes[0]) {
            flight->job.health.found = NULL;
            wish_answer(flight->wishes[0], &flight->job.health);
        } else {
            lane_answered(lane, flight);
        }
    } else if (flight->job.kind == JOB_CHANGES) {
        release_names(flight);
        lane_judge(flight);
        if (flight->engine->dry_run && !lane->provider->lists)
            imagine_reading(flight);
        if (flight->job.answer)
            lane_take_answer(lane, flight);
        give_receipts(flight);
        words_tell_failures(lane, flight->failures);
    }
    lane_learn(lane, flight);
    flight_free(flight);
    if (lane->provider->lists)
        engine_release_soon(lane->engine);
    engine_schedule(lane->engine);
}

void flight_abort(struct flight *flight)
{
    struct engine *engine = flight->engine;
    log_flight(flight, "talk broken off");
    ahead_abort(flight);
    if (flight->http)
        http_cancel(engine->options.world->http, flight->http);
    if (flight->dns)
        dns_cancel(engine->options.world->dns, flight->dns);
    for (size_t i = 0; i < flight->job.change_count; i++) {
        if (flight->wishes[i])
            wish_free(flight->wishes[i]);
        else
            claim_unanswered(engine, flight->claims[i], flight->job.changes[i].op);
    }
    if (flight->job.kind == JOB_HEALTH && flight->wishes[0])
        wish_free(flight->wishes[0]);
    flight_unlink(flight);
    flight_free(flight);
}

// ---- talking ------------------------------------------------------------------------------------

static struct moment moment_of(const struct engine *engine)
{
    return (struct moment){.unix_ms = loop_unix_ms(engine->loop),
                           .mono_ms = loop_mono_ms(engine->loop),
                           .random = engine->options.world->random};
}

static void tell_progress(struct flight *flight, int64_t now_ms)
{
    if (!flight->job.writes.open || now_ms - flight->told_ms < PROGRESS_MS)
        return;
    flight->told_ms = now_ms;
    words_tell_progress(flight->lane, &flight->job);
}

static void flight_hear(struct flight *flight, const struct heard *heard)
{
    struct moment moment = moment_of(flight->engine);
    flight->http = NULL;
    flight->dns = NULL;
    flight->seat->provider->hear(flight->talk, &moment, heard);
    tell_progress(flight, moment.mono_ms);
    flight_step(flight);
}

static void http_came(void *context, const struct http_reply *reply)
{
    flight_hear(context, &(struct heard){.kind = ASK_HTTP, .http = reply});
}

static void dns_came(void *context, const struct dns_reply *reply)
{
    flight_hear(context, &(struct heard){.kind = ASK_DNS, .dns = reply});
}

static bool is_change_outdated(const struct flight *flight, size_t at)
{
    const struct claim *claim = &flight->engine->claims[flight->claims[at]];
    const struct change *change = &flight->job.changes[at];
    return claim->is_forgotten || claim_lane(flight->engine, claim) != flight->lane ||
           claim_op(claim) != change->op ||
           (change->op == CHANGE_SET && !claim_wants(claim, flight->hashes[at]));
}

// What a talk was to carry may be edited or deleted while it waits, and where to may change.
static bool is_outdated(const struct flight *flight)
{
    if (flight->job.kind == JOB_CHANGES && flight->seat != flight->lane->seat)
        return true;
    for (size_t i = 0; i < flight->job.change_count; i++)
        if (!flight->wishes[i] && is_change_outdated(flight, i))
            return true;
    return false;
}

static void wait_over(void *context)
{
    struct flight *flight = context;
    flight->is_waiting = false;
    flight->is_outdated = is_outdated(flight);
    if (flight->is_outdated)
        flight_land(flight);
    else
        flight_hear(flight, &(struct heard){.kind = ASK_WAIT});
}

static void flight_wait(struct flight *flight, int64_t wait_ms)
{
    struct loop *loop = flight->engine->loop;
    flight->is_waiting = true;
    flight->timer =
        (struct loop_timer){.call = wait_over, .context = flight, .handle = flight->timer.handle};
    loop_timer_set(loop, &flight->timer, wait_ms);
    if (flight->engine->is_stopping)
        flights_end_waiting(flight->lane);
}

void flights_end_waiting(struct lane *lane)
{
    for (struct flight *at = lane->flights, *next; at; at = next) {
        next = at->next;
        if (at->is_waiting)
            flight_abort(at);
    }
    engine_schedule(lane->engine);
}

static void flight_step(struct flight *flight)
{
    const struct world *world = flight->engine->options.world;
    struct moment moment = moment_of(flight->engine);
    struct ask ask = {0};
    enum ask_kind kind = flight->seat->provider->ask(flight->talk, &moment, &ask);
    if ((kind == ASK_HTTP || kind == ASK_DNS) && !engine_may_write(flight->engine)) {
        flight_abort(flight);
        return;
    }
    switch (kind) {
    case ASK_HTTP:
        flight->http = http_send(world->http, &ask.http, http_came, flight);
        return;
    case ASK_DNS:
        flight->dns = dns_send(world->dns, &ask.dns, dns_came, flight);
        return;
    case ASK_WAIT:
        flight_wait(flight, ask.wait_ms);
        return;
    case ASK_DONE:
        flight_land(flight);
        return;
    }
}
