#include "engine/claim_state.h"

#include <stdio.h>
#include <string.h>

const struct claim *claim_shown(const struct engine *engine, const struct claim *claim)
{
    uint32_t holder = claim_state(claim) == RECEIPT_LOST ? NO_ID : claim_holder(engine, claim);
    return holder == NO_ID ? claim : &engine->claims[holder];
}

static void receipt_add_pending(struct engine *engine, struct receipt *receipt,
                                const struct pending *pending)
{
    const struct failure *failure = pending->failure;
    receipt->since_ms = pending->sendable_since_ms;
    receipt->attempts = pending->attempts;
    receipt->next_attempt_ms = pending->next_unix_ms;
    receipt->is_recalled = pending->attempts && !failure;
    if (!failure)
        return;
    error_set(&receipt->error, failure->fault, failure->reason, "%s", failure->text);
    snprintf(receipt->error.code, sizeof receipt->error.code, "%s", failure->code);
    receipt->error.status = failure->status;
    receipt->failed_ms = failure->at_ms;
    receipt->trace = arena_copy_text(engine->arena, failure->trace);
}

static void receipt_add_holder(struct engine *engine, struct receipt *receipt, uint32_t winner)
{
    const struct object *object = claim_object(engine, &engine->claims[winner]);
    AUTO_BUFFER out = {0};
    buffer_printf(&out, "%s ", object->kind->name);
    object_write_name(&out, object);
    receipt->holder = text_of(arena_copy_text(engine->arena, out.at));
    struct text namespace_ = object_namespace(object);
    receipt->holder_namespace = text_of(arena_copy(engine->arena, namespace_.at, namespace_.len));
}

// What a decision points to must outlive the claims that the decision itself brings down.
static struct text copy_text(struct arena *arena, struct text text)
{
    return (struct text){arena_copy(arena, text.at, text.len), text.len};
}

static const struct record_set *found_of(struct arena *arena, const struct claim *claim)
{
    if (!claim->pending || !claim->pending->content || claim->intent != CLAIM_LOOK)
        return NULL;
    return content_make_set(arena, claim->pending->content, claim_domain(claim),
                            claim_subdomain(claim));
}

// Only of one that holds its name: there is one such for each type.
static bool is_heir(struct engine *engine, const struct claim *claim)
{
    if (claim_state(claim) == RECEIPT_LOST ||
        (claim_state(claim) == RECEIPT_SETTLED && claim->intent != CLAIM_LOOK))
        return false;
    uint32_t id = claim_first_of_name(engine, claim);
    for (; id != NO_ID; id = engine->claims[id].next_of_name) {
        const struct claim *other = &engine->claims[id];
        if (other->key != claim->key && claim_may_stand(other) &&
            plan_excludes(other->type, claim->type))
            return true;
    }
    return false;
}

static struct receipt receipt_of(struct engine *engine, const struct claim *claim)
{
    const struct claim *shown = claim_shown(engine, claim);
    struct receipt receipt = {
        .registry = engine->registries[claim->registry].url,
        .type = claim->type,
        .domain = copy_text(engine->arena, claim_domain(claim)),
        .subdomain = copy_text(engine->arena, claim_subdomain(claim)),
        .intent = claim->intent,
        .state = claim_state(claim),
        .was_created = claim->was_created,
        .is_open = claim->there == THERE_OPEN ||
                   (claim->work == WORK_IN_FLIGHT && claim->intent != CLAIM_LOOK),
        .was_sent = claim->was_sent,
        .is_in_way = claim->standing == STANDING_EVICTED ||
                     (claim->standing == STANDING_LOST && claim_may_stand(claim)),
        .is_inherited = claim->is_inherited,
        .is_uncertain = claim->is_uncertain,
        .is_heir = is_heir(engine, claim),
        .is_foreign = claim->is_foreign,
        .settled_s = claim->settled_s,
    };
    memcpy(receipt.hash, claim->there_hash, sizeof receipt.hash);
    if (shown->pending)
        receipt_add_pending(engine, &receipt, shown->pending);
    receipt.is_in_line =
        shown->work == WORK_QUEUED && backend_is_moving(claim_backend(engine, shown));
    receipt.found = found_of(engine->arena, claim);
    if (claim_state(claim) == RECEIPT_LOST && claim_holder(engine, claim) != NO_ID)
        receipt_add_holder(engine, &receipt, claim->name_holder);
    return receipt;
}

void registry_fill_receipts(struct engine *engine, uint32_t key, struct snapshot *snapshot)
{
    size_t count = 0;
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key)
        count++;
    struct receipt *receipts = arena_new_array(engine->arena, struct receipt, count + 1);
    snapshot->receipts = receipts;
    snapshot->receipt_count = count;
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key)
        *receipts++ = receipt_of(engine, &engine->claims[id]);
}

const struct receipt *snapshot_receipt(const struct snapshot *snapshot, const char *registry,
                                       enum record_type type, struct text domain,
                                       struct text subdomain)
{
    for (size_t i = 0; i < snapshot->receipt_count; i++) {
        const struct receipt *receipt = &snapshot->receipts[i];
        if (receipt->type == type && !strcmp(receipt->registry, registry) &&
            text_equal(receipt->domain, domain) && text_equal(receipt->subdomain, subdomain))
            return receipt;
    }
    return NULL;
}

bool registry_is_settled(const struct engine *engine, uint32_t key)
{
    uint32_t first = engine->keys[key].first_claim;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_key)
        if (claim_state(&engine->claims[id]) != RECEIPT_SETTLED)
            return false;
    return first != NO_ID;
}
