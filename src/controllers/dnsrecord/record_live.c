#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"
#include "controllers/dnsrecord/record_turn.h"
#include "dns/plan.h"

// A record that is to exist: claim its key, send it, and deal with the keys that it had before.

enum {
    WAS_OCTETS_MAX = 16 * 1024,
    PENDING_MS = 1000,
    IN_LINE_MS = 10000,
    EPOCH_DIGITS = 32,
    LOOKS_MAX = 4,
    LOOK_GOOD_S = 60,
    LOOK_REFUSED_S = 600,
    REPLACED_OCTETS_MAX = 300,
};

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

// Can both stand at one server at the same time? Servers ignore a CNAME beside other data, and
// by-name servers hold one record under all splits of a name.
static bool excludes(const struct record_turn *turn, const struct record_key *old,
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
    if (excludes(turn, old, wanted) || is_done)
        remove_old(turn, old, is_done);
}

// ---- waiting ------------------------------------------------------------------------------------

// Since when the server is being waited for; 0: not known, then nothing is said.
static int64_t waiting_since_ms(const struct record_turn *turn, const struct record_key *key)
{
    if (conditions_find(&turn->ours.conditions, "Ready"))
        return 0;
    if (key->receipt && key->receipt->since_ms)
        return key->receipt->since_ms;
    int64_t created_ms = (int64_t)turn->object->created_s * 1000;
    return created_ms > turn->snapshot->started_ms ? created_ms : turn->snapshot->started_ms;
}

// The longer it took so far, the later: 1 s, 2 s, 4 s ...
static int64_t next_look_ms(int64_t waited_ms)
{
    if (waited_ms < PENDING_MS)
        return PENDING_MS;
    return 2 * waited_ms < IN_LINE_MS ? 2 * waited_ms : IN_LINE_MS;
}

static void tell_waiting(struct record_turn *turn, const struct record_key *key)
{
    int64_t since_ms = waiting_since_ms(turn, key);
    if (!since_ms)
        return;
    int64_t waited_ms = turn->snapshot->now_ms - since_ms;
    // Among thousands of others it is not the server that keeps it waiting.
    bool is_in_line = key->receipt && key->receipt->is_in_line;
    if (waited_ms >= (is_in_line ? IN_LINE_MS : PENDING_MS))
        record_tell(
            turn, REASON_PENDING,
            arena_printf(turn->arena, "%s has not answered yet", record_text(turn, turn->server)));
    else
        record_wake_at(turn, since_ms + next_look_ms(waited_ms));
}

// ---- what stood at an old key before a change that deletes first --------------------------------

static size_t octets_of(const struct record_set *set)
{
    size_t octets = 0;
    for (size_t i = 0; i < set->value_count; i++)
        octets += set->values[i].len + 3;
    return octets;
}

// What the last spec that was settled came to; NULL when this process saw none of this key.
static const struct record_set *sent_last(struct record_turn *turn, const struct record_key *old)
{
    struct dnsrecord before;
    struct findings findings = {.arena = turn->arena};
    const struct object *object = turn->snapshot->previous;
    if (!object)
        return NULL;
    dnsrecord_unpack(turn->arena, object_spec(object), (struct text){0}, &before, NULL);
    const struct object *class_object = record_find_class(turn, before.class_name);
    struct dnsclass dnsclass = {.default_ttl_s = DNSRECORD_TTL_DEFAULT};
    if (class_object)
        dnsclass_unpack(turn->arena, object_spec(class_object), (struct text){0}, &dnsclass, NULL);
    struct record_set *was = arena_new_of(turn->arena, struct record_set);
    if (!dnsrecord_resolve(turn->arena, &before, (uint32_t)dnsclass.default_ttl_s, was, &findings))
        return NULL;
    struct dnsrecord_claim key = {.server = old->claim.server,
                                  .type = was->type,
                                  .domain = was->domain,
                                  .subdomain = was->subdomain};
    bool is_it = dnsrecord_claim_is_same_key(&key, &old->claim) &&
                 text_equal(before.class_name, old->claim.class_name);
    return is_it ? was : NULL;
}

// A server that lists what it can do may leave reading out; one that lists nothing is asked.
static bool is_readable(const struct record_turn *turn, const struct record_key *old)
{
    const struct lane_view *lane = record_find_lane(turn, old->claim.class_name);
    if (!lane || !lane->is_open || lane->fault.fault != FAULT_NONE ||
        !text_is(old->claim.server, lane->book) || !record_may_send(turn, old))
        return false;
    const struct value *offers =
        lane->is_answer_ok ? value_find(lane->answer, "capabilities") : NULL;
    return !offers || value_bool_at(offers, "get", false);
}

