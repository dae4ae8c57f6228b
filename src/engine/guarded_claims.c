#include "base/memory.h"
#include "engine/backend_state.h"
#include "engine/claim_state.h"

// A key that is decided for the first time in a process cannot tell whether a name that it
// remembers was taken away on purpose or got lost. So such removals wait until all keys have
// decided, and then are let go together or kept together. Where a provider lists what stands there,
// the guard judges by that instead.

// Does another claim put something in its place, which cannot stand beside it?
static bool is_replaced(struct engine *engine, const struct claim *claim)
{
    for (uint32_t id = claim_first_of_name(engine, claim); id != NO_ID;
         id = engine->claims[id].next_of_name) {
        const struct claim *other = &engine->claims[id];
        if (other->key != claim->key && other->intent == CLAIM_SET && !other->is_suspended &&
            !claim_is_forgotten(other) && plan_excludes(other->type, claim->type))
            return true;
    }
    return false;
}

// A backend whose settings were refused from the beginning has no provider.
static bool takes_claims(const struct backend *backend)
{
    return backend->provider && !backend->provider->lists;
}

bool claim_is_held_back(struct engine *engine, const struct claim *claim)
{
    if (!claim->is_guarded || claim->is_let_go || claim->intent != CLAIM_REMOVE ||
        is_replaced(engine, claim))
        return false;
    const struct backend *backend = claim_backend(engine, claim);
    return backend && takes_claims(backend) && engine_guard_can_ask(engine);
}

void engine_guard_mark(struct backend *backend)
{
    if (!backend)
        return;
    backend->are_claims_unjudged = true;
    engine_schedule(backend->engine);
}

void engine_guard_note_removal(struct backend *backend)
{
    if (backend && backend->guarded)
        engine_guard_mark(backend);
}

static bool is_at(const struct backend *backend, const struct claim *claim)
{
    return !claim_is_free(claim) && !claim_is_forgotten(claim) &&
           claim_backend(backend->engine, claim) == backend;
}

// A claim whose record set is known to be gone waits for nobody.
static bool waits(const struct backend *backend, const struct claim *claim)
{
    return is_at(backend, claim) && claim_is_held_back(backend->engine, claim) &&
           !claim_is_satisfied(claim);
}

// Claims of several keys may be about one record set.
static bool is_first_of_set(const struct backend *backend, uint32_t id,
                            bool (*is_meant)(const struct backend *, const struct claim *))
{
    struct engine *engine = backend->engine;
    const struct claim *claim = &engine->claims[id];
    uint32_t other = claim_first_of_name(engine, claim);
    while (other != id && !(is_meant(backend, &engine->claims[other]) &&
                            claim_is_same_type_and_split(&engine->claims[other], claim)))
        other = engine->claims[other].next_of_name;
    return other == id;
}

static bool is_owned(const struct backend *backend, const struct claim *claim)
{
    return is_at(backend, claim) && claim_may_stand(claim);
}

// Is it to remove what the guard holds back or a person has approved, and has not done so yet?
static bool is_to_go(const struct backend *backend, const struct claim *claim)
{
    return is_at(backend, claim) && claim->intent == CLAIM_REMOVE && claim->is_guarded &&
           !claim_is_satisfied(claim) &&
           guarded_has(backend->guarded, claim_type(claim), claim_domain(claim),
                       claim_subdomain(claim));
}

static bool is_any_to_go(const struct backend *backend)
{
    for (uint32_t id = 0; id < backend->engine->claim_slots.end; id++)
        if (is_to_go(backend, &backend->engine->claims[id]))
            return true;
    return false;
}

static void let_go(struct engine *engine, uint32_t id)
{
    engine->claims[id].is_let_go = true;
    registry_replan(engine, id);
}

static void let_all_go(struct backend *backend)
{
    struct engine *engine = backend->engine;
    for (uint32_t id = 0; id < engine->claim_slots.end; id++)
        if (waits(backend, &engine->claims[id]))
            let_go(engine, id);
}

static struct record_set set_of(struct arena *arena, const struct claim *claim)
{
    struct text domain = claim_domain(claim);
    struct text subdomain = claim_subdomain(claim);
    return (struct record_set){
        .type = claim_type(claim),
        .domain = text_of(arena_copy(arena, domain.at, domain.len)),
        .subdomain = text_of(arena_copy(arena, subdomain.at, subdomain.len)),
        .priority = -1,
        .weight = -1,
        .port = -1,
    };
}

static void judge_waiting(struct backend *backend)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct engine *engine = backend->engine;
    struct record_set *sets = arena_new_array(arena, struct record_set, backend->claim_count + 1);
    size_t count = 0;
    size_t owned = 0;
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        owned += is_owned(backend, claim) && is_first_of_set(backend, id, is_owned);
        if (waits(backend, claim) && is_first_of_set(backend, id, waits))
            sets[count++] = set_of(arena, claim);
    }
    backend->owned = owned;
    if (guarded_is_approved(backend->guarded) && !count && is_any_to_go(backend))
        return; // the approval stands until all that it names is gone
    if (count && guarded_count(backend->guarded)) { // though a part of it was put right
        engine_guard_keep(backend, sets, count);
        return;
    }
    if (engine_guard_judge(backend, sets, count)) {
        if (!guarded_is_approved(backend->guarded))
            engine_guard_count(backend, count);
        let_all_go(backend);
    }
}

static void judge(struct backend *backend, bool is_any)
{
    backend->are_claims_unjudged = false;
    if (is_any)
        judge_waiting(backend);
    if (!backend->view.is_judged)
        input_wake_askers(backend);
    backend->view.is_judged = true;
}

static bool is_due(const struct backend *backend)
{
    return backend->are_claims_unjudged && takes_claims(backend);
}

// Most backends have no such claims: one look at all claims finds those that have.
static void find_waiting(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        struct backend *backend = claim_is_free(claim) ? NULL : claim_backend(engine, claim);
        if (backend && waits(backend, claim))
            backend->has_claims_held_back = true;
    }
}

void engine_guard_judge_claims(struct engine *engine)
{
    struct backend *due = engine->backends;
    if (!engine->is_first_pass_done || !engine_may_write(engine) || !engine_guard_can_ask(engine))
        return;
    while (due && !is_due(due))
        due = due->next;
    if (!due)
        return;
    find_waiting(engine);
    for (struct backend *backend = due; backend; backend = backend->next) {
        bool is_any = backend->has_claims_held_back || backend->guarded;
        backend->has_claims_held_back = false;
        if (is_due(backend))
            judge(backend, is_any);
    }
}

void engine_guard_let_approved_go(struct backend *backend)
{
    struct engine *engine = backend->engine;
    for (uint32_t id = 0; id < engine->claim_slots.end; id++)
        if (waits(backend, &engine->claims[id]) && is_to_go(backend, &engine->claims[id]))
            let_go(engine, id);
    engine_guard_mark(backend);
}
