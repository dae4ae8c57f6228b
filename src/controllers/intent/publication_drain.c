#include "controllers/intent/publication_reconcile.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

// Which records a publication uses, and the proof that its names are gone from the provider of one
// that it uses no more: external-dns has synchronized twice since the last DNSEndpoint went (the
// first one may have begun before), or it was ready for two intervals where nobody can ask it.

enum { SYNCS_WANTED = 2, ASSUMED_SLACK_S = 30, INTERVAL_DEFAULT_S = 60 };

// ---- which records ------------------------------------------------------------------------------

static bool is_record(const struct published_record *written, const struct object *object)
{
    return text_equal(written->namespace_, object_namespace(object)) &&
           text_equal(written->name, object_name(object));
}

struct publication_record *publication_find_record(const struct publication_reconcile *reconcile,
                                                   const struct object *object)
{
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (is_record(&reconcile->records[i].written, object))
            return &reconcile->records[i];
    return NULL;
}

static struct publication_record *add_record(struct publication_reconcile *reconcile,
                                             const struct object *object)
{
    struct publication_record *record = &reconcile->records[reconcile->record_count++];
    record->object = object;
    record->written.namespace_ = object_namespace(object);
    record->written.name = object_name(object);
    return record;
}

static void list_written(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->before.record_count; i++) {
        struct publication_record *record = &reconcile->records[reconcile->record_count++];
        record->written = reconcile->before.records[i];
        record->was_written = true;
        record->object = model_find(&reconcile->reader, &dnsupdaterecord_kind,
                                    record->written.namespace_, record->written.name);
    }
}

static bool has_condition(const struct update_record_status *status, const char *type,
                          enum condition_status wanted)
{
    const struct condition *found = conditions_find(&status->conditions, type);
    return found && found->status == wanted;
}

// One that is deleted stays as long as somebody lists it, if our finalizer keeps it.
static bool is_going(const struct object *record)
{
    return record->deleted_s && !record->has_finalizer;
}

// A record that moves to another place, or is going, is left by all.
static bool is_usable(const struct resolved_record *record)
{
    return !record->fault && !is_going(record->object) &&
           !has_condition(record->status, "Moving", CONDITION_TRUE);
}

static void list_wanted(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *endpoint = &reconcile->endpoints[i];
        if (!endpoint->set_count || !is_usable(endpoint->record))
            continue;
        struct publication_record *record =
            publication_find_record(reconcile, endpoint->record->object);
        if (!record)
            record = add_record(reconcile, endpoint->record->object);
        record->is_wanted = true;
    }
}

struct publication_record *publication_record_of(const struct publication_reconcile *reconcile,
                                                 const struct standing_endpoint *standing)
{
    struct text name = text_map_find(standing->says.annotations, standing->says.annotation_count,
                                     TEXT(INTENT_RECORD_ANNOTATION));
    struct text object = text_of(emco_object_name(reconcile->arena, name));
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (text_equal(reconcile->records[i].written.name, object) &&
            text_equal(reconcile->records[i].written.namespace_,
                       object_namespace(standing->object)))
            return &reconcile->records[i];
    return NULL;
}

static void count_endpoints(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->context.standing_count; i++) {
        struct publication_record *record =
            publication_record_of(reconcile, &reconcile->context.standing[i]);
        if (record)
            record->endpoints++;
    }
}

static void decode_records(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->record_count; i++) {
        struct publication_record *record = &reconcile->records[i];
        struct update_record *spec = arena_new_of(reconcile->arena, struct update_record);
        struct update_record_status *status =
            arena_new_of(reconcile->arena, struct update_record_status);
        if (!record->object)
            continue;
        update_record_unpack(reconcile->arena, object_spec(record->object), spec);
        update_record_status_unpack(object_spec(record->object), object_managed(record->object),
                                    status);
        record->spec = spec;
        record->status = status;
    }
}

// ---- the proof ----------------------------------------------------------------------------------

struct drain {
    struct publication_reconcile *reconcile;
    struct publication_record *record;
    const struct update_record *spec;
    const struct update_record_status *status;
};

static enum reason reason_of(const struct drain *drain, const char *type)
{
    const struct condition *found = conditions_find(&drain->status->conditions, type);
    return found ? found->reason : REASON_NONE;
}

static const char *shown_name(const struct drain *drain)
{
    return arena_printf(drain->reconcile->arena, "DNSUpdateRecord %.*s/%.*s",
                        TEXT_ARGS(drain->record->written.namespace_),
                        TEXT_ARGS(drain->record->written.name));
}

static void end_drain(struct drain *drain, enum reason reason, const char *message)
{
    drain->record->is_drained = true;
    drain->record->reason = reason;
    drain->record->message = message;
}

static void go_on(struct drain *drain, enum reason reason, const char *message)
{
    drain->record->reason = reason;
    drain->record->message = message;
}

// Nobody has carried anything to the provider.
static bool was_never_carried(const struct drain *drain)
{
    enum reason reason = reason_of(drain, "DeploymentAvailable");
    return reason == REASON_NOT_A_CLUSTER ||
           (!drain->spec->is_native && !drain->status->last_sync_s &&
            !drain->status->deployment.len) ||
           update_record_bool(drain->spec, PARAMETER_DRY_RUN, false);
}

static int64_t interval_s(const struct drain *drain)
{
    int64_t ns;
    struct text interval = update_record_text(drain->spec, PARAMETER_INTERVAL);
    if (!interval.len || !external_dns_duration_ns(interval, &ns))
        return INTERVAL_DEFAULT_S;
    return (ns + 999999999) / 1000000000;
}

