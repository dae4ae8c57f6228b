#include "controllers/dnsrecord/record_reconcile.h"

#include "controllers/dnsrecord/events.def"

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
    [FATE_GIVEN_UP] = {LOG_WARN, "record released, may still exist at the server"},
};

static const char *remaining_keys(const struct record_reconcile *reconcile)
{
    const char *left = NULL;
    for (size_t i = 0; i < reconcile->key_count; i++) {
        if (reconcile->keys[i].fate < FATE_KEPT)
            continue;
        const char *place = record_key_place(reconcile, &reconcile->keys[i]);
        left = left ? arena_printf(reconcile->arena, "%s, %s", left, place) : place;
    }
    return left;
}

static void report_ending(struct record_reconcile *reconcile)
{
    enum record_fate fate = FATE_OPEN;
    for (size_t i = 0; i < reconcile->key_count; i++)
        if (reconcile->keys[i].fate > fate)
            fate = reconcile->keys[i].fate;
    reconcile->remaining = remaining_keys(reconcile);
    record_report_line(reconcile, endings[fate].level, endings[fate].message);
}

// ---- letting go ---------------------------------------------------------------------------------

static void release(struct record_reconcile *reconcile, enum record_fate fate)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        struct record_key *key = &reconcile->keys[i];
        key->is_claimed = false;
        key->fate = fate;
        if (fate == FATE_GIVEN_UP)
            record_add_key_event(reconcile, key, true, EVENT_RECORD_ORPHANED,
                                 "may still exist: the annotation force-delete released it");
        else
            record_add_key_event(reconcile, key, false, EVENT_RECORD_DELETED,
                                 "stays: deletionPolicy is Retain");
    }
    reconcile->out->finalizer = FINALIZER_REMOVE;
    record_report(reconcile, REASON_RECORD_DELETED, "released without a deletion at the server");
    report_ending(reconcile);
}

// Why nothing can be sent for a key, or NULL: the class or its Secret is gone, or it is unusable;
// or the key has no name.
static const char *obstacle_of(const struct record_reconcile *reconcile,
                               const struct record_key *key, enum reason *reason)
{
    struct text name = key->claim.class_name;
    const struct backend_view *backend = record_find_backend(reconcile, name);
    if (key->label && !key->claim.domain.len) {
        *reason = REASON_VALIDATION_FAILED;
        return reconcile->faults;
    }
    if (!record_find_class(reconcile, name)) {
        *reason = REASON_DNS_CLASS_NOT_FOUND;
        return arena_printf(reconcile->arena, "DNSClass %.*s does not exist", TEXT_ARGS(name));
    }
    if (!record_class_server(reconcile, name).len ||
        (backend && backend->fault.fault != FAULT_NONE)) {
        *reason = backend ? reason_find(text_of(backend->fault.reason)) : REASON_NONE;
        if (*reason == REASON_NONE || *reason == REASON_PENDING)
            *reason = REASON_INVALID_CONFIGURATION;
        return arena_printf(reconcile->arena, "DNSClass %.*s can't be used%s%s", TEXT_ARGS(name),
                            backend && backend->fault.text[0] ? ": " : "",
                            backend ? backend->fault.text : "");
    }
    return NULL;
}

static void give_up(struct record_reconcile *reconcile, struct record_key *key, const char *why)
{
    key->is_claimed = false;
    key->fate = FATE_GIVEN_UP;
    record_add_key_event(reconcile, key, true, EVENT_RECORD_ORPHANED,
                         arena_printf(reconcile->arena, "may still exist: %s", why));
}

static void report_obstacle(struct record_reconcile *reconcile, const struct record_key *key,
                            enum reason reason, const char *why)
{
    record_report(reconcile, reason,
                  arena_printf(reconcile->arena,
                               "%s waits to be deleted: %s; %s, or release the record with the "
                               "annotation dns.homelab.mortenolsen.pro/force-delete",
                               key->label ? key->label : record_key_name(reconcile, &key->claim),
                               why,
                               reason == REASON_VALIDATION_FAILED ? "mend it" : "bring it back"));
}

