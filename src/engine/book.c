#include "engine/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"

// Longest Retry-After that is heeded: a clock that went back must not make a record wait for ever.
enum { RECALL_MAX_MS = 60 * 60 * 1000 };

// ---- names and books ----------------------------------------------------------------------------

struct book_name {
    uint16_t book;
    const char *name;
};

static uint64_t name_hash(uint16_t book, const char *name)
{
    return hash_octets(name, strlen(name)) + book * 0x9e3779b97f4a7c15ULL;
}

static bool claim_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct book_name *at = wanted;
    return engine->claims[id].book == at->book && !strcmp(engine->claims[id].name, at->name);
}

static uint64_t claim_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    return name_hash(engine->claims[id].book, engine->claims[id].name);
}

static const struct table_ops claim_table_ops = {claim_matches, claim_hash};

uint16_t book_get(struct engine *engine, const char *book)
{
    size_t at = engine->book_count;
    for (size_t i = 0; i < engine->book_count; i++) {
        if (!strcmp(engine->books[i].url, book))
            return (uint16_t)i;
        if (!engine->books[i].refs)
            at = i;
    }
    must(at < UINT16_MAX);
    if (at == engine->book_count) {
        mem_reserve(&engine->books, &engine->book_capacity, engine->book_count + 1);
        engine->books[engine->book_count++] = (struct book){0};
    }
    free(engine->books[at].url);
    engine->books[at].url = mem_copy_text(book);
    return (uint16_t)at;
}

struct lane *claim_lane(const struct engine *engine, const struct claim *claim)
{
    return claim->lane ? engine->lanes_by_number[claim->lane - 1] : NULL;
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

static struct table *names(struct engine *engine)
{
    engine->by_name.ops = &claim_table_ops;
    engine->by_name.context = engine;
    return &engine->by_name;
}

// ---- claims -------------------------------------------------------------------------------------

static void pending_clear(struct pending *pending)
{
    content_free(pending->content);
    free(pending->replaces);
    free(pending->failure);
}

static void pending_free(struct pending *pending)
{
    if (!pending)
        return;
    pending_clear(pending);
    slab_give(pending, sizeof *pending);
}

static void pending_set_resting(struct pending *pending)
{
    struct pending resting = {.is_resting = true};
    memcpy(resting.wanted_hash, pending->wanted_hash, sizeof resting.wanted_hash);
    pending_clear(pending);
    *pending = resting;
}

static void claim_clear_failure(struct pending *pending)
{
    if (!pending)
        return;
    pending->attempts = 0;
    pending->next_unix_ms = 0;
    free(pending->failure);
    pending->failure = NULL;
}

static struct pending *claim_pending(struct engine *engine, struct claim *claim)
{
    if (!claim->pending) {
        claim->pending = slab_take(engine->claim_slab, sizeof *claim->pending);
        *claim->pending = (struct pending){.is_resting = true};
    }
    if (claim->pending->is_resting) {
        claim->pending->is_resting = false;
        claim->pending->next_due = claim->pending->previous_due = NO_ID;
        claim->pending->since_ms = loop_mono_ms(engine->loop);
        claim->pending->is_background = !engine->is_first_pass_done;
    }
    return claim->pending;
}

static const uint8_t *wanted_of(const struct claim *claim)
{
    return claim->wants_there ? claim->there_hash : claim->pending->wanted_hash;
}

bool claim_wants(const struct claim *claim, const uint8_t hash[FINGERPRINT_OCTETS])
{
    return claim->has_wanted && !memcmp(wanted_of(claim), hash, FINGERPRINT_OCTETS);
}

void claim_set_wanted(struct engine *engine, struct claim *claim,
                      const uint8_t hash[FINGERPRINT_OCTETS])
{
    claim->has_wanted = true;
    claim->wants_there = !memcmp(claim->there_hash, hash, FINGERPRINT_OCTETS);
    if (!claim->wants_there)
        memcpy(claim_pending(engine, claim)->wanted_hash, hash, FINGERPRINT_OCTETS);
}

// Notes what stands at the backend; the claim goes on wanting what it wanted.
static void claim_set_there(struct engine *engine, struct claim *claim,
                            const uint8_t hash[FINGERPRINT_OCTETS])
{
    uint8_t wanted[FINGERPRINT_OCTETS];
    if (claim->has_wanted)
        memcpy(wanted, wanted_of(claim), sizeof wanted);
    memcpy(claim->there_hash, hash, sizeof claim->there_hash);
    if (claim->has_wanted)
        claim_set_wanted(engine, claim, wanted);
}

static void pending_set_content(struct engine *engine, struct pending *pending,
                                const struct record_set *set)
{
    content_free(pending->content);
    pending->content = set ? content_new(engine->claim_slab, set) : NULL;
}

static uint32_t claim_slot(struct engine *engine)
{
    if (engine->free_claim != NO_ID) {
        uint32_t id = engine->free_claim;
        engine->free_claim = engine->claims[id].next_of_key;
        return id;
    }
    mem_reserve(&engine->claims, &engine->claim_capacity, (size_t)engine->claim_used + 1);
    return engine->claim_used++;
}

static char *join_name(struct slab *slab, struct text domain, struct text subdomain,
                       uint8_t *subdomain_len)
{
    AUTO_BUFFER out = {0};
    *subdomain_len = text_is(subdomain, "@") ? 0 : (uint8_t)subdomain.len;
    if (*subdomain_len) {
        buffer_add(&out, subdomain.at, subdomain.len);
        buffer_add_char(&out, '.');
    }
    buffer_add(&out, domain.at, domain.len);
    struct text name = buffer_text(&out);
    return memcpy(slab_take(slab, name.len + 1), name.at, name.len + 1);
}

static void name_free(char *name)
{
    slab_give(name, strlen(name) + 1);
}

static uint32_t first_of_name(struct engine *engine, const struct claim *claim)
{
    struct book_name at = {claim->book, claim->name};
    return table_find(names(engine), name_hash(claim->book, claim->name), &at);
}

static void claim_chain_name(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    uint32_t first = first_of_name(engine, claim);
    if (first == TABLE_NONE) {
        claim->is_first = true;
        claim->count_of_name = 1;
        table_add(names(engine), name_hash(claim->book, claim->name), id);
        return;
    }
    engine->claims[first].count_of_name++;
    claim->previous_of_name = first;
    claim->next_of_name = engine->claims[first].next_of_name;
    engine->claims[first].next_of_name = id;
    if (claim->next_of_name != NO_ID)
        engine->claims[claim->next_of_name].previous_of_name = id;
}

// Its name is found by the next one from now on.
static void first_give_way(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    uint64_t hash = name_hash(claim->book, claim->name);
    uint32_t next = claim->next_of_name;
    int64_t planned_ms = queue_time_ms(engine->crowded, id);
    queue_forget(engine->crowded, id);
    table_remove(names(engine), hash, id);
    if (next == NO_ID)
        return;
    engine->claims[next].is_first = true;
    engine->claims[next].count_of_name = claim->count_of_name - 1;
    table_add(names(engine), hash, next);
    if (planned_ms != INT64_MAX)
        queue_after(engine->crowded, next, QUEUE_USER, planned_ms);
}

static void claim_unchain_name(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->is_first) {
        first_give_way(engine, id);
        return;
    }
    engine->claims[first_of_name(engine, claim)].count_of_name--;
    engine->claims[claim->previous_of_name].next_of_name = claim->next_of_name;
    if (claim->next_of_name != NO_ID)
        engine->claims[claim->next_of_name].previous_of_name = claim->previous_of_name;
}

