#include "base/must.h"
#include "controllers/dnsrecord/record_turn.h"
#include "dns/plan.h"

// A record that is to exist: claim its key, send it, and deal with the keys that it had before.

// ---- what keeps a record from being sent --------------------------------------------------------

static bool refuse_paused(struct record_turn *turn)
{
    if (!turn->record.is_paused)
        return false;
    record_tell(turn, REASON_PAUSED,
                "paused by the annotation dns.homelab.mortenolsen.pro/paused: "
                "remove it to go on");
    return true;
}

static bool refuse_invalid(struct record_turn *turn)
{
    if (turn->is_valid)
        return false;
    record_tell(turn, REASON_VALIDATION_FAILED, turn->faults);
    return true;
}

static bool refuse_classless(struct record_turn *turn)
{
    if (turn->class_object)
        return false;
    record_tell(turn, REASON_DNS_CLASS_NOT_FOUND,
                arena_printf(turn->arena,
                             "DNSClass %.*s does not exist: create it or change "
                             "spec.dnsClassRef.name",
                             TEXT_ARGS(turn->record.class_name)));
    return true;
}

static bool refuse_bad_class(struct record_turn *turn)
{
    if (!turn->class_faults && turn->server.len)
        return false;
    record_tell(turn, REASON_INVALID_CONFIGURATION,
                arena_printf(turn->arena, "DNSClass %.*s can't be used: %s",
                             TEXT_ARGS(turn->record.class_name),
                             turn->class_faults ? turn->class_faults : "it has no server"));
    return true;
}

static const struct value *offer_of(const struct record_turn *turn, const char *key)
{
    const struct lane_view *lane = turn->lane;
    if (!lane || !lane->is_answer_ok || !text_is(turn->server, lane->book))
        return NULL;
    return value_find(value_find(lane->answer, "capabilities"), key);
}

static bool refuse_type(struct record_turn *turn)
{
    const struct value *types = offer_of(turn, "types");
    const char *type = record_type_name(turn->set.type);
    if (value_count(types) == 0 || types->type != VALUE_LIST)
        return false;
    value_each (item, types)
        if (text_is(value_text(item), type))
            return false;
    record_tell(turn, REASON_VALIDATION_FAILED,
                arena_printf(turn->arena, "server offers no type %s", type));
    return true;
}

static bool refuse_zone(struct record_turn *turn)
{
    const struct value *zones = offer_of(turn, "zones");
    struct text zone;
    if (value_count(zones) == 0 || zones->type != VALUE_LIST)
        return false;
    value_each (item, zones)
        if (domain_normalise(turn->arena, value_text(item), &zone, NULL) &&
            name_is_within(turn->fqdn, zone))
            return false;
    record_tell(turn, REASON_VALIDATION_FAILED,
                arena_printf(turn->arena, "server serves no zone of %.*s", TEXT_ARGS(turn->fqdn)));
    return true;
}

// The first that refuses tells why.
static bool (*const refusals[])(struct record_turn *) = {
    refuse_paused, refuse_invalid, refuse_classless, refuse_bad_class, refuse_type, refuse_zone,
};

static bool is_refused(struct record_turn *turn)
{
    for (size_t i = 0; i < COUNT_OF(refusals); i++)
        if (refusals[i](turn))
            return true;
    return false;
}

// ---- keys that the record had before ------------------------------------------------------------

static bool is_same_name(const struct record_turn *turn, const struct dnsrecord_claim *a,
                         const struct dnsrecord_claim *b)
{
    struct text left, right;
    return record_name_join(turn->arena, a->domain, a->subdomain, &left, NULL) &&
           record_name_join(turn->arena, b->domain, b->subdomain, &right, NULL) &&
           text_equal(left, right);
}

bool record_excludes(const struct record_turn *turn, const struct record_key *old,
                     const struct record_key *wanted)
{
    return text_equal(old->claim.server, wanted->claim.server) &&
           plan_excludes(old->claim.type, wanted->claim.type) &&
           is_same_name(turn, &old->claim, &wanted->claim);
}

