#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"

enum { PREVIOUS_SECRET_MS = 10 * 60 * 1000, ASK_ANEW_MS = 1000 };

struct backend *backend_find(const struct engine *engine, const char *name)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        if (!strcmp(backend->name, name))
            return backend;
    return NULL;
}

// ---- the line of due claims ---------------------------------------------------------------------

static struct pending *pending_of(const struct backend *backend, uint32_t claim)
{
    return backend->engine->claims[claim].pending;
}

void backend_queue(struct backend *backend, uint32_t claim)
{
    struct pending *pending = pending_of(backend, claim);
    struct line_of_claims *line = &backend->due[pending->is_background];
    pending->next_due = NO_ID;
    pending->previous_due = line->last;
    if (line->last == NO_ID)
        line->first = claim;
    else
        pending_of(backend, line->last)->next_due = claim;
    line->last = claim;
    backend->due_count++;
    serial_collect(backend, backend->engine->claims[claim].type);
    engine_schedule(backend->engine);
}

void backend_unqueue(struct backend *backend, uint32_t claim)
{
    struct pending *pending = pending_of(backend, claim);
    struct line_of_claims *line = &backend->due[pending->is_background];
    if (pending->previous_due == NO_ID)
        line->first = pending->next_due;
    else
        pending_of(backend, pending->previous_due)->next_due = pending->next_due;
    if (pending->next_due == NO_ID)
        line->last = pending->previous_due;
    else
        pending_of(backend, pending->next_due)->previous_due = pending->previous_due;
    backend->due_count--;
    serial_uncollect(backend, backend->engine->claims[claim].type);
}

bool backend_has_due(const struct backend *backend, uint32_t claim)
{
    const struct pending *pending = pending_of(backend, claim);
    const struct line_of_claims *line = &backend->due[pending->is_background];
    return pending->previous_due == NO_ID
               ? line->first == claim
               : pending_of(backend, pending->previous_due)->next_due == claim;
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
        for (uint32_t id = backend->due[line].first; id != NO_ID;
             id = pending_of(backend, id)->next_due)
            if (backend_can_send(backend, claim_sends(&backend->engine->claims[id])))
                return true;
    return backend->session && backend->first_change_request;
}

bool backend_is_unread(const struct backend *backend)
{
    return backend_has_sendable(backend) || serial_is_awaited(backend);
}

bool backend_rests_in_trouble(const struct backend *backend)
{
    return backend->view.trouble.fault != FAULT_NONE &&
           backend->blocked_until_ms > loop_mono_ms(backend->engine->loop);
}

// ---- pumping ------------------------------------------------------------------------------------

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
        const struct claim *claim = &backend->engine->claims[id];
        next = claim->pending->next_due;
        if (!backend_can_send(backend, claim_sends(claim)) ||
            busy_has(backend->engine, claim->registry, claim->name))
            continue;
        claim_unqueue(backend->engine, id);
        batch_put(backend, batch, id, NULL, claim->registry, claim->name);
    }
}

void batch_take_change_requests(struct backend *backend, struct batch *batch)
{
    char name[600];
    uint16_t registry = registry_get(backend->engine, backend->registry);
    struct change_request **link = &backend->first_change_request;
    struct change_request *last = NULL;
    while (*link && batch->count < batch->limit) {
        struct change_request *change_request = *link;
        if (change_request_is_void(change_request)) {
            change_request_unlink(change_request);
            change_request_free(change_request);
            continue;
        }
        change_request_write_name(change_request, name, sizeof name);
        if (!backend->session->provider->is_serial && busy_has(backend->engine, registry, name)) {
            last = change_request;
            link = &change_request->next;
            continue;
        }
        *link = change_request->next;
        change_request->next = NULL;
        backend->change_request_count--;
        if (backend->last_change_request == change_request)
            backend->last_change_request = last;
        batch_put(backend, batch, NO_ID, change_request, registry, name);
    }
}

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
    return backend->session && (backend->due_count || backend->first_change_request);
}

static size_t backend_room(const struct backend *backend)
{
    size_t limit = backend->transport_failures >= 3 ? 1 : backend->max_in_flight;
    return backend->in_flight < limit ? limit - backend->in_flight : 0;
}

// What waited behind an exchange has read long enough.
static void backend_collect(struct backend *backend, int64_t now_ms)
{
    int64_t collect_ms = backend->session->provider->collect_ms;
    if (!backend->collect_until_ms && !backend->in_flight &&
        now_ms - backend->idle_since_ms > collect_ms)
        backend->collect_until_ms = now_ms + collect_ms;
}

