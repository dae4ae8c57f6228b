#include <stdlib.h>
#include <string.h>

#include "dns/plan_sum.h"
#include "engine/backend_state.h"
#include "store/cache.h"

enum { EXISTS = 409, ASK_AGAIN_MS = 60 * 1000 };

struct guarded {
    struct arena *arena;
    char checksum[PLAN_SUM_MAX];
    struct record_set *sets; // by name, then by type
    size_t count;
    bool is_approved;
    bool is_due;                  // whether people are asked is to be seen to
    bool is_reported;             // that they cannot be
    const struct object *dropped; // to make room; or NULL
    int64_t not_before_ms;        // mono: people are asked
    struct store_check check;
};

void guarded_free(struct guarded *guarded)
{
    if (!guarded)
        return;
    object_unref(guarded->dropped);
    arena_free(guarded->arena);
    free(guarded);
}

bool guarded_is_approved(const struct guarded *guarded)
{
    return guarded && guarded->is_approved;
}

size_t guarded_count(const struct guarded *guarded)
{
    return guarded && !guarded->is_approved ? guarded->count : 0;
}

// ---- what went ----------------------------------------------------------------------------------

#define FACT "guard"

// What a plan names may go: in a dry run it is shown, and approved it is sent.
static bool is_guarded(const struct engine *engine)
{
    return !engine->dry_run && !engine->options.may_send;
}

bool engine_guard_can_ask(const struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->ask_approval)
            return is_guarded(engine);
    return false;
}

static int64_t ahead_ms(const struct engine *engine)
{
    return loop_unix_ms(engine->loop) - loop_mono_ms(engine->loop);
}

// Somebody else may have led, or we in another life.
static void recall(struct backend *backend)
{
    const struct engine *engine = backend->engine;
    if (!backend->ledger || backend->is_guard_recalled)
        return;
    struct ledger_view view = ledger_keeper_view(backend->ledger);
    const char *text = view.recall(view.context, FACT);
    backend->is_guard_recalled = true;
    if (text)
        guard_read(&backend->guard, loop_mono_ms(engine->loop), ahead_ms(engine), text_of(text));
}

static void remember(struct backend *backend)
{
    AUTO_BUFFER text = {0};
    if (!backend->ledger)
        return;
    struct ledger_view view = ledger_keeper_view(backend->ledger);
    guard_write(&backend->guard, ahead_ms(backend->engine), &text);
    view.keep(view.context, FACT, text.len ? text.at : NULL);
}

void engine_guard_count(struct backend *backend, size_t count)
{
    if (!count || !is_guarded(backend->engine))
        return;
    guard_count(&backend->guard, loop_mono_ms(backend->engine->loop), count);
    remember(backend);
}

// ---- what is guarded ----------------------------------------------------------------------------

static int compare_sets(const void *a, const void *b)
{
    const struct record_set *left = a;
    const struct record_set *right = b;
    int order = text_compare(left->domain, right->domain);
    if (!order)
        order = text_compare(left->subdomain, right->subdomain);
    return order ? order : (left->type > right->type) - (left->type < right->type);
}

bool guarded_has(const struct guarded *guarded, enum record_type type, struct text domain,
                 struct text subdomain)
{
    const struct record_set set = {.type = type, .domain = domain, .subdomain = subdomain};
    return bsearch(&set, guarded->sets, guarded->count, sizeof set, compare_sets);
}

static void write_checksum(const struct backend *backend, struct guarded *guarded)
{
    struct plan_sum_change *changes =
        arena_new_array(guarded->arena, struct plan_sum_change, guarded->count + 1);
    for (size_t i = 0; i < guarded->count; i++)
        changes[i] = (struct plan_sum_change){.before = &guarded->sets[i]};
    plan_sum_write(backend->name, changes, guarded->count, guarded->checksum);
}

static struct store_check check_of(const struct backend *backend, const struct guarded *guarded)
{
    return (struct store_check){
        .name = arena_printf(guarded->arena, "guard-%s", backend->name),
        .is_advice = true,
        .text = arena_printf(guarded->arena,
                             "GuardTripped: %zu record sets are kept although nothing wants them "
                             "any more; `signpost status` names the plan that asks",
                             guarded->count),
    };
}

static struct guarded *guarded_new(const struct backend *backend, const struct record_set *sets,
                                   size_t count)
{
    struct guarded *guarded = mem_new_of(struct guarded);
    guarded->arena = arena_new();
    guarded->sets = arena_new_array(guarded->arena, struct record_set, count + 1);
    guarded->count = count;
    for (size_t i = 0; i < count; i++)
        guarded->sets[i] = record_set_copy(guarded->arena, &sets[i]);
    if (count)
        qsort(guarded->sets, count, sizeof *guarded->sets, compare_sets);
    write_checksum(backend, guarded);
    guarded->check = check_of(backend, guarded);
    return guarded;
}

static void replace_guarded(struct backend *backend, struct guarded *guarded)
{
    bool is_changed = guarded || backend->guarded;
    guarded_free(backend->guarded);
    backend->guarded = guarded;
    backend->view.guarded_checksum = guarded ? guarded->checksum : NULL;
    if (is_changed)
        input_wake_watchers(backend);
}

void engine_guard_forget(struct backend *backend)
{
    replace_guarded(backend, NULL);
    engine_guard_mark(backend);
}

void engine_guard_keep(struct backend *backend, const struct record_set *sets, size_t count)
{
    struct guarded *guarded = guarded_new(backend, sets, count);
    const struct guarded *before = backend->guarded;
    bool is_same = before && !before->is_approved && !strcmp(before->checksum, guarded->checksum);
    if (is_same) {
        guarded_free(guarded);
    } else {
        replace_guarded(backend, guarded);
        change_log_guarded(backend);
    }
    backend->guarded->is_due = true;
}

