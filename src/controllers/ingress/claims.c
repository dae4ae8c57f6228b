#include "controllers/ingress/reconcile.h"

#include <string.h>

// What is claimed at each Pi-hole: first what the object asks for, then what is left over of what
// it had.

static const enum record_type types[] = {RECORD_A, RECORD_AAAA, RECORD_CNAME};

static bool is_registered(const struct reconcile *reconcile)
{
    return reconcile->wants.is_registered;
}

static bool is_frozen(const struct reconcile *reconcile)
{
    return is_registered(reconcile) && reconcile->wants.is_frozen;
}

// True if the object is being deleted, and its list is that of a predecessor whose entries we
// adopt: they go before the finalizer does.
static bool inherits(const struct reconcile *reconcile)
{
    return reconcile->is_going && reconcile->was_foreign && reconcile->targets->adopts;
}

static bool has_list(const struct reconcile *reconcile)
{
    return reconcile->is_marked || inherits(reconcile);
}

static struct claim_want *add_claim(struct reconcile *reconcile, const struct pihole_target *target,
                                    enum record_type type, struct text name,
                                    enum claim_intent intent)
{
    struct claim_want *want = decision_add_claim(reconcile->out, reconcile->arena);
    size_t count;
    struct standing *standing = reconcile_find(reconcile, name, &count);
    want->backend = target->backend;
    want->registry = target->url;
    want->intent = intent;
    want->epoch = reconcile->epoch;
    want->may_adopt = inherits(reconcile) && reconcile_manages(reconcile, name);
    want->set = (struct record_set){.type = type,
                                    .domain = name,
                                    .subdomain = TEXT("@"),
                                    .priority = -1,
                                    .weight = -1,
                                    .port = -1};
    for (size_t i = 0; i < count; i++)
        if (standing[i].receipt->type == type &&
            !strcmp(standing[i].receipt->registry, target->url))
            standing[i].is_named = true;
    return want;
}

// ---- what is wanted -----------------------------------------------------------------------------

static bool waits_for_finalizer(const struct reconcile *reconcile)
{
    return reconcile->targets->has_finalizer && !reconcile->in->subject->has_finalizer &&
           !reconcile->in->refused;
}

static void want_set(struct reconcile *reconcile, const struct pihole_target *target,
                     enum record_type type, struct text name, const struct text *values,
                     size_t count)
{
    if (!count)
        return;
    struct claim_want *want = add_claim(reconcile, target, type, name, CLAIM_SET);
    want->set.values = values;
    want->set.value_count = count;
    want->set.ttl_s = type == RECORD_CNAME ? reconcile->wants.cname_ttl_s : 0;
    want->is_suspended = waits_for_finalizer(reconcile);
    want->may_adopt =
        reconcile->was_foreign && reconcile->targets->adopts && reconcile_manages(reconcile, name);
}

static void want_name(struct reconcile *reconcile, const struct want_target *at, struct text name)
{
    const struct wants *wants = &reconcile->wants;
    if (wants->cname.len) {
        struct text *cname =
            arena_new_of(reconcile->in->arena, struct text); // outlives the reconciliation
        *cname = wants->cname;
        want_set(reconcile, at->target, RECORD_CNAME, name, cname, 1);
        return;
    }
    want_set(reconcile, at->target, RECORD_A, name, at->addresses->v4, at->addresses->v4_count);
    want_set(reconcile, at->target, RECORD_AAAA, name, at->addresses->v6, at->addresses->v6_count);
}

static void want_all_names(struct reconcile *reconcile)
{
    const struct wants *wants = &reconcile->wants;
    for (size_t i = 0; i < wants->target_count; i++) {
        const struct want_target *at = &wants->targets[i];
        if (!at->is_in_reach || at->missing)
            continue;
        for (size_t k = 0; k < wants->name_count; k++)
            want_name(reconcile, at, wants->names[k]);
    }
}

// ---- what is left over --------------------------------------------------------------------------

static const struct want_target *want_at(const struct reconcile *reconcile,
                                         const struct pihole_target *target)
{
    for (size_t i = 0; i < reconcile->wants.target_count; i++)
        if (reconcile->wants.targets[i].target == target)
            return &reconcile->wants.targets[i];
    return NULL;
}