// Nobody can delete it any more, and the time to wait for class and Secret is over.
static bool is_out_of_reach(struct record_turn *turn, const struct record_key *old)
{
    const struct lane_view *lane = record_find_lane(turn, old->claim.class_name);
    bool has_lane =
        lane && (lane->is_open || lane->is_lingering) && text_is(old->claim.server, lane->book);
    if (record_find_class(turn, old->claim.class_name) || has_lane)
        return false;
    int64_t until_ms = record_orphan_ms(turn);
    if (turn->snapshot->now_ms >= until_ms)
        return true;
    record_wake_at(turn, until_ms);
    return false;
}

static void remove_old(struct record_turn *turn, struct record_key *old, bool may_leave)
{
    old->intent = CLAIM_REMOVE;
    old->is_held = !record_may_send(turn, old);
    if (record_is_settled(old) && may_leave) {
        old->is_leaving = true;
        if (old->receipt->is_uncertain)
            record_note_key(turn, old, true, EVENT_DELETE_UNCERTAIN,
                            "may still exist: the server's answer to its "
                            "deletion was unclear");
    } else if (is_out_of_reach(turn, old)) {
        old->is_leaving = true;
        record_note_key(turn, old, true, EVENT_RECORD_ORPHANED,
                        "may still exist: its class is gone");
    }
}

static void follow(struct record_turn *turn, struct record_key *old, struct record_key *wanted)
{
    bool is_done = record_is_settled(wanted);
    old->claim.refusal = NULL;
    if (record_has_moved(turn, old)) {
        old->is_leaving = is_done;
        return;
    }
    if (record_excludes(turn, old, wanted) || is_done)
        remove_old(turn, old, is_done);
}

// ---- the key of the spec ------------------------------------------------------------------------

static const char *holder_of(const struct record_turn *turn, const struct receipt *receipt)
{
    struct text holder = receipt->holder;
    bool is_near = text_equal(receipt->holder_namespace, turn->snapshot->namespace_);
    if (!is_near && !turn->settings.conflict_names)
        return "an object of another namespace";
    if (text_starts(holder, "DNSRecord "))
        holder = (struct text){holder.at + 10, holder.len - 10};
    return record_text(turn, holder);
}

// The loser sends nothing; what else it has stays, the lost key is dropped without a deletion.
static void lose(struct record_turn *turn, struct record_key *wanted)
{
    wanted->is_leaving = !record_is_in_way(wanted);
    wanted->is_held = true;
    record_tell(turn, REASON_CONFLICT,
                arena_printf(turn->arena, "%s is held by %s", record_key_name(turn, &wanted->claim),
                             holder_of(turn, wanted->receipt)));
}

static struct record_key *find_youngest(struct record_turn *turn, const struct record_key *wanted)
{
    struct record_key *youngest = NULL;
    for (size_t i = 0; i < turn->key_count; i++) {
        struct record_key *key = &turn->keys[i];
        if (key == wanted || key->is_leaving)
            continue;
        int64_t time_s = key->applied ? key->applied->time_s : -1;
        if (!youngest || time_s >= (youngest->applied ? youngest->applied->time_s : -1))
            youngest = key;
    }
    return youngest;
}

// The annotation is full: older names go first, the last one that was served stays.
static void make_room(struct record_turn *turn, struct record_key *wanted)
{
    const struct record_key *youngest = find_youngest(turn, wanted);
    wanted->is_leaving = true;
    wanted->is_held = true;
    for (size_t i = 0; i < turn->key_count; i++)
        if (&turn->keys[i] != wanted && &turn->keys[i] != youngest)
            remove_old(turn, &turn->keys[i], true);
    record_tell(turn, REASON_PENDING, "waits until the names that the record had are deleted");
}

static size_t count_others(const struct record_turn *turn, const struct record_key *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < turn->key_count; i++)
        count += &turn->keys[i] != wanted && !turn->keys[i].is_leaving;
    return count;
}

// The key is written ahead: until that is done everything stays as it is. False while something is
// still to be found out for it.
static bool write_ahead(struct record_turn *turn, struct record_key *wanted)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        struct record_key *key = &turn->keys[i];
        if (key == wanted)
            continue;
        key->claim.refusal = NULL;
        if (!key->claim.was && record_excludes(turn, key, wanted) && !record_learn_was(turn, key))
            wanted->is_leaving = true;
    }
    return !wanted->is_leaving;
}