// A server tells as much as it likes, and may leave the TTL out.
static const struct record_set *found_there(struct record_turn *turn, const struct record_key *old)
{
    if (!old->receipt->found)
        return NULL;
    struct record_set *found = arena_new_of(turn->arena, struct record_set);
    *found = *old->receipt->found;
    if (found->ttl_s == 0)
        found->ttl_s = (uint32_t)turn->dnsclass.default_ttl_s;
    return found;
}

// It answers, but refuses this question again and again: that must not hold the change up.
static bool is_unwilling(const struct receipt *receipt)
{
    return receipt->attempts >= LOOKS_MAX && receipt->error.status;
}

// The server is asked what stands there. False until it has answered.
static bool look(struct record_turn *turn, struct record_key *old)
{
    const struct receipt *receipt = old->receipt;
    bool is_asked = receipt && receipt->intent == CLAIM_LOOK;
    old->intent = CLAIM_LOOK;
    if (is_asked && (record_is_settled(old) || is_unwilling(receipt)))
        return true;
    if (is_asked && receipt->attempts)
        record_tell_failure(turn, receipt, "reading what stands there before the change: ");
    else
        tell_waiting(turn, old);
    return false;
}

static const struct record_set *short_enough(const struct record_set *set)
{
    return set && octets_of(set) <= WAS_OCTETS_MAX ? set : NULL;
}

// Known for certain, or as certain as it will get.
static bool learn_was(struct record_turn *turn, struct record_key *old)
{
    const struct record_set *was = sent_last(turn, old);
    if (!was && is_readable(turn, old)) {
        if (!look(turn, old))
            return false;
        was = found_there(turn, old);
    }
    old->claim.was = short_enough(was);
    return true;
}

// ---- what stands at a key before our first write ------------------------------------------------

enum preflight { PREFLIGHT_OFF, PREFLIGHT_WARN, PREFLIGHT_REFUSE, PREFLIGHT_UNKNOWN };

// What the server said it offers, be it in an earlier life; NULL: it said nothing of the kind.
static const struct value *offers_of(const struct record_turn *turn)
{
    const struct lane_view *lane = turn->lane;
    if (!lane || !text_is(turn->server, lane->book))
        return NULL;
    return value_find(lane->is_answer_ok ? lane->answer : lane->known, "capabilities");
}

static enum preflight preflight_by_default(const struct record_turn *turn)
{
    const struct lane_view *lane = turn->lane;
    if (value_bool_at(offers_of(turn), "get", false))
        return PREFLIGHT_WARN;
    return !lane || (lane->is_learning && !lane->answered_s) ? PREFLIGHT_UNKNOWN : PREFLIGHT_OFF;
}

// A server that lists what it can do may leave reading out; one that lists nothing is asked.
static bool is_unreadable(const struct record_turn *turn)
{
    const struct value *offers = offers_of(turn);
    return offers && !value_bool_at(offers, "get", false);
}

static enum preflight preflight_of(const struct record_turn *turn)
{
    struct text choice = turn->dnsclass.preflight;
    if (!choice.len)
        return preflight_by_default(turn);
    if (text_is(choice, "Refuse"))
        return PREFLIGHT_REFUSE;
    return text_is(choice, "Off") || is_unreadable(turn) ? PREFLIGHT_OFF : PREFLIGHT_WARN;
}

// An earlier operator of this API sent it: what stands there is the record's.
static bool is_taken_over(const struct record_turn *turn)
{
    const struct condition *ready = conditions_find(&turn->ours.conditions, "Ready");
    return turn->object->has_finalizer && ready && ready->status == CONDITION_TRUE &&
           !turn->ours.applied_count;
}

// Nothing of ours can stand there: neither from this object nor at that name from its other keys.
static bool is_first_write(const struct record_turn *turn, const struct record_key *wanted)
{
    if (wanted->is_stored || wanted->applied || is_taken_over(turn))
        return false;
    for (size_t i = 0; i < turn->key_count; i++)
        if (&turn->keys[i] != wanted && excludes(turn, &turn->keys[i], wanted))
            return false;
    return true;
}

// What the server left out counts as equal.
static bool is_other_data(const struct record_turn *turn, const struct record_set *found)
{
    struct record_set there = *found;
    if (!there.ttl_s)
        there.ttl_s = turn->set.ttl_s;
    if (there.priority < 0)
        there.priority = turn->set.priority;
    if (there.weight < 0)
        there.weight = turn->set.weight;
    if (there.port < 0)
        there.port = turn->set.port;
    return !record_set_equal(&there, &turn->set);
}

