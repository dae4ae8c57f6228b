#include "engine/claim_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- what came of an exchange -------------------------------------------------------------------

static struct failure *failure_new(const struct error *error, int64_t now_ms, const char *trace)
{
    size_t reason = strlen(error->reason) + 1;
    size_t code = strlen(error->code) + 1;
    size_t text = strlen(error->text) + 1;
    struct failure *failure = mem_new(1, sizeof *failure + reason + code + text);
    char *at = failure->octets;
    *failure = (struct failure){.fault = error->fault, .status = error->status, .at_ms = now_ms};
    failure->reason = memcpy(at, error->reason, reason);
    failure->code = memcpy(at + reason, error->code, code);
    failure->text = memcpy(at + reason + code, error->text, text);
    snprintf(failure->trace, sizeof failure->trace, "%s", trace);
    return failure;
}

// The receipts of claims that share with it show its failures.
static void wake_sharers(struct engine *engine, uint32_t id)
{
    uint32_t at = claim_first_of_name(engine, &engine->claims[id]);
    for (; at != NO_ID; at = engine->claims[at].next_of_name) {
        const struct claim *claim = &engine->claims[at];
        if (claim->name_holder == id && !claim_is_forgotten(claim))
            key_wake(engine, claim->key, QUEUE_USER);
    }
}

void claim_fail(struct engine *engine, uint32_t id, const struct error *error, const char *trace)
{
    struct claim *claim = &engine->claims[id];
    struct backend *backend = claim_backend(engine, claim);
    struct pending *pending = claim_pending(engine, claim);
    pending->attempts++;
    free(pending->failure);
    pending->failure = failure_new(error, loop_unix_ms(engine->loop), trace);
    claim_back_off(engine, id,
                   backend ? backend_retry_delay(backend, pending->attempts, error) : 0);
    key_wake(engine, claim->key, QUEUE_USER);
    wake_sharers(engine, id);
}

void claim_retry(struct engine *engine, uint32_t id)
{
    claim_move(engine, id, MOVE_END_BACK_OFF);
    registry_replan(engine, id);
}

void claims_retry(struct engine *engine, const struct backend *backend)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        if (claim->name && claim->backend == backend_number(backend) &&
            claim->work == WORK_BACKING_OFF)
            claim_retry(engine, id);
    }
}

static void count_back_off(struct back_offs *count, int64_t next_ms)
{
    count->count++;
    if (!count->next_ms || next_ms < count->next_ms)
        count->next_ms = next_ms;
}

void claims_count_back_offs(const struct engine *engine, struct back_offs *by_number)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        if (claim->name && claim->work == WORK_BACKING_OFF && claim->backend)
            count_back_off(&by_number[claim->backend], claim->pending->next_unix_ms);
    }
}

int64_t claim_due_ms(const struct engine *engine, const struct claim *claim)
{
    return claim->pending ? loop_mono_ms(engine->loop) - claim->pending->since_ms : -1;
}

void claims_wake_unsettled(struct engine *engine, const struct backend *backend)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = &engine->claims[id];
        if (claim->name && !claim_is_forgotten(claim) &&
            claim->backend == backend_number(backend) && claim_state(claim) != RECEIPT_SETTLED)
            key_wake(engine, claim->key, QUEUE_USER);
    }
}

// Not of a look that was called off meanwhile.
static void claim_looked(struct engine *engine, uint32_t id, const struct outcome *outcome)
{
    struct claim *claim = &engine->claims[id];
    claim_clear_failure(engine, id);
    if (claim->intent != CLAIM_LOOK)
        return;
    claim->was_looked = true;
    claim->is_uncertain = !outcome->is_done || outcome->is_uncertain;
    claim->pending->due_link.goes_first = true;
    pending_set_content(engine, claim->pending, outcome->found);
}

// The backend answered, but not with what stands there: asking again would give the same.
static bool is_unreadable(const struct error *error)
{
    bool is_passing = error->status == 0 || error->status == 408 ||
                      (error->status >= 502 && error->status <= 504);
    return error->fault == FAULT_SPEC || (error->fault == FAULT_AGAIN && !is_passing);
}

static void claim_done(struct engine *engine, uint32_t id, const struct outcome *outcome,
                       enum change_op op, const uint8_t hash[FINGERPRINT_OCTETS])
{
    struct claim *claim = &engine->claims[id];
    claim->was_sent = true;
    claim->is_uncertain = outcome->is_uncertain;
    if (op == CHANGE_REMOVE) {
        claim->there = THERE_NOTHING;
    } else {
        claim->was_created = claim->there != THERE_SET;
        claim->is_foreign = outcome->is_foreign;
        claim->there = THERE_SET;
        claim->is_doubted = false;
        claim_set_there(engine, claim, hash);
    }
    claim_clear_failure(engine, id);
}

