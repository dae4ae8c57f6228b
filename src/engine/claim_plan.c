#include "engine/claim_state.h"

#include <stdlib.h>

#include "base/hash.h"

// ---- names that many claim ----------------------------------------------------------------------

// Each plan of a name looks at all its claims. Where there are many, the plan is delayed, by the
// longer the more there are, and serves all changes that came until then.
enum { CROWD_DEFAULT = 64, CLAIMS_PER_MS = 64 };

bool claim_name_is_crowded(struct engine *engine, uint32_t id)
{
    size_t limit = engine->options.crowd ? engine->options.crowd : CROWD_DEFAULT;
    uint32_t first = claim_first_of_name(engine, &engine->claims[id]);
    return first != TABLE_NONE && engine->claims[first].count_of_name > limit;
}

static void set_crowded_timer(struct engine *engine)
{
    int64_t now_ms = loop_mono_ms(engine->loop);
    int64_t next_ms = queue_next_ms(engine->crowded);
    if (next_ms != INT64_MAX)
        loop_timer_set(engine->loop, &engine->crowded_timer,
                       next_ms > now_ms ? next_ms - now_ms : 0);
}

static void plan_later(struct engine *engine, uint32_t id)
{
    uint32_t first = claim_first_of_name(engine, &engine->claims[id]);
    int64_t delay_ms = engine->claims[first].count_of_name / CLAIMS_PER_MS;
    queue_after(engine->crowded, first, QUEUE_USER, loop_mono_ms(engine->loop) + delay_ms);
    set_crowded_timer(engine);
}

// ---- claims that are forgotten ------------------------------------------------------------------

uint32_t claim_remove(struct engine *engine, uint32_t id)
{
    uint32_t other = claim_neighbour(engine, id);
    if (!claim_name_is_crowded(engine, id)) {
        claim_free(engine, id);
        return other;
    }
    claim_leave_backend(engine, &engine->claims[id]);
    plan_later(engine, id);
    return NO_ID;
}

void claim_remove_and_plan(struct engine *engine, uint32_t id)
{
    uint32_t other = claim_remove(engine, id);
    if (other != NO_ID)
        registry_replan(engine, other);
}

void claim_forget(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    if (claim_is_held_back(engine, claim))
        engine_guard_mark(claim_backend(engine, claim));
    claim_unchain_key(engine, id);
    claim->key = NO_ID;
    claim_unqueue(engine, id);
    claim_end_back_off(engine, id);
    claim_move(engine, id, MOVE_FORGET);
    if (claim->work == WORK_IN_FLIGHT)
        registry_replan(engine, id);
    else
        claim_remove_and_plan(engine, id);
}

// ---- who claims a name --------------------------------------------------------------------------

struct claim_at_name {
    uint32_t id;
    const struct object *object;
    uint32_t evicted_by; // the claim for whose sake the content of this one is removed, or NO_ID
};

// Claims of one object never conflict, so their order means nothing.
static int compare_claims_at_name(const void *a, const void *b)
{
    const struct claim_at_name *left = a;
    const struct claim_at_name *right = b;
    int order = object_compare_age(left->object, right->object);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

static bool is_not_forgotten(const struct engine *engine, const struct claim *claim)
{
    (void)engine;
    return !claim_is_forgotten(claim);
}

// A claim that lost or shares counts against nobody.
static bool may_beat(const struct engine *engine, const struct claim *claim)
{
    return !claim_is_forgotten(claim) &&
           (claim->is_unplanned || claim_holder(engine, claim) == NO_ID);
}

// Oldest first.
static struct claim_at_name *
claims_of_name(struct engine *engine, uint32_t first,
               bool (*is_meant)(const struct engine *, const struct claim *), size_t *count)
{
    *count = 0;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name)
        *count += is_meant(engine, &engine->claims[id]);
    struct claim_at_name *all = arena_new_array(engine->scratch, struct claim_at_name, *count + 1);
    struct claim_at_name *next = all;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name)
        if (is_meant(engine, &engine->claims[id]))
            *next++ = (struct claim_at_name){id, claim_object(engine, &engine->claims[id]), NO_ID};
    if (*count > 1)
        qsort(all, *count, sizeof *all, compare_claims_at_name);
    return all;
}

// ---- the plan of one name -----------------------------------------------------------------------

static const enum plan_want plan_wants[] = {
    [CLAIM_KEEP] = PLAN_KEEP,
    [CLAIM_SET] = PLAN_SET,
    [CLAIM_REMOVE] = PLAN_REMOVE,
    [CLAIM_LOOK] = PLAN_LOOK,
};

