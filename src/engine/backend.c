#include "engine/backend_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

enum { PREVIOUS_SECRET_MS = 10 * 60 * 1000 };

struct backend *backend_find(const struct engine *engine, const char *name)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        if (!strcmp(backend->name, name))
            return backend;
    return NULL;
}

uint16_t backend_number(const struct backend *backend)
{
    return backend->number;
}

const char *backend_registry(const struct backend *backend)
{
    return backend->registry;
}

void backend_add_claim(struct backend *backend)
{
    backend->claim_count++;
}

void backend_remove_claim(struct backend *backend)
{
    backend->claim_count--;
}

bool backend_shares(const struct backend *backend)
{
    return backend && backend->session && backend->provider->shares;
}

bool backend_fingerprint(const struct backend *backend, const struct record_set *set,
                         uint8_t hash[FINGERPRINT_OCTETS])
{
    if (!backend || !backend->session)
        return false;
    backend->session->provider->fingerprint(backend->session->at, set, hash);
    return true;
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

// The session stays until its last exchange (JOB_LEAVE), if its provider has one.
static void backend_close_session(struct backend *backend)
{
    if (backend->session && backend->session->provider->leaves) {
        session_unref(backend->leaving);
        backend->leaving = backend->session;
    } else {
        session_unref(backend->session);
    }
    backend->session = NULL;
    backend->view.is_listed = backend->view.is_judged = false;
    engine_guard_mark(backend);
}

// Where nobody has led yet, nothing is ours.
#define UNKNOWN_OWNER "?"

// A dry run draws no owner id where nobody has led yet, and goes on with a stand-in.
const char *engine_owner_id(const struct engine *engine)
{
    const char *owner_id = engine->options.store ? store_owner_id(engine->options.store) : NULL;
    return !owner_id && engine->dry_run && engine->is_leading ? UNKNOWN_OWNER : owner_id;
}

// Where our mark is needed, there is no session before it is known.
static bool backend_open_session(struct backend *backend, const struct value *config,
                                 struct error *err)
{
    const char *owner_id = engine_owner_id(backend->engine);
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
    if (backend->provider->lists)
        backend_ask_now(backend);
    backend->has_left = false;
    write_ahead_open(backend);
    return true;
}

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
    backend->learn_timer = (struct loop_timer){.call = learning_is_over, .context = backend};
    backend->number = number_take(engine);
    engine->backends_by_number[backend->number - 1] = backend;
    backend->next = engine->backends;
    engine->backends = backend;
    view_refresh(backend);
    questions_add_backend(backend);
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
    bool is_as_reported = backend->has_refused || backend->view.fault.fault == FAULT_NONE;
    return (backend->session || backend->wants_owner || backend->has_refused) && is_as_reported &&
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
    engine_guard_forget(backend);
    backend->opened_ms = loop_mono_ms(backend->engine->loop);
    backend->is_learning = backend->view.is_learning = backend->learn_ms > 0;
    if (backend->is_learning)
        loop_timer_set(backend->engine->loop, &backend->learn_timer, backend->learn_ms);
    backend->view.answer = NULL;
    backend->view.answered_s = 0;
    questions_move_backend(backend);
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

// Forgets what was learned of the server before: the backend leads to another one now.
static void backend_forget_place(struct backend *backend, const struct provider *provider,
                                 const char *registry)
{
    bool is_same = backend->provider == provider &&
                   (!*backend->registry || !strcmp(backend->registry, registry));
    if (!backend->provider || is_same)
        return;
    backend_know(backend, NULL);
    exchanges_move_elsewhere(backend);
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

bool backend_is_owned_by(const struct backend *backend, uint32_t key)
{
    return backend->owner == key;
}

void backend_release(struct backend *backend)
{
    backend->owner = NO_ID;
    backend->is_released = true;
    error_set(&backend->view.fault, FAULT_WAIT, "", "its owner is gone");
    questions_set(backend->engine, &backend->asking, NO_ID, NULL, 0);
    backend_linger(backend);
    backend_changed(backend);
}

// ---- what is known and who leads ----------------------------------------------------------------

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

// Exchanges under way go on as they began; what they put there is judged by the session that they
// have.
void backend_learn(struct backend *backend, const struct value *learned)
{
    if (!backend->session || is_known(backend->view.known, learned))
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
        backend->view.is_listed = backend->view.is_judged = false;
        backend->is_guard_recalled = false;
        engine_guard_forget(backend);
        if (!is_leading) {
            if (backend->ledger)
                ledger_keeper_close(backend->ledger);
            continue;
        }
        if (backend->ledger)
            ledger_keeper_open(backend->ledger);
        if (backend->wants_owner)
            backend_session_late(backend);
    }
    if (is_leading)
        questions_lead(engine);
}

void backends_list_anew(struct engine *engine, size_t controller)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend->controller == controller)
            backend_ask_now(backend);
}

static bool backend_leave(struct backend *backend)
{
    if (!backend->session || !backend->provider->leaves || backend->has_left)
        return false;
    backend->has_left = true;
    exchange_begin_leave(backend, backend->session);
    return !list_is_empty(&backend->exchanges);
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
        exchanges_abort(backend);
    }
}

// ---- ending -------------------------------------------------------------------------------------

static void backend_free(struct backend *backend)
{
    struct loop *loop = backend->engine->loop;
    exchanges_abort(backend);
    questions_remove_backend(backend);
    questions_set(backend->engine, &backend->asking, NO_ID, NULL, 0);
    session_unref(backend->session);
    session_unref(backend->leaving);
    ledger_keeper_free(backend->ledger);
    guarded_free(backend->guarded);
    loop_timer_cancel(loop, &backend->timer);
    loop_timer_cancel(loop, &backend->linger_timer);
    loop_timer_cancel(loop, &backend->learn_timer);
    list_each (change_request, &backend->change_requests)
        change_request_free(change_request);
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
    return !backend->is_released || backend->session || backend->leaving ||
           !list_is_empty(&backend->exchanges) || backend->claim_count ||
           !list_is_empty(&backend->change_requests);
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
