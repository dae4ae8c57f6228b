#include "engine/claim_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

// Longest Retry-After that is heeded: a clock that went back must not make a record wait for ever.
enum { RECALL_MAX_MS = 60 * 60 * 1000 };

static void claim_set_backend(struct engine *engine, uint32_t id, const char *name)
{
    struct claim *claim = &engine->claims[id];
    struct backend *backend = backend_find(engine, name);
    if (backend && strcmp(backend_registry(backend), engine->registries[claim->registry].url))
        backend = NULL;
    const struct backend *old = claim_backend(engine, claim);
    if (old == backend)
        return;
    claim_unqueue(engine, id);
    if (old && backend)
        claim_doubt(claim);
    claim_leave_backend(engine, claim);
    claim->backend = backend ? backend_number(backend) : 0;
    if (backend)
        backend_add_claim(backend);
}

// A status that an earlier version wrote has no more.
static bool is_remembered_by_half(const struct claim *claim)
{
    static const uint8_t none[FINGERPRINT_OCTETS / 2];
    return claim->there == THERE_SET && !claim->was_sent &&
           !memcmp(claim->there_hash + sizeof none, none, sizeof none);
}

// Whether what is wanted stands there, as far as the session can tell; if not, it is kept for
// sending.
static void claim_set_content(struct engine *engine, struct claim *claim,
                              const struct record_set *set)
{
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    bool is_known = backend_fingerprint(claim_backend(engine, claim), set, hash);
    claim->has_wanted = false;
    if (is_remembered_by_half(claim) && !memcmp(claim->there_hash, hash, FINGERPRINT_OCTETS / 2))
        claim_set_there(engine, claim, hash);
    if (is_known)
        claim_set_wanted(engine, claim, hash);
    if (claim_is_satisfied(claim))
        return;
    struct pending *pending = claim_pending(engine, claim);
    pending_set_content(engine, pending, set);
}

static void claim_set_epoch(struct engine *engine, uint32_t id, uint64_t epoch)
{
    struct claim *claim = &engine->claims[id];
    uint32_t folded = (uint32_t)(epoch ^ epoch >> 32);
    if (claim->epoch == folded)
        return;
    claim->epoch = folded;
    claim_unqueue(engine, id);
    if (claim->pending && engine->is_first_pass_done)
        claim->pending->due_link.is_background = false; // an edit overtakes start-up work
    claim_clear_failure(engine, id);
}

static void claim_set_intent(struct engine *engine, struct claim *claim, enum claim_intent intent)
{
    if (claim->intent == intent)
        return;
    claim->was_sent = claim->was_looked = claim->is_inherited = claim->is_uncertain = false;
    if (intent == CLAIM_SET && claim->there == THERE_NOTHING)
        claim->was_created = false;
    if (claim->pending && (claim->intent == CLAIM_LOOK || intent == CLAIM_LOOK))
        pending_set_content(engine, claim->pending, NULL);
    claim->epoch++;
    claim->intent = intent;
}

// A leader takes over once what the status remembers of failures; a standby as often as it changes,
// since it is the leader that writes it.
static void claim_recall(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim *claim = &engine->claims[id];
    const struct backend *backend = claim_backend(engine, claim);
    if (claim->is_recalled || !backend || claim_is_satisfied(claim) || engine->dry_run ||
        engine->options.may_send)
        return;
    claim->is_recalled = engine->is_leading;
    struct pending *pending = claim_pending(engine, claim);
    if (pending->failure || claim->work == WORK_IN_FLIGHT)
        return;
    int64_t now_ms = loop_unix_ms(engine->loop);
    int64_t slow_ms = backend_retry_slow_ms(backend);
    int64_t longest_ms = slow_ms > RECALL_MAX_MS ? slow_ms : RECALL_MAX_MS;
    int64_t wait_ms = want->not_before_ms - now_ms;
    pending->attempts = want->attempts;
    if (wait_ms <= 0)
        return;
    if (wait_ms > longest_ms)
        wait_ms = longest_ms;
    claim_back_off(engine, id, wait_ms);
}

// A LOOK is sent once more when its answer is too old, and queues behind all others again.
static void claim_look_anew(struct claim *claim, int64_t since_s)
{
    if (claim->intent != CLAIM_LOOK || !claim->was_looked || claim->settled_s >= since_s)
        return;
    claim->was_looked = false;
    if (claim->pending)
        claim->pending->due_link.goes_first = false;
}

static void pending_update(struct engine *engine, struct pending *pending,
                           const struct claim_want *want)
{
    pending->may_adopt = want->may_adopt;
    free(pending->replaces);
    pending->replaces = want->replaces ? mem_copy_text(want->replaces) : NULL;
    if (!want->is_suspended && !pending->sendable_since_ms)
        pending->sendable_since_ms = loop_unix_ms(engine->loop);
}

