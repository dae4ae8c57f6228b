#include <string.h>

#include "controllers/dnsrecord/events.def"

#include "controllers/dnsrecord/record_reconcile.h"

enum { HOUR_S = 3600, ATTRS_MAX = 11 };

// What each reason comes with, beside the text.
static const struct {
    enum reason reason;
    enum condition_status ready;
    enum dnsrecord_state state;
    const char *code; // of status.error, when the server named none
} reasons[] = {
    {REASON_RECORD_CREATED, CONDITION_TRUE, RECORD_STATE_CREATED, NULL},
    {REASON_RECORD_UPDATED, CONDITION_TRUE, RECORD_STATE_UPDATED, NULL},
    {REASON_RECORD_DELETED, CONDITION_FALSE, RECORD_STATE_DELETED, NULL},
    {REASON_PENDING, CONDITION_UNKNOWN, RECORD_STATE_PENDING, NULL},
    {REASON_PAUSED, CONDITION_UNKNOWN, RECORD_STATE_PENDING, NULL},
    {REASON_VALIDATION_FAILED, CONDITION_FALSE, RECORD_STATE_ERROR, "INVALID_RECORD"},
    {REASON_INVALID_CONFIGURATION, CONDITION_FALSE, RECORD_STATE_ERROR, "INVALID_CONFIGURATION"},
    {REASON_DNS_CLASS_NOT_FOUND, CONDITION_FALSE, RECORD_STATE_ERROR, "DNS_CLASS_NOT_FOUND"},
    {REASON_SECRET_NOT_FOUND, CONDITION_FALSE, RECORD_STATE_ERROR, "SECRET_NOT_FOUND"},
    {REASON_CONFLICT, CONDITION_FALSE, RECORD_STATE_ERROR, "CONFLICT"},
    {REASON_NOT_PERMITTED, CONDITION_FALSE, RECORD_STATE_ERROR, "NOT_PERMITTED"},
    {REASON_SERVER_UNREACHABLE, CONDITION_FALSE, RECORD_STATE_ERROR, "SERVER_UNREACHABLE"},
    {REASON_SERVER_ERROR, CONDITION_FALSE, RECORD_STATE_ERROR, "SERVER_ERROR"},
    {REASON_AUTHENTICATION_FAILED, CONDITION_FALSE, RECORD_STATE_ERROR, "AUTH_FAILED"},
    {REASON_RATE_LIMITED, CONDITION_FALSE, RECORD_STATE_ERROR, "RATE_LIMITED"},
    {REASON_FORBIDDEN, CONDITION_FALSE, RECORD_STATE_ERROR, "FORBIDDEN"},
    {REASON_QUOTA_EXCEEDED, CONDITION_FALSE, RECORD_STATE_ERROR, "QUOTA_EXCEEDED"},
};

// For failures that carry no reason of ours.
static const enum reason by_fault[] = {
    [FAULT_NONE] = REASON_SERVER_ERROR,          [FAULT_SPEC] = REASON_VALIDATION_FAILED,
    [FAULT_WAIT] = REASON_SERVER_ERROR,          [FAULT_AGAIN] = REASON_SERVER_ERROR,
    [FAULT_AUTH] = REASON_AUTHENTICATION_FAILED, [FAULT_LIMIT] = REASON_RATE_LIMITED,
    [FAULT_RACE] = REASON_SERVER_ERROR,
};

static size_t row_of(enum reason reason)
{
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].reason == reason)
            return i;
    return row_of(REASON_SERVER_ERROR);
}

void record_report(struct record_reconcile *reconcile, enum reason reason, const char *message)
{
    size_t row = row_of(reason);
    reconcile->reported = (struct record_reported){
        .reason = reasons[row].reason,
        .ready = reasons[row].ready,
        .state = reasons[row].state,
        .message = message,
        .code = reasons[row].code,
    };
}