static uint64_t content_of_hash(const uint8_t hash[FINGERPRINT_OCTETS])
{
    return hash_octets(hash, FINGERPRINT_OCTETS) | 1;
}

static struct plan_claim plan_claim_of(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    bool shares =
        claim->has_wanted && (claim->shares || backend_shares(claim_backend(engine, claim)));
    return (struct plan_claim){
        .owner = claim_object(engine, claim),
        .type = claim->type,
        .domain = claim_domain(claim),
        .subdomain = claim_subdomain(claim),
        .want = plan_wants[claim->intent],
        .is_suspended = claim->is_suspended || claim_is_held_back(engine, claim),
        .is_satisfied = claim_is_satisfied(claim),
        .content = shares ? content_of_hash(claim_wanted_hash(claim)) : 0,
    };
}

static bool claim_may_be_sent(struct engine *engine, uint32_t id, enum claim_intent sends)
{
    const struct claim *claim = &engine->claims[id];
    struct record_set bare = {
        .type = claim->type, .domain = claim_domain(claim), .subdomain = claim_subdomain(claim)};
    if (!engine->options.may_send || sends == CLAIM_LOOK)
        return true;
    const struct record_set *set = sends == CLAIM_SET
                                       ? content_make_set(engine->scratch, claim->pending->content,
                                                          bare.domain, bare.subdomain)
                                       : &bare;
    const struct engine_change change =
        engine_change_of(engine, id, sends == CLAIM_SET ? CHANGE_SET : CHANGE_REMOVE, set);
    return engine->options.may_send(engine->options.context, &change);
}

// A suspended claim that still must not be sent keeps its standing: setting it to waiting for a
// moment would wake its key for nothing.
static bool stays_suspended(struct engine *engine, uint32_t id, enum claim_intent sends)
{
    const struct claim *claim = &engine->claims[id];
    return claim->standing == STANDING_SUSPENDED && engine->options.may_send &&
           claim_has_content(claim, sends) && !claim_may_be_sent(engine, id, sends);
}

// Queues the claim. If its content is not in memory its key is woken, which brings it.
static void claim_queue(struct engine *engine, uint32_t id, uint32_t evicted_by)
{
    struct claim *claim = &engine->claims[id];
    enum claim_intent sends = evicted_by == NO_ID ? (enum claim_intent)claim->intent : CLAIM_REMOVE;
    bool has_content = claim_has_content(claim, sends);
    if (stays_suspended(engine, id, sends))
        return;
    if (!has_content)
        claim_unqueue(engine, id);
    claim_set_standing(engine, id, evicted_by == NO_ID ? MOVE_SEND : MOVE_EVICT, evicted_by);
    if (!has_content) {
        key_wake(engine, claim->key, QUEUE_USER);
        return;
    }
    claim_pending(engine, claim);
    if (claim->work != WORK_READY || !claim->backend)
        return;
    if (claim_may_be_sent(engine, id, sends))
        claim_move(engine, id, MOVE_QUEUE);
    else
        claim_set_standing(engine, id, MOVE_SUSPEND, NO_ID);
}

// A server ignores a record that may not stand beside existing data, as a CNAME. So content of a
// loser that is in the way of the holder's is removed first. The loser stays a loser.
static bool stands_in_way(const struct claim *loser, const struct claim *holder)
{
    return claim_may_stand(loser) && !claim_is_same_type_and_split(loser, holder);
}

// If the holder's content stands there with the same type and split, it has overwritten the
// loser's.
static void claim_lose(struct engine *engine, uint32_t id, uint32_t holder_id)
{
    struct claim *claim = &engine->claims[id];
    const struct claim *holder = &engine->claims[holder_id];
    if (claim_may_stand(claim) && claim_is_same_type_and_split(claim, holder) &&
        claim->work != WORK_IN_FLIGHT && holder->intent == CLAIM_SET &&
        claim_is_satisfied(holder)) {
        claim->there = THERE_NOTHING;
        key_wake(engine, claim->key, QUEUE_USER);
    }
    claim_stop(engine, id);
    claim_set_standing(engine, id, MOVE_LOSE, holder_id);
}