// True if orphan-after is over. When the deletion of an object that is gone began, nobody knows: as
// long as its backend lingers, that is asked.
static bool may_give_up(const struct record_reconcile *reconcile, const struct record_key *key)
{
    const struct backend_view *backend = record_find_backend(reconcile, key->claim.class_name);
    bool is_dated = reconcile->object->deleted_s || !backend || !backend->is_lingering;
    return is_dated && reconcile->snapshot->now_ms >= record_orphan_ms(reconcile);
}

// The class is gone or unusable, and its backend goes on with the Secret that it knew last.
static bool goes_on_lingering(const struct record_reconcile *reconcile,
                              const struct record_key *key)
{
    const struct backend_view *backend = record_find_backend(reconcile, key->claim.class_name);
    return backend && backend->is_open && backend->is_lingering &&
           text_is(key->claim.server, backend->registry);
}

// True if nothing is left to be done for the key.
static bool remove_key(struct record_reconcile *reconcile, struct record_key *key)
{
    enum reason reason = REASON_NONE;
    if (record_has_lost(key) && !record_is_in_way(key)) {
        key->fate = FATE_TAKEN;
        return true;
    }
    if (record_has_moved(reconcile, key)) {
        give_up(reconcile, key, "its class has another server now");
        return true;
    }
    key->intent = CLAIM_REMOVE;
    key->is_suspended = !record_may_send(reconcile, key);
    if (record_is_settled(key)) {
        key->fate = key->receipt->is_inherited ? FATE_TAKEN : FATE_DELETED;
        return true;
    }
    const char *why = obstacle_of(reconcile, key, &reason);
    if (why && may_give_up(reconcile, key)) {
        give_up(reconcile, key, why);
        return true;
    }
    if (why && reconcile->snapshot->now_ms < record_orphan_ms(reconcile))
        decision_wake_at(reconcile->out, record_orphan_ms(reconcile));
    if (record_has_failed(key))
        record_report_failure(reconcile, key->receipt, "deletion: ");
    else if (why && !reconcile->reported.attempt && !goes_on_lingering(reconcile, key))
        report_obstacle(reconcile, key, reason, why);
    return false;
}

static void note_endings(struct record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->key_count; i++) {
        const struct record_key *key = &reconcile->keys[i];
        if (key->fate == FATE_TAKEN)
            record_add_key_event(reconcile, key, false, EVENT_RECORD_DELETED,
                                 "is another record's now");
        else if (key->fate == FATE_DELETED && key->receipt->is_uncertain)
            record_add_key_event(
                reconcile, key, true, EVENT_DELETE_UNCERTAIN,
                "may still exist: the server's answer to its deletion was unclear");
        else if (key->fate == FATE_DELETED)
            record_add_key_event(reconcile, key, false, EVENT_RECORD_DELETED, "is deleted");
    }
}

void record_gone(struct record_reconcile *reconcile)
{
    bool is_done = true;
    if (!reconcile->object->has_finalizer) {
        for (size_t i = 0; i < reconcile->key_count; i++)
            reconcile->keys[i].is_claimed = false;
        reconcile->ours.claim_count = reconcile->key_count = 0;
        reconcile->ours.has_broken_claims = false;
        record_report(reconcile, REASON_RECORD_DELETED, "nothing of it is left to delete");
        return;
    }
    if (reconcile->record.is_force_deleted || reconcile->record.is_retained) {
        release(reconcile, reconcile->record.is_force_deleted ? FATE_GIVEN_UP : FATE_KEPT);
        return;
    }
    for (size_t i = 0; i < reconcile->key_count; i++)
        is_done &= remove_key(reconcile, &reconcile->keys[i]);
    if (!is_done)
        return;
    note_endings(reconcile);
    reconcile->out->finalizer = FINALIZER_REMOVE;
    record_report(reconcile, REASON_RECORD_DELETED, "deleted at the server");
    report_ending(reconcile);
}
