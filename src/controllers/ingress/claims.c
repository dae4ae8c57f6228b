#include "controllers/ingress/turn.h"

#include <string.h>

// What is claimed at each Pi-hole: first what the object asks for, then what is left over of what
// it had.

static const enum record_type types[] = {RECORD_A, RECORD_AAAA, RECORD_CNAME};

static bool is_registered(const struct turn *turn)
{
    return turn->wants.is_registered;
}

static bool is_frozen(const struct turn *turn)
{
    return is_registered(turn) && turn->wants.is_frozen;
}

// Its object is going, finalizer and all: what a predecessor made for it goes first.
static bool inherits(const struct turn *turn)
{
    return turn->is_going && turn->was_foreign && turn->targets->adopts;
}

static bool has_list(const struct turn *turn)
{
    return turn->is_marked || inherits(turn);
}

static struct claim_want *claim(struct turn *turn, const struct pihole_target *target,
                                enum record_type type, struct text name, enum claim_intent intent)
{
    struct claim_want *want = verdict_add_claim(turn->out, turn->arena);
    size_t count;
    struct standing *standing = turn_find(turn, name, &count);
    want->lane = target->lane;
    want->book = target->url;
    want->intent = intent;
    want->epoch = turn->epoch;
    want->may_adopt = inherits(turn) && turn_manages(turn, name);
    want->set = (struct record_set){.type = type,
                                    .domain = name,
                                    .subdomain = TEXT("@"),
                                    .priority = -1,
                                    .weight = -1,
                                    .port = -1};
    for (size_t i = 0; i < count; i++)
        if (standing[i].receipt->type == type && !strcmp(standing[i].receipt->book, target->url))
            standing[i].is_named = true;
    return want;
}

// ---- what is wanted -----------------------------------------------------------------------------

static bool waits_for_finalizer(const struct turn *turn)
{
    return turn->targets->has_finalizer && !turn->in->subject->has_finalizer && !turn->in->refused;
}

static void set(struct turn *turn, const struct pihole_target *target, enum record_type type,
                struct text name, const struct text *values, size_t count)
{
    if (!count)
        return;
    struct claim_want *want = claim(turn, target, type, name, CLAIM_SET);
    want->set.values = values;
    want->set.value_count = count;
    want->set.ttl_s = type == RECORD_CNAME ? turn->wants.cname_ttl_s : 0;
    want->is_held = waits_for_finalizer(turn);
    want->may_adopt = turn->was_foreign && turn->targets->adopts && turn_manages(turn, name);
}

static void set_name(struct turn *turn, const struct want_target *at, struct text name)
{
    const struct wants *wants = &turn->wants;
    if (wants->cname.len) {
        struct text *cname = arena_new_of(turn->in->arena, struct text); // outlives the turn
        *cname = wants->cname;
        set(turn, at->target, RECORD_CNAME, name, cname, 1);
        return;
    }
    set(turn, at->target, RECORD_A, name, at->addresses->v4, at->addresses->v4_count);
    set(turn, at->target, RECORD_AAAA, name, at->addresses->v6, at->addresses->v6_count);
}

static void set_all(struct turn *turn)
{
    const struct wants *wants = &turn->wants;
    for (size_t i = 0; i < wants->target_count; i++) {
        const struct want_target *at = &wants->targets[i];
        if (!at->is_in_reach || at->missing)
            continue;
        for (size_t k = 0; k < wants->name_count; k++)
            set_name(turn, at, wants->names[k]);
    }
}

// ---- what is left over --------------------------------------------------------------------------

static const struct want_target *want_at(const struct turn *turn,
                                         const struct pihole_target *target)
{
    for (size_t i = 0; i < turn->wants.target_count; i++)
        if (turn->wants.targets[i].target == target)
            return &turn->wants.targets[i];
    return NULL;
}

// Nobody knows what it should be now: it stays as it is.
static bool stays(const struct turn *turn, const struct pihole_target *target, struct text name)
{
    const struct want_target *at = want_at(turn, target);
    if (is_frozen(turn))
        return true;
    return is_registered(turn) && at && at->is_in_reach && at->missing && turn_wants(turn, name);
}

// Another has the name, and nothing of ours is in its way.
static bool is_lost(const struct receipt *receipt)
{
    return receipt->state == RECEIPT_LOST && !receipt->is_in_way && !receipt->is_open;
}

static bool is_remembered(const struct turn *turn, struct text name)
{
    return has_list(turn) && turn_manages(turn, name);
}

// managed-hosts is to forget it first: as long as it stands there, it is asked for, and what is
// dropped here would be recalled at once.
static bool is_over(const struct turn *turn, const struct receipt *receipt, bool is_kept)
{
    if (is_remembered(turn, receipt->domain))
        return is_lost(receipt) && !is_kept;
    return is_lost(receipt) || turn_is_settled(receipt, CLAIM_REMOVE);
}

static void leave(struct turn *turn, const struct receipt *receipt)
{
    const struct pihole_target *target = turn_target(turn, receipt->book);
    if (!target)
        return;
    bool is_kept = receipt->intent != CLAIM_REMOVE && stays(turn, target, receipt->domain);
    if (!is_over(turn, receipt, is_kept))
        claim(turn, target, receipt->type, receipt->domain, is_kept ? CLAIM_KEEP : CLAIM_REMOVE);
}

// Their receipts are gone with the process before this one: of which type they were is not known.
static void recall(struct turn *turn, struct text name)
{
    size_t count;
    bool is_wanted = turn_wants(turn, name);
    turn_find(turn, name, &count);
    for (size_t i = 0; !count && i < turn->wants.target_count; i++) {
        const struct want_target *at = &turn->wants.targets[i];
        bool is_kept = stays(turn, at->target, name);
        if (!at->is_in_reach || (is_registered(turn) && is_wanted && !is_kept))
            continue;
        for (size_t k = 0; k < COUNT_OF(types); k++)
            claim(turn, at->target, types[k], name, is_kept ? CLAIM_KEEP : CLAIM_REMOVE);
    }
}

// ---- the finalizer ------------------------------------------------------------------------------

static bool has_left(const struct turn *turn)
{
    for (size_t i = 0; i < turn->standing_count; i++)
        if (turn->standing[i].is_named && !turn_is_settled(turn->standing[i].receipt, CLAIM_REMOVE))
            return false;
    for (size_t i = 0; i < turn->out->claim_count; i++) {
        size_t count;
        turn_find(turn, turn->out->claims[i].set.domain, &count);
        if (!count)
            return false;
    }
    return true;
}

static void choose_finalizer(struct turn *turn)
{
    struct text policy = turn->source->wishes.at[PIHOLE_DELETION_POLICY];
    bool is_wanted = turn->targets->has_finalizer && is_registered(turn);
    bool is_free = !turn->targets->has_finalizer && !turn->is_going;
    if (is_wanted)
        turn->out->finalizer = FINALIZER_ADD;
    else if (is_free || has_left(turn) || (turn->is_going && text_is(text_trim(policy), "orphan")))
        turn->out->finalizer = FINALIZER_REMOVE;
}

void turn_claim(struct turn *turn)
{
    if (is_registered(turn) && !is_frozen(turn))
        set_all(turn);
    for (size_t i = 0; i < turn->standing_count; i++)
        if (!turn->standing[i].is_named)
            leave(turn, turn->standing[i].receipt);
    for (size_t i = 0; has_list(turn) && i < turn->managed_count; i++)
        recall(turn, turn->managed[i]);
    if (turn->source)
        choose_finalizer(turn);
}
