#include "controllers/dnsrecord/record_turn.h"

// A record that is to go: delete every key that may exist, then release the finalizer.

// ---- the log line -------------------------------------------------------------------------------

static const struct {
    enum log_level level;
    const char *message;
} endings[] = {
    [FATE_OPEN] = {LOG_INFO, "record deleted"},
    [FATE_DELETED] = {LOG_INFO, "record deleted"},
    [FATE_TAKEN] = {LOG_INFO, "record gone, another has its name"},
    [FATE_KEPT] = {LOG_INFO, "record released, kept at the server"},
    [FATE_LEFT] = {LOG_WARN, "record released, may still exist at the server"},
};

static const char *left_keys(const struct record_turn *turn)
{
    const char *left = NULL;
    for (size_t i = 0; i < turn->key_count; i++) {
        if (turn->keys[i].fate < FATE_KEPT)
            continue;
        const char *place = record_key_place(turn, &turn->keys[i]);
        left = left ? arena_printf(turn->arena, "%s, %s", left, place) : place;
    }
    return left;
}

static void tell_ending(struct record_turn *turn)
{
    enum record_fate fate = FATE_OPEN;
    for (size_t i = 0; i < turn->key_count; i++)
        if (turn->keys[i].fate > fate)
            fate = turn->keys[i].fate;
    turn->left = left_keys(turn);
    record_tell_line(turn, endings[fate].level, endings[fate].message);
}

// ---- letting go ---------------------------------------------------------------------------------

static void release(struct record_turn *turn, enum record_fate fate)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        struct record_key *key = &turn->keys[i];
        key->is_claimed = false;
        key->fate = fate;
        if (fate == FATE_LEFT)
            record_note_key(turn, key, true, EVENT_RECORD_ORPHANED,
                            "may still exist: the annotation force-delete released it");
        else
            record_note_key(turn, key, false, EVENT_RECORD_DELETED,
                            "stays: deletionPolicy is Retain");
    }
    turn->out->finalizer = FINALIZER_REMOVE;
    record_tell(turn, REASON_RECORD_DELETED, "released without a deletion at the server");
    tell_ending(turn);
}

// Why nothing can be sent for a key, or NULL: the class or its Secret is gone, or it is unusable;
// or the key has no name.
static const char *obstacle_of(const struct record_turn *turn, const struct record_key *key,
                               enum reason *reason)
{
    struct text name = key->claim.class_name;
    const struct lane_view *lane = record_find_lane(turn, name);
    if (key->label && !key->claim.domain.len) {
        *reason = REASON_VALIDATION_FAILED;
        return turn->faults;
    }
    if (!record_find_class(turn, name)) {
        *reason = REASON_DNS_CLASS_NOT_FOUND;
        return arena_printf(turn->arena, "DNSClass %.*s does not exist", TEXT_ARGS(name));
    }
    if (!record_class_server(turn, name).len || (lane && lane->fault.fault != FAULT_NONE)) {
        *reason = lane ? reason_find(text_of(lane->fault.reason)) : REASON_NONE;
        if (*reason == REASON_NONE || *reason == REASON_PENDING)
            *reason = REASON_INVALID_CONFIGURATION;
        return arena_printf(turn->arena, "DNSClass %.*s can't be used%s%s", TEXT_ARGS(name),
                            lane && lane->fault.text[0] ? ": " : "", lane ? lane->fault.text : "");
    }
    return NULL;
}

static void orphan(struct record_turn *turn, struct record_key *key, const char *why)
{
    key->is_claimed = false;
    key->fate = FATE_LEFT;
    record_note_key(turn, key, true, EVENT_RECORD_ORPHANED,
                    arena_printf(turn->arena, "may still exist: %s", why));
}

