#include "controllers/dnsrecord/record_reconcile.h"

#include "controllers/dnsrecord/events.def"

// What stands at a key at its server: asked before a change that has to delete first, so that the
// old data can be put back, and before our first write of a key, if the class has it so.

enum {
    WAS_OCTETS_MAX = 16 * 1024,
    PENDING_MS = 1000,
    IN_LINE_MS = 10000,
    LOOKS_MAX = 4,
    LOOK_GOOD_S = 60,
    LOOK_REFUSED_S = 600,
    REPLACED_OCTETS_MAX = 300,
};

// ---- waiting ------------------------------------------------------------------------------------

// Since when the server is being waited for; 0: not known, then nothing is said.
static int64_t waiting_since_ms(const struct record_reconcile *reconcile,
                                const struct record_key *key)
{
    if (conditions_find(&reconcile->ours.conditions, "Ready"))
        return 0;
    if (key->receipt && key->receipt->since_ms)
        return key->receipt->since_ms;
    int64_t created_ms = (int64_t)reconcile->object->created_s * 1000;
    return created_ms > reconcile->snapshot->started_ms ? created_ms
                                                        : reconcile->snapshot->started_ms;
}

// The longer it took so far, the later: 1 s, 2 s, 4 s ...
static int64_t next_look_ms(int64_t waited_ms)
{
    if (waited_ms < PENDING_MS)
        return PENDING_MS;
    return 2 * waited_ms < IN_LINE_MS ? 2 * waited_ms : IN_LINE_MS;
}

void record_report_waiting(struct record_reconcile *reconcile, const struct record_key *key)
{
    int64_t since_ms = waiting_since_ms(reconcile, key);
    if (!since_ms)
        return;
    int64_t waited_ms = reconcile->snapshot->now_ms - since_ms;
    // Among thousands of others it is not the server that keeps it waiting.
    bool is_in_line = key->receipt && key->receipt->is_in_line;
    if (waited_ms >= (is_in_line ? IN_LINE_MS : PENDING_MS))
        record_report(reconcile, REASON_PENDING,
                      arena_printf(reconcile->arena, "%s has not answered yet",
                                   record_copy_text(reconcile, reconcile->server)));
    else
        decision_wake_at(reconcile->out, since_ms + next_look_ms(waited_ms));
}

// ---- what stood at an old key before a change that deletes first --------------------------------

static size_t octets_of(const struct record_set *set)
{
    size_t octets = 0;
    for (size_t i = 0; i < set->value_count; i++)
        octets += set->values[i].len + 3;
    return octets;
}

// What was sent for the spec that was settled last; NULL: this process saw none, or it was of
// another key.
static const struct record_set *sent_last(struct record_reconcile *reconcile,
                                          const struct record_key *old)
{
    struct dnsrecord before;
    struct findings findings = {.arena = reconcile->arena};
    const struct object *object = reconcile->snapshot->previous;
    if (!object)
        return NULL;
    dnsrecord_unpack(reconcile->arena, object_spec(object), (struct text){0}, &before, NULL);
    const struct object *class_object = record_find_class(reconcile, before.class_name);
    struct dnsclass dnsclass = {.default_ttl_s = DNSRECORD_TTL_DEFAULT};
    if (class_object)
        dnsclass_unpack(reconcile->arena, object_spec(class_object), (struct text){0}, &dnsclass,
                        NULL);
    struct record_set *was = arena_new_of(reconcile->arena, struct record_set);
    if (!dnsrecord_resolve(reconcile->arena, &before, (uint32_t)dnsclass.default_ttl_s, was,
                           &findings))
        return NULL;
    struct dnsrecord_claim key = {.server = old->claim.server,
                                  .type = was->type,
                                  .domain = was->domain,
                                  .subdomain = was->subdomain};
    // Where the class is gone, the old key may have got the class of the spec in its place.
    bool is_same_class =
        text_equal(before.class_name, old->claim.class_name) || (!class_object && old->applied);
    return is_same_class && dnsrecord_claim_is_same_place(&key, &old->claim) ? was : NULL;
}

// A server that lists what it can do may leave reading out; one that lists nothing is asked.
static bool is_readable(const struct record_reconcile *reconcile, const struct record_key *old)
{
    const struct backend_view *backend = record_find_backend(reconcile, old->claim.class_name);
    if (!backend || !backend->is_open || backend->fault.fault != FAULT_NONE ||
        !text_is(old->claim.server, backend->registry) || !record_may_send(reconcile, old))
        return false;
    const struct value *offers =
        backend->is_answer_ok ? value_find(backend->answer, "capabilities") : NULL;
    return !offers || value_bool_at(offers, "get", false);
}

