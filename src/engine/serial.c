#include <string.h>

#include "engine/backend_state.h"

// Backends whose provider takes one exchange at a time: questions, lists, changes and the last
// exchange of a session follow one another.

static enum collecting_class class_of(enum record_type type)
{
    return type == RECORD_A || type == RECORD_AAAA ? COLLECT_ADDRESSES : COLLECT_OTHERS;
}

void serial_collect(struct backend *backend, enum record_type type)
{
    struct collecting *collecting = &backend->collecting[class_of(type)];
    collecting->last_ms = loop_mono_ms(backend->engine->loop);
    if (!collecting->count++)
        collecting->first_ms = collecting->last_ms;
}

void serial_uncollect(struct backend *backend, enum record_type type)
{
    backend->collecting[class_of(type)].count--;
}

// All objects that may claim something there have been read.
static bool is_informed(const struct backend *backend)
{
    const struct engine *engine = backend->engine;
    if (backend->controller == NO_CONTROLLER || engine->is_first_pass_done)
        return true;
    return backend_openers_are_synced(backend) && !queue_depth(engine->queue);
}

bool serial_is_awaited(const struct backend *backend)
{
    return backend->session && backend->provider->lists && backend_is_asked(backend) &&
           !backend->view.is_listed;
}

// What the store has waited already need not be waited again, once all its events are decided.
static int64_t ready_ms(const struct backend *backend, enum collecting_class class, int64_t now_ms)
{
    static const enum record_type types[] = {RECORD_A, RECORD_CNAME};
    const struct collecting *collecting = &backend->collecting[class];
    if (backend->is_fresh || !backend->provider->ready_ms || backend->engine->dry_run)
        return now_ms;
    struct engine *engine = backend->engine;
    int64_t waited_ms = engine_is_decided(engine) ? engine->options.store->debounce_ms : 0;
    return backend->provider->ready_ms(backend->session->at, types[class],
                                       collecting->first_ms - waited_ms,
                                       collecting->last_ms - waited_ms);
}

static void wake_at(struct backend *backend, int64_t at_ms, int64_t now_ms)
{
    loop_timer_set(backend->engine->loop, &backend->timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

// Which classes have collected long enough; the clock rings for the first of the others.
static bool find_ready(struct backend *backend, int64_t now_ms, bool ready[COLLECT_CLASSES])
{
    int64_t next_ms = INT64_MAX;
    bool is_any = !list_is_empty(&backend->change_requests);
    for (int class = 0; class < COLLECT_CLASSES; class ++) {
        ready[class] = false;
        if (!backend->collecting[class].count)
            continue;
        int64_t at_ms = ready_ms(backend, (enum collecting_class) class, now_ms);
        ready[class] = at_ms <= now_ms;
        is_any |= ready[class];
        if (!ready[class] && at_ms < next_ms)
            next_ms = at_ms;
    }
    if (!is_any && next_ms != INT64_MAX)
        wake_at(backend, next_ms, now_ms);
    return is_any;
}

// One exchange may change several types of a name, but each only once.
static bool is_taken(const struct engine *engine, const struct batch *batch,
                     const struct claim *claim)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct change_request *change_request = batch->change_requests[i];
        const struct claim *other = change_request ? NULL : claim_get(engine, batch->claims[i]);
        bool is_same = change_request
                           ? change_request->content->type == claim_type(claim) &&
                                 text_is(change_request->content->domain, claim_name(claim))
                           : claim_type(other) == claim_type(claim) &&
                                 !strcmp(claim_name(other), claim_name(claim));
        if (is_same)
            return true;
    }
    return false;
}

static void take_claims(struct backend *backend, struct batch *batch, int line,
                        const bool ready[COLLECT_CLASSES])
{
    struct engine *engine = backend->engine;
    uint32_t next;
    for (uint32_t id = backend->due[line].first; id != NO_ID && batch->count < batch->limit;
         id = next) {
        const struct claim *claim = claim_get(engine, id);
        next = claim_due_link(engine, id)->next;
        if (!ready[class_of(claim_type(claim))] || !backend_can_send(backend, claim_sends(claim)) ||
            (busy_has(engine, claim_registry(claim), claim_name(claim)) &&
             is_taken(engine, batch, claim)))
            continue;
        claim_unqueue(engine, id);
        batch_put(backend, batch, id, NULL, claim_registry(claim), claim_name(claim));
    }
}

static void send_changes(struct backend *backend, int64_t now_ms)
{
    struct batch batch = {.count = 0};
    bool ready[COLLECT_CLASSES];
    bool is_ready = find_ready(backend, now_ms, ready);
    backend->is_fresh = false;
    if (!is_ready)
        return;
    batch.limit = backend->provider->max_changes;
    batch_take_change_requests(backend, &batch);
    take_claims(backend, &batch, 0, ready);
    take_claims(backend, &batch, 1, ready);
    if (!batch.count)
        return;
    backend->has_asked = false;
    exchange_begin(backend, &batch);
}

static bool say_good_bye(struct backend *backend)
{
    struct session *session = backend->leaving;
    if (!session)
        return false;
    backend->leaving = NULL;
    exchange_begin_leave(backend, session);
    session_unref(session);
    return !list_is_empty(&backend->exchanges);
}

// Changes that wait are sent between two questions.
static bool ask(struct backend *backend)
{
    bool has_changes = backend->due_count || !list_is_empty(&backend->change_requests);
    if (!question_begin_next(backend, has_changes && backend->has_asked))
        return false;
    backend->has_asked = true;
    return true;
}

// Reported once here, and again by each exchange that ends. Questions go on as ever, and the end of
// one makes the backend available again.
static void handle_ledger(struct backend *backend)
{
    const struct error *why = write_ahead_why_degraded(backend);
    bool was_degraded = backend->is_ledger_degraded;
    backend->is_ledger_degraded = why != NULL;
    if (why && !was_degraded)
        backend_set_unavailable(backend, why, false);
    else if (!why && was_degraded)
        backend_ask_now(backend);
}

static bool has_ledger(struct backend *backend)
{
    handle_ledger(backend);
    return !backend->ledger || ledger_keeper_is_read(backend->ledger);
}

void serial_pump(struct backend *backend)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    if (!list_is_empty(&backend->exchanges) || !engine_may_write(backend->engine))
        return;
    if (backend->blocked_until_ms > now_ms) {
        wake_at(backend, backend->blocked_until_ms, now_ms);
        return;
    }
    if (say_good_bye(backend) || !backend->session || !is_informed(backend) ||
        !has_ledger(backend) || ask(backend))
        return;
    if (!backend->provider->lists || backend->view.is_listed)
        send_changes(backend, now_ms);
}