void record_report_failure(struct record_reconcile *reconcile, const struct receipt *receipt,
                           const char *prefix)
{
    enum reason reason = reason_find(text_of(receipt->error.reason));
    if (reason == REASON_NONE)
        reason = by_fault[receipt->error.fault];
    record_report(reconcile, reason,
                  arena_printf(reconcile->arena, "%s%s", prefix, receipt->error.text));
    if (*receipt->error.code)
        reconcile->reported.code = arena_copy_text(reconcile->arena, receipt->error.code);
    reconcile->reported.attempt = receipt;
}

void record_report_success(struct record_reconcile *reconcile, const struct record_key *key)
{
    const struct dnsrecord_applied *applied = key->applied;
    bool is_same = applied && dnsrecord_is_same_hash(applied->hash, key->receipt->hash);
    bool was_created = is_same && reconcile->ours.state == RECORD_STATE_CREATED;
    bool is_first = !applied || was_created;
    const char *message = record_key_place(reconcile, key);
    if (is_first && key->claim.replaces.len)
        message = arena_printf(reconcile->arena, "%s; it replaced what was not ours: %.*s", message,
                               TEXT_ARGS(key->claim.replaces));
    record_report(reconcile, is_first ? REASON_RECORD_CREATED : REASON_RECORD_UPDATED, message);
    reconcile->reported.is_created = !applied;
    reconcile->reported.is_updated = applied && !is_same;
}

// ---- status -------------------------------------------------------------------------------------

static bool is_success(const struct record_reported *reported)
{
    return reported->ready == CONDITION_TRUE;
}

static int64_t now_s(const struct record_reconcile *reconcile)
{
    return reconcile->snapshot->now_ms / 1000;
}

static bool is_sent(const struct record_key *key)
{
    return key->receipt && key->receipt->was_sent;
}

// What is known to stand where; not what another has won or what was removed.
static void applied_make(const struct record_reconcile *reconcile, struct dnsrecord_status *status)
{
    struct dnsrecord_applied *items =
        arena_new_array(reconcile->arena, struct dnsrecord_applied, RECORD_KEYS_MAX);
    for (size_t i = 0; i < reconcile->key_count && status->applied_count < DNSRECORD_CLAIMS_MAX;
         i++) {
        const struct record_key *key = &reconcile->keys[i];
        struct dnsrecord_applied *item = &items[status->applied_count];
        const struct receipt *receipt = key->receipt;
        bool is_new =
            receipt && key->intent == CLAIM_SET && key->is_claimed && record_is_settled(key);
        bool is_gone = key->intent == CLAIM_REMOVE && record_is_settled(key);
        if (record_has_lost(key) || is_gone || (!is_new && !key->applied))
            continue;
        *item = (struct dnsrecord_applied){.time_s = now_s(reconcile)};
        if (key->applied)
            *item = *key->applied;
        item->key = key->claim;
        if (is_new) {
            if (!key->applied || is_sent(key) || !dnsrecord_is_same_hash(item->hash, receipt->hash))
                memcpy(item->hash, receipt->hash, sizeof item->hash);
            item->time_s = is_sent(key) ? receipt->settled_s : item->time_s;
        }
        if (receipt && receipt->is_open)
            memset(item->hash, 0, sizeof item->hash);
        status->applied_count++;
    }
    status->applied = items;
}

static enum reason acceptance(const struct record_reconcile *reconcile)
{
    if (!reconcile->is_valid)
        return REASON_VALIDATION_FAILED;
    enum reason reason = reconcile->reported.reason;
    if (reason == REASON_VALIDATION_FAILED || reason == REASON_CONFLICT ||
        reason == REASON_NOT_PERMITTED)
        return reason;
    return REASON_ACCEPTED;
}

static const char *acceptance_text(const struct record_reconcile *reconcile, enum reason reason)
{
    if (reason == REASON_ACCEPTED)
        return "the record is valid and its name is free for it";
    return reconcile->is_valid ? reconcile->reported.message : reconcile->faults;
}

