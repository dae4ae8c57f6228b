#include "engine/claim_state.h"

#include <stdlib.h>
#include <string.h>

// ---- what others see of it ----------------------------------------------------------------------

const struct claim *claim_get(const struct engine *engine, uint32_t id)
{
    return &engine->claims[id];
}

bool claim_is_free(const struct claim *claim)
{
    return !claim->name;
}

enum record_type claim_type(const struct claim *claim)
{
    return claim->type;
}

const char *claim_name(const struct claim *claim)
{
    return claim->name;
}

uint16_t claim_registry(const struct claim *claim)
{
    return claim->registry;
}

uint32_t claim_key(const struct claim *claim)
{
    return claim->key;
}

uint32_t claim_next_of_name(const struct claim *claim)
{
    return claim->next_of_name;
}

const char *claim_replaces(const struct claim *claim)
{
    return claim->pending ? claim->pending->replaces : NULL;
}

bool claim_is_shown(const struct claim *claim)
{
    return claim->pending && claim->pending->is_shown;
}

bool claim_is_satisfied_by_others(const struct claim *claim)
{
    return claim->intent == CLAIM_SET && claim_state(claim) == RECEIPT_SETTLED && claim->is_foreign;
}

bool claim_is_refused(const struct claim *claim)
{
    const struct pending *pending = claim->pending;
    return claim->intent == CLAIM_SET && pending && pending->failure &&
           pending->failure->fault == FAULT_SPEC;
}

bool claim_has_failed(const struct claim *claim)
{
    return claim->pending && claim->pending->attempts;
}

struct due_link *claim_due_link(const struct engine *engine, uint32_t id)
{
    return &engine->claims[id].pending->due_link;
}

struct backend *claim_backend(const struct engine *engine, const struct claim *claim)
{
    return claim->backend ? engine->backends_by_number[claim->backend - 1] : NULL;
}

struct text claim_domain(const struct claim *claim)
{
    size_t skip = claim->subdomain_len ? (size_t)claim->subdomain_len + 1 : 0;
    return text_of(claim->name + skip);
}

struct text claim_subdomain(const struct claim *claim)
{
    if (!claim->subdomain_len)
        return TEXT("@");
    return (struct text){claim->name, claim->subdomain_len};
}

const struct object *claim_object(const struct engine *engine, const struct claim *claim)
{
    return engine->keys[claim->key].object;
}

// ---- the part that waits ------------------------------------------------------------------------

void claim_clear_failure(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (!claim->pending)
        return;
    claim_end_back_off(engine, id);
    claim->pending->attempts = 0;
    free(claim->pending->failure);
    claim->pending->failure = NULL;
}

struct pending *claim_pending(struct engine *engine, struct claim *claim)
{
    if (!claim->pending) {
        claim->pending = slab_take(engine->claim_slab, sizeof *claim->pending);
        *claim->pending = (struct pending){0};
    }
    if (claim->work == WORK_NONE || claim->work == WORK_PARKED) {
        claim_move(engine, (uint32_t)(claim - engine->claims), MOVE_PREPARE);
        claim->pending->due_link =
            (struct due_link){NO_ID, NO_ID, .is_background = !engine->is_first_pass_done};
        claim->pending->since_ms = loop_mono_ms(engine->loop);
    }
    return claim->pending;
}

void pending_set_content(struct engine *engine, struct pending *pending,
                         const struct record_set *set)
{
    content_free(pending->content);
    pending->content = set ? content_new(engine->claim_slab, set) : NULL;
}

// ---- what is wanted and what stands there -------------------------------------------------------

const uint8_t *claim_wanted_hash(const struct claim *claim)
{
    return claim->wants_there ? claim->there_hash : claim->pending->wanted_hash;
}

bool claim_wants(const struct claim *claim, const uint8_t hash[FINGERPRINT_OCTETS])
{
    return claim->has_wanted && !memcmp(claim_wanted_hash(claim), hash, FINGERPRINT_OCTETS);
}