static void assume_drain(struct drain *drain, const struct condition *available)
{
    struct arena *arena = drain->reconcile->arena;
    int64_t since_s = drain->record->written.draining_since_s;
    if (available->transition_s > since_s)
        since_s = available->transition_s;
    int64_t until_s = since_s + 2 * interval_s(drain) + ASSUMED_SLACK_S;
    if (until_s <= drain->reconcile->in->now_ms / 1000) {
        end_drain(drain, REASON_DRAIN_ASSUMED,
                  "external-dns can't be asked, but was ready for two intervals after the names "
                  "went");
        return;
    }
    decision_wake_at(drain->reconcile->out, until_s * 1000);
    go_on(drain, REASON_DRAINING,
          arena_printf(arena,
                       "the metrics of external-dns for %s can't be read: two intervals are "
                       "waited for",
                       shown_name(drain)));
}

static void count_sync(struct drain *drain)
{
    struct published_record *written = &drain->record->written;
    if (drain->status->last_sync_s > written->sync_s) {
        written->sync_s = drain->status->last_sync_s;
        written->syncs++;
    }
    if (written->syncs >= SYNCS_WANTED)
        end_drain(drain, REASON_DRAINED, "external-dns has removed the names");
    else
        go_on(drain, REASON_DRAINING,
              arena_printf(drain->reconcile->arena, "external-dns for %s has yet to synchronize %s",
                           shown_name(drain), written->syncs ? "once more" : "twice"));
}

static void block_drain(struct drain *drain)
{
    if (drain->spec->may_abandon) {
        end_drain(
            drain, REASON_RECORDS_RETAINED,
            arena_printf(drain->reconcile->arena,
                         "external-dns for %s does not run, and the annotation " ABANDON_ANNOTATION
                         " lets the names stay",
                         shown_name(drain)));
        return;
    }
    go_on(drain, REASON_DRAIN_BLOCKED,
          arena_printf(drain->reconcile->arena,
                       "external-dns for %s does not run, so nobody removes the names: mend its "
                       "Deployment, or set the annotation " ABANDON_ANNOTATION " to \"true\"",
                       shown_name(drain)));
}

static void prove_drain(struct drain *drain)
{
    const struct condition *available =
        conditions_find(&drain->status->conditions, "DeploymentAvailable");
    if (was_never_carried(drain))
        end_drain(drain, REASON_DRAINED, "nobody has carried the names to the provider");
    else if (update_record_keeps_names(drain->spec))
        end_drain(drain, REASON_RECORDS_RETAINED,
                  arena_printf(drain->reconcile->arena,
                               "the policy of %s removes nothing: the names stay at the provider",
                               shown_name(drain)));
    else if (drain->spec->is_native) // the last DNSEndpoint went behind the names
        end_drain(drain, REASON_DRAINED, "the provider has the names no more");
    else if (!available || available->status != CONDITION_TRUE)
        block_drain(drain);
    else if (reason_of(drain, "Synced") == REASON_NOT_SCRAPED)
        assume_drain(drain, available);
    else
        count_sync(drain);
}

static void drain_record(struct publication_reconcile *reconcile, struct publication_record *record)
{
    struct drain drain = {
        .reconcile = reconcile, .record = record, .spec = record->spec, .status = record->status};
    struct published_record *written = &record->written;
    if (record->endpoints && reconcile->has_endpoints) {
        *written =
            (struct published_record){.namespace_ = written->namespace_, .name = written->name};
        record->reason = REASON_DRAINING;
        record->message = "DNSEndpoints are being removed";
        return;
    }
    if (!record->object) {
        record->is_drained = true;
        record->reason = REASON_DRAINED;
        record->message = "the DNSUpdateRecord is gone";
        return;
    }
    if (!written->draining_since_s) {
        written->draining_since_s = reconcile->in->now_ms / 1000;
        written->sync_s = drain.status->last_sync_s;
    }
    prove_drain(&drain);
}

static void drop_drained(struct publication_reconcile *reconcile)
{
    size_t kept = 0;
    for (size_t i = 0; i < reconcile->record_count; i++) {
        const struct publication_record *record = &reconcile->records[i];
        if (!record->is_drained) {
            reconcile->records[kept++] = *record;
        } else if (!reconcile->has_drained || record->reason == REASON_RECORDS_RETAINED) {
            reconcile->has_drained = true;
            reconcile->drained = *record;
        }
    }
    reconcile->record_count = kept;
}

static bool is_used(const struct publication_reconcile *reconcile,
                    const struct publication_record *record)
{
    return (reconcile->is_wanted && record->is_wanted) || !publication_is_known(reconcile);
}

void publication_records(struct publication_reconcile *reconcile)
{
    size_t most = reconcile->before.record_count + reconcile->resolved.record_count;
    reconcile->records = arena_new_array(reconcile->arena, struct publication_record, most + 1);
    list_written(reconcile);
    if (reconcile->is_wanted)
        list_wanted(reconcile);
    decode_records(reconcile);
    count_endpoints(reconcile);
    for (size_t i = 0; i < reconcile->record_count; i++) {
        struct publication_record *record = &reconcile->records[i];
        if (!is_used(reconcile, record))
            drain_record(reconcile, record);
        else
            record->written = (struct published_record){.namespace_ = record->written.namespace_,
                                                        .name = record->written.name};
    }
    drop_drained(reconcile);
}