// A claim that shares has the state of its holder, whose content is its own.
static void claim_share(struct engine *engine, uint32_t id, uint32_t holder_id)
{
    struct claim *claim = &engine->claims[id];
    const struct claim *holder = &engine->claims[holder_id];
    bool is_there = claim_is_satisfied(holder);
    claim->there = holder->there;
    claim->is_foreign = holder->is_foreign;
    claim_set_there(engine, claim, holder->there_hash);
    claim_stop(engine, id);
    claim_set_standing(engine, id, is_there ? MOVE_SHARE_SETTLED : MOVE_SHARE, holder_id);
}

// A removal tells its heir that it is one.
static void claim_wait_behind(struct engine *engine, uint32_t id, uint32_t other)
{
    struct claim *claim = &engine->claims[id];
    bool is_news = claim->standing != STANDING_WAITING;
    claim_unqueue(engine, id);
    claim_doubt(claim);
    claim_set_standing(engine, id, MOVE_WAIT_BEHIND, NO_ID);
    if (claim->intent == CLAIM_REMOVE && is_news)
        key_wake(engine, engine->claims[other].key, QUEUE_USER);
}

static void claim_step(struct engine *engine, const struct claim_at_name *all, size_t at,
                       const struct plan_step *step)
{
    uint32_t id = all[at].id;
    struct claim *claim = &engine->claims[id];
    switch (step->act) {
    case PLAN_SETTLED:
        claim_stop(engine, id);
        claim_set_standing(engine, id, MOVE_SETTLE, NO_ID);
        return;
    case PLAN_SEND:
        claim_queue(engine, id, all[at].evicted_by);
        return;
    case PLAN_SUSPEND:
        claim_unqueue(engine, id);
        claim_set_standing(engine, id, MOVE_SUSPEND, NO_ID);
        return;
    case PLAN_WAIT:
        if (all[at].evicted_by != NO_ID)
            claim_lose(engine, id, all[at].evicted_by);
        else
            claim_wait_behind(engine, id, all[step->other].id);
        return;
    case PLAN_LOST:
        claim_lose(engine, id, all[step->other].id);
        return;
    case PLAN_SHARED:
        claim_share(engine, id, all[step->other].id);
        return;
    case PLAN_INHERITED:
        if (all[at].evicted_by != NO_ID) {
            claim_lose(engine, id, all[at].evicted_by);
            return;
        }
        if (claim_is_satisfied(&engine->claims[all[step->other].id])) {
            claim->there = THERE_NOTHING;
            claim->is_inherited = true;
            claim_stop(engine, id);
            claim_set_standing(engine, id, MOVE_SETTLE, NO_ID);
            return;
        }
        claim_unqueue(engine, id);
        claim_set_standing(engine, id, MOVE_WAIT_BEHIND, NO_ID);
        return;
    }
}

// A removal that the guard looked at has ended: another claim took the name over, or it is done.
static void report_to_guard(const struct engine *engine, uint32_t id, const struct plan_step *step)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->is_guarded && claim->intent == CLAIM_REMOVE &&
        (step->act == PLAN_SETTLED || step->act == PLAN_INHERITED))
        engine_guard_note_removal(claim_backend(engine, claim));
}

static bool mark_evictions(const struct engine *engine, struct claim_at_name *all, size_t count,
                           struct plan_claim *claims, const struct plan_step *steps)
{
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        const struct claim *claim = &engine->claims[all[i].id];
        uint32_t holder = steps[i].act == PLAN_LOST ? all[steps[i].other].id : NO_ID;
        if (holder == NO_ID || !stands_in_way(claim, &engine->claims[holder]))
            continue;
        all[i].evicted_by = holder;
        claims[i].want = PLAN_REMOVE;
        claims[i].is_suspended = false;
        claims[i].is_satisfied = false;
        has_any = true;
    }
    return has_any;
}

static void replan_from(struct engine *engine, uint32_t first)
{
    size_t count;
    arena_reset(engine->scratch); // no step resets it
    struct claim_at_name *all = claims_of_name(engine, first, is_not_forgotten, &count);
    struct plan_claim *claims = arena_new_array(engine->scratch, struct plan_claim, count + 1);
    struct plan_step *steps = arena_new_array(engine->scratch, struct plan_step, count + 1);
    uint32_t *bits = arena_new_array(engine->scratch, uint32_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        claims[i] = plan_claim_of(engine, all[i].id);
        bits[i] = claim_receipt_bits(&engine->claims[all[i].id]);
    }
    plan_name(claims, count, steps);
    if (mark_evictions(engine, all, count, claims, steps))
        plan_name(claims, count, steps);
    for (size_t i = 0; i < count; i++) {
        report_to_guard(engine, all[i].id, &steps[i]);
        claim_step(engine, all, i, &steps[i]);
    }
    for (size_t i = 0; i < count; i++)
        claim_wake_if_changed(engine, all[i].id, bits[i]);
}