// A server tells as much as it likes, and may leave the TTL out.
static const struct record_set *found_there(struct record_reconcile *reconcile,
                                            const struct record_key *old)
{
    if (!old->receipt->found)
        return NULL;
    struct record_set *found = arena_new_of(reconcile->arena, struct record_set);
    *found = *old->receipt->found;
    if (found->ttl_s == 0)
        found->ttl_s = (uint32_t)reconcile->dnsclass.default_ttl_s;
    return found;
}

// The server answers, but refuses to be read again and again: the change does not wait for that.
static bool is_unwilling(const struct receipt *receipt)
{
    return receipt->attempts >= LOOKS_MAX && receipt->error.status;
}

// The server is asked what stands there. False until it has answered.
static bool look(struct record_reconcile *reconcile, struct record_key *old)
{
    const struct receipt *receipt = old->receipt;
    bool is_asked = receipt && receipt->intent == CLAIM_LOOK;
    old->intent = CLAIM_LOOK;
    if (is_asked && (record_is_settled(old) || is_unwilling(receipt)))
        return true;
    if (is_asked && receipt->attempts)
        record_report_failure(reconcile, receipt, "reading what stands there before the change: ");
    else
        record_report_waiting(reconcile, old);
    return false;
}

static const struct record_set *short_enough(const struct record_set *set)
{
    return set && octets_of(set) <= WAS_OCTETS_MAX ? set : NULL;
}

bool record_learn_was(struct record_reconcile *reconcile, struct record_key *old)
{
    const struct record_set *was = sent_last(reconcile, old);
    if (!was && is_readable(reconcile, old)) {
        if (!look(reconcile, old))
            return false;
        was = found_there(reconcile, old);
    }
    old->claim.was = short_enough(was);
    return true;
}

// ---- what stands at a key before our first write ------------------------------------------------

enum preflight { PREFLIGHT_OFF, PREFLIGHT_WARN, PREFLIGHT_REFUSE, PREFLIGHT_UNKNOWN };

// What the server said it offers, be it in an earlier life; NULL: it said nothing of the kind.
static const struct value *offers_of(const struct record_reconcile *reconcile)
{
    const struct backend_view *backend = reconcile->backend;
    if (!backend || !text_is(reconcile->server, backend->registry))
        return NULL;
    return value_find(backend->is_answer_ok ? backend->answer : backend->known, "capabilities");
}

static enum preflight preflight_by_default(const struct record_reconcile *reconcile)
{
    const struct backend_view *backend = reconcile->backend;
    if (value_bool_at(offers_of(reconcile), "get", false))
        return PREFLIGHT_WARN;
    return !backend || (backend->is_learning && !backend->answered_s) ? PREFLIGHT_UNKNOWN
                                                                      : PREFLIGHT_OFF;
}

// A server that lists what it can do may leave reading out; one that lists nothing is asked.
static bool is_unreadable(const struct record_reconcile *reconcile)
{
    const struct value *offers = offers_of(reconcile);
    return offers && !value_bool_at(offers, "get", false);
}

static enum preflight preflight_of(const struct record_reconcile *reconcile)
{
    struct text choice = reconcile->dnsclass.preflight;
    if (!choice.len)
        return preflight_by_default(reconcile);
    if (text_is(choice, "Refuse"))
        return PREFLIGHT_REFUSE;
    return text_is(choice, "Off") || is_unreadable(reconcile) ? PREFLIGHT_OFF : PREFLIGHT_WARN;
}

// An earlier operator of this API sent it: what stands there is the record's.
static bool is_taken_over(const struct record_reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    return reconcile->object->has_finalizer && ready && ready->status == CONDITION_TRUE &&
           !reconcile->ours.applied_count;
}

// Nothing of ours can stand there: neither from this object nor at that name from its other keys.
static bool is_first_write(const struct record_reconcile *reconcile,
                           const struct record_key *wanted)
{
    if (wanted->is_stored || wanted->applied || is_taken_over(reconcile))
        return false;
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (&reconcile->keys[i] != wanted &&
            record_excludes(reconcile, &reconcile->keys[i], wanted))
            return false;
    return true;
}

// What the server left out counts as equal.
static bool is_other_data(const struct record_reconcile *reconcile, const struct record_set *found)
{
    struct record_set there = *found;
    if (!there.ttl_s)
        there.ttl_s = reconcile->set.ttl_s;
    if (there.priority < 0)
        there.priority = reconcile->set.priority;
    if (there.weight < 0)
        there.weight = reconcile->set.weight;
    if (there.port < 0)
        there.port = reconcile->set.port;
    return !record_set_equal(&there, &reconcile->set);
}