// How long the content was wanted before it stood there.
static void count_programmed(struct engine *engine, const struct claim *claim)
{
    struct controller_state *state = &engine->controllers[engine->keys[claim->key].controller];
    if (claim->there == THERE_SET && claim_is_match(claim))
        histogram_add(&state->programmed_seconds,
                      loop_mono_ms(engine->loop) - claim->pending->since_ms);
}

static void claim_is_unanswered(struct engine *engine, uint32_t id, enum change_op op)
{
    struct claim *claim = &engine->claims[id];
    if (op != CHANGE_READ)
        claim->there = THERE_OPEN;
}

void claim_unanswered(struct engine *engine, uint32_t id, enum change_op op)
{
    claim_end_exchange(engine, id);
    claim_is_unanswered(engine, id, op);
    if (claim_is_forgotten(&engine->claims[id]))
        claim_remove(engine, id);
}

void claim_finish(struct engine *engine, uint32_t id, const struct change *change,
                  const uint8_t hash[FINGERPRINT_OCTETS], const char *trace)
{
    struct claim *claim = &engine->claims[id];
    claim_end_exchange(engine, id);
    if (claim_is_forgotten(claim)) {
        claim_remove_and_plan(engine, id);
        return;
    }
    if (change->op == CHANGE_READ &&
        (change->outcome.is_done || is_unreadable(change->outcome.error))) {
        claim_looked(engine, id, &change->outcome);
    } else if (change->outcome.is_done) {
        claim_done(engine, id, &change->outcome, change->op, hash);
        count_programmed(engine, claim);
    } else {
        if (change->outcome.error->fault == FAULT_AGAIN)
            claim_is_unanswered(engine, id, change->op);
        else if (change->outcome.replaced)
            claim->there = THERE_NOTHING;
        claim_fail(engine, id, change->outcome.error, trace);
    }
    key_wake(engine, claim->key, QUEUE_USER);
    registry_replan(engine, id);
}

void claim_put_back(struct engine *engine, uint32_t id, enum change_op op)
{
    claim_end_exchange(engine, id);
    if (claim_is_forgotten(&engine->claims[id])) {
        claim_remove_and_plan(engine, id);
        return;
    }
    claim_is_unanswered(engine, id, op);
    registry_replan(engine, id);
}

// ---- what a listing shows -----------------------------------------------------------------------

// A claim that lost to one of the same type and split has nothing there: what stands is the
// holder's.
static bool is_beside(const struct engine *engine, const struct claim *claim)
{
    return claim_state(claim) == RECEIPT_LOST && claim->name_holder != NO_ID &&
           claim_is_same_type_and_split(claim, &engine->claims[claim->name_holder]);
}

static bool is_wanted_hash(const struct claim *claim, const uint8_t *hash)
{
    return hash && claim_wants(claim, hash);
}

static enum claim_there find_there(const struct claim *claim, const uint8_t *ours,
                                   const uint8_t *theirs, bool is_blocked)
{
    bool is_quarrel = ours && (is_blocked || (theirs && !is_wanted_hash(claim, theirs)));
    bool is_adoptable = theirs && claim->pending && claim->pending->may_adopt;
    if (is_quarrel || (is_adoptable && !ours))
        return THERE_OPEN; // the exchange settles it
    if (ours || (claim->intent == CLAIM_SET && is_wanted_hash(claim, theirs)))
        return THERE_SET;
    return THERE_NOTHING;
}

// The claim waited for something of somebody else's to go, and that is gone.
static bool has_way(const struct claim *claim, const uint8_t *theirs, bool is_blocked)
{
    const struct pending *pending = claim->pending;
    return !theirs && !is_blocked && pending && pending->failure &&
           pending->failure->fault == FAULT_WAIT;
}

void claim_found(struct engine *engine, uint32_t id, const uint8_t *ours, const uint8_t *theirs,
                 bool is_blocked)
{
    struct claim *claim = &engine->claims[id];
    if (is_beside(engine, claim))
        return;
    if (has_way(claim, theirs, is_blocked))
        claim_end_back_off(engine, id);
    uint32_t bits = claim_receipt_bits(claim);
    bool was_satisfied = claim_is_satisfied(claim);
    claim->there = find_there(claim, ours, theirs, is_blocked);
    claim->is_foreign = claim->there == THERE_SET && !ours;
    if (claim->there == THERE_SET)
        claim_set_there(engine, claim, ours ? ours : theirs);
    if (claim_is_satisfied(claim))
        claim_clear_failure(engine, id);
    else if (was_satisfied && claim_state(claim) == RECEIPT_SETTLED)
        backend_count_repair(claim_backend(engine, claim));
    if (!was_satisfied || !claim_is_satisfied(claim) || claim_receipt_bits(claim) != bits)
        registry_replan(engine, id);
    claim_wake_if_changed(engine, id, bits);
}