void backend_pump(struct backend *backend)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    if (backend->provider && backend->provider->is_serial) {
        serial_pump(backend);
        return;
    }
    if (!backend_has_work(backend) || !engine_may_write(backend->engine))
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
        exchange_begin(backend, &batch);
    }
    backend->collect_until_ms = 0;
}

static void backend_timer(void *context)
{
    backend_pump(context);
}

void backend_clear_backoff(struct backend *backend)
{
    struct engine *engine = backend->engine;
    backend->transport_failures = 0;
    backend->blocked_until_ms = 0;
    for (uint32_t id = 0; id < engine->claim_used; id++) {
        const struct claim *claim = &engine->claims[id];
        if (claim->name && claim->backend == backend->number && claim->work == WORK_BACKING_OFF)
            claim_retry(engine, id);
    }
}

// ---- settings -----------------------------------------------------------------------------------

static void view_refresh(struct backend *backend)
{
    backend->view.name = backend->name;
    backend->view.registry = backend->registry;
    backend->view.is_open = backend->session != NULL;
    backend->view.secret = backend->secret;
}

void session_unref(struct session *session)
{
    if (!session || --session->refs)
        return;
    session->provider->close(session->at);
    free(session);
}

// It may have to say good-bye.
static void backend_close_session(struct backend *backend)
{
    if (backend->session && backend->session->provider->leaves) {
        session_unref(backend->leaving);
        backend->leaving = backend->session;
    } else {
        session_unref(backend->session);
    }
    backend->session = NULL;
    backend->view.is_listed = false;
}

// Where nobody has led yet, nothing is ours.
#define UNKNOWN_OWNER "?"

const char *engine_owner_id(const struct engine *engine)
{
    return engine->options.store ? store_owner_id(engine->options.store) : NULL;
}

// Where our mark is needed, there is no session before it is known.
static bool backend_open_session(struct backend *backend, const struct value *config,
                                 struct error *err)
{
    const char *owner_id = engine_owner_id(backend->engine);
    if (!owner_id && backend->engine->dry_run && backend->engine->is_leading)
        owner_id = UNKNOWN_OWNER;
    backend->wants_owner = backend->provider->has_ledger && !owner_id;
    if (backend->wants_owner)
        return true;
    const struct session_setup setup = {.config = config,
                                        .secret = backend->secret,
                                        .previous = backend->previous_secret,
                                        .previous_until_ms = backend->previous_until_ms,
                                        .owner_id = owner_id,
                                        .known = backend->view.known};
    void *at;
    if (!backend->provider->open(&setup, &at, err))
        return false;
    backend_close_session(backend);
    backend->session = mem_new_of(struct session);
    *backend->session = (struct session){.provider = backend->provider, .at = at, .refs = 1};
    backend->is_question_due = backend->provider->lists;
    backend->has_left = false;
    write_ahead_open(backend);
    return true;
}

static void backend_question_due(void *context);

static void learning_is_over(void *context)
{
    struct backend *backend = context;
    backend->view.is_learning = false;
    input_wake_backend(backend);
    engine_schedule(backend->engine);
}

static uint16_t number_take(struct engine *engine)
{
    for (size_t i = 0; i < engine->backend_count; i++)
        if (!engine->backends_by_number[i])
            return (uint16_t)(i + 1);
    must(engine->backend_count < UINT16_MAX);
    mem_reserve(&engine->backends_by_number, &engine->backend_capacity, engine->backend_count + 1);
    return (uint16_t)++engine->backend_count;
}

// NULL: nothing any more.
static void backend_know(struct backend *backend, const struct value *known)
{
    struct arena *arena = known ? arena_new() : NULL;
    backend->view.known = known ? value_copy(arena, known) : NULL;
    arena_free(backend->known_arena);
    backend->known_arena = arena;
}

static struct backend *backend_new(struct engine *engine, const struct backend_want *want)
{
    struct backend *backend = mem_new_of(struct backend);
    backend->engine = engine;
    backend->name = mem_copy_text(want->name);
    backend->registry = mem_copy_text("");
    backend->owner = NO_ID;
    backend->controller = NO_CONTROLLER;
    backend->was_well = want->was_well;
    backend_know(backend, want->known);
    backend->opened_ms = loop_mono_ms(engine->loop);
    backend->due[0] = backend->due[1] = (struct line_of_claims){NO_ID, NO_ID};
    backend->timer = (struct loop_timer){.call = backend_timer, .context = backend};
    backend->question_timer = (struct loop_timer){.call = backend_question_due, .context = backend};
    backend->learn_timer = (struct loop_timer){.call = learning_is_over, .context = backend};
    backend->number = number_take(engine);
    engine->backends_by_number[backend->number - 1] = backend;
    backend->next = engine->backends;
    engine->backends = backend;
    view_refresh(backend);
    return backend;
}