static uint32_t claim_make(struct engine *engine, uint32_t key, const struct claim_want *want)
{
    uint32_t id = claim_slot(engine);
    struct claim *claim = &engine->claims[id];
    *claim = (struct claim){.key = key,
                            .next_of_key = engine->keys[key].first_claim,
                            .next_of_name = NO_ID,
                            .book = book_get(engine, want->book),
                            .type = want->set.type,
                            .loser_to = NO_ID};
    claim->name =
        join_name(engine->claim_slab, want->set.domain, want->set.subdomain, &claim->subdomain_len);
    engine->books[claim->book].refs++;
    engine->keys[key].first_claim = id;
    claim_chain_name(engine, id);
    return id;
}

// Another claim at the same name, or NO_ID.
static uint32_t neighbour_of_name(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->next_of_name != NO_ID || claim->is_first)
        return claim->next_of_name;
    return claim->previous_of_name;
}

// ---- names that many claim ----------------------------------------------------------------------

// Each plan of a name looks at all its claims. Where there are many, one plan serves all that
// changed within a while, which grows with what a plan costs.
enum { CROWD_DEFAULT = 64, CLAIMS_PER_MS = 64 };

static bool is_crowded(struct engine *engine, uint32_t id)
{
    size_t limit = engine->options.crowd ? engine->options.crowd : CROWD_DEFAULT;
    uint32_t first = first_of_name(engine, &engine->claims[id]);
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
    uint32_t first = first_of_name(engine, &engine->claims[id]);
    int64_t delay_ms = engine->claims[first].count_of_name / CLAIMS_PER_MS;
    queue_after(engine->crowded, first, QUEUE_USER, loop_mono_ms(engine->loop) + delay_ms);
    set_crowded_timer(engine);
}

// ---- claims that go -----------------------------------------------------------------------------

static void claim_unchain_key(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    uint32_t *link = &engine->keys[claim->key].first_claim;
    while (*link != id)
        link = &engine->claims[*link].next_of_key;
    *link = claim->next_of_key;
}

static void claim_leave_lane(struct engine *engine, struct claim *claim)
{
    struct lane *lane = claim_lane(engine, claim);
    if (lane)
        lane->claim_count--;
    claim->lane = 0;
}

static void claim_release(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    claim_unchain_name(engine, id);
    queue_forget(engine->due, id);
    claim_leave_lane(engine, claim);
    engine->books[claim->book].refs--;
    pending_free(claim->pending);
    name_free(claim->name);
    *claim = (struct claim){.next_of_key = engine->free_claim};
    engine->free_claim = id;
}

// No key names it any more and it is not in flight. Where its name is planned later it stays until
// then, for those that lost to it. Returns a claim whose name is to be planned now, or NO_ID.
static uint32_t claim_drop(struct engine *engine, uint32_t id)
{
    uint32_t other = neighbour_of_name(engine, id);
    if (!is_crowded(engine, id)) {
        claim_release(engine, id);
        return other;
    }
    queue_forget(engine->due, id);
    claim_leave_lane(engine, &engine->claims[id]);
    plan_later(engine, id);
    return NO_ID;
}

static void claim_bury(struct engine *engine, uint32_t id)
{
    uint32_t other = claim_drop(engine, id);
    if (other != NO_ID)
        book_replan(engine, other);
}