void claim_set_wanted(struct engine *engine, struct claim *claim,
                      const uint8_t hash[FINGERPRINT_OCTETS])
{
    claim->has_wanted = true;
    claim->wants_there = !memcmp(claim->there_hash, hash, FINGERPRINT_OCTETS);
    if (!claim->wants_there)
        memcpy(claim_pending(engine, claim)->wanted_hash, hash, FINGERPRINT_OCTETS);
}

void claim_set_there(struct engine *engine, struct claim *claim,
                     const uint8_t hash[FINGERPRINT_OCTETS])
{
    uint8_t wanted[FINGERPRINT_OCTETS];
    if (claim->has_wanted)
        memcpy(wanted, claim_wanted_hash(claim), sizeof wanted);
    memcpy(claim->there_hash, hash, sizeof claim->there_hash);
    if (claim->has_wanted)
        claim_set_wanted(engine, claim, wanted);
}

void claim_learn(struct engine *engine, uint32_t id, const uint8_t before[FINGERPRINT_OCTETS],
                 const uint8_t now[FINGERPRINT_OCTETS])
{
    struct claim *claim = &engine->claims[id];
    if (claim_wants(claim, before))
        claim_set_wanted(engine, claim, now);
}

bool claim_is_match(const struct claim *claim)
{
    return claim->has_wanted && claim->wants_there;
}

bool claim_is_satisfied(const struct claim *claim)
{
    switch (claim->intent) {
    case CLAIM_KEEP:
        return true;
    case CLAIM_REMOVE:
        return claim->there == THERE_NOTHING;
    case CLAIM_SET:
        return claim->there == THERE_SET && claim_is_match(claim);
    case CLAIM_LOOK:
        return claim->was_looked;
    }
    return false;
}

bool claim_stands(const struct claim *claim)
{
    return claim->there == THERE_SET;
}

bool claim_may_stand(const struct claim *claim)
{
    return claim->there == THERE_SET || claim->there == THERE_OPEN;
}

bool claim_is_same_type_and_split(const struct claim *a, const struct claim *b)
{
    return a->type == b->type && a->subdomain_len == b->subdomain_len;
}

void claim_doubt(struct claim *claim)
{
    if (claim->intent != CLAIM_SET || claim->there == THERE_OPEN)
        return;
    claim->there = THERE_UNKNOWN;
    claim->is_doubted = true;
}

// ---- what it sends ------------------------------------------------------------------------------

enum claim_intent claim_sends(const struct claim *claim)
{
    return claim->standing == STANDING_EVICTED ? CLAIM_REMOVE : claim->intent;
}

// Content of a settled or lost claim is not kept: its key is woken to bring it when it is needed.
bool claim_has_content(const struct claim *claim, enum claim_intent sends)
{
    return sends != CLAIM_SET || (claim->pending && claim->pending->content);
}

static const enum change_op ops[] = {
    [CLAIM_SET] = CHANGE_SET,
    [CLAIM_REMOVE] = CHANGE_REMOVE,
    [CLAIM_LOOK] = CHANGE_READ,
};

enum change_op claim_op(const struct claim *claim)
{
    return ops[claim_sends(claim)];
}

void claim_fill_change(const struct engine *engine, uint32_t id, struct arena *arena,
                       struct change *change)
{
    const struct claim *claim = &engine->claims[id];
    struct text domain = claim_domain(claim);
    struct text subdomain = claim_subdomain(claim);
    change->op = claim_op(claim);
    change->may_adopt = claim->pending->may_adopt;
    if (change->op == CHANGE_SET) {
        change->set = *content_make_set(arena, claim->pending->content, domain, subdomain);
        return;
    }
    change->set = (struct record_set){
        .type = claim->type,
        .domain = text_of(arena_copy(arena, domain.at, domain.len)),
        .subdomain = text_of(arena_copy(arena, subdomain.at, subdomain.len)),
        .priority = -1,
        .weight = -1,
        .port = -1,
    };
}

// ---- what its key sees --------------------------------------------------------------------------

uint32_t claim_receipt_bits(const struct claim *claim)
{
    bool is_open = claim->there == THERE_OPEN || claim->work == WORK_IN_FLIGHT;
    return (uint32_t)claim->standing | (uint32_t)claim->intent << 4 | (uint32_t)is_open << 8 |
           (uint32_t)claim->is_foreign << 9;
}