static bool same_fault(const struct error *a, const struct error *b)
{
    return a->fault == b->fault && !strcmp(a->reason, b->reason) && !strcmp(a->text, b->text);
}

// Open (or refused by the provider) with exactly these settings.
static bool backend_is_same(const struct backend *backend, const struct backend_want *want,
                            const char *config)
{
    bool is_as_told = backend->has_refused || backend->view.fault.fault == FAULT_NONE;
    return (backend->session || backend->wants_owner || backend->has_refused) && is_as_told &&
           backend->config && !strcmp(backend->config, config) &&
           !strcmp(backend->registry, want->registry) &&
           !strcmp(backend->provider->name, want->provider) &&
           secret_equal(backend->secret, want->secret);
}

static void backend_set_numbers(struct backend *backend, const struct backend_want *want)
{
    backend->max_in_flight = want->max_in_flight ? want->max_in_flight : 1;
    backend->retry_base_ms = want->retry_base_ms;
    backend->retry_max_ms = want->retry_max_ms;
    backend->retry_attempts = want->retry_attempts;
    backend->retry_slow_ms = want->retry_slow_ms;
    backend->linger_ms = want->linger_ms;
    backend->learn_ms = want->learn_ms;
    backend->guard.rules = guard_rules;
    if (want->guard_percent)
        backend->guard.rules.percent = want->guard_percent;
}

static void backend_set_secret(struct backend *backend, struct secret *secret)
{
    if (secret_equal(backend->secret, secret))
        return;
    secret_unref(backend->previous_secret);
    backend->previous_secret = backend->secret;
    backend->previous_until_ms = loop_mono_ms(backend->engine->loop) + PREVIOUS_SECRET_MS;
    backend->secret = secret_ref(secret);
}

static void backend_set_registry(struct backend *backend, const char *registry)
{
    if (!strcmp(backend->registry, registry))
        return;
    if (*backend->registry)
        backend->was_well = false;
    free(backend->registry);
    backend->registry = mem_copy_text(registry);
    holds_forget(backend);
    backend->opened_ms = loop_mono_ms(backend->engine->loop);
    backend->is_learning = backend->view.is_learning = backend->learn_ms > 0;
    if (backend->is_learning)
        loop_timer_set(backend->engine->loop, &backend->learn_timer, backend->learn_ms);
    backend->view.answer = NULL;
    backend->view.answered_s = 0;
    backend->asked_ms = 0;
}

static void backend_changed(struct backend *backend)
{
    view_refresh(backend);
    backend_clear_backoff(backend);
    input_wake_backend(backend);
    engine_schedule(backend->engine);
}

static const struct provider *provider_of(const struct engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->options.provider_count; i++)
        if (!strcmp(engine->options.providers[i]->name, name))
            return engine->options.providers[i];
    return NULL;
}

// Its answer would say nothing of the backend that the backend has now, and the next question waits
// for it.
static bool is_idle_question(const struct backend *backend, const struct exchange *exchange)
{
    return exchange->job.kind == JOB_HEALTH && !exchange->change_requests[0] &&
           !backend->provider->is_serial;
}

// What the backend knew was of another backend.
static void backend_forget_place(struct backend *backend, const struct provider *provider,
                                 const char *registry)
{
    bool is_same = backend->provider == provider &&
                   (!*backend->registry || !strcmp(backend->registry, registry));
    if (!backend->provider || is_same)
        return;
    backend_know(backend, NULL);
    for (struct exchange *exchange = backend->exchanges, *next; exchange; exchange = next) {
        next = exchange->next;
        exchange->session->is_elsewhere = true;
        if (is_idle_question(backend, exchange))
            exchange_abort(exchange);
    }
}

