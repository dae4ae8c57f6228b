#include <stdlib.h>
#include <string.h>

#include "engine/exchange_state.h"

// What one claim's key looks like at the backend.
struct sight {
    bool has_ours;
    bool has_theirs;
    bool is_crowded; // theirs is of a type that nothing may stand beside
    uint8_t ours[FINGERPRINT_OCTETS];
    uint8_t theirs[FINGERPRINT_OCTETS];
};

struct stray {
    struct stray *next;
    struct record_set set;
};

struct listing {
    struct arena *arena;
    struct sight *sights; // by claim
    size_t count;
    size_t owned;
    struct stray *strays;
    size_t stray_count;
};

struct listing *listing_new(struct engine *engine)
{
    struct listing *listing = mem_new_of(struct listing);
    listing->arena = arena_new();
    listing->count = engine->claim_slots.end;
    listing->sights = mem_new_array(struct sight, listing->count + 1);
    return listing;
}

void listing_free(struct listing *listing)
{
    if (!listing)
        return;
    free(listing->sights);
    arena_free(listing->arena);
    free(listing);
}

static void sight_add(struct listing *listing, uint32_t id, bool is_ours,
                      const uint8_t hash[FINGERPRINT_OCTETS])
{
    if (id >= listing->count) // claimed since the exchange began
        return;
    struct sight *sight = &listing->sights[id];
    memcpy(is_ours ? sight->ours : sight->theirs, hash, sizeof sight->ours);
    *(is_ours ? &sight->has_ours : &sight->has_theirs) = true;
}

static void sight_crowd(struct listing *listing, uint32_t id, const struct existing_set *existing,
                        enum record_type type)
{
    if (id < listing->count && !existing->is_ours && plan_excludes(type, existing->set.type))
        listing->sights[id].is_crowded = true;
}

static void stray_add(struct listing *listing, const struct record_set *set)
{
    struct stray *stray = arena_new_of(listing->arena, struct stray);
    *stray = (struct stray){listing->strays, record_set_copy(listing->arena, set)};
    listing->strays = stray;
    listing->stray_count++;
}

void listing_add_existing(void *context, const struct existing_set *existing)
{
    struct exchange *exchange = context;
    struct engine *engine = exchange->engine;
    const struct record_set *set = &existing->set;
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    bool is_claimed = false;
    const char *name = arena_copy(exchange->listing->arena, set->domain.at, set->domain.len);
    exchange->session->provider->fingerprint(exchange->session->at, set, hash);
    for (uint32_t id = claims_at(engine, registry_get(engine, exchange->backend->registry), name);
         id != NO_ID; id = claim_next_of_name(claim_get(engine, id))) {
        const struct claim *claim = claim_get(engine, id);
        if (claim_type(claim) != set->type)
            sight_crowd(exchange->listing, id, existing, claim_type(claim));
        if (claim_type(claim) != set->type || claim_is_forgotten(claim))
            continue;
        is_claimed = true;
        sight_add(exchange->listing, id, existing->is_ours, hash);
    }
    exchange->listing->owned += existing->is_ours;
    if (existing->is_ours && !is_claimed)
        stray_add(exchange->listing, set);
}

static void report_claims(struct exchange *exchange)
{
    struct engine *engine = exchange->engine;
    const struct listing *listing = exchange->listing;
    for (uint32_t id = 0; id < listing->count && id < engine->claim_slots.end; id++) {
        const struct claim *claim = claim_get(engine, id);
        const struct sight *sight = &listing->sights[id];
        if (!claim_is_free(claim) && !claim_is_forgotten(claim) &&
            claim_backend(engine, claim) == exchange->backend)
            claim_found(engine, id, sight->has_ours ? sight->ours : NULL,
                        sight->has_theirs ? sight->theirs : NULL, sight->is_crowded);
    }
}

// ---- entries of the ledger that nothing stands for any more -------------------------------------

struct sweep {
    struct engine *engine;
    uint16_t registry;
    struct arena *arena;
    struct stray *forgotten;
};

static void sweep_entry(void *context, enum record_type type, struct text name, const char *stored)
{
    struct sweep *sweep = context;
    const char *owner_name = arena_copy(sweep->arena, name.at, name.len);
    (void)stored;
    for (uint32_t id = claims_at(sweep->engine, sweep->registry, owner_name); id != NO_ID;
         id = claim_next_of_name(claim_get(sweep->engine, id)))
        if (claim_type(claim_get(sweep->engine, id)) == type)
            return;
    struct stray *stray = arena_new_of(sweep->arena, struct stray);
    stray->next = sweep->forgotten;
    stray->set = (struct record_set){.type = type,
                                     .domain = text_of(owner_name),
                                     .subdomain = TEXT("@"),
                                     .priority = -1,
                                     .weight = -1,
                                     .port = -1};
    sweep->forgotten = stray;
}

// Forgets entries of the ledger that nothing stands for any more: if somebody makes such a record
// by hand later, it is theirs.
static void sweep_ledger(struct exchange *exchange)
{
    struct ledger_keeper *keeper = exchange->backend->ledger;
    struct sweep sweep = {.engine = exchange->engine,
                          .registry = registry_get(exchange->engine, exchange->backend->registry),
                          .arena = exchange->listing->arena};
    if (!keeper || exchange->listing->strays || exchange->engine->dry_run)
        return;
    ledger_keeper_each(keeper, sweep_entry, &sweep);
    for (const struct stray *stray = sweep.forgotten; stray; stray = stray->next)
        ledger_keeper_drop(keeper, &stray->set);
    ledger_keeper_flush(keeper, NULL, NULL);
}

static bool stray_may_go(const struct backend *backend, const struct record_set *set)
{
    const struct engine_options *options = &backend->engine->options;
    const struct engine_change change = {
        .act = ENGINE_DELETE, .backend = backend->name, .server = backend->registry, .set = set};
    return !options->may_send || options->may_send(options->context, &change);
}

static void remove_strays(struct backend *backend, const struct listing *listing)
{
    bool is_approved = guarded_is_approved(backend->guarded);
    for (const struct stray *stray = listing->strays; stray; stray = stray->next)
        if (stray_may_go(backend, &stray->set))
            change_request_add_stray(backend, &stray->set, is_approved);
}

// An object that cannot be read may claim them.
static bool may_judge(struct backend *backend, size_t count)
{
    bool is_answered = backend_openers_may_read(backend);
    if (!is_answered && count && !backend->is_unread_reported)
        change_log_unread(backend, count);
    backend->is_unread_reported = !is_answered && (count || backend->is_unread_reported);
    return is_answered;
}

static void judge_strays(struct backend *backend, const struct listing *listing)
{
    struct record_set *sets =
        arena_new_array(listing->arena, struct record_set, listing->stray_count + 1);
    size_t count = 0;
    for (const struct stray *stray = listing->strays; stray; stray = stray->next)
        sets[count++] = stray->set;
    if (may_judge(backend, count) && engine_guard_judge(backend, sets, count))
        remove_strays(backend, listing);
}

void listing_end(struct exchange *exchange)
{
    struct backend *backend = exchange->backend;
    backend->is_fresh = !backend->view.is_listed;
    backend->view.is_listed = backend->view.is_judged = true;
    if (backend->is_fresh)
        input_wake_watchers(backend);
    backend->owned = exchange->listing->owned;
    report_claims(exchange);
    change_requests_drop_strays(backend);
    judge_strays(backend, exchange->listing);
    sweep_ledger(exchange);
}