// Frees the forgotten claims that were kept until this plan. Returns the first claim that remains,
// or NO_ID.
static uint32_t free_forgotten(struct engine *engine, uint32_t first)
{
    uint32_t left = NO_ID;
    for (uint32_t id = first, next; id != NO_ID; id = next) {
        const struct claim *claim = &engine->claims[id];
        next = claim->next_of_name;
        if (claim_is_forgotten(claim) && claim->work != WORK_IN_FLIGHT)
            claim_free(engine, id);
        else if (left == NO_ID)
            left = id;
    }
    return left;
}

static void mark_planned(struct engine *engine, uint32_t first)
{
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name) {
        struct claim *claim = &engine->claims[id];
        if (claim->is_unplanned && !claim_is_forgotten(claim))
            key_wake(engine, claim->key, QUEUE_USER);
        claim->is_unplanned = false;
    }
}

static void plan_now(struct engine *engine, uint32_t first)
{
    uint32_t left = free_forgotten(engine, first);
    if (left == NO_ID)
        return;
    replan_from(engine, left);
    mark_planned(engine, left);
    queue_forget(engine->crowded, left);
}

void registry_replan(struct engine *engine, uint32_t id)
{
    uint32_t first = claim_first_of_name(engine, &engine->claims[id]);
    if (first == TABLE_NONE)
        return;
    if (claim_name_is_crowded(engine, id))
        plan_later(engine, id);
    else
        plan_now(engine, first);
}

void registry_plan_crowded(struct engine *engine)
{
    uint32_t first;
    if (queue_pop(engine->crowded, loop_mono_ms(engine->loop), &first))
        plan_now(engine, first);
    set_crowded_timer(engine);
}

bool registry_awaits_plan(const struct engine *engine, uint32_t key)
{
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key) {
        const struct claim *claim = &engine->claims[id];
        if (claim->is_unplanned || claim->name_holder != claim_holder(engine, claim))
            return true;
    }
    return false;
}

// ---- what a claim would come to -----------------------------------------------------------------

// Replaces the claims of the key by the wanted one. There is room for one more.
static size_t swap_in(const struct engine *engine, uint32_t key, const struct object *subject,
                      struct claim_at_name *all, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (engine->claims[all[i].id].key != key)
            all[kept++] = all[i];
    all[kept++] = (struct claim_at_name){NO_ID, subject, NO_ID};
    qsort(all, kept, sizeof *all, compare_claims_at_name);
    return kept;
}

static struct plan_claim plan_claim_wanted(const struct engine *engine,
                                           const struct object *subject,
                                           const struct claim_want *want)
{
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    const struct backend *backend = backend_find(engine, want->backend);
    bool shares = want->intent == CLAIM_SET && (want->shares || backend_shares(backend)) &&
                  backend_fingerprint(backend, &want->set, hash);
    return (struct plan_claim){
        .owner = subject,
        .type = want->set.type,
        .domain = want->set.domain,
        .subdomain = want->set.subdomain,
        .want = plan_wants[want->intent],
        .is_suspended = want->is_suspended,
        .content = shares ? content_of_hash(hash) : 0,
    };
}

const struct object *registry_holder(struct engine *engine, uint32_t key,
                                     const struct object *subject, const struct claim_want *want)
{
    size_t count;
    size_t own = 0;
    uint32_t first = claim_first_of_want(engine, want);
    if (first == NO_ID)
        return NULL;
    arena_reset(engine->scratch);
    struct claim_at_name *all = claims_of_name(engine, first, may_beat, &count);
    count = swap_in(engine, key, subject, all, count);
    struct plan_claim *claims = arena_new_array(engine->scratch, struct plan_claim, count);
    struct plan_step *steps = arena_new_array(engine->scratch, struct plan_step, count);
    for (size_t i = 0; i < count; i++) {
        bool is_own = all[i].id == NO_ID;
        claims[i] =
            is_own ? plan_claim_wanted(engine, subject, want) : plan_claim_of(engine, all[i].id);
        own = is_own ? i : own;
    }
    plan_name(claims, count, steps);
    return steps[own].act == PLAN_LOST ? all[steps[own].other].object : NULL;
}