// Usable as wanted: takes over address, keys and numbers. Exchanges under way keep the session that
// they began with and end with their own receipt.
static bool backend_take_over(struct backend *backend, const struct backend_want *want,
                              char *config, struct error *err)
{
    const struct provider *provider = provider_of(backend->engine, want->provider);
    must(provider != NULL);
    backend_set_numbers(backend, want);
    backend_forget_place(backend, provider, want->registry);
    backend->provider = provider;
    backend_set_secret(backend, want->secret);
    free(backend->config);
    backend->config = config;
    backend->has_refused = !backend_open_session(backend, want->config, err);
    backend_set_registry(backend, want->registry);
    if (backend->has_refused)
        return false;
    backend->view.is_lingering = false;
    loop_timer_cancel(backend->engine->loop, &backend->linger_timer);
    return true;
}

static void backend_linger_end(void *context)
{
    struct backend *backend = context;
    backend_close_session(backend);
    backend->view.is_lingering = false;
    backend_changed(backend);
}

static void backend_linger(struct backend *backend)
{
    if (backend->view.is_lingering || !backend->session)
        return;
    backend->view.is_lingering = true;
    backend->linger_timer = (struct loop_timer){
        .call = backend_linger_end, .context = backend, .handle = backend->linger_timer.handle};
    loop_timer_set(backend->engine->loop, &backend->linger_timer, backend->linger_ms);
}

static char *config_text(const struct value *config)
{
    struct buffer out = {0};
    value_write_json(&out, config);
    return buffer_steal(&out);
}

// Usable no more: what is to be removed can still go for a while.
static void backend_fault(struct backend *backend, const struct backend_want *want)
{
    if (same_fault(&backend->view.fault, &want->fault) && !backend->has_refused)
        return;
    backend->view.fault = want->fault;
    backend->has_refused = false;
    backend->linger_ms = want->linger_ms;
    backend_linger(backend);
    backend_changed(backend);
}

bool backend_set(struct engine *engine, const struct backend_want *want, uint32_t owner,
                 struct backend **out, struct error *err)
{
    struct backend *backend = backend_find(engine, want->name);
    if (!backend)
        backend = backend_new(engine, want);
    *out = backend;
    backend->owner = owner;
    backend->is_released = false;
    backend->view.basis = want->basis;
    if (want->fault.fault != FAULT_NONE) {
        backend_fault(backend, want);
        return true;
    }
    char *config = config_text(want->config);
    if (backend_is_same(backend, want, config)) {
        backend_set_numbers(backend, want);
        free(config);
        return true;
    }
    struct error why = {0};
    bool is_ok = backend_take_over(backend, want, config, &why);
    backend->view.fault = why;
    if (is_ok)
        error_clear(&backend->view.fault);
    else if (err)
        *err = why;
    backend_changed(backend);
    return is_ok;
}

void backend_release(struct backend *backend)
{
    backend->owner = NO_ID;
    backend->is_released = true;
    error_set(&backend->view.fault, FAULT_WAIT, "", "its owner is gone");
    loop_timer_cancel(backend->engine->loop, &backend->question_timer);
    backend->has_question = false;
    backend_linger(backend);
    backend_changed(backend);
}

// ---- questions ----------------------------------------------------------------------------------

static void backend_question_due(void *context)
{
    struct backend *backend = context;
    if (backend->provider && backend->provider->is_serial) {
        backend->is_question_due = backend->has_question;
        engine_schedule(backend->engine);
        return;
    }
    if (!backend->session || !backend->has_question || backend->reading ||
        !backend->engine->is_leading || backend->view.fault.fault != FAULT_NONE)
        return;
    backend->asked_ms = loop_mono_ms(backend->engine->loop);
    exchange_begin_health(backend, NULL);
}

void backend_ask(struct backend *backend, const struct question *question)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    bool is_new = !backend->has_question || backend->question_epoch != question->epoch;
    backend->has_question = true;
    backend->question_epoch = question->epoch;
    backend->good_for_ms = question->good_for_ms;
    if (is_new)
        backend->asked_ms = 0;
    if (!backend->session || (backend->reading && !is_new))
        return;
    int64_t due_ms = backend->asked_ms ? backend->asked_ms + backend->good_for_ms : now_ms;
    loop_timer_set(backend->engine->loop, &backend->question_timer,
                   due_ms > now_ms ? due_ms - now_ms : 0);
}

void backend_ask_anew(struct backend *backend)
{
    int64_t due_ms = backend->asked_ms + ASK_ANEW_MS;
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    if (backend->has_question && backend->session && !backend->reading)
        loop_timer_set(backend->engine->loop, &backend->question_timer,
                       due_ms > now_ms ? due_ms - now_ms : 0);
}

// Too early to tell, and the answer before may hold.
static bool is_no_answer(const struct backend *backend, const struct job *job)
{
    return backend->view.answered_s && job->trouble && !*job->trouble->reason;
}