static struct text describe(const struct record_turn *turn, const struct record_set *found)
{
    AUTO_BUFFER out = {0};
    AUTO_BUFFER clean = {0};
    const int32_t numbers[] = {found->priority, found->weight, found->port};
    for (size_t i = 0; i < found->value_count && out.len < REPLACED_OCTETS_MAX; i++) {
        buffer_add_text(&out, i ? ", " : "");
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            if (numbers[k] >= 0)
                buffer_printf(&out, "%d ", numbers[k]);
        buffer_add(&out, found->values[i].at, found->values[i].len);
    }
    text_clean(&clean, buffer_text(&out), REPLACED_OCTETS_MAX);
    if (clean.len < out.len)
        buffer_add_text(&clean, "...");
    if (found->ttl_s)
        buffer_printf(&clean, " (TTL %u)", found->ttl_s);
    return text_of(arena_copy(turn->arena, clean.at ? clean.at : "", clean.len));
}

// True when the answer is there and is young enough.
static bool has_looked(struct record_turn *turn, struct record_key *wanted, int64_t good_for_s)
{
    const struct receipt *receipt = wanted->receipt;
    int64_t now_s = turn->snapshot->now_ms / 1000;
    wanted->intent = CLAIM_LOOK;
    wanted->is_held = false;
    wanted->look_since_s = now_s - good_for_s + 1;
    bool is_asked = receipt->intent == CLAIM_LOOK;
    if (is_asked && ((record_is_settled(wanted) && receipt->settled_s >= wanted->look_since_s) ||
                     is_unwilling(receipt)))
        return true;
    if (is_asked && receipt->attempts)
        record_tell_failure(turn, receipt, "reading what stands there before the first write: ");
    else
        tell_waiting(turn, wanted);
    return false;
}

static void warn_of_replacement(struct record_turn *turn, struct record_key *wanted,
                                const struct record_set *found)
{
    wanted->claim.replaces = describe(turn, found);
    record_note_key(turn, wanted, true, EVENT_RECORD_ADOPTED,
                    arena_printf(turn->arena,
                                 "was not ours: %.*s stood there before the first write, and is "
                                 "replaced",
                                 TEXT_ARGS(wanted->claim.replaces)));
    record_tell_line(turn, LOG_WARN, "record replaces what is not ours");
}

static bool refuse_to_replace(struct record_turn *turn, struct record_key *wanted,
                              const struct record_set *found)
{
    record_wake_at(turn, (wanted->receipt->settled_s + LOOK_REFUSED_S) * 1000);
    record_tell(turn, REASON_CONFLICT,
                arena_printf(turn->arena,
                             "%s is not ours: %.*s stands there, and DNSClass %.*s has the "
                             "preflight Refuse",
                             record_key_place(turn, wanted), TEXT_ARGS(describe(turn, found)),
                             TEXT_ARGS(turn->record.class_name)));
    return false;
}

static bool refuse_blindly(struct record_turn *turn)
{
    record_tell(turn, REASON_INVALID_CONFIGURATION,
                arena_printf(turn->arena,
                             "DNSClass %.*s can't be used: its preflight is Refuse, and the server "
                             "does not tell what stands there",
                             TEXT_ARGS(turn->record.class_name)));
    return false;
}

// False: what stands there keeps us from writing, or is still to be read.
static bool judge_found(struct record_turn *turn, struct record_key *wanted, enum preflight mode)
{
    const struct receipt *receipt = wanted->receipt;
    const struct record_set *found = receipt->intent == CLAIM_LOOK ? receipt->found : NULL;
    bool is_other = found && is_other_data(turn, found);
    bool is_refused = is_other && mode == PREFLIGHT_REFUSE;
    if (!has_looked(turn, wanted, is_refused ? LOOK_REFUSED_S : LOOK_GOOD_S))
        return false;
    if (is_refused)
        return refuse_to_replace(turn, wanted, found);
    if (mode == PREFLIGHT_REFUSE && (receipt->is_uncertain || is_unwilling(receipt)))
        return refuse_blindly(turn);
    if (is_other)
        warn_of_replacement(turn, wanted, found);
    return true;
}

// Before our first write of a key the server is asked what stands there, if the class has it so. It
// is written ahead only then: what is not ours is not ours to delete either.
static bool is_clear_to_write(struct record_turn *turn, struct record_key *wanted)
{
    if (!is_first_write(turn, wanted))
        return true;
    enum preflight mode = preflight_of(turn);
    if (mode == PREFLIGHT_OFF || (wanted->receipt && wanted->receipt->is_heir))
        return true;
    wanted->is_leaving = true;
    if (mode == PREFLIGHT_UNKNOWN || !wanted->receipt)
        return false;
    if (mode == PREFLIGHT_REFUSE && is_unreadable(turn))
        return refuse_blindly(turn);
    wanted->is_leaving = !judge_found(turn, wanted, mode);
    return !wanted->is_leaving;
}

// ---- a change that the server refused after the old data was deleted ----------------------------

