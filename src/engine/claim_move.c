#include "engine/claim_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"

// ---- the part that waits ------------------------------------------------------------------------

static void pending_clear(struct pending *pending)
{
    content_free(pending->content);
    free(pending->replaces);
    free(pending->failure);
}

void pending_free(struct pending *pending)
{
    if (!pending)
        return;
    pending_clear(pending);
    slab_give(pending, sizeof *pending);
}

static void pending_park(struct pending *pending)
{
    struct pending resting = {0};
    memcpy(resting.wanted_hash, pending->wanted_hash, sizeof resting.wanted_hash);
    pending_clear(pending);
    *pending = resting;
}

// ---- what holds in each state -------------------------------------------------------------------

// Nothing has failed, or it is in flight, and reports what failed before with its outcome.
static bool is_well(const struct claim *claim)
{
    return !claim->pending || !claim->pending->failure || claim->work == WORK_IN_FLIGHT;
}

static bool is_kept(const struct claim *claim)
{
    return claim->work != WORK_READY || claim->intent == CLAIM_LOOK;
}

// Bit by standing.
static bool stands(const struct claim *claim, unsigned standings)
{
    return standings >> claim->standing & 1;
}

#define HAS_HOLDER                                                                                 \
    (1U << STANDING_SHARING | 1U << STANDING_SHARED | 1U << STANDING_LOST | 1U << STANDING_EVICTED)
#define SENDS_NOTHING                                                                              \
    (1U << STANDING_SETTLED | 1U << STANDING_SHARING | 1U << STANDING_SHARED | 1U << STANDING_LOST)

static void prove_standing(const struct engine *engine, const struct claim *claim)
{
    if (stands(claim, 1U << STANDING_FORGOTTEN)) {
        must(claim->key == NO_ID);
        return;
    }
    must(stands(claim, HAS_HOLDER) == (claim->name_holder != NO_ID));
    must(!stands(claim, SENDS_NOTHING) || (is_well(claim) && is_kept(claim)));
    if (stands(claim, 1U << STANDING_SETTLED))
        must(claim_is_satisfied(claim));
    if (stands(claim, 1U << STANDING_SHARED))
        must(claim_is_satisfied(&engine->claims[claim->name_holder]));
}

static void prove_work(const struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    const struct pending *pending = claim->pending;
    must((claim->work == WORK_NONE) == !pending);
    if (!pending)
        return;
    must((claim->work == WORK_IN_FLIGHT) == (pending->exchange != NULL));
    must((claim->work == WORK_BACKING_OFF) == (pending->next_unix_ms != 0));
    if (claim->work == WORK_BACKING_OFF)
        must(queue_time_ms(engine->back_offs, id) != INT64_MAX);
    if (claim->work == WORK_PARKED)
        must(!pending->content && !pending->failure);
    if (claim->work == WORK_QUEUED)
        must(claim_has_content(claim, claim_sends(claim)) &&
             backend_has_queued(claim_backend(engine, claim), id));
}

// ---- moves --------------------------------------------------------------------------------------

static void leave_work(struct engine *engine, uint32_t id, enum claim_work work)
{
    const struct claim *claim = &engine->claims[id];
    if (work == WORK_QUEUED)
        backend_unqueue(claim_backend(engine, claim), id);
    if (work == WORK_BACKING_OFF) {
        claim->pending->next_unix_ms = 0;
        queue_forget(engine->back_offs, id);
    }
}

static void enter_work(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    if (claim->work == WORK_QUEUED)
        backend_queue(claim_backend(engine, claim), id);
    if (claim->work == WORK_PARKED)
        pending_park(claim->pending);
    if (claim->work == WORK_NONE) {
        pending_free(claim->pending);
        claim->pending = NULL;
    }
}

void claim_move(struct engine *engine, uint32_t id, enum claim_move move)
{
    struct claim *claim = &engine->claims[id];
    enum claim_work before = (enum claim_work)claim->work;
    struct claim_life life = {(enum claim_standing)claim->standing, before};
    must(claim_life_move(&life, move));
    if (life.work != before)
        leave_work(engine, id, before);
    claim->standing = life.standing;
    claim->work = life.work;
    if (life.work != before)
        enter_work(engine, id);
    if (move <= MOVE_EVICT || move == MOVE_FORGET)
        prove_standing(engine, claim);
    prove_work(engine, id);
}