// The key does not name it any more. One in flight stays as a zombie until its receipt.
static void claim_forget(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    claim_unchain_key(engine, id);
    claim->is_forgotten = true;
    claim->key = NO_ID;
    if (claim->pending && claim->pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    if (claim->pending && claim->pending->flight)
        book_replan(engine, id);
    else
        claim_bury(engine, id);
}

// ---- the plan of one name -----------------------------------------------------------------------

static bool is_match(const struct claim *claim)
{
    return claim->has_wanted && claim->wants_there;
}

static bool claim_is_satisfied(const struct claim *claim)
{
    switch (claim->intent) {
    case CLAIM_KEEP:
        return true;
    case CLAIM_REMOVE:
        return claim->there == THERE_NOTHING;
    case CLAIM_SET:
        return claim->there == THERE_SET && is_match(claim);
    case CLAIM_LOOK:
        return claim->was_looked;
    }
    return false;
}

static const struct object *claim_object(const struct engine *engine, const struct claim *claim)
{
    return engine->keys[claim->key].object;
}

// What it lost to, or shares with. NO_ID: nothing, or that is gone and the name not planned since.
static uint32_t holder_of(const struct engine *engine, const struct claim *claim)
{
    uint32_t holder = claim->loser_to;
    return holder != NO_ID && engine->claims[holder].is_forgotten ? NO_ID : holder;
}

struct named {
    uint32_t id;
    const struct object *object;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a;
    const struct named *right = b;
    int order = object_compare_age(left->object, right->object);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

static bool is_known(const struct engine *engine, const struct claim *claim)
{
    (void)engine;
    return !claim->is_forgotten;
}

// One that lost beats nobody, whoever else comes.
static bool may_beat(const struct engine *engine, const struct claim *claim)
{
    return !claim->is_forgotten && (claim->is_undecided || holder_of(engine, claim) == NO_ID);
}

// Oldest first.
static struct named *claims_of_name(struct engine *engine, uint32_t first,
                                    bool (*is_meant)(const struct engine *, const struct claim *),
                                    size_t *count)
{
    *count = 0;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name)
        *count += is_meant(engine, &engine->claims[id]);
    struct named *all = arena_new_array(engine->scratch, struct named, *count + 1);
    struct named *next = all;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name)
        if (is_meant(engine, &engine->claims[id]))
            *next++ = (struct named){id, claim_object(engine, &engine->claims[id])};
    if (*count > 1)
        qsort(all, *count, sizeof *all, compare_named);
    return all;
}

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

static bool lane_shares(const struct lane *lane)
{
    return lane && lane->seat && lane->provider->shares;
}

static struct plan_claim plan_claim_of(const struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    bool shares = claim->has_wanted && lane_shares(claim_lane(engine, claim));
    return (struct plan_claim){
        .holder = claim_object(engine, claim),
        .type = claim->type,
        .domain = claim_domain(claim),
        .subdomain = claim_subdomain(claim),
        .want = plan_wants[claim->intent],
        .is_held = claim->is_held,
        .is_satisfied = claim_is_satisfied(claim),
        .content = shares ? content_of_hash(wanted_of(claim)) : 0,
    };
}

// What its receipt shows of it, but for failures: another one is news to its key.
static uint32_t claim_face(const struct claim *claim)
{
    bool is_open = claim->there == THERE_OPEN || (claim->pending && claim->pending->flight);
    return (uint32_t)claim->state | (uint32_t)claim->intent << 4 | (uint32_t)is_open << 8 |
           (uint32_t)claim->is_evicted << 9 | (uint32_t)claim->is_foreign << 10;
}

static void claim_set_state(struct engine *engine, uint32_t id, enum receipt_state state,
                            uint32_t loser_to)
{
    struct claim *claim = &engine->claims[id];
    if (claim->state == state && claim->loser_to == loser_to)
        return;
    claim->state = state;
    claim->loser_to = loser_to;
    if (state == RECEIPT_SETTLED)
        claim->settled_s = (uint32_t)(loop_unix_ms(engine->loop) / 1000);
    key_wake(engine, claim->key, QUEUE_USER);
}