static void conditions_make(struct record_reconcile *reconcile, struct conditions *out)
{
    const struct record_reported *reported = &reconcile->reported;
    enum reason accepted = acceptance(reconcile);
    conditions_set(out, &reconcile->ours.conditions,
                   (struct condition){.type = "Ready",
                                      .status = reported->ready,
                                      .reason = reported->reason,
                                      .message = reported->message,
                                      .observed_generation = reconcile->object->generation},
                   now_s(reconcile));
    conditions_set(
        out, &reconcile->ours.conditions,
        (struct condition){.type = "Accepted",
                           .status = accepted == REASON_ACCEPTED ? CONDITION_TRUE : CONDITION_FALSE,
                           .reason = accepted,
                           .message = acceptance_text(reconcile, accepted),
                           .observed_generation = reconcile->object->generation},
        now_s(reconcile));
}

static enum reason old_reason(const struct record_reconcile *reconcile)
{
    const struct condition *ready = conditions_find(&reconcile->ours.conditions, "Ready");
    return ready ? ready->reason : REASON_NONE;
}

static void error_make(const struct record_reconcile *reconcile, struct dnsrecord_status *status)
{
    const struct record_reported *reported = &reconcile->reported;
    bool is_old = old_reason(reconcile) == reported->reason && reconcile->ours.error_time_s;
    if (!reported->code)
        return;
    status->has_error = true;
    status->error_code = reported->code;
    status->error_message = reported->message;
    status->error_time_s = is_old ? reconcile->ours.error_time_s : now_s(reconcile);
    if (!reported->attempt)
        return;
    status->error_time_s = reported->attempt->failed_ms / 1000;
    status->error_trace_id = reported->attempt->trace;
}

static int64_t last_sync_s(const struct record_reconcile *reconcile)
{
    const struct record_key *wanted = reconcile->wanted;
    if (!is_success(&reconcile->reported) || !wanted)
        return reconcile->ours.last_sync_s;
    if (is_sent(wanted))
        return wanted->receipt->settled_s;
    return reconcile->ours.last_sync_s ? reconcile->ours.last_sync_s : now_s(reconcile);
}

static const struct value *status_make(struct record_reconcile *reconcile)
{
    const struct receipt *attempt = reconcile->reported.attempt;
    struct dnsrecord_status status = {
        .state = reconcile->reported.state,
        .last_sync_s = last_sync_s(reconcile),
        .fqdn = reconcile->fqdn,
        .observed_generation = reconcile->object->generation,
        .attempts = attempt ? attempt->attempts : 0,
        .next_attempt_s = attempt ? (attempt->next_attempt_ms + 999) / 1000 : 0,
    };
    if (status.attempts)
        record_attempt_hash(reconcile, status.attempt_hash);
    conditions_make(reconcile, &status.conditions);
    error_make(reconcile, &status);
    applied_make(reconcile, &status);
    return dnsrecord_status_encode(reconcile->arena, &status);
}

// ---- Events and log lines -----------------------------------------------------------------------

static const struct log_attr *attrs_make(const struct record_reconcile *reconcile)
{
    const struct snapshot *snapshot = reconcile->snapshot;
    const struct record_reported *reported = &reconcile->reported;
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, ATTRS_MAX);
    size_t count = 0;
    attrs[count++] = LOG_TEXT("record", arena_printf(reconcile->arena, "%.*s/%.*s",
                                                     TEXT_ARGS(snapshot->namespace_),
                                                     TEXT_ARGS(snapshot->name)));
    attrs[count++] = LOG_SLICE("fqdn", reconcile->fqdn);
    attrs[count++] = LOG_SLICE("type", reconcile->record.type);
    attrs[count++] = LOG_SLICE("class", reconcile->record.class_name);
    if (reported->code) {
        attrs[count++] = LOG_TEXT("reason", reason_name(reported->reason));
        attrs[count++] = LOG_TEXT("error", reported->message);
    }
    if (reported->attempt) {
        attrs[count++] = LOG_INT("attempts", reported->attempt->attempts);
        attrs[count++] = LOG_TEXT("trace", reported->attempt->trace);
    }
    if (reconcile->remaining)
        attrs[count++] = LOG_TEXT("left", reconcile->remaining);
    if (reconcile->wanted && reconcile->wanted->claim.replaces.len && !reported->is_updated)
        attrs[count++] = LOG_SLICE("replaces", reconcile->wanted->claim.replaces);
    attrs[count] = LOG_END;
    return attrs;
}