static struct text epoch_text(struct record_turn *turn)
{
    uint8_t digest[DIGEST_MAX];
    char *text = arena_alloc(turn->arena, EPOCH_DIGITS + 1, 1);
    digest_of(DIGEST_SHA256, object_spec(turn->object), digest);
    hex_encode(digest, EPOCH_DIGITS / 2, text);
    return text_of(text);
}

static bool is_refusal(const struct receipt *receipt)
{
    if (!receipt || receipt->state != RECEIPT_WAITING || receipt->attempts == 0)
        return false;
    enum reason reason = reason_find(text_of(receipt->error.reason));
    return reason == REASON_VALIDATION_FAILED || reason == REASON_CONFLICT;
}

// The old key whose data can be put back, or NULL.
static struct record_key *find_restorable(struct record_turn *turn, const struct record_key *wanted)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        struct record_key *key = &turn->keys[i];
        if (key != wanted && key->claim.was && excludes(turn, key, wanted))
            return key;
    }
    return NULL;
}

// An exclusive change is under way whose old data nobody knows.
static bool has_lost_data(const struct record_turn *turn, const struct record_key *wanted)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        const struct record_key *key = &turn->keys[i];
        if (key != wanted && !key->claim.was && excludes(turn, key, wanted))
            return true;
    }
    return false;
}

// This very spec was refused before: the old data stands in for it.
static struct record_key *find_stand_in(struct record_turn *turn, const struct record_key *wanted)
{
    struct text epoch = epoch_text(turn);
    for (size_t i = 0; i < turn->key_count; i++) {
        struct record_key *key = &turn->keys[i];
        const struct dnsrecord_refusal *refusal = key->claim.refusal;
        if (key != wanted && !key->is_leaving && key->claim.was && refusal &&
            text_equal(refusal->spec, epoch) && excludes(turn, key, wanted))
            return key;
    }
    return NULL;
}

// What the refusal was, behind what became of the old data.
static void tell_stand_in(struct record_turn *turn, const struct dnsrecord_refusal *refusal)
{
    enum reason reason = reason_find(refusal->reason);
    record_tell(
        turn, reason == REASON_NONE ? REASON_VALIDATION_FAILED : reason,
        arena_printf(turn->arena, "previous data restored: %.*s", TEXT_ARGS(refusal->text)));
    if (refusal->code.len)
        turn->told.code = record_text(turn, refusal->code);
}

static void stand_in(struct record_turn *turn, struct record_key *old, struct record_key *wanted)
{
    wanted->is_claimed = false;
    wanted->is_leaving = true;
    old->intent = CLAIM_SET;
    old->content = old->claim.was;
    old->is_held = !record_may_send(turn, old);
    if (record_is_settled(old))
        tell_stand_in(turn, old->claim.refusal);
    else if (record_has_failed(old))
        record_tell_failure(turn, old->receipt, "previous data could not be restored yet: ");
}

static const struct dnsrecord_refusal *refusal_make(struct record_turn *turn,
                                                    const struct receipt *receipt)
{
    struct dnsrecord_refusal *refusal = arena_new_of(turn->arena, struct dnsrecord_refusal);
    record_tell_failure(turn, receipt, "");
    *refusal = (struct dnsrecord_refusal){
        .spec = epoch_text(turn),
        .reason = text_of(reason_name(turn->told.reason)),
        .code = text_of(turn->told.code),
        .text = text_of(turn->told.message),
    };
    return refusal;
}

// The mark in the annotation turns the change around; the status follows when that is done.
static void tell_refusal(struct record_turn *turn, struct record_key *wanted)
{
    struct record_key *old = find_restorable(turn, wanted);
    if (old) {
        old->claim.refusal = refusal_make(turn, wanted->receipt);
        wanted->is_leaving = true;
        turn->told = (struct record_told){0};
    } else {
        record_tell_failure(turn, wanted->receipt,
                            has_lost_data(turn, wanted) ? "what stood there before is not known, "
                                                          "nothing could be put back: "
                                                        : "");
    }
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
        if (!key->claim.was && excludes(turn, key, wanted) && !learn_was(turn, key))
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
    } else if (is_refusal(wanted->receipt)) {
        tell_refusal(turn, wanted);
    } else if (record_has_failed(wanted)) {
        record_tell_failure(turn, wanted->receipt, "");
    } else if (!record_is_recalled(wanted) && record_may_send(turn, wanted)) {
        // Before that it waits for our own write, which a Pending would stand in line with.
        tell_waiting(turn, wanted);
    }
}

static void pursue(struct record_turn *turn, struct record_key *wanted)
{
    struct record_key *old = wanted->is_stored ? NULL : find_stand_in(turn, wanted);
    if (old) {
        stand_in(turn, old, wanted);
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
    if (!is_clear_to_write(turn, wanted))
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
        tell_waiting(turn, wanted);
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