static struct text describe(const struct record_reconcile *reconcile,
                            const struct record_set *found)
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
    return text_of(arena_copy(reconcile->arena, clean.at ? clean.at : "", clean.len));
}

// True when the answer is there and is young enough.
static bool has_looked(struct record_reconcile *reconcile, struct record_key *wanted,
                       int64_t good_for_s)
{
    const struct receipt *receipt = wanted->receipt;
    int64_t now_s = reconcile->snapshot->now_ms / 1000;
    wanted->intent = CLAIM_LOOK;
    wanted->is_suspended = false;
    wanted->look_since_s = now_s - good_for_s + 1;
    bool is_asked = receipt->intent == CLAIM_LOOK;
    if (is_asked && ((record_is_settled(wanted) && receipt->settled_s >= wanted->look_since_s) ||
                     is_unwilling(receipt)))
        return true;
    if (is_asked && receipt->attempts)
        record_report_failure(reconcile, receipt,
                              "reading what stands there before the first write: ");
    else
        record_report_waiting(reconcile, wanted);
    return false;
}

static void warn_of_replacement(struct record_reconcile *reconcile, struct record_key *wanted,
                                const struct record_set *found)
{
    wanted->claim.replaces = describe(reconcile, found);
    record_add_key_event(
        reconcile, wanted, true, EVENT_RECORD_ADOPTED,
        arena_printf(reconcile->arena,
                     "was not ours: %.*s stood there before the first write, and is "
                     "replaced",
                     TEXT_ARGS(wanted->claim.replaces)));
    record_report_line(reconcile, LOG_WARN, "record replaces what is not ours");
}

static bool refuse_to_replace(struct record_reconcile *reconcile, struct record_key *wanted,
                              const struct record_set *found)
{
    decision_wake_at(reconcile->out, (wanted->receipt->settled_s + LOOK_REFUSED_S) * 1000);
    record_report(reconcile, REASON_CONFLICT,
                  arena_printf(reconcile->arena,
                               "%s is not ours: %.*s stands there, and DNSClass %.*s has the "
                               "preflight Refuse",
                               record_key_place(reconcile, wanted),
                               TEXT_ARGS(describe(reconcile, found)),
                               TEXT_ARGS(reconcile->record.class_name)));
    return false;
}

static bool refuse_blindly(struct record_reconcile *reconcile)
{
    record_report(
        reconcile, REASON_INVALID_CONFIGURATION,
        arena_printf(reconcile->arena,
                     "DNSClass %.*s can't be used: its preflight is Refuse, and the server "
                     "does not tell what stands there",
                     TEXT_ARGS(reconcile->record.class_name)));
    return false;
}

// False: what stands there keeps us from writing, or is still to be read.
static bool judge_found(struct record_reconcile *reconcile, struct record_key *wanted,
                        enum preflight mode)
{
    const struct receipt *receipt = wanted->receipt;
    const struct record_set *found = receipt->intent == CLAIM_LOOK ? receipt->found : NULL;
    bool is_other = found && is_other_data(reconcile, found);
    bool is_refused = is_other && mode == PREFLIGHT_REFUSE;
    if (!has_looked(reconcile, wanted, is_refused ? LOOK_REFUSED_S : LOOK_GOOD_S))
        return false;
    if (is_refused)
        return refuse_to_replace(reconcile, wanted, found);
    if (mode == PREFLIGHT_REFUSE && (receipt->is_uncertain || is_unwilling(receipt)))
        return refuse_blindly(reconcile);
    if (is_other)
        warn_of_replacement(reconcile, wanted, found);
    return true;
}

bool record_is_clear_to_write(struct record_reconcile *reconcile, struct record_key *wanted)
{
    if (!is_first_write(reconcile, wanted))
        return true;
    enum preflight mode = preflight_of(reconcile);
    if (mode == PREFLIGHT_OFF || (wanted->receipt && wanted->receipt->is_heir))
        return true;
    wanted->is_left_out = true;
    if (mode == PREFLIGHT_UNKNOWN || !wanted->receipt)
        return false;
    if (mode == PREFLIGHT_REFUSE && is_unreadable(reconcile))
        return refuse_blindly(reconcile);
    wanted->is_left_out = !judge_found(reconcile, wanted, mode);
    return !wanted->is_left_out;
}