void record_add_key_event(struct record_reconcile *reconcile, const struct record_key *key,
                          bool is_warning, const char *reason, const char *what)
{
    decision_add_event(
        reconcile->out, is_warning, reason,
        arena_printf(reconcile->arena, "%s %s", record_key_place(reconcile, key), what));
}

void record_report_line(struct record_reconcile *reconcile, enum log_level level,
                        const char *message)
{
    reconcile->out->lines[reconcile->out->line_count++] =
        (struct decision_line){.level = level, .message = message, .attrs = attrs_make(reconcile)};
}

// The 1st, 2nd, 4th, 8th ... failure in a row, then one an hour.
static bool is_loud(const struct record_reconcile *reconcile)
{
    const struct receipt *attempt = reconcile->reported.attempt;
    if (old_reason(reconcile) != reconcile->reported.reason || !attempt)
        return old_reason(reconcile) != reconcile->reported.reason;
    int64_t failed_s = attempt->failed_ms / 1000;
    bool is_power = (attempt->attempts & (attempt->attempts - 1)) == 0;
    bool is_new = failed_s != reconcile->ours.error_time_s;
    return is_new && (is_power || failed_s / HOUR_S != reconcile->ours.error_time_s / HOUR_S);
}

static void note_success(struct record_reconcile *reconcile)
{
    const char *place = reconcile->reported.message;
    if (reconcile->reported.is_created) {
        decision_add_event(reconcile->out, false, EVENT_RECORD_CREATED, place);
        record_report_line(reconcile, LOG_INFO, "record created");
    } else if (reconcile->reported.is_updated) {
        decision_add_event(reconcile->out, false, EVENT_RECORD_UPDATED, place);
        record_report_line(reconcile, LOG_INFO, "record updated");
    }
}

static void note_reported(struct record_reconcile *reconcile)
{
    const struct record_reported *reported = &reconcile->reported;
    bool is_conflict = reported->reason == REASON_CONFLICT;
    if (is_success(reported)) {
        note_success(reconcile);
        return;
    }
    if (!reported->code || !is_loud(reconcile))
        return;
    decision_add_event(
        reconcile->out, true, is_conflict ? EVENT_RECORD_CONFLICT : EVENT_RECORD_FAILED,
        arena_printf(reconcile->arena, "%s: %s", reason_name(reported->reason), reported->message));
    record_report_line(reconcile, LOG_WARN, is_conflict ? "record lost its name" : "record failed");
}

static void fault_make(struct record_reconcile *reconcile)
{
    const struct record_reported *reported = &reconcile->reported;
    if (reported->attempt)
        reconcile->out->fault = reported->attempt->error;
    else if (reported->code)
        error_set(&reconcile->out->fault, FAULT_WAIT, reason_name(reported->reason), "%s",
                  reported->message);
}

void record_report_decision(struct record_reconcile *reconcile)
{
    struct decision *out = reconcile->out;
    enum reason reason =
        reconcile->reported.reason ? reconcile->reported.reason : old_reason(reconcile);
    out->class_label = record_copy_text(reconcile, reconcile->record.class_name);
    out->reason_label = reason_name(reason ? reason : REASON_PENDING);
    if (reconcile->was_unreadable)
        decision_add_event(
            out, true, EVENT_CLAIMS_REBUILT,
            "the annotation claims was unreadable and is rebuilt from status and spec");
    if (reconcile->reported.reason == REASON_NONE)
        return;
    fault_make(reconcile);
    out->status = status_make(reconcile);
    // The status is written after finalizer and annotation, and its Events and log lines with it.
    if (!out->metadata_change_count && out->finalizer != FINALIZER_ADD)
        note_reported(reconcile);
}
