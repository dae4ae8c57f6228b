#include "controllers/intent/publication_reconcile.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

// The proof that the names of a publication are gone from the provider of a record that it uses no
// more: external-dns has synchronized twice since the last DNSEndpoint went (the first one may have
// begun before), or it was ready for two intervals where nobody can ask it. Native names were seen
// going, each ahead of its DNSEndpoint.

enum {
    LAST_CHANCE_S = 30,
    ROLLOUT_S = 30, // each change of its Deployment takes external-dns away for a moment
    SYNCS_WANTED = 2,
    ASSUMED_SLACK_S = 30,
    INTERVAL_DEFAULT_S = 60,
};

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

// Ends the drain with the names left at the provider; without a name it is an ordinary end.
static void retain_names(struct drain *drain, const char *why)
{
    bool is_empty = !drain->record->written.name_count;
    end_drain(drain, is_empty ? REASON_DRAINED : REASON_RECORDS_RETAINED,
              is_empty ? "there is no name" : why);
}

static void let_stay(struct drain *drain)
{
    retain_names(drain,
                 "they could not be removed, and an annotation of the record lets them stay");
}

// The annotation by which people let the names stay; that for moves counts for the move alone.
static const char *way_to_abandon(const struct drain *drain)
{
    return reason_of(drain, "Moving") ? MOVE_ANNOTATION ": abandon"
                                      : ABANDON_ANNOTATION ": \"true\"";
}

// Ends the drain when name servers agree with whoever says that the names are removed.
static void verify_drain(struct drain *drain, enum reason reason, const char *message)
{
    const char *doubt = publication_verify_gone(drain->reconcile, drain->record);
    if (!doubt)
        end_drain(drain, reason, message);
    else if (drain->spec->may_abandon)
        let_stay(drain);
    else
        go_on(drain, REASON_DRAINING,
              arena_printf(drain->reconcile->arena, "%s, but %s", message, doubt));
}

