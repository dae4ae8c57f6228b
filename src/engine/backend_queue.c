#include "engine/backend_state.h"

#include "base/must.h"

// ---- the queue of due claims --------------------------------------------------------------------

static enum record_type type_of(const struct backend *backend, uint32_t claim)
{
    return claim_type(claim_get(backend->engine, claim));
}

static struct due_link *link_of(const struct backend *backend, uint32_t claim)
{
    return claim_due_link(backend->engine, claim);
}

void backend_queue(struct backend *backend, uint32_t claim)
{
    struct due_link *link = link_of(backend, claim);
    struct line_of_claims *line = &backend->due[link->is_background];
    link->previous = link->goes_first ? NO_ID : line->last;
    link->next = link->goes_first ? line->first : NO_ID;
    if (link->previous == NO_ID)
        line->first = claim;
    else
        link_of(backend, link->previous)->next = claim;
    if (link->next == NO_ID)
        line->last = claim;
    else
        link_of(backend, link->next)->previous = claim;
    backend->due_count++;
    serial_collect(backend, type_of(backend, claim));
    engine_schedule(backend->engine);
}

void backend_unqueue(struct backend *backend, uint32_t claim)
{
    const struct due_link *link = link_of(backend, claim);
    struct line_of_claims *line = &backend->due[link->is_background];
    if (link->previous == NO_ID)
        line->first = link->next;
    else
        link_of(backend, link->previous)->next = link->next;
    if (link->next == NO_ID)
        line->last = link->previous;
    else
        link_of(backend, link->next)->previous = link->previous;
    backend->due_count--;
    serial_uncollect(backend, type_of(backend, claim));
}

bool backend_has_queued(const struct backend *backend, uint32_t claim)
{
    const struct due_link *link = link_of(backend, claim);
    const struct line_of_claims *line = &backend->due[link->is_background];
    return link->previous == NO_ID ? line->first == claim
                                   : link_of(backend, link->previous)->next == claim;
}

bool backend_can_send(const struct backend *backend, enum claim_intent intent)
{
    if (!backend->session)
        return false;
    return backend->view.fault.fault == FAULT_NONE || intent == CLAIM_REMOVE;
}

bool backend_has_sendable(const struct backend *backend)
{
    for (int line = 0; line < 2; line++)
        for (uint32_t id = backend->due[line].first; id != NO_ID; id = link_of(backend, id)->next)
            if (backend_can_send(backend, claim_sends(claim_get(backend->engine, id))))
                return true;
    return backend->session && !list_is_empty(&backend->change_requests);
}

bool backend_is_unread(const struct backend *backend)
{
    return backend_has_sendable(backend) || serial_is_awaited(backend);
}

// ---- batches ------------------------------------------------------------------------------------

// A name is taken for the batch at once, so that neither this batch nor another exchange has it
// twice.
void batch_put(struct backend *backend, struct batch *batch, uint32_t claim,
               struct change_request *change_request, uint16_t registry, const char *name)
{
    batch->claims[batch->count] = claim;
    batch->change_requests[batch->count] = change_request;
    bool is_busy = busy_has(backend->engine, registry, name);
    batch->busy[batch->count++] = is_busy ? NO_ID : busy_add(backend->engine, registry, name);
}

static void batch_take_claims(struct backend *backend, struct batch *batch, bool is_background)
{
    uint32_t next;
    for (uint32_t id = backend->due[is_background].first;
         id != NO_ID && batch->count < batch->limit; id = next) {
        const struct claim *claim = claim_get(backend->engine, id);
        next = link_of(backend, id)->next;
        if (!backend_can_send(backend, claim_sends(claim)) ||
            busy_has(backend->engine, claim_registry(claim), claim_name(claim)))
            continue;
        claim_unqueue(backend->engine, id);
        batch_put(backend, batch, id, NULL, claim_registry(claim), claim_name(claim));
    }
}