// A change that is not the very same is none that anybody has approved.
static bool is_covered(const struct guarded *guarded, const struct record_set *strays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct record_set *found =
            bsearch(&strays[i], guarded->sets, guarded->count, sizeof *guarded->sets, compare_sets);
        if (!found || !record_set_equal(found, &strays[i]))
            return false;
    }
    return count > 0;
}

bool engine_guard_judge(struct backend *backend, const struct record_set *strays, size_t count)
{
    int64_t now_ms = loop_mono_ms(backend->engine->loop);
    recall(backend);
    if (guarded_is_approved(backend->guarded) && is_covered(backend->guarded, strays, count))
        return true;
    bool is_allowed = !is_guarded(backend->engine) ||
                      guard_allows(&backend->guard, now_ms, backend->owned, count);
    if (is_allowed)
        replace_guarded(backend, NULL);
    else
        engine_guard_keep(backend, strays, count);
    return is_allowed;
}

size_t engine_guard_checks(const struct engine *engine, struct store_check *out, size_t capacity)
{
    size_t count = 0;
    for (const struct backend *backend = engine->backends; backend && count < capacity;
         backend = backend->next) {
        if (guarded_count(backend->guarded) && engine->is_leading)
            out[count++] = backend->guarded->check;
    }
    return count;
}

// ---- approval -----------------------------------------------------------------------------------

void engine_guard_approve(struct engine *engine, const struct approval *approval)
{
    struct backend *backend = approval ? backend_find(engine, approval->backend) : NULL;
    struct guarded *guarded = backend ? backend->guarded : NULL;
    if (!guarded || guarded->is_approved || strcmp(guarded->checksum, approval->checksum) != 0 ||
        !engine_may_write(engine))
        return;
    guarded->is_approved = true;
    change_log_approved(backend);
    bool lists = backend->provider && backend->provider->lists;
    if (!lists)
        engine_guard_let_approved_go(backend);
    for (size_t i = 0; lists && i < guarded->count; i++)
        change_request_add_stray(backend, &guarded->sets[i], true);
    engine_schedule(engine);
}

// ---- asking people ------------------------------------------------------------------------------

static const struct controller *asker_of(const struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->ask_approval)
            return engine->controllers[i].is_synced ? engine->controllers[i].controller : NULL;
    return NULL;
}

static void report_failure(struct backend *backend, const struct error *error)
{
    if (error->status == EXISTS || !backend->guarded || backend->guarded->is_reported)
        return;
    backend->guarded->is_reported = true;
    log_line(backend->engine->log, LOG_WARN, "nobody can be asked about the records that are kept",
             LOG_TEXT("backend", backend->name), LOG_TEXT("error", error->text), LOG_END);
}

static void set_dropped(struct guarded *guarded, const struct object *object)
{
    object_unref(guarded->dropped);
    guarded->dropped = object ? object_ref(object) : NULL;
}

static void refused(struct backend *backend, const struct error *error)
{
    struct engine *engine = backend->engine;
    report_failure(backend, error);
    if (!backend->guarded)
        return;
    set_dropped(backend->guarded, NULL);
    backend->guarded->is_due = true;
    backend->guarded->not_before_ms = loop_mono_ms(engine->loop) + ASK_AGAIN_MS;
    loop_timer_set(engine->loop, &engine->approval_timer, ASK_AGAIN_MS);
}

static void asked(void *context, const struct store_reply *reply)
{
    struct engine *engine = context;
    struct backend *backend = engine->backends_by_number[engine->approval_backend - 1];
    engine->approval_backend = 0;
    engine->writes_in_flight--;
    if (backend && backend->guarded && reply->is_ok)
        backend->guarded->is_due |= engine->is_approval_renewed;
    else if (backend && !reply->is_ok)
        refused(backend, &reply->error);
    engine_schedule(engine);
}

static void send(struct backend *backend, const struct object_want *want)
{
    struct engine *engine = backend->engine;
    engine->approval_backend = backend->number;
    engine->is_approval_renewed = !want->tree;
    set_dropped(backend->guarded, want->tree ? NULL : want->seen);
    engine->writes_in_flight++;
    store_write_object(
        engine->options.store,
        &(struct store_object_write){.key = want->key, .tree = want->tree, .seen = want->seen},
        asked, engine);
}

static void ask(struct backend *backend, const struct controller *controller)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct guarded_removals guarded = {backend->name, backend->guarded->checksum,
                                             backend->guarded->sets, backend->guarded->count};
    struct object_want want = {0};
    backend->guarded->is_due = false;
    if (!controller->ask_approval(&guarded, NULL, arena, &want))
        return;
    const struct object *there = cache_find(backend->engine->options.store->cache, want.key.kind,
                                            want.key.namespace_, want.key.name);
    if (there && there == backend->guarded->dropped)
        backend->guarded->is_due = true; // the event of its end wakes us
    else if (!there || controller->ask_approval(&guarded, there, arena, &want))
        send(backend, &want);
}

void engine_guard_ask_approval(struct engine *engine)
{
    const struct controller *controller = NULL;
    for (struct backend *backend = engine->backends; backend && !engine->approval_backend;
         backend = backend->next) {
        if (!guarded_count(backend->guarded) || !backend->guarded->is_due ||
            !engine_may_write(engine) ||
            backend->guarded->not_before_ms > loop_mono_ms(engine->loop))
            continue;
        if (!controller)
            controller = asker_of(engine);
        if (controller)
            ask(backend, controller);
    }
}