static void take_answer(struct backend *backend, const struct job *job)
{
    struct arena *arena = arena_new();
    bool was_ok = backend->view.answered_s ? backend->view.is_answer_ok : backend->was_well;
    bool is_ok = job->health.is_done;
    backend->view.answered_s = loop_unix_ms(backend->engine->loop) / 1000;
    backend->view.is_answer_ok = is_ok;
    backend->view.answer = job->answer ? value_copy(arena, job->answer) : NULL;
    backend->view.note = job->health.note ? arena_copy_text(arena, job->health.note) : NULL;
    error_clear(&backend->view.answer_error);
    if (job->health.error)
        backend->view.answer_error = *job->health.error;
    arena_free(backend->answer_arena);
    backend->answer_arena = arena;
    struct content_id id = {0};
    if (backend->view.answer)
        id = value_content_id(value_find(backend->view.answer, "capabilities"));
    bool is_learned = backend->is_learning || !content_id_equal(id, backend->answer_id);
    backend->answer_id = id;
    backend->is_learning = backend->view.is_learning = false;
    loop_timer_cancel(backend->engine->loop, &backend->learn_timer);
    if (is_ok && !was_ok)
        backend_clear_backoff(backend);
    if (backend->owner != NO_ID)
        key_wake(backend->engine, backend->owner, QUEUE_USER);
    if (is_learned)
        input_wake_backend(backend);
}

void backend_take_answer(struct backend *backend, const struct exchange *exchange)
{
    if (!exchange->session->is_elsewhere && !is_no_answer(backend, &exchange->job))
        take_answer(backend, &exchange->job);
}

void backend_answered(struct backend *backend, const struct exchange *exchange)
{
    backend_take_answer(backend, exchange);
    if (backend->has_question)
        loop_timer_set(backend->engine->loop, &backend->question_timer,
                       backend->asked_ms ? backend->good_for_ms : 0);
    engine_schedule(backend->engine);
}

// ---- serial backends ----------------------------------------------------------------------------

enum { TROUBLE_AGAIN_MS = 5 * 60 * 1000 };

static void tell_trouble(struct backend *backend, bool is_news)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    backend->troubles_untold++;
    if (!is_news && now_ms - backend->trouble_told_ms < TROUBLE_AGAIN_MS)
        return;
    change_log_trouble(backend, &backend->view.trouble, backend->troubles_untold, is_news);
    backend->trouble_told_ms = now_ms;
    backend->troubles_untold = 0;
}

static void end_trouble(struct backend *backend)
{
    backend->view.stalled_ms = 0;
    if (backend->view.trouble.fault == FAULT_NONE)
        return;
    error_clear(&backend->view.trouble);
    backend->troubles_untold = 0;
    input_wake_backend(backend);
}

static void backend_rest(struct backend *backend, const struct error *trouble)
{
    int64_t rest_ms = trouble->retry_ms > 0 ? trouble->retry_ms : 1;
    backend->blocked_until_ms = loop_mono_ms(backend->engine->loop) + rest_ms;
    backend->is_question_due = backend->has_question;
}

// It may pass by itself: told once.
static void stall(struct backend *backend, const struct error *trouble)
{
    if (backend->view.stalled_ms)
        return;
    backend->view.stalled_ms = loop_mono_ms(backend->engine->loop);
    change_log_stall(backend, trouble);
}

void backend_hear_trouble(struct backend *backend, const struct error *trouble, bool rests)
{
    if (!trouble) {
        end_trouble(backend);
        return;
    }
    bool is_news = strcmp(backend->view.trouble.reason, trouble->reason) != 0;
    if (rests)
        backend_rest(backend, trouble);
    if (!*trouble->reason) {
        stall(backend, trouble);
        return;
    }
    backend->view.stalled_ms = 0;
    backend->view.trouble = *trouble;
    tell_trouble(backend, is_news);
    if (is_news)
        input_wake_backend(backend);
}

static void backend_session_again(struct backend *backend)
{
    struct error err = {0};
    struct arena *arena = arena_new();
    const struct value *config =
        value_read_json(arena, text_of(backend->config), &value_manifest_limits, NULL);
    backend->has_refused = !backend_open_session(backend, config, &err);
    if (backend->has_refused)
        backend->view.fault = err;
    arena_free(arena);
}

static void backend_session_late(struct backend *backend)
{
    backend_session_again(backend);
    backend_changed(backend);
}