static void tell_old_failures(struct record_turn *turn, const struct record_key *wanted)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        const struct record_key *key = &turn->keys[i];
        if (key == wanted || key->intent != CLAIM_REMOVE)
            continue;
        if (record_is_recalled(key)) {
            turn->told = (struct record_told){0};
            return;
        }
        if (!record_has_failed(key))
            continue;
        turn->told.message =
            arena_printf(turn->arena, "%s; %s can't be deleted yet: %s", turn->told.message,
                         record_key_name(turn, &key->claim), key->receipt->error.text);
        turn->told.attempt = key->receipt;
        return;
    }
}

static void tell_progress(struct record_turn *turn, struct record_key *wanted)
{
    if (record_is_settled(wanted)) {
        record_tell_success(turn, wanted);
        tell_old_failures(turn, wanted);
    } else if (record_is_refusal(wanted->receipt)) {
        record_tell_refusal(turn, wanted);
    } else if (record_has_failed(wanted)) {
        record_tell_failure(turn, wanted->receipt, "");
    } else if (!record_is_recalled(wanted) && record_may_send(turn, wanted)) {
        // Before that it waits for our own write, which a Pending would stand in line with.
        record_tell_waiting(turn, wanted);
    }
}

static void pursue(struct record_turn *turn, struct record_key *wanted)
{
    struct record_key *old = wanted->is_stored ? NULL : record_find_stand_in(turn, wanted);
    if (old) {
        record_stand_in(turn, old, wanted);
        return;
    }
    wanted->intent = CLAIM_SET;
    wanted->content = &turn->set;
    wanted->is_held = !record_may_send(turn, wanted);
    if (record_is_lost(wanted)) {
        lose(turn, wanted);
        return;
    }
    if (!wanted->is_stored && count_others(turn, wanted) >= DNSRECORD_CLAIMS_MAX) {
        make_room(turn, wanted);
        return;
    }
    if (!record_is_clear_to_write(turn, wanted))
        return;
    if ((wanted->is_held || wanted->intent == CLAIM_LOOK) && !write_ahead(turn, wanted))
        return;
    if (wanted->intent == CLAIM_LOOK)
        return;
    for (size_t i = 0; i < turn->key_count && !wanted->is_held; i++)
        if (&turn->keys[i] != wanted && !turn->keys[i].is_leaving)
            follow(turn, &turn->keys[i], wanted);
    tell_progress(turn, wanted);
}

// The class's Secret is missing, say: nothing can be sent, what stands is kept.
static bool is_lane_shut(const struct record_turn *turn)
{
    const struct lane_view *lane = turn->lane;
    return lane && lane->fault.fault != FAULT_NONE && *lane->fault.reason;
}

static void wait_for_lane(struct record_turn *turn, struct record_key *wanted)
{
    wanted->is_leaving = !wanted->is_stored;
    wanted->is_held = true;
    if (!wanted->is_stored) {
        wanted->intent = CLAIM_SET;
        wanted->content = &turn->set;
    }
    if (record_is_lost(wanted)) {
        lose(turn, wanted);
        return;
    }
    enum reason reason = reason_find(text_of(turn->lane->fault.reason));
    if (reason == REASON_PENDING)
        record_tell_waiting(turn, wanted);
    else
        record_tell(turn, reason == REASON_NONE ? REASON_INVALID_CONFIGURATION : reason,
                    arena_printf(turn->arena, "DNSClass %.*s can't be used: %s",
                                 TEXT_ARGS(turn->record.class_name), turn->lane->fault.text));
}

// A name that an older object has meanwhile is dropped: its holder replaces what stands there.
static void drop_lost(struct record_turn *turn)
{
    for (size_t i = 0; i < turn->key_count; i++)
        if (record_is_lost(&turn->keys[i]))
            turn->keys[i].is_leaving = !record_is_in_way(&turn->keys[i]);
}

void record_live(struct record_turn *turn)
{
    drop_lost(turn);
    if (is_refused(turn))
        return;
    struct dnsrecord_claim claim = record_claim_of_spec(turn);
    struct record_key *wanted = record_add_key(turn, &claim);
    must(wanted);
    claim.replaces = wanted->claim.replaces;
    wanted->claim = claim;
    wanted->is_leaving = false;
    turn->wanted = wanted;
    if (is_lane_shut(turn))
        wait_for_lane(turn, wanted);
    else
        pursue(turn, wanted);
}