static void claim_rest(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    if (!claim->pending || claim->pending->flight)
        return;
    if (claim->pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    queue_forget(engine->due, id);
    if (claim->intent == CLAIM_LOOK)
        return; // with what was found; and what is sent next stands in line as this did
    if (claim->has_wanted && !claim->wants_there) {
        pending_set_resting(claim->pending);
        return;
    }
    pending_free(claim->pending);
    claim->pending = NULL;
}

// Content of a settled or lost claim is not kept: its key is asked for it again when needed.
enum claim_intent claim_sends(const struct claim *claim)
{
    return claim->is_evicted ? CLAIM_REMOVE : claim->intent;
}

static bool claim_has_content(const struct claim *claim)
{
    return claim_sends(claim) != CLAIM_SET || (claim->pending && claim->pending->content);
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

static bool claim_may_go(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    enum change_op op = claim_op(claim);
    struct record_set bare = {
        .type = claim->type, .domain = claim_domain(claim), .subdomain = claim_subdomain(claim)};
    if (!engine->options.may_send || op == CHANGE_READ)
        return true;
    const struct record_set *set = op == CHANGE_SET
                                       ? content_make_set(engine->scratch, claim->pending->content,
                                                          bare.domain, bare.subdomain)
                                       : &bare;
    const struct engine_change change = engine_change_of(engine, id, op, set);
    return engine->options.may_send(engine->options.context, &change);
}

// Held, and it still is: to wait in between would be news to its key, which would ask again.
static bool claim_stays_held(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    return claim->state == RECEIPT_HELD && engine->options.may_send && claim_has_content(claim) &&
           !claim_may_go(engine, id);
}

static void claim_send(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    if (claim_stays_held(engine, id))
        return;
    if (claim->is_evicted)
        claim_set_state(engine, id, RECEIPT_LOST, claim->loser_to);
    else
        claim_set_state(engine, id, RECEIPT_WAITING, NO_ID);
    if (!claim_has_content(claim)) {
        key_wake(engine, claim->key, QUEUE_USER);
        return;
    }
    struct pending *pending = claim_pending(engine, claim);
    if (pending->flight || pending->is_due || !claim->lane)
        return;
    if (pending->next_unix_ms)
        return;
    if (!claim_may_go(engine, id)) {
        claim_set_state(engine, id, RECEIPT_HELD, NO_ID);
        return;
    }
    lane_queue(claim_lane(engine, claim), id);
}

// What goes first may take our content along: a by-name server holds one record under both splits.
static void claim_doubt(struct claim *claim)
{
    if (claim->intent != CLAIM_SET || claim->there == THERE_OPEN)
        return;
    claim->there = THERE_UNKNOWN;
    claim->is_doubted = true;
}

bool claim_may_stand(const struct claim *claim)
{
    return claim->there == THERE_SET || claim->there == THERE_OPEN;
}

// Of two claims at one name.
static bool is_same_key(const struct claim *a, const struct claim *b)
{
    return a->type == b->type && a->subdomain_len == b->subdomain_len;
}

// Servers ignore what cannot stand beside other data: a loser's content that keeps the holder's out
// goes first. The loser stays a loser; what it removes, it removes for the holder.
static bool stands_in_way(const struct claim *loser, const struct claim *holder)
{
    return claim_may_stand(loser) && !is_same_key(loser, holder);
}

// Where the holder's content stands under the very same key, the loser's is no more.
static void claim_lose(struct engine *engine, uint32_t id, uint32_t holder_id)
{
    struct claim *claim = &engine->claims[id];
    const struct claim *holder = &engine->claims[holder_id];
    bool is_in_flight = claim->pending && claim->pending->flight;
    if (claim_may_stand(claim) && is_same_key(claim, holder) && !is_in_flight &&
        holder->intent == CLAIM_SET && claim_is_satisfied(holder)) {
        claim->there = THERE_NOTHING;
        key_wake(engine, claim->key, QUEUE_USER);
    }
    claim_rest(engine, id);
    claim_set_state(engine, id, RECEIPT_LOST, holder_id);
}

// It stands as long as the holder's does, and stays when the holder goes.
static void claim_share(struct engine *engine, uint32_t id, uint32_t holder_id)
{
    struct claim *claim = &engine->claims[id];
    const struct claim *holder = &engine->claims[holder_id];
    bool is_there = claim_is_satisfied(holder);
    claim_rest(engine, id);
    claim->there = holder->there;
    claim->is_foreign = holder->is_foreign;
    claim_set_there(engine, claim, holder->there_hash);
    claim_set_state(engine, id, is_there ? RECEIPT_SETTLED : RECEIPT_WAITING, holder_id);
}

static void claim_unqueue(struct engine *engine, uint32_t id)
{
    const struct claim *claim = &engine->claims[id];
    if (claim->pending && claim->pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
}

static void claim_step(struct engine *engine, const struct named *all, size_t at,
                       const struct plan_step *step)
{
    uint32_t id = all[at].id;
    struct claim *claim = &engine->claims[id];
    switch (step->act) {
    case PLAN_SETTLED:
        claim_rest(engine, id);
        claim_set_state(engine, id, RECEIPT_SETTLED, NO_ID);
        return;
    case PLAN_SEND:
        claim_send(engine, id);
        return;
    case PLAN_HOLD:
        claim_unqueue(engine, id);
        claim_set_state(engine, id, RECEIPT_HELD, NO_ID);
        return;
    case PLAN_WAIT:
        claim_unqueue(engine, id);
        claim_doubt(claim);
        claim_set_state(engine, id, RECEIPT_WAITING, NO_ID);
        return;
    case PLAN_LOST:
        claim_lose(engine, id, all[step->other].id);
        return;
    case PLAN_SHARED:
        claim_share(engine, id, all[step->other].id);
        return;
    case PLAN_INHERITED:
        if (claim_is_satisfied(&engine->claims[all[step->other].id])) {
            claim->there = THERE_NOTHING;
            claim->is_inherited = true;
            claim_rest(engine, id);
            claim_set_state(engine, id, RECEIPT_SETTLED, NO_ID);
            return;
        }
        claim_set_state(engine, id, RECEIPT_WAITING, NO_ID);
        return;
    }
}

static bool mark_evictions(struct engine *engine, const struct named *all, size_t count,
                           struct plan_claim *claims, const struct plan_step *steps)
{
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        struct claim *claim = &engine->claims[all[i].id];
        uint32_t holder = steps[i].act == PLAN_LOST ? all[steps[i].other].id : NO_ID;
        claim->is_evicted = holder != NO_ID && stands_in_way(claim, &engine->claims[holder]);
        if (!claim->is_evicted)
            continue;
        claim->loser_to = holder;
        claims[i].want = PLAN_REMOVE;
        claims[i].is_held = false;
        claims[i].is_satisfied = false;
        has_any = true;
    }
    return has_any;
}

static void wake_if_other(struct engine *engine, uint32_t id, uint32_t face)
{
    const struct claim *claim = &engine->claims[id];
    if (claim_face(claim) != face)
        key_wake(engine, claim->key, QUEUE_USER);
}

static void replan_from(struct engine *engine, uint32_t first)
{
    size_t count;
    arena_reset(engine->scratch);
    struct named *all = claims_of_name(engine, first, is_known, &count);
    struct plan_claim *claims = arena_new_array(engine->scratch, struct plan_claim, count + 1);
    struct plan_step *steps = arena_new_array(engine->scratch, struct plan_step, count + 1);
    uint32_t *faces = arena_new_array(engine->scratch, uint32_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        claims[i] = plan_claim_of(engine, all[i].id);
        faces[i] = claim_face(&engine->claims[all[i].id]);
    }
    plan_name(claims, count, steps);
    if (mark_evictions(engine, all, count, claims, steps))
        plan_name(claims, count, steps);
    for (size_t i = 0; i < count; i++)
        claim_step(engine, all, i, &steps[i]);
    for (size_t i = 0; i < count; i++)
        wake_if_other(engine, all[i].id, faces[i]);
}

// Those that stayed for others to hear of them. Returns the first that is left, or NO_ID.
static uint32_t release_forgotten(struct engine *engine, uint32_t first)
{
    uint32_t left = NO_ID;
    for (uint32_t id = first, next; id != NO_ID; id = next) {
        const struct claim *claim = &engine->claims[id];
        next = claim->next_of_name;
        if (claim->is_forgotten && !(claim->pending && claim->pending->flight))
            claim_release(engine, id);
        else if (left == NO_ID)
            left = id;
    }
    return left;
}

static void decide_claims(struct engine *engine, uint32_t first)
{
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_name) {
        struct claim *claim = &engine->claims[id];
        if (claim->is_undecided && !claim->is_forgotten)
            key_wake(engine, claim->key, QUEUE_USER);
        claim->is_undecided = false;
    }
}

static void plan_now(struct engine *engine, uint32_t first)
{
    uint32_t left = release_forgotten(engine, first);
    if (left == NO_ID)
        return;
    replan_from(engine, left);
    decide_claims(engine, left);
    queue_forget(engine->crowded, left);
}

void book_replan(struct engine *engine, uint32_t id)
{
    uint32_t first = first_of_name(engine, &engine->claims[id]);
    if (first == TABLE_NONE)
        return;
    if (is_crowded(engine, id))
        plan_later(engine, id);
    else
        plan_now(engine, first);
}

void book_plan_crowded(struct engine *engine)
{
    uint32_t first;
    if (queue_pop(engine->crowded, loop_mono_ms(engine->loop), &first))
        plan_now(engine, first);
    set_crowded_timer(engine);
}

bool book_awaits_plan(const struct engine *engine, uint32_t key)
{
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key) {
        const struct claim *claim = &engine->claims[id];
        if (claim->is_undecided || claim->loser_to != holder_of(engine, claim))
            return true;
    }
    return false;
}