// Nobody knows what it should be now: it stays as it is.
static bool stays(const struct reconcile *reconcile, const struct pihole_target *target,
                  struct text name)
{
    const struct want_target *at = want_at(reconcile, target);
    if (is_frozen(reconcile))
        return true;
    return is_registered(reconcile) && at && at->is_in_reach && at->missing &&
           reconcile_wants(reconcile, name);
}

// Another has the name, and nothing of ours is in its way.
static bool has_lost(const struct receipt *receipt)
{
    return receipt->state == RECEIPT_LOST && !receipt->is_in_way && !receipt->is_open;
}

static bool is_remembered(const struct reconcile *reconcile, struct text name)
{
    return has_list(reconcile) && reconcile_manages(reconcile, name);
}

// True if no claim is needed any more. A name in managed-hosts needs one until it is out of there:
// without one claim_managed() would take it for a name from before this process.
static bool is_over(const struct reconcile *reconcile, const struct receipt *receipt, bool is_kept)
{
    if (is_remembered(reconcile, receipt->domain))
        return has_lost(receipt) && !is_kept;
    return has_lost(receipt) || reconcile_is_settled(receipt, CLAIM_REMOVE);
}

static void claim_leftover(struct reconcile *reconcile, const struct receipt *receipt)
{
    const struct pihole_target *target = reconcile_target(reconcile, receipt->registry);
    if (!target)
        return;
    bool is_kept = receipt->intent != CLAIM_REMOVE && stays(reconcile, target, receipt->domain);
    if (!is_over(reconcile, receipt, is_kept))
        add_claim(reconcile, target, receipt->type, receipt->domain,
                  is_kept ? CLAIM_KEEP : CLAIM_REMOVE);
}

// A name in managed-hosts without receipts is from before this process: which types its records
// have is not known.
static void claim_managed(struct reconcile *reconcile, struct text name)
{
    size_t count;
    bool is_wanted = reconcile_wants(reconcile, name);
    reconcile_find(reconcile, name, &count);
    for (size_t i = 0; !count && i < reconcile->wants.target_count; i++) {
        const struct want_target *at = &reconcile->wants.targets[i];
        bool is_kept = stays(reconcile, at->target, name);
        if (!at->is_in_reach || (is_registered(reconcile) && is_wanted && !is_kept))
            continue;
        for (size_t k = 0; k < COUNT_OF(types); k++)
            add_claim(reconcile, at->target, types[k], name, is_kept ? CLAIM_KEEP : CLAIM_REMOVE);
    }
}

// ---- the finalizer ------------------------------------------------------------------------------

static bool is_all_gone(const struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->standing_count; i++)
        if (reconcile->standing[i].is_named &&
            !reconcile_is_settled(reconcile->standing[i].receipt, CLAIM_REMOVE))
            return false;
    for (size_t i = 0; i < reconcile->out->claim_count; i++) {
        size_t count;
        reconcile_find(reconcile, reconcile->out->claims[i].set.domain, &count);
        if (!count)
            return false;
    }
    return true;
}

static void choose_finalizer(struct reconcile *reconcile)
{
    struct text policy = reconcile->source->annotations.at[PIHOLE_DELETION_POLICY];
    bool is_wanted = reconcile->targets->has_finalizer && is_registered(reconcile);
    bool is_free = !reconcile->targets->has_finalizer && !reconcile->is_going;
    if (is_wanted)
        reconcile->out->finalizer = FINALIZER_ADD;
    else if (is_free || is_all_gone(reconcile) ||
             (reconcile->is_going && text_is(text_trim(policy), "orphan")))
        reconcile->out->finalizer = FINALIZER_REMOVE;
}

void reconcile_claim(struct reconcile *reconcile)
{
    if (is_registered(reconcile) && !is_frozen(reconcile))
        want_all_names(reconcile);
    for (size_t i = 0; i < reconcile->standing_count; i++)
        if (!reconcile->standing[i].is_named)
            claim_leftover(reconcile, reconcile->standing[i].receipt);
    for (size_t i = 0; has_list(reconcile) && i < reconcile->managed_count; i++)
        claim_managed(reconcile, reconcile->managed[i]);
    if (reconcile->source)
        choose_finalizer(reconcile);
}
