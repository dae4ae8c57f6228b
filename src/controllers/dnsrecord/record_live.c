#include "base/must.h"
#include "controllers/dnsrecord/events.def"
#include "controllers/dnsrecord/record_reconcile.h"
#include "dns/plan.h"

// A record that is to exist: claim its key, send it, and deal with the keys that it had before.

// ---- what keeps a record from being sent --------------------------------------------------------

static bool report_if_paused(struct record_reconcile *reconcile)
{
    if (!reconcile->record.is_paused)
        return false;
    record_report(reconcile, REASON_PAUSED,
                  "paused by the annotation dns.homelab.mortenolsen.pro/paused: "
                  "remove it to go on");
    return true;
}

static bool report_if_invalid(struct record_reconcile *reconcile)
{
    if (reconcile->is_valid)
        return false;
    record_report(reconcile, REASON_VALIDATION_FAILED, reconcile->faults);
    return true;
}

static bool report_if_classless(struct record_reconcile *reconcile)
{
    if (reconcile->class_object)
        return false;
    record_report(reconcile, REASON_DNS_CLASS_NOT_FOUND,
                  arena_printf(reconcile->arena,
                               "DNSClass %.*s does not exist: create it or change "
                               "spec.dnsClassRef.name",
                               TEXT_ARGS(reconcile->record.class_name)));
    return true;
}

static bool report_if_class_is_unusable(struct record_reconcile *reconcile)
{
    if (!reconcile->class_faults && reconcile->server.len)
        return false;
    record_report(
        reconcile, REASON_INVALID_CONFIGURATION,
        arena_printf(reconcile->arena, "DNSClass %.*s can't be used: %s",
                     TEXT_ARGS(reconcile->record.class_name),
                     reconcile->class_faults ? reconcile->class_faults : "it has no server"));
    return true;
}

static const struct value *offer_of(const struct record_reconcile *reconcile, const char *key)
{
    const struct backend_view *backend = reconcile->backend;
    if (!backend || !backend->is_answer_ok || !text_is(reconcile->server, backend->registry))
        return NULL;
    return value_find(value_find(backend->answer, "capabilities"), key);
}

static bool report_if_type_is_not_offered(struct record_reconcile *reconcile)
{
    const struct value *types = offer_of(reconcile, "types");
    const char *type = record_type_name(reconcile->set.type);
    if (value_count(types) == 0 || types->type != VALUE_LIST)
        return false;
    value_each (item, types)
        if (text_is(value_text(item), type))
            return false;
    record_report(reconcile, REASON_VALIDATION_FAILED,
                  arena_printf(reconcile->arena, "the server offers no records of type %s", type));
    return true;
}

static bool report_if_zone_is_not_served(struct record_reconcile *reconcile)
{
    const struct value *zones = offer_of(reconcile, "zones");
    struct text zone;
    if (value_count(zones) == 0 || zones->type != VALUE_LIST)
        return false;
    value_each (item, zones)
        if (domain_normalise(reconcile->arena, value_text(item), &zone, NULL) &&
            name_is_within(reconcile->fqdn, zone))
            return false;
    record_report(reconcile, REASON_VALIDATION_FAILED,
                  arena_printf(reconcile->arena, "the server serves no zone that %.*s is in",
                               TEXT_ARGS(reconcile->fqdn)));
    return true;
}

// Each returns true if it has something to report; the first one counts.
static bool (*const obstacles[])(struct record_reconcile *) = {
    report_if_paused,
    report_if_invalid,
    report_if_classless,
    report_if_class_is_unusable,
    report_if_type_is_not_offered,
    report_if_zone_is_not_served,
};

static bool has_obstacle(struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < COUNT_OF(obstacles); i++)
        if (obstacles[i](reconcile))
            return true;
    return false;
}

// ---- keys that the record had before ------------------------------------------------------------

static bool is_same_name(const struct record_reconcile *reconcile, const struct dnsrecord_claim *a,
                         const struct dnsrecord_claim *b)
{
    struct text left, right;
    return record_name_join(reconcile->arena, a->domain, a->subdomain, &left, NULL) &&
           record_name_join(reconcile->arena, b->domain, b->subdomain, &right, NULL) &&
           text_equal(left, right);
}

bool record_excludes(const struct record_reconcile *reconcile, const struct record_key *old,
                     const struct record_key *wanted)
{
    return text_equal(old->claim.server, wanted->claim.server) &&
           plan_excludes(old->claim.type, wanted->claim.type) &&
           is_same_name(reconcile, &old->claim, &wanted->claim);
}