// Did nobody carry names to the provider? For external-dns that is known once its controller has
// seen that no DNSEndpoint is left.
static bool was_never_carried(const struct drain *drain)
{
    enum reason reason = reason_of(drain, "DeploymentAvailable");
    return !drain->record->written.is_carried &&
           (update_record_is_dry_run(drain->spec) || !drain->status->deployment.len ||
            reason == REASON_NOT_A_CLUSTER);
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
        verify_drain(drain, REASON_DRAIN_ASSUMED,
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

// A synchronization that still read the DNSEndpoints, or could not do its work, removed none of
// their names, so it is no proof.
static bool is_no_proof(struct drain *drain)
{
    struct arena *arena = drain->reconcile->arena;
    const struct condition *synced = conditions_find(&drain->status->conditions, "Synced");
    if (synced && synced->reason == REASON_SYNC_FAILING && drain->spec->may_abandon)
        let_stay(drain);
    else if (synced && synced->reason == REASON_SYNC_FAILING)
        go_on(drain, REASON_SYNC_FAILING,
              arena_printf(arena,
                           "external-dns for %s can't do its work: see its condition Synced; the "
                           "annotation %s lets the names stay",
                           shown_name(drain), way_to_abandon(drain)));
    else if (reason_of(drain, "Draining") == REASON_SOURCE_LAGGING)
        go_on(drain, REASON_DRAINING,
              arena_printf(arena, "external-dns for %s still reads DNSEndpoints that are gone",
                           shown_name(drain)));
    else
        return false;
    return true;
}

static void count_sync(struct drain *drain)
{
    struct published_record *written = &drain->record->written;
    if (is_no_proof(drain)) {
        written->sync_s = drain->status->last_sync_s;
        return;
    }
    if (drain->status->last_sync_s > written->sync_s) {
        written->sync_s = drain->status->last_sync_s;
        written->syncs++;
    }
    if (written->syncs >= SYNCS_WANTED)
        verify_drain(drain, REASON_DRAINED, "external-dns has removed the names");
    else
        go_on(drain, REASON_DRAINING,
              arena_printf(drain->reconcile->arena, "external-dns for %s has yet to synchronize %s",
                           shown_name(drain), written->syncs ? "once more" : "twice"));
}

static void block_drain(struct drain *drain)
{
    const struct publication_record *record = drain->record;
    if (drain->spec->may_abandon)
        let_stay(drain);
    else
        go_on(drain, REASON_DRAIN_BLOCKED,
              arena_printf(drain->reconcile->arena,
                           "external-dns for %s does not run, so nobody removes %s: mend its "
                           "Deployment, or set the annotation %s",
                           shown_name(drain),
                           publication_list_names(drain->reconcile->arena, &record->written),
                           way_to_abandon(drain)));
}

static bool is_rolling_out(const struct drain *drain, const struct condition *available)
{
    return available && available->reason == REASON_PROGRESSING &&
           available->transition_s + ROLLOUT_S > drain->reconcile->in->now_ms / 1000;
}

static void await_rollout(struct drain *drain, const struct condition *available)
{
    decision_wake_at(drain->reconcile->out, (available->transition_s + ROLLOUT_S) * 1000);
    go_on(drain, REASON_DRAINING,
          arena_printf(drain->reconcile->arena, "external-dns for %s is being rolled out",
                       shown_name(drain)));
}

static void drain_native(struct drain *drain)
{
    if (publication_natives_are_gone(drain->reconcile, drain->record, false))
        verify_drain(drain, REASON_DRAINED, "the provider has the names no more");
    else if (drain->spec->may_abandon &&
             publication_natives_are_gone(drain->reconcile, drain->record, true))
        let_stay(drain);
    else
        go_on(drain, REASON_DRAINING, "the names are being removed from the provider");
}

static void prove_drain(struct drain *drain)
{
    const struct condition *available =
        conditions_find(&drain->status->conditions, "DeploymentAvailable");
    const char *why_kept = update_record_why_names_stay(drain->spec);
    if (was_never_carried(drain))
        end_drain(drain, REASON_DRAINED, "nobody has carried the names to the provider");
    else if (why_kept)
        retain_names(drain, why_kept);
    else if (update_record_is_dry_run(drain->spec))
        retain_names(drain, "they were written before dry-run was set, and a dry run removes "
                            "nothing");
    else if (drain->spec->is_native)
        drain_native(drain);
    else if (is_rolling_out(drain, available))
        await_rollout(drain, available);
    else if (!available || available->status != CONDITION_TRUE ||
             available->reason == REASON_UNUSED)
        block_drain(drain);
    else if (reason_of(drain, "Synced") == REASON_NOT_SCRAPED)
        assume_drain(drain, available);
    else
        count_sync(drain);
}

bool publication_is_stranded(const struct publication_record *record)
{
    if (!record->object || record->spec->is_native || record->spec->may_abandon ||
        !record->written.is_carried || update_record_why_names_stay(record->spec))
        return false;
    const struct condition *available =
        conditions_find(&record->status->conditions, "DeploymentAvailable");
    return available && available->reason == REASON_NOT_A_CLUSTER;
}

static void drain_endpoints(struct drain *drain)
{
    struct published_record *written = &drain->record->written;
    *written = (struct published_record){.namespace_ = written->namespace_,
                                         .name = written->name,
                                         .is_carried = written->is_carried,
                                         .names = written->names,
                                         .name_count = written->name_count,
                                         .targets = written->targets,
                                         .target_count = written->target_count};
    if (publication_is_stranded(drain->record))
        go_on(drain, REASON_DRAIN_BLOCKED,
              arena_printf(drain->reconcile->arena,
                           "%s has left %s to an external-dns that nobody runs: set spec.engine "
                           "to native again so that they are removed, or set the annotation %s",
                           shown_name(drain),
                           publication_list_names(drain->reconcile->arena, written),
                           way_to_abandon(drain)));
    else if (drain->record->object && drain->spec->is_native)
        go_on(drain, REASON_DRAINING,
              arena_printf(drain->reconcile->arena,
                           "the names are being removed from the provider: status.names says what "
                           "hinders that; the annotation %s of the record lets them stay then",
                           way_to_abandon(drain)));
    else
        go_on(drain, REASON_DRAINING, "DNSEndpoints are being removed");
}

// A namespace that is being deleted takes along whoever could remove the names. They are waited for
// while they can, and not so long that the namespace stays for want of them.
static void give_up_at_the_end(struct drain *drain)
{
    struct publication_reconcile *reconcile = drain->reconcile;
    int64_t ends_s = model_namespace_ends(&reconcile->reader, drain->record->written.namespace_);
    if (!ends_s)
        return;
    if (drain->record->reason == REASON_DRAIN_BLOCKED ||
        ends_s + LAST_CHANCE_S <= reconcile->in->now_ms / 1000)
        retain_names(drain, "the namespace of the record is being deleted, and with it whoever "
                            "would have removed them");
    else
        decision_wake_at(reconcile->out, (ends_s + LAST_CHANCE_S) * 1000);
}

void publication_drain(struct publication_reconcile *reconcile, struct publication_record *record)
{
    struct drain drain = {
        .reconcile = reconcile, .record = record, .spec = record->spec, .status = record->status};
    struct published_record *written = &record->written;
    bool was_draining = written->draining_since_s != 0;
    if (record->endpoints && reconcile->has_endpoints) {
        drain_endpoints(&drain);
        return;
    }
    if (!record->object) {
        if (written->is_carried)
            retain_names(&drain, "the DNSUpdateRecord is gone, and with it whoever would have "
                                 "removed them");
        else
            end_drain(&drain, REASON_DRAINED, "the DNSUpdateRecord is gone");
        return;
    }
    if (!was_draining) {
        written->draining_since_s = reconcile->in->now_ms / 1000;
        written->sync_s = drain.status->last_sync_s;
    }
    prove_drain(&drain);
    if (!record->is_drained)
        give_up_at_the_end(&drain);
}