void batch_take_change_requests(struct backend *backend, struct batch *batch)
{
    char name[600];
    uint16_t registry = registry_get(backend->engine, backend->registry);
    list_each (change_request, &backend->change_requests) {
        if (batch->count == batch->limit)
            return;
        if (change_request_is_void(change_request)) {
            change_request_unlink(change_request);
            change_request_free(change_request);
            continue;
        }
        change_request_write_name(change_request, name, sizeof name);
        if (!backend->session->provider->is_serial && busy_has(backend->engine, registry, name))
            continue;
        change_request_unlink(change_request);
        batch_put(backend, batch, NO_ID, change_request, registry, name);
    }
}

// ---- what is sent next --------------------------------------------------------------------------

static bool backend_is_waiting(struct backend *backend, int64_t now_ms)
{
    int64_t until = 0;
    if (backend->engine->dry_run)
        return false;
    if (backend->is_learning)
        until = backend->opened_ms + backend->learn_ms;
    if (backend->blocked_until_ms > until)
        until = backend->blocked_until_ms;
    if (backend->collect_until_ms > until)
        until = backend->collect_until_ms;
    if (until <= now_ms) {
        backend->is_learning = false;
        return false;
    }
    loop_timer_set(backend->engine->loop, &backend->timer, until - now_ms);
    return true;
}

static bool backend_has_work(const struct backend *backend)
{
    return backend->session && (backend->due_count || !list_is_empty(&backend->change_requests));
}

static size_t backend_room(const struct backend *backend)
{
    size_t limit = backend->transport_failures >= 3 ? 1 : backend->max_in_flight;
    return backend->in_flight < limit ? limit - backend->in_flight : 0;
}

// A backend that was idle waits for more changes to go along. Changes that waited behind an
// exchange have waited long enough.
static void backend_collect(struct backend *backend, int64_t now_ms)
{
    int64_t collect_ms = backend->session->provider->collect_ms;
    if (!backend->collect_until_ms && !backend->in_flight &&
        now_ms - backend->idle_since_ms > collect_ms)
        backend->collect_until_ms = now_ms + collect_ms;
}

// Health is asked whatever else waits. The other questions share the room with changes: while there
// are some, each question lets some go before the next.
static void pump_questions(struct backend *backend, int64_t now_ms)
{
    while (question_begin_next(backend, true))
        ;
    while (backend->session && backend_room(backend) && engine_may_write(backend->engine) &&
           backend->blocked_until_ms <= now_ms &&
           !(backend->has_asked && backend_has_work(backend)) &&
           question_begin_next(backend, false))
        backend->has_asked = true;
}

void backend_pump(struct backend *backend)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    if (backend->provider && backend->provider->is_serial) {
        serial_pump(backend);
        return;
    }
    if (!backend->session || !engine_may_write(backend->engine))
        return;
    pump_questions(backend, now_ms);
    if (!backend_has_work(backend))
        return;
    backend_collect(backend, now_ms);
    if (backend_is_waiting(backend, now_ms))
        return;
    while (backend_room(backend) && backend_has_work(backend) &&
           engine_may_write(backend->engine)) {
        struct batch batch = {.count = 0};
        batch.limit = backend->session->provider->max_changes;
        must(batch.limit <= COUNT_OF(batch.claims));
        batch_take_change_requests(backend, &batch);
        batch_take_claims(backend, &batch, false);
        batch_take_claims(backend, &batch, true);
        if (!batch.count)
            break;
        backend->has_asked = false;
        exchange_begin(backend, &batch);
    }
    backend->collect_until_ms = 0;
}

void backends_pump(struct engine *engine)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        backend_pump(backend);
}

void backend_timer(void *context)
{
    backend_pump(context);
}

void backend_clear_backoff(struct backend *backend)
{
    backend->transport_failures = 0;
    backend->blocked_until_ms = 0;
    claims_retry(backend->engine, backend);
}