// ---- what a claim would come to -----------------------------------------------------------------

// Or the number of all.
static uint16_t book_find(const struct engine *engine, const char *url)
{
    uint16_t at = 0;
    while (at < engine->book_count &&
           (!engine->books[at].refs || strcmp(engine->books[at].url, url) != 0))
        at++;
    return at;
}

static uint32_t first_of_want(struct engine *engine, const struct claim_want *want)
{
    uint8_t len;
    struct book_name at = {.book = book_find(engine, want->book)};
    if (at.book == engine->book_count)
        return NO_ID;
    char *name = join_name(engine->claim_slab, want->set.domain, want->set.subdomain, &len);
    at.name = name;
    uint32_t first = table_find(names(engine), name_hash(at.book, at.name), &at);
    name_free(name);
    return first == TABLE_NONE ? NO_ID : first;
}

// The subject takes the place of what its key claims now. There is room for one more.
static size_t swap_in(const struct engine *engine, uint32_t key, const struct object *subject,
                      struct named *all, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (engine->claims[all[i].id].key != key)
            all[kept++] = all[i];
    all[kept++] = (struct named){NO_ID, subject};
    qsort(all, kept, sizeof *all, compare_named);
    return kept;
}

static struct plan_claim plan_claim_wanted(const struct engine *engine,
                                           const struct object *subject,
                                           const struct claim_want *want)
{
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    const struct lane *lane = lane_find(engine, want->lane);
    bool shares = want->intent == CLAIM_SET && lane_shares(lane);
    if (shares)
        lane->seat->provider->fingerprint(lane->seat->at, &want->set, hash);
    return (struct plan_claim){
        .holder = subject,
        .type = want->set.type,
        .domain = want->set.domain,
        .subdomain = want->set.subdomain,
        .want = plan_wants[want->intent],
        .is_held = want->is_held,
        .content = shares ? content_of_hash(hash) : 0,
    };
}