static void tell_obstacle(struct record_turn *turn, const struct record_key *key,
                          enum reason reason, const char *why)
{
    record_tell(turn, reason,
                arena_printf(turn->arena,
                             "%s waits to be deleted: %s; %s, or release the record with the "
                             "annotation dns.homelab.mortenolsen.pro/force-delete",
                             key->label ? key->label : record_key_name(turn, &key->claim), why,
                             reason == REASON_VALIDATION_FAILED ? "mend it" : "bring it back"));
}

// Whoever can still be reached goes on being asked when nobody knows when the deletion began.
static bool is_over(const struct record_turn *turn, const struct record_key *key)
{
    const struct lane_view *lane = record_find_lane(turn, key->claim.class_name);
    bool is_dated = turn->object->deleted_s || !lane || !lane->is_lingering;
    return is_dated && turn->snapshot->now_ms >= record_orphan_ms(turn);
}

// Its class goes on with what it knew last.
static bool is_going_on(const struct record_turn *turn, const struct record_key *key)
{
    const struct lane_view *lane = record_find_lane(turn, key->claim.class_name);
    return lane && lane->is_open && lane->is_lingering && text_is(key->claim.server, lane->book);
}

// True when the key needs nothing any more.
static bool remove_key(struct record_turn *turn, struct record_key *key)
{
    enum reason reason = REASON_NONE;
    if (record_is_lost(key) && !record_is_in_way(key)) {
        key->fate = FATE_TAKEN;
        return true;
    }
    if (record_has_moved(turn, key)) {
        orphan(turn, key, "its class has another server now");
        return true;
    }
    key->intent = CLAIM_REMOVE;
    key->is_held = !record_may_send(turn, key);
    if (record_is_settled(key)) {
        key->fate = key->receipt->is_inherited ? FATE_TAKEN : FATE_DELETED;
        return true;
    }
    const char *why = obstacle_of(turn, key, &reason);
    if (why && is_over(turn, key)) {
        orphan(turn, key, why);
        return true;
    }
    if (why && turn->snapshot->now_ms < record_orphan_ms(turn))
        record_wake_at(turn, record_orphan_ms(turn));
    if (record_has_failed(key))
        record_tell_failure(turn, key->receipt, "deletion: ");
    else if (why && !turn->told.attempt && !is_going_on(turn, key))
        tell_obstacle(turn, key, reason, why);
    return false;
}

static void note_endings(struct record_turn *turn)
{
    for (size_t i = 0; i < turn->key_count; i++) {
        const struct record_key *key = &turn->keys[i];
        if (key->fate == FATE_TAKEN)
            record_note_key(turn, key, false, EVENT_RECORD_DELETED, "is another record's now");
        else if (key->fate == FATE_DELETED && key->receipt->is_uncertain)
            record_note_key(turn, key, true, EVENT_DELETE_UNCERTAIN,
                            "may still exist: the server's answer to its deletion was unclear");
        else if (key->fate == FATE_DELETED)
            record_note_key(turn, key, false, EVENT_RECORD_DELETED, "is deleted");
    }
}

void record_gone(struct record_turn *turn)
{
    bool is_done = true;
    if (!turn->object->has_finalizer) {
        for (size_t i = 0; i < turn->key_count; i++)
            turn->keys[i].is_claimed = false;
        turn->ours.claim_count = turn->key_count = 0;
        turn->ours.has_broken_claims = false;
        record_tell(turn, REASON_RECORD_DELETED, "nothing of it is left to delete");
        return;
    }
    if (turn->record.is_force_deleted || turn->record.is_retained) {
        release(turn, turn->record.is_force_deleted ? FATE_LEFT : FATE_KEPT);
        return;
    }
    for (size_t i = 0; i < turn->key_count; i++)
        is_done &= remove_key(turn, &turn->keys[i]);
    if (!is_done)
        return;
    note_endings(turn);
    turn->out->finalizer = FINALIZER_REMOVE;
    record_tell(turn, REASON_RECORD_DELETED, "deleted at the server");
    tell_ending(turn);
}