void claim_wake_if_changed(struct engine *engine, uint32_t id, uint32_t bits)
{
    const struct claim *claim = &engine->claims[id];
    if (claim_receipt_bits(claim) != bits)
        key_wake(engine, claim->key, QUEUE_USER);
}

enum receipt_state claim_state(const struct claim *claim)
{
    static const enum receipt_state states[CLAIM_STANDINGS] = {
        [STANDING_SUSPENDED] = RECEIPT_SUSPENDED, [STANDING_WAITING] = RECEIPT_WAITING,
        [STANDING_SETTLED] = RECEIPT_SETTLED,     [STANDING_SHARING] = RECEIPT_WAITING,
        [STANDING_SHARED] = RECEIPT_SETTLED,      [STANDING_LOST] = RECEIPT_LOST,
        [STANDING_EVICTED] = RECEIPT_LOST};
    return states[claim->standing];
}

bool claim_is_forgotten(const struct claim *claim)
{
    return claim->standing == STANDING_FORGOTTEN;
}

void claim_set_standing(struct engine *engine, uint32_t id, enum claim_move move, uint32_t holder)
{
    struct claim *claim = &engine->claims[id];
    enum claim_standing before = (enum claim_standing)claim->standing;
    uint32_t holder_before = claim->name_holder;
    claim->name_holder = holder;
    claim_move(engine, id, move);
    if (claim->standing == before && holder == holder_before)
        return;
    if (claim_state(claim) == RECEIPT_SETTLED)
        claim->settled_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
    key_wake(engine, claim->key, QUEUE_USER);
}

uint32_t claim_holder(const struct engine *engine, const struct claim *claim)
{
    uint32_t holder = claim->name_holder;
    return holder != NO_ID && claim_is_forgotten(&engine->claims[holder]) ? NO_ID : holder;
}

// ---- what is done for it ------------------------------------------------------------------------

void claim_unqueue(struct engine *engine, uint32_t id)
{
    if (engine->claims[id].work == WORK_QUEUED)
        claim_move(engine, id, MOVE_UNQUEUE);
}

void claim_begin_exchange(struct engine *engine, uint32_t id, struct exchange *exchange)
{
    engine->claims[id].pending->exchange = exchange;
    engine->claims[id].pending->due_link.goes_first = false;
    claim_move(engine, id, MOVE_BEGIN_EXCHANGE);
}

void claim_end_exchange(struct engine *engine, uint32_t id)
{
    engine->claims[id].pending->exchange = NULL;
    claim_move(engine, id, MOVE_END_EXCHANGE);
}

void claim_back_off(struct engine *engine, uint32_t id, int64_t delay_ms)
{
    claim_unqueue(engine, id);
    engine->claims[id].pending->next_unix_ms = loop_unix_ms(engine->loop) + delay_ms;
    queue_forget(engine->back_offs, id);
    queue_after(engine->back_offs, id, QUEUE_USER, loop_mono_ms(engine->loop) + delay_ms);
    claim_move(engine, id, MOVE_BACK_OFF);
    engine_schedule(engine);
}

void claim_end_back_off(struct engine *engine, uint32_t id)
{
    if (engine->claims[id].work == WORK_BACKING_OFF)
        claim_move(engine, id, MOVE_END_BACK_OFF);
}

void claim_stop(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    bool wants_other = claim->has_wanted && !claim->wants_there;
    if (claim->work == WORK_NONE || claim->work == WORK_IN_FLIGHT)
        return;
    if (claim->intent != CLAIM_LOOK) {
        claim_move(engine, id, wants_other ? MOVE_PARK : MOVE_CLEAR);
        return;
    }
    // What was found stays, and so does its place: among user or background work, and at the front.
    claim_clear_failure(engine, id);
    if (claim->work != WORK_PARKED)
        claim_move(engine, id, MOVE_STOP);
}

void claim_leave_backend(struct engine *engine, struct claim *claim)
{
    struct backend *backend = claim_backend(engine, claim);
    if (backend)
        backend_remove_claim(backend);
    claim->backend = 0;
}