const struct object *book_holder(struct engine *engine, uint32_t key, const struct object *subject,
                                 const struct claim_want *want)
{
    size_t count;
    size_t own = 0;
    uint32_t first = first_of_want(engine, want);
    if (first == NO_ID)
        return NULL;
    arena_reset(engine->scratch);
    struct named *all = claims_of_name(engine, first, may_beat, &count);
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

// ---- submitting ---------------------------------------------------------------------------------

static bool is_claim_of(const struct claim *claim, uint32_t key, uint16_t book,
                        const struct claim_want *want)
{
    return claim->key == key && claim->book == book && claim->type == want->set.type &&
           text_equal(claim_subdomain(claim), want->set.subdomain) &&
           text_equal(claim_domain(claim), want->set.domain);
}

// A name may have many claims, and so may a key: whichever chain ends first tells it.
static uint32_t claim_of_key(struct engine *engine, uint32_t key, const struct claim_want *want)
{
    uint16_t book = book_find(engine, want->book);
    uint32_t of_name = first_of_want(engine, want);
    uint32_t of_key = engine->keys[key].first_claim;
    while (of_name != NO_ID && of_key != NO_ID) {
        if (is_claim_of(&engine->claims[of_name], key, book, want))
            return of_name;
        if (is_claim_of(&engine->claims[of_key], key, book, want))
            return of_key;
        of_name = engine->claims[of_name].next_of_name;
        of_key = engine->claims[of_key].next_of_key;
    }
    return NO_ID;
}

static void claim_set_lane(struct engine *engine, uint32_t id, const char *name)
{
    struct claim *claim = &engine->claims[id];
    struct lane *lane = lane_find(engine, name);
    if (lane && strcmp(lane->book, engine->books[claim->book].url))
        lane = NULL;
    const struct lane *old = claim_lane(engine, claim);
    if (old == lane)
        return;
    if (claim->pending && claim->pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    if (old && lane)
        claim_doubt(claim);
    claim_leave_lane(engine, claim);
    claim->lane = lane ? lane->number : 0;
    if (lane)
        lane->claim_count++;
}

// A status that an earlier version wrote has no more.
static bool is_remembered_by_half(const struct claim *claim)
{
    static const uint8_t none[FINGERPRINT_OCTETS / 2];
    return claim->there == THERE_SET && !claim->was_sent &&
           !memcmp(claim->there_hash + sizeof none, none, sizeof none);
}

// Whether what is wanted stands there, as far as the seat can tell; if not, it is kept for sending.
static void claim_set_content(struct engine *engine, struct claim *claim,
                              const struct record_set *set)
{
    uint8_t hash[FINGERPRINT_OCTETS] = {0};
    const struct lane *lane = claim_lane(engine, claim);
    const struct seat *seat = lane ? lane->seat : NULL;
    if (seat)
        seat->provider->fingerprint(seat->at, set, hash);
    claim->has_wanted = false;
    if (is_remembered_by_half(claim) && !memcmp(claim->there_hash, hash, FINGERPRINT_OCTETS / 2))
        claim_set_there(engine, claim, hash);
    if (seat)
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
    if (claim->pending && claim->pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    if (claim->pending && engine->is_first_pass_done)
        claim->pending->is_background = false; // an edit overtakes start-up work
    claim_clear_failure(claim->pending);
    queue_forget(engine->due, id);
}

void claim_retry(struct engine *engine, uint32_t id)
{
    struct claim *claim = &engine->claims[id];
    if (!claim->name || claim->is_forgotten || !claim->pending)
        return;
    claim->pending->next_unix_ms = 0;
    book_replan(engine, id);
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

// While standing by, the status of the one who leads is what counts, as often as it changes.
static void claim_recall(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim *claim = &engine->claims[id];
    const struct lane *lane = claim_lane(engine, claim);
    if (claim->is_recalled || !lane || claim_is_satisfied(claim) || engine->dry_run ||
        engine->options.may_send)
        return;
    claim->is_recalled = engine->is_leading;
    struct pending *pending = claim_pending(engine, claim);
    if (pending->failure || pending->flight)
        return;
    int64_t now_ms = loop_unix_ms(engine->loop);
    int64_t longest_ms = lane->retry_slow_ms > RECALL_MAX_MS ? lane->retry_slow_ms : RECALL_MAX_MS;
    int64_t wait_ms = want->not_before_ms - now_ms;
    pending->attempts = want->attempts;
    if (wait_ms <= 0)
        return;
    if (wait_ms > longest_ms)
        wait_ms = longest_ms;
    pending->next_unix_ms = now_ms + wait_ms;
    queue_forget(engine->due, id);
    queue_after(engine->due, id, QUEUE_USER, loop_mono_ms(engine->loop) + wait_ms);
    if (pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    engine_schedule(engine);
}

// It is asked once more, as the answer is too old.
static void claim_look_anew(struct claim *claim, int64_t since_s)
{
    if (claim->intent == CLAIM_LOOK && claim->was_looked && claim->settled_s < since_s)
        claim->was_looked = false;
}

static void pending_update(struct engine *engine, struct pending *pending,
                           const struct claim_want *want)
{
    pending->may_adopt = want->may_adopt;
    free(pending->replaces);
    pending->replaces = want->replaces ? mem_copy_text(want->replaces) : NULL;
    if (!want->is_held && !pending->let_go_ms)
        pending->let_go_ms = loop_unix_ms(engine->loop);
}

static void claim_update(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim *claim = &engine->claims[id];
    claim_set_intent(engine, claim, want->intent);
    claim_look_anew(claim, want->look_since_s);
    claim->is_held = want->is_held;
    claim_set_lane(engine, id, want->lane);
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
    if (claim->pending && !claim->pending->is_resting)
        pending_update(engine, claim->pending, want);
    if (want->attempts)
        claim_recall(engine, id, want);
}

// One that shares fares as its holder does.
static const struct pending *pending_shown(const struct engine *engine, const struct claim *claim)
{
    uint32_t holder = claim->state == RECEIPT_LOST ? NO_ID : holder_of(engine, claim);
    return holder == NO_ID ? claim->pending : engine->claims[holder].pending;
}

struct receipts_mark {
    size_t count;
    uint64_t mixed;
};

static struct receipts_mark receipts_mark(const struct engine *engine, uint32_t key)
{
    struct receipts_mark mark = {0};
    for (uint32_t id = engine->keys[key].first_claim; id != NO_ID;
         id = engine->claims[id].next_of_key) {
        const struct claim *claim = &engine->claims[id];
        const struct pending *pending = pending_shown(engine, claim);
        uint32_t attempts = pending ? pending->attempts : 0;
        uint32_t parts[] = {id, claim_face(claim), claim->loser_to, attempts};
        mark.mixed += hash_octets(parts, sizeof parts);
        mark.count++;
    }
    return mark;
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

// That of one that lost does not count: it is dropped with each plan.
static bool waits_with_content(const struct claim *claim)
{
    return claim->loser_to == NO_ID && claim->pending && claim->pending->content &&
           !claim->pending->next_unix_ms;
}

// For a plan of its name.
static bool is_other(const struct claim *before, bool had_content, const struct claim *now)
{
    return before->intent != now->intent || before->is_held != now->is_held ||
           before->lane != now->lane || before->epoch != now->epoch ||
           before->there != now->there || before->has_wanted != now->has_wanted ||
           had_content != waits_with_content(now) ||
           memcmp(before->there_hash, now->there_hash, sizeof now->there_hash);
}

static void claim_renew(struct engine *engine, uint32_t id, const struct claim_want *want)
{
    struct claim before = engine->claims[id];
    bool had_content = waits_with_content(&before);
    uint8_t wanted[FINGERPRINT_OCTETS] = {0};
    if (before.has_wanted)
        memcpy(wanted, wanted_of(&before), sizeof wanted);
    claim_update(engine, id, want);
    struct claim *claim = &engine->claims[id];
    bool wants_other = claim->has_wanted && !claim_wants(claim, wanted);
    if (is_crowded(engine, id) &&
        (before.state == RECEIPT_NONE || wants_other || is_other(&before, had_content, claim)))
        claim->is_undecided = true;
}

bool book_submit(struct engine *engine, uint32_t key, const struct claim_want *wants, size_t count)
{
    uint32_t *ids = arena_new_array(engine->arena, uint32_t, count + 1);
    struct receipts_mark before = receipts_mark(engine, key);
    for (size_t i = 0; i < count; i++) {
        ids[i] = claim_of_key(engine, key, &wants[i]);
        bool is_new = ids[i] == NO_ID;
        if (is_new)
            ids[i] = claim_make(engine, key, &wants[i]);
        claim_renew(engine, ids[i], &wants[i]);
        if (is_new && engine->dry_run)
            dry_run_claim(engine->dry_run, ids[i], claim_may_stand(&engine->claims[ids[i]]));
    }
    forget_unnamed(engine, key, ids, count);
    for (size_t i = 0; i < count; i++)
        book_replan(engine, ids[i]);
    struct receipts_mark after = receipts_mark(engine, key);
    return before.count != after.count || before.mixed != after.mixed;
}

// ---- receipts -----------------------------------------------------------------------------------

static void receipt_add_pending(struct engine *engine, struct receipt *receipt,
                                const struct pending *pending)
{
    const struct failure *failure = pending->failure;
    receipt->since_ms = pending->let_go_ms;
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

// What a verdict points to must outlive the claims that the verdict itself brings down.
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
    if (claim->state == RECEIPT_LOST || claim->state == RECEIPT_SETTLED)
        return false;
    uint32_t id = first_of_name(engine, claim);
    for (; id != NO_ID; id = engine->claims[id].next_of_name) {
        const struct claim *other = &engine->claims[id];
        if (other->key != claim->key && claim_may_stand(other) &&
            plan_excludes(other->type, claim->type))
            return true;
    }
    return false;
}

enum { LINE_MOVES_MS = 1000 };

// One has ended a moment ago, and the backend is reached.
static bool is_line_moving(const struct lane *lane)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    return !lane->transport_failures && now_ms - lane->idle_since_ms < LINE_MOVES_MS;
}

static struct receipt receipt_of(struct engine *engine, const struct claim *claim)
{
    const struct pending *pending = pending_shown(engine, claim);
    struct receipt receipt = {
        .book = engine->books[claim->book].url,
        .type = claim->type,
        .domain = copy_text(engine->arena, claim_domain(claim)),
        .subdomain = copy_text(engine->arena, claim_subdomain(claim)),
        .intent = claim->intent,
        .state = claim->state,
        .was_created = claim->was_created,
        .is_open = claim->there == THERE_OPEN ||
                   (claim->pending && claim->pending->flight && claim->intent != CLAIM_LOOK),
        .was_sent = claim->was_sent,
        .is_in_way = claim->is_evicted,
        .is_inherited = claim->is_inherited,
        .is_uncertain = claim->is_uncertain,
        .is_heir = is_heir(engine, claim),
        .is_foreign = claim->is_foreign,
        .is_shared = claim->state == RECEIPT_SETTLED && claim->loser_to != NO_ID,
        .settled_s = claim->settled_s,
    };
    memcpy(receipt.hash, claim->there_hash, sizeof receipt.hash);
    if (pending)
        receipt_add_pending(engine, &receipt, pending);
    receipt.is_in_line = pending && pending->is_due && is_line_moving(claim_lane(engine, claim));
    receipt.found = found_of(engine->arena, claim);
    if (claim->state == RECEIPT_LOST && holder_of(engine, claim) != NO_ID)
        receipt_add_holder(engine, &receipt, claim->loser_to);
    return receipt;
}

void book_fill_receipts(struct engine *engine, uint32_t key, struct snapshot *snapshot)
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

const struct receipt *snapshot_receipt(const struct snapshot *snapshot, const char *book,
                                       enum record_type type, struct text domain,
                                       struct text subdomain)
{
    for (size_t i = 0; i < snapshot->receipt_count; i++) {
        const struct receipt *receipt = &snapshot->receipts[i];
        if (receipt->type == type && !strcmp(receipt->book, book) &&
            text_equal(receipt->domain, domain) && text_equal(receipt->subdomain, subdomain))
            return receipt;
    }
    return NULL;
}

bool book_is_settled(const struct engine *engine, uint32_t key)
{
    uint32_t first = engine->keys[key].first_claim;
    for (uint32_t id = first; id != NO_ID; id = engine->claims[id].next_of_key)
        if (engine->claims[id].state != RECEIPT_SETTLED)
            return false;
    return first != NO_ID;
}

// ---- what came of a talk ------------------------------------------------------------------------

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

static int64_t retry_delay(const struct lane *lane, unsigned attempts, const struct error *error)
{
    if (error->retry_ms > 0)
        return error->retry_ms;
    if (attempts > lane->retry_attempts || error->fault == FAULT_SPEC)
        return lane->retry_slow_ms;
    int64_t delay = lane->retry_base_ms;
    for (unsigned i = 1; i < attempts && delay < lane->retry_max_ms; i++)
        delay *= 2;
    return delay < lane->retry_max_ms ? delay : lane->retry_max_ms;
}

// Those that share with it, too.
static void wake_sharers(struct engine *engine, uint32_t id)
{
    uint32_t at = first_of_name(engine, &engine->claims[id]);
    for (; at != NO_ID; at = engine->claims[at].next_of_name) {
        const struct claim *claim = &engine->claims[at];
        if (claim->loser_to == id && !claim->is_forgotten)
            key_wake(engine, claim->key, QUEUE_USER);
    }
}

void claim_fail(struct engine *engine, uint32_t id, const struct error *error, const char *trace)
{
    struct claim *claim = &engine->claims[id];
    struct lane *lane = claim_lane(engine, claim);
    struct pending *pending = claim_pending(engine, claim);
    int64_t delay;
    pending->attempts++;
    free(pending->failure);
    pending->failure = failure_new(error, loop_unix_ms(engine->loop), trace);
    delay = lane ? retry_delay(lane, pending->attempts, error) : 0;
    pending->next_unix_ms = loop_unix_ms(engine->loop) + delay;
    queue_forget(engine->due, id);
    queue_after(engine->due, id, QUEUE_USER, loop_mono_ms(engine->loop) + delay);
    if (pending->is_due)
        lane_unqueue(claim_lane(engine, claim), id);
    key_wake(engine, claim->key, QUEUE_USER);
    wake_sharers(engine, id);
    engine_schedule(engine);
}

// Not of a look that was called off meanwhile.
static void claim_looked(struct engine *engine, struct claim *claim, const struct outcome *outcome)
{
    claim_clear_failure(claim->pending);
    if (claim->intent != CLAIM_LOOK)
        return;
    claim->was_looked = true;
    claim->is_uncertain = !outcome->is_done || outcome->is_uncertain;
    pending_set_content(engine, claim->pending, outcome->found);
}

// The backend answered, but not with what stands there: asking again would give the same.
static bool is_unreadable(const struct error *error)
{
    bool is_passing = error->status == 0 || error->status == 408 ||
                      (error->status >= 502 && error->status <= 504);
    return error->fault == FAULT_SPEC || (error->fault == FAULT_AGAIN && !is_passing);
}

static void claim_done(struct engine *engine, struct claim *claim, const struct outcome *outcome,
                       enum change_op op, const uint8_t hash[FINGERPRINT_OCTETS])
{
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
    claim_clear_failure(claim->pending);
}

// How long the content was wanted before it stood there.
static void count_programmed(struct engine *engine, const struct claim *claim)
{
    struct controller_state *state = &engine->controllers[engine->keys[claim->key].controller];
    if (claim->there == THERE_SET && is_match(claim))
        histogram_add(&state->programmed_seconds,
                      loop_mono_ms(engine->loop) - claim->pending->since_ms);
}

static void claim_is_unanswered(struct engine *engine, uint32_t id, enum change_op op)
{
    struct claim *claim = &engine->claims[id];
    if (claim->pending)
        claim->pending->flight = NULL;
    if (op != CHANGE_READ)
        claim->there = THERE_OPEN;
}

void claim_unanswered(struct engine *engine, uint32_t id, enum change_op op)
{
    claim_is_unanswered(engine, id, op);
    if (engine->claims[id].is_forgotten)
        claim_drop(engine, id);
}

void claim_finish(struct engine *engine, uint32_t id, const struct change *change,
                  const uint8_t hash[FINGERPRINT_OCTETS], const char *trace)
{
    struct claim *claim = &engine->claims[id];
    claim->pending->flight = NULL;
    if (claim->is_forgotten) {
        claim_bury(engine, id);
        return;
    }
    if (change->op == CHANGE_READ &&
        (change->outcome.is_done || is_unreadable(change->outcome.error))) {
        claim_looked(engine, claim, &change->outcome);
    } else if (change->outcome.is_done) {
        claim_done(engine, claim, &change->outcome, change->op, hash);
        count_programmed(engine, claim);
    } else {
        if (change->outcome.error->fault == FAULT_AGAIN)
            claim_unanswered(engine, id, change->op);
        else if (change->outcome.replaced)
            claim->there = THERE_NOTHING;
        claim_fail(engine, id, change->outcome.error, trace);
    }
    key_wake(engine, claim->key, QUEUE_USER);
    book_replan(engine, id);
}

void claim_put_back(struct engine *engine, uint32_t id, enum change_op op)
{
    if (engine->claims[id].is_forgotten) {
        claim_bury(engine, id);
        return;
    }
    claim_is_unanswered(engine, id, op);
    book_replan(engine, id);
}

uint32_t claims_at(struct engine *engine, uint16_t book, const char *name)
{
    struct book_name at = {book, name};
    uint32_t first = table_find(names(engine), name_hash(book, name), &at);
    return first == TABLE_NONE ? NO_ID : first;
}

// ---- what a list shows --------------------------------------------------------------------------

// One that lost against the same key has nothing there: what stands is the holder's.
static bool is_beside(const struct engine *engine, const struct claim *claim)
{
    return claim->state == RECEIPT_LOST && claim->loser_to != NO_ID &&
           is_same_key(claim, &engine->claims[claim->loser_to]);
}

static bool is_wanted_hash(const struct claim *claim, const uint8_t *hash)
{
    return hash && claim_wants(claim, hash);
}

static enum claim_there find_there(const struct claim *claim, const uint8_t *ours,
                                   const uint8_t *theirs, bool is_crowded)
{
    bool is_quarrel = ours && (is_crowded || (theirs && !is_wanted_hash(claim, theirs)));
    bool is_adoptable = theirs && claim->pending && claim->pending->may_adopt;
    if (is_quarrel || (is_adoptable && !ours))
        return THERE_OPEN; // the talk settles it
    if (ours || (claim->intent == CLAIM_SET && is_wanted_hash(claim, theirs)))
        return THERE_SET;
    return THERE_NOTHING;
}

// It waited for somebody else's to go.
static bool has_way(const struct claim *claim, const uint8_t *theirs, bool is_crowded)
{
    const struct pending *pending = claim->pending;
    return !theirs && !is_crowded && pending && pending->failure &&
           pending->failure->fault == FAULT_WAIT;
}

void claim_found(struct engine *engine, uint32_t id, const uint8_t *ours, const uint8_t *theirs,
                 bool is_crowded)
{
    struct claim *claim = &engine->claims[id];
    if (is_beside(engine, claim))
        return;
    if (has_way(claim, theirs, is_crowded))
        claim->pending->next_unix_ms = 0;
    uint32_t face = claim_face(claim);
    bool was_satisfied = claim_is_satisfied(claim);
    claim->there = find_there(claim, ours, theirs, is_crowded);
    claim->is_foreign = claim->there == THERE_SET && !ours;
    if (claim->there == THERE_SET)
        claim_set_there(engine, claim, ours ? ours : theirs);
    if (claim_is_satisfied(claim))
        claim_clear_failure(claim->pending);
    else if (was_satisfied && claim->state == RECEIPT_SETTLED)
        claim_lane(engine, claim)->repaired++;
    if (!was_satisfied || !claim_is_satisfied(claim) || claim_face(claim) != face)
        book_replan(engine, id);
    wake_if_other(engine, id, face);
}

void books_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->claim_used; id++) {
        pending_free(engine->claims[id].pending);
        if (engine->claims[id].name)
            name_free(engine->claims[id].name);
    }
    free(engine->claims);
    slab_free(engine->claim_slab);
    table_done(&engine->by_name);
    for (size_t i = 0; i < engine->book_count; i++)
        free(engine->books[i].url);
    free(engine->books);
}
