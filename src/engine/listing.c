#include <stdlib.h>
#include <string.h>

#include "engine/state.h"

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
    listing->count = engine->claim_used;
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
    if (id >= listing->count) // claimed since the talk began
        return;
    struct sight *sight = &listing->sights[id];
    memcpy(is_ours ? sight->ours : sight->theirs, hash, sizeof sight->ours);
    *(is_ours ? &sight->has_ours : &sight->has_theirs) = true;
}

static void sight_crowd(struct listing *listing, uint32_t id, const struct holding *holding,
                        enum record_type type)
{
    if (id < listing->count && !holding->is_ours && plan_excludes(type, holding->set.type))
        listing->sights[id].is_crowded = true;
}

static void stray_add(struct listing *listing, const struct record_set *set)
{
    struct stray *stray = arena_new_of(listing->arena, struct stray);
    *stray = (struct stray){listing->strays, record_set_copy(listing->arena, set)};
    listing->strays = stray;
    listing->stray_count++;
}

void listing_hold(void *context, const struct holding *holding)
{
    struct flight *flight = context;
    struct engine *engine = flight->engine;
    const struct record_set *set = &holding->set;
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    bool is_claimed = false;
    const char *name = arena_copy(flight->listing->arena, set->domain.at, set->domain.len);
    flight->seat->provider->fingerprint(flight->seat->at, set, hash);
    for (uint32_t id = claims_at(engine, book_get(engine, flight->lane->book), name); id != NO_ID;
         id = engine->claims[id].next_of_name) {
        const struct claim *claim = &engine->claims[id];
        if (claim->type != set->type)
            sight_crowd(flight->listing, id, holding, claim->type);
        if (claim->type != set->type || claim->is_forgotten)
            continue;
        is_claimed = true;
        sight_add(flight->listing, id, holding->is_ours, hash);
    }
    flight->listing->owned += holding->is_ours;
    if (holding->is_ours && !is_claimed)
        stray_add(flight->listing, set);
}

static void tell_claims(struct flight *flight)
{
    struct engine *engine = flight->engine;
    const struct listing *listing = flight->listing;
    for (uint32_t id = 0; id < listing->count && id < engine->claim_used; id++) {
        const struct claim *claim = &engine->claims[id];
        const struct sight *sight = &listing->sights[id];
        if (claim->name && !claim->is_forgotten && claim->lane == flight->lane->number)
            claim_found(engine, id, sight->has_ours ? sight->ours : NULL,
                        sight->has_theirs ? sight->theirs : NULL, sight->is_crowded);
    }
}

// ---- entries of the ledger that nothing stands for any more -------------------------------------

struct sweep {
    struct engine *engine;
    uint16_t book;
    struct arena *arena;
    struct stray *forgotten;
};

static void sweep_entry(void *context, enum record_type type, struct text name, const char *stored)
{
    struct sweep *sweep = context;
    const char *owner_name = arena_copy(sweep->arena, name.at, name.len);
    (void)stored;
    for (uint32_t id = claims_at(sweep->engine, sweep->book, owner_name); id != NO_ID;
         id = sweep->engine->claims[id].next_of_name)
        if (sweep->engine->claims[id].type == type)
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

// Whoever makes such a record by hand later keeps it.
static void sweep_ledger(struct flight *flight)
{
    struct ledger_keeper *keeper = flight->lane->ledger;
    struct sweep sweep = {.engine = flight->engine,
                          .book = book_get(flight->engine, flight->lane->book),
                          .arena = flight->listing->arena};
    if (!keeper || flight->listing->strays || flight->engine->dry_run)
        return;
    ledger_keeper_each(keeper, sweep_entry, &sweep);
    for (const struct stray *stray = sweep.forgotten; stray; stray = stray->next)
        ledger_keeper_drop(keeper, &stray->set);
    ledger_keeper_flush(keeper, NULL, NULL);
}

static bool stray_may_go(const struct lane *lane, const struct record_set *set)
{
    const struct engine_options *options = &lane->engine->options;
    const struct engine_change change = {
        .act = ENGINE_DELETE, .lane = lane->name, .server = lane->book, .set = set};
    return !options->may_send || options->may_send(options->context, &change);
}

static void remove_strays(struct lane *lane, const struct listing *listing)
{
    bool is_approved = hold_is_approved(lane->hold);
    for (const struct stray *stray = listing->strays; stray; stray = stray->next)
        if (stray_may_go(lane, &stray->set))
            wish_add_stray(lane, &stray->set, is_approved);
}

// Somebody who cannot be heard may want them.
static bool may_judge(struct lane *lane, size_t count)
{
    bool is_heard = lane_openers_may_read(lane);
    if (!is_heard && count && !lane->is_unread_told)
        words_tell_unread(lane, count);
    lane->is_unread_told = !is_heard && (count || lane->is_unread_told);
    return is_heard;
}

static void judge_strays(struct lane *lane, const struct listing *listing)
{
    struct record_set *sets =
        arena_new_array(listing->arena, struct record_set, listing->stray_count + 1);
    size_t count = 0;
    for (const struct stray *stray = listing->strays; stray; stray = stray->next)
        sets[count++] = stray->set;
    if (may_judge(lane, count) && holds_judge(lane, sets, count))
        remove_strays(lane, listing);
}

void listing_end(struct flight *flight)
{
    struct lane *lane = flight->lane;
    lane->is_fresh = !lane->view.is_listed;
    lane->view.is_listed = true;
    if (lane->is_fresh)
        gather_wake_watchers(lane);
    lane->owned = flight->listing->owned;
    tell_claims(flight);
    wishes_drop_strays(lane);
    judge_strays(lane, flight->listing);
    sweep_ledger(flight);
}