// True if its class is gone, no backend is left at its server, and orphan-after is over. If only
// the time is not over yet, schedules the reconciliation that finds it so.
static bool may_give_up(struct record_reconcile *reconcile, const struct record_key *old)
{
    const struct backend_view *backend = record_find_backend(reconcile, old->claim.class_name);
    bool has_backend = backend && (backend->is_open || backend->is_lingering) &&
                       text_is(old->claim.server, backend->registry);
    if (record_find_class(reconcile, old->claim.class_name) || has_backend)
        return false;
    int64_t until_ms = record_orphan_ms(reconcile);
    if (reconcile->snapshot->now_ms >= until_ms)
        return true;
    decision_wake_at(reconcile->out, until_ms);
    return false;
}

// `may_drop`: when it is removed, the annotation need not have it any more.
static void remove_old_key(struct record_reconcile *reconcile, struct record_key *old,
                           bool may_drop)
{
    old->intent = CLAIM_REMOVE;
    old->is_suspended = !record_may_send(reconcile, old);
    if (record_is_settled(old)) {
        old->is_left_out = may_drop;
        if (may_drop && old->receipt->is_uncertain)
            record_add_key_event(reconcile, old, true, EVENT_DELETE_UNCERTAIN,
                                 "may still exist: the server's answer to its "
                                 "deletion was unclear");
    } else if (may_give_up(reconcile, old)) {
        old->is_left_out = true;
        record_add_key_event(reconcile, old, true, EVENT_RECORD_ORPHANED,
                             "may still exist: its class is gone");
    }
}

// Make before break: an old key goes when the new one stands, or before, if one server can't have
// both. At a server that its class has left nothing is deleted.
static void retire_old_key(struct record_reconcile *reconcile, struct record_key *old,
                           struct record_key *wanted)
{
    bool is_done = record_is_settled(wanted);
    old->claim.refusal = NULL;
    if (record_has_moved(reconcile, old)) {
        old->is_left_out = is_done;
        return;
    }
    if (record_excludes(reconcile, old, wanted) || is_done)
        remove_old_key(reconcile, old, is_done);
}

// ---- the key of the spec ------------------------------------------------------------------------

static const char *holder_of(const struct record_reconcile *reconcile,
                             const struct receipt *receipt)
{
    struct text holder = receipt->holder;
    bool is_near = text_equal(receipt->holder_namespace, reconcile->snapshot->namespace_);
    if (!is_near && !reconcile->settings.conflict_names)
        return "an object of another namespace";
    if (text_starts(holder, "DNSRecord "))
        holder = (struct text){holder.at + 10, holder.len - 10};
    return record_copy_text(reconcile, holder);
}

// The loser sends nothing and keeps its other keys. The lost one leaves the annotation, unless
// something of it is in the winner's way.
static void give_way(struct record_reconcile *reconcile, struct record_key *wanted)
{
    wanted->is_left_out = !record_is_in_way(wanted);
    wanted->is_suspended = true;
    record_report(reconcile, REASON_CONFLICT,
                  arena_printf(reconcile->arena, "%s is held by %s",
                               record_key_name(reconcile, &wanted->claim),
                               holder_of(reconcile, wanted->receipt)));
}

static struct record_key *find_applied_last(struct record_reconcile *reconcile,
                                            const struct record_key *wanted)
{
    struct record_key *last = NULL;
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        if (key == wanted || key->is_left_out)
            continue;
        int64_t time_s = key->applied ? key->applied->time_s : -1;
        if (!last || time_s >= (last->applied ? last->applied->time_s : -1))
            last = key;
    }
    return last;
}

// The annotation is full: all old keys but the one that was applied last are removed, and `wanted`
// waits for that. Those at a server that their class has left are given up, as no backend is there.
static void make_room(struct record_reconcile *reconcile, struct record_key *wanted)
{
    const struct record_key *last = find_applied_last(reconcile, wanted);
    wanted->is_left_out = true;
    wanted->is_suspended = true;
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        if (key == wanted || key == last)
            continue;
        if (record_has_moved(reconcile, key))
            key->is_left_out = true;
        else
            remove_old_key(reconcile, key, true);
    }
    record_report(reconcile, REASON_PENDING,
                  "waits until the names that the record had are deleted");
}

static size_t count_others(const struct record_reconcile *reconcile,
                           const struct record_key *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < reconcile->key_count; i++)
        count += &reconcile->keys[i] != wanted && !reconcile->keys[i].is_left_out;
    return count;
}

// Before `wanted` is put into the annotation: learns what stands at the old keys that it excludes.
// False, and `wanted` is left out, until that is known.
static bool prepare_old_keys(struct record_reconcile *reconcile, struct record_key *wanted)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        if (key == wanted)
            continue;
        key->claim.refusal = NULL;
        if (!key->claim.was && record_excludes(reconcile, key, wanted) &&
            !record_learn_was(reconcile, key))
            wanted->is_left_out = true;
    }
    return !wanted->is_left_out;
}