static bool is_known(const struct value *known, const struct value *learned)
{
    value_each (item, learned) {
        const struct value *old = value_find_text(known, item->key);
        bool is_same = old ? value_equal(old, item) : item->type == VALUE_NULL;
        if (!is_same)
            return false;
    }
    return true;
}

// Exchanges under way go on as they began; what they put there is told by the session that they
// have.
void backend_learn(struct backend *backend, const struct exchange *exchange)
{
    const struct value *learned = exchange->job.learned;
    if (exchange->session->is_elsewhere || !backend->session ||
        is_known(backend->view.known, learned))
        return;
    struct arena *arena = arena_new();
    struct value *known =
        backend->view.known ? value_copy(arena, backend->view.known) : value_make(arena, VALUE_MAP);
    value_each (item, learned)
        value_set(known, item->key, value_copy(arena, item));
    backend_know(backend, known);
    arena_free(arena);
    backend_session_again(backend);
    input_wake_backend(backend);
    if (backend->owner != NO_ID)
        key_wake(backend->engine, backend->owner, QUEUE_USER);
    engine_schedule(backend->engine);
}

void backends_lead(struct engine *engine, bool is_leading)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next) {
        backend->view.is_listed = false;
        backend->is_guard_recalled = false;
        holds_forget(backend);
        if (!is_leading) {
            if (backend->ledger)
                ledger_keeper_close(backend->ledger);
            continue;
        }
        if (backend->ledger)
            ledger_keeper_open(backend->ledger);
        if (backend->wants_owner)
            backend_session_late(backend);
        backend->is_question_due =
            backend->provider && backend->provider->is_serial && backend->has_question;
        if (backend->has_question)
            loop_timer_set(engine->loop, &backend->question_timer, 0);
    }
}

void backends_list_anew(struct engine *engine, size_t controller)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        backend->is_question_due |= backend->controller == controller && backend->has_question;
    engine_schedule(engine);
}

static bool backend_leave(struct backend *backend)
{
    if (!backend->session || !backend->provider->leaves || backend->has_left)
        return false;
    backend->has_left = true;
    exchange_begin_leave(backend, backend->session);
    return backend->exchanges != NULL;
}

bool backends_leave(struct engine *engine)
{
    bool is_any = false;
    for (struct backend *backend = engine->backends; backend && engine_may_write(engine);
         backend = backend->next)
        is_any |= backend_leave(backend);
    return is_any;
}

void backends_leave_late(struct engine *engine)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next) {
        if (!backend->provider || !backend->provider->leaves)
            continue;
        backend->has_left = true;
        while (backend->exchanges)
            exchange_abort(backend->exchanges);
    }
}

// ---- ending -------------------------------------------------------------------------------------

static void backend_free(struct backend *backend)
{
    struct loop *loop = backend->engine->loop;
    while (backend->exchanges)
        exchange_abort(backend->exchanges);
    session_unref(backend->session);
    session_unref(backend->leaving);
    ledger_keeper_free(backend->ledger);
    hold_free(backend->hold);
    loop_timer_cancel(loop, &backend->timer);
    loop_timer_cancel(loop, &backend->question_timer);
    loop_timer_cancel(loop, &backend->linger_timer);
    loop_timer_cancel(loop, &backend->learn_timer);
    for (struct change_request *change_request = backend->first_change_request, *next;
         change_request; change_request = next) {
        next = change_request->next;
        change_request_free(change_request);
    }
    secret_unref(backend->secret);
    secret_unref(backend->previous_secret);
    arena_free(backend->answer_arena);
    arena_free(backend->known_arena);
    free(backend->config);
    free(backend->name);
    free(backend->registry);
    free(backend);
}

static bool backend_is_needed(const struct backend *backend)
{
    return !backend->is_released || backend->session || backend->leaving || backend->exchanges ||
           backend->claim_count || backend->first_change_request;
}

void backends_sweep(struct engine *engine)
{
    for (struct backend **link = &engine->backends; *link;) {
        struct backend *backend = *link;
        if (backend_is_needed(backend)) {
            link = &backend->next;
            continue;
        }
        *link = backend->next;
        engine->backends_by_number[backend->number - 1] = NULL;
        backend_free(backend);
    }
}

void backends_free(struct engine *engine)
{
    for (struct backend *backend = engine->backends, *next; backend; backend = next) {
        next = backend->next;
        engine->backends_by_number[backend->number - 1] = NULL;
        backend_free(backend);
    }
    engine->backends = NULL;
    free(engine->backends_by_number);
}
