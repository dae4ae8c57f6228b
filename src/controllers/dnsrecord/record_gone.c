#include "controllers/dnsrecord/record_turn.h"

// A record that is to go: delete every key that may exist, then release the finalizer.

static void release(struct record_turn *turn)
{
    for (size_t i = 0; i < turn->key_count; i++)
        turn->keys[i].is_claimed = false;
    turn->out->finalizer = FINALIZER_REMOVE;
}

static void note_keys(struct record_turn *turn, bool is_warning, const char *reason,
                      const char *what)
{
    for (size_t i = 0; i < turn->key_count; i++)
        verdict_note(
            turn->out, is_warning, reason,
            arena_printf(turn->arena, "%s %s", record_key_place(turn, &turn->keys[i].claim), what));
}

static bool give_up_on_demand(struct record_turn *turn)
{
    if (turn->record.is_force_deleted)
        note_keys(turn, true, "RecordOrphaned",
                  "may still exist: the annotation force-delete released it");
    else if (turn->record.is_retained)
        note_keys(turn, false, "RecordDeleted", "stays: deletionPolicy is Retain");
    else
        return false;
    release(turn);
    record_tell(turn, REASON_RECORD_DELETED, "released without a deletion at the server");
    return true;
}

// Why nothing can be sent for a key, or NULL: the class or its Secret is gone, or it is unusable.
static const char *obstacle_of(const struct record_turn *turn, const struct record_key *key,
                               enum reason *reason)
{
    struct text name = key->claim.class_name;
    const struct lane_view *lane = record_find_lane(turn, name);
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

static bool has_moved(const struct record_turn *turn, const struct record_key *key)
{
    struct text server = record_class_server(turn, key->claim.class_name);
    return server.len && !text_equal(server, key->claim.server);
}

static void orphan(struct record_turn *turn, struct record_key *key, const char *why)
{
    key->is_claimed = false;
    verdict_note(turn->out, true, "RecordOrphaned",
                 arena_printf(turn->arena, "%s may still exist: %s",
                              record_key_place(turn, &key->claim), why));
}

static void tell_obstacle(struct record_turn *turn, const struct record_key *key,
                          enum reason reason, const char *why)
{
    record_tell(turn, reason,
                arena_printf(turn->arena,
                             "%s waits to be deleted: %s; bring it back, or release the record "
                             "with the annotation dns.homelab.mortenolsen.pro/force-delete",
                             record_key_name(turn, &key->claim), why));
}

// Whoever can still be reached goes on being asked when nobody knows when the deletion began.
static bool is_over(const struct record_turn *turn, const struct record_key *key)
{
    const struct lane_view *lane = record_find_lane(turn, key->claim.class_name);
    bool is_dated = turn->object->deleted_s || !lane || !lane->is_lingering;
    return is_dated && turn->snapshot->now_ms >= record_orphan_ms(turn);
}

// True when the key needs nothing any more.
static bool remove_key(struct record_turn *turn, struct record_key *key)
{
    enum reason reason = REASON_NONE;
    if (record_is_lost(key))
        return true;
    if (has_moved(turn, key)) {
        orphan(turn, key, "its class has another server now");
        return true;
    }
    key->intent = CLAIM_REMOVE;
    key->is_held = !record_may_send(turn, key);
    if (record_is_settled(key))
        return true;
    const char *why = obstacle_of(turn, key, &reason);
    if (why && is_over(turn, key)) {
        orphan(turn, key, why);
        return true;
    }
    if (why && turn->snapshot->now_ms < record_orphan_ms(turn))
        record_wake_at(turn, record_orphan_ms(turn));
    if (record_has_failed(key))
        record_tell_failure(turn, key->receipt, "deletion: ");
    else if (why && !turn->told.attempt)
        tell_obstacle(turn, key, reason, why);
    return false;
}

static void note_uncertain(struct record_turn *turn)
{
    for (size_t i = 0; i < turn->key_count; i++)
        if (turn->keys[i].is_claimed && turn->keys[i].receipt &&
            turn->keys[i].receipt->is_uncertain)
            verdict_note(turn->out, true, "DeleteUncertain",
                         arena_printf(turn->arena,
                                      "%s may still exist: the server's answer to its deletion "
                                      "was unclear",
                                      record_key_place(turn, &turn->keys[i].claim)));
}

static void line_deleted(struct record_turn *turn)
{
    const struct snapshot *snapshot = turn->snapshot;
    struct log_attr *attrs = arena_new_array(turn->arena, struct log_attr, 4);
    attrs[0] =
        LOG_TEXT("record", arena_printf(turn->arena, "%.*s/%.*s", TEXT_ARGS(snapshot->namespace_),
                                        TEXT_ARGS(snapshot->name)));
    attrs[1] = LOG_SLICE("fqdn", turn->fqdn);
    attrs[2] = LOG_SLICE("class", turn->record.class_name);
    attrs[3] = LOG_END;
    turn->out->lines[turn->out->line_count++] =
        (struct verdict_line){.level = LOG_INFO, .message = "record deleted", .attrs = attrs};
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
    if (give_up_on_demand(turn)) {
        line_deleted(turn);
        return;
    }
    for (size_t i = 0; i < turn->key_count; i++)
        is_done &= remove_key(turn, &turn->keys[i]);
    if (!is_done)
        return;
    note_uncertain(turn);
    if (turn->key_count && !turn->out->note_count)
        note_keys(turn, false, "RecordDeleted", "is deleted");
    line_deleted(turn);
    turn->out->finalizer = FINALIZER_REMOVE;
    record_tell(turn, REASON_RECORD_DELETED, "deleted at the server");
}
