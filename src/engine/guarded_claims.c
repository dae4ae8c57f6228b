#include <string.h>

#include "base/memory.h"
#include "engine/backend_state.h"
#include "engine/claim_state.h"

// A key that is decided for the first time in a process cannot tell whether a name that it
// remembers was taken away on purpose or got lost. So such removals wait until all keys have
// decided, and then are let go together or kept together.

bool claim_is_held_back(const struct engine *engine, const struct claim *claim)
{
    return claim->is_guarded && !claim->is_let_go && claim->intent == CLAIM_REMOVE &&
           engine_guard_can_ask(engine);
}

void engine_guard_mark(struct backend *backend)
{
    if (!backend)
        return;
    backend->are_claims_unjudged = true;
    engine_schedule(backend->engine);
}

static bool is_at(const struct backend *backend, const struct claim *claim)
{
    return !claim_is_free(claim) && !claim_is_forgotten(claim) &&
           claim_backend(backend->engine, claim) == backend;
}

// One that is known to be gone holds nothing up.
static bool waits(const struct backend *backend, const struct claim *claim)
{
    return is_at(backend, claim) && claim_is_held_back(backend->engine, claim) &&
           !claim_is_satisfied(claim);
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

static void judge(struct backend *backend)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct engine *engine = backend->engine;
    struct record_set *sets = arena_new_array(arena, struct record_set, backend->claim_count + 1);
    size_t count = 0;
    size_t owned = 0;
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        owned += is_at(backend, claim) && claim_may_stand(claim);
        if (waits(backend, claim))
            sets[count++] = set_of(arena, claim);
    }
    backend->owned = owned;
    bool is_approved = guarded_is_approved(backend->guarded);
    if (engine_guard_judge(backend, sets, count)) {
        engine_guard_count(backend, is_approved ? 0 : count);
        let_all_go(backend);
    }
    if (!backend->view.is_judged)
        input_wake_watchers(backend);
    backend->view.is_judged = true;
}

void engine_guard_judge_claims(struct engine *engine)
{
    if (!engine->is_first_pass_done || !engine_may_write(engine))
        return;
    for (struct backend *backend = engine->backends; backend; backend = backend->next) {
        if (!backend->are_claims_unjudged)
            continue;
        backend->are_claims_unjudged = false;
        judge(backend);
    }
}

bool engine_guard_let_go(struct backend *backend, const struct record_set *set)
{
    struct engine *engine = backend->engine;
    bool is_any = false;
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        if (!waits(backend, claim) || claim_type(claim) != set->type ||
            !text_equal(claim_domain(claim), set->domain) ||
            !text_equal(claim_subdomain(claim), set->subdomain))
            continue;
        let_go(engine, id);
        is_any = true;
    }
    if (is_any)
        engine_guard_mark(backend);
    return is_any;
}