static void report_old_failures(struct record_reconcile *reconcile, const struct record_key *wanted)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        const struct record_key *key = &reconcile->keys[i];
        if (key == wanted || key->intent != CLAIM_REMOVE)
            continue;
        if (record_failed_earlier(key)) {
            reconcile->reported = (struct record_reported){0};
            return;
        }
        if (!record_has_failed(key))
            continue;
        reconcile->reported.message = arena_printf(
            reconcile->arena, "%s; %s can't be deleted yet: %s", reconcile->reported.message,
            record_key_name(reconcile, &key->claim), key->receipt->error.text);
        reconcile->reported.attempt = key->receipt;
        return;
    }
}

static void report_progress(struct record_reconcile *reconcile, struct record_key *wanted)
{
    if (record_is_settled(wanted)) {
        record_report_success(reconcile, wanted);
        report_old_failures(reconcile, wanted);
    } else if (record_is_refusal(wanted->receipt)) {
        record_report_refusal(reconcile, wanted);
    } else if (record_has_failed(wanted)) {
        record_report_failure(reconcile, wanted->receipt, "");
    } else if (!record_failed_earlier(wanted) && record_may_send(reconcile, wanted)) {
        // Until it may be sent it waits for our own write, and Pending would be one more of those.
        record_report_waiting(reconcile, wanted);
    }
}

static void pursue(struct record_reconcile *reconcile, struct record_key *wanted)
{
    struct record_key *old = wanted->is_stored ? NULL : record_find_stand_in(reconcile, wanted);
    if (old) {
        record_stand_in(reconcile, old, wanted);
        return;
    }
    wanted->intent = CLAIM_SET;
    wanted->content = &reconcile->set;
    wanted->is_suspended = !record_may_send(reconcile, wanted);
    if (record_has_lost(wanted)) {
        give_way(reconcile, wanted);
        return;
    }
    if (!wanted->is_stored && count_others(reconcile, wanted) >= DNSRECORD_CLAIMS_MAX) {
        make_room(reconcile, wanted);
        return;
    }
    if (!record_is_clear_to_write(reconcile, wanted))
        return;
    if ((wanted->is_suspended || wanted->intent == CLAIM_LOOK) &&
        !prepare_old_keys(reconcile, wanted))
        return;
    if (wanted->intent == CLAIM_LOOK)
        return;
    for (size_t i = 0; i < reconcile->key_count && !wanted->is_suspended; i++)
        if (&reconcile->keys[i] != wanted && !reconcile->keys[i].is_left_out)
            retire_old_key(reconcile, &reconcile->keys[i], wanted);
    report_progress(reconcile, wanted);
}

// The class's Secret is missing, say: nothing can be sent, what stands is kept. Nor is anything
// noted anew at a class that this process has not looked at yet.
static bool is_backend_shut(const struct record_reconcile *reconcile,
                            const struct record_key *wanted)
{
    const struct backend_view *backend = reconcile->backend;
    return backend ? backend->fault.fault != FAULT_NONE && *backend->fault.reason
                   : !wanted->is_stored;
}

static void wait_for_backend(struct record_reconcile *reconcile, struct record_key *wanted)
{
    wanted->is_left_out = !wanted->is_stored;
    wanted->is_suspended = true;
    if (!wanted->is_stored) {
        wanted->intent = CLAIM_SET;
        wanted->content = &reconcile->set;
    }
    if (record_has_lost(wanted)) {
        give_way(reconcile, wanted);
        return;
    }
    const struct backend_view *backend = reconcile->backend;
    enum reason reason = backend ? reason_find(text_of(backend->fault.reason)) : REASON_PENDING;
    if (reason == REASON_PENDING)
        record_report_waiting(reconcile, wanted);
    else
        record_report(reconcile, reason == REASON_NONE ? REASON_INVALID_CONFIGURATION : reason,
                      arena_printf(reconcile->arena, "DNSClass %.*s can't be used: %s",
                                   TEXT_ARGS(reconcile->record.class_name), backend->fault.text));
}

// A name that another claim has won leaves the annotation: the winner replaces what stands there.
static void drop_lost(struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (record_has_lost(&reconcile->keys[i]))
            reconcile->keys[i].is_left_out = !record_is_in_way(&reconcile->keys[i]);
}

void record_live(struct record_reconcile *reconcile)
{
    drop_lost(reconcile);
    if (has_obstacle(reconcile))
        return;
    struct dnsrecord_claim claim = record_claim_of_spec(reconcile);
    struct record_key *wanted = record_add_key(reconcile, &claim);
    // At most 8 of the annotation, or of the status, one of a spec that was sent before, and this.
    must(wanted);
    // The spec wants it again: `was` and `refusal`, if it has them, are of a change that is over.
    claim.replaces = wanted->claim.replaces;
    wanted->claim = claim;
    wanted->is_left_out = false;
    reconcile->wanted = wanted;
    if (is_backend_shut(reconcile, wanted))
        wait_for_backend(reconcile, wanted);
    else
        pursue(reconcile, wanted);
}