static void claim_update(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim *claim = &engine->claims[id];
    claim_set_intent(engine, claim, want->intent);
    claim_look_anew(claim, want->look_since_s);
    claim->is_suspended = want->is_suspended;
    claim->is_guarded = want->is_guarded;
    claim->is_let_go |= want->intent == CLAIM_SET;
    claim->shares = want->shares;
    claim_set_backend(engine, id, want->backend);
    if (claim->there == THERE_UNKNOWN && want->has_known && !claim->is_doubted) {
        claim->there = THERE_SET;
        claim_set_there(engine, claim, want->known);
    }
    if (claim->there == THERE_UNKNOWN && want->may_stand)
        claim->there = THERE_OPEN;
    claim_set_epoch(engine, id, want->epoch);
    if (want->intent == CLAIM_SET)
        claim_set_content(engine, claim, &want->set);
    if (want->is_shown && !claim_is_satisfied(claim))
        claim_pending(engine, claim)->is_shown = true;
    if (claim->work > WORK_PARKED)
        pending_update(engine, claim->pending, want);
    if (want->attempts)
        claim_recall(engine, id, want);
}

struct receipts_digest {
    size_t count;
    uint64_t mixed;
};

static struct receipts_digest receipts_digest(const struct engine *engine, uint32_t key)
{
    struct receipts_digest digest = {0};
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key) {
        const struct claim *claim = &engine->claims[id];
        const struct pending *pending = claim_shown(engine, claim)->pending;
        uint32_t attempts = pending ? pending->attempts : 0;
        uint32_t parts[] = {id, claim_receipt_bits(claim), claim->name_holder, attempts};
        digest.mixed += hash_octets(parts, sizeof parts);
        digest.count++;
    }
    return digest;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

static void forget_unnamed(struct engine *engine, uint32_t key, const uint32_t *ids, size_t count)
{
    uint32_t next;
    uint32_t *named = arena_new_array(engine->arena, uint32_t, count + 1);
    if (count) {
        memcpy(named, ids, count * sizeof *named);
        qsort(named, count, sizeof *named, compare_ids);
    }
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID; id = next) {
        next = engine->claims[id].next_of_key;
        if (count && bsearch(&id, named, count, sizeof id, compare_ids))
            continue;
        claim_forget(engine, id);
    }
}

// The content of a claim that lost does not count: each plan drops it.
static bool waits_with_content(const struct claim *claim)
{
    return claim->name_holder == NO_ID && claim->pending && claim->pending->content &&
           claim->work != WORK_BACKING_OFF;
}

// True if the claim has changed in what a plan of its name looks at.
static bool is_other(const struct claim *before, bool had_content, const struct claim *now)
{
    return before->intent != now->intent || before->is_suspended != now->is_suspended ||
           before->is_guarded != now->is_guarded || before->shares != now->shares ||
           before->backend != now->backend || before->epoch != now->epoch ||
           before->there != now->there || before->has_wanted != now->has_wanted ||
           had_content != waits_with_content(now) ||
           memcmp(before->there_hash, now->there_hash, sizeof now->there_hash);
}

static void claim_report_to_guard(struct engine *engine, const struct claim *before,
                                  const struct claim *now)
{
    bool was_held_back = claim_is_held_back(engine, before);
    bool is_held_back = claim_is_held_back(engine, now);
    if (was_held_back && (!is_held_back || before->backend != now->backend))
        engine_guard_mark(claim_backend(engine, before));
    if (is_held_back && (!was_held_back || before->backend != now->backend))
        engine_guard_mark(claim_backend(engine, now));
}

static void claim_renew(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim before = engine->claims[id];
    bool had_content = waits_with_content(&before);
    uint8_t wanted[FINGERPRINT_OCTETS] = {0};
    if (before.has_wanted)
        memcpy(wanted, claim_wanted_hash(&before), sizeof wanted);
    claim_update(engine, id, want);
    struct claim *claim = &engine->claims[id];
    claim_report_to_guard(engine, &before, claim);
    bool wants_other = claim->has_wanted && !claim_wants(claim, wanted);
    if (claim_name_is_crowded(engine, id) &&
        (before.standing == STANDING_NEW || wants_other || is_other(&before, had_content, claim)))
        claim->is_unplanned = true;
}

bool registry_submit(struct engine *engine, uint32_t key, const struct claim_want *wants,
                     size_t count)
{
    uint32_t *ids = arena_new_array(engine->arena, uint32_t, count + 1);
    struct receipts_digest before = receipts_digest(engine, key);
    for (size_t i = 0; i < count; i++) {
        ids[i] = claim_of_key(engine, key, &wants[i]);
        bool is_new = ids[i] == NO_ID;
        if (is_new)
            ids[i] = claim_make(engine, key, &wants[i]);
        claim_renew(engine, ids[i], &wants[i]);
        if (is_new && engine->dry_run)
            dry_run_claim(engine->dry_run, ids[i],
                          claim_may_stand(&engine->claims[ids[i]]) &&
                              !dry_run_has_made(engine->dry_run, key));
    }
    forget_unnamed(engine, key, ids, count);
    for (size_t i = 0; i < count; i++)
        registry_replan(engine, ids[i]);
    struct receipts_digest after = receipts_digest(engine, key);
    return before.count != after.count || before.mixed != after.mixed;
}
