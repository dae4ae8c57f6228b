#include "controllers/intent/report_line.h"
#include "controllers/intent/update_record_reconcile.h"

#include "kinds/pod_spec.h"

// Conditions, status and events of a DNSUpdateRecord.

const struct controller_metric update_record_metric = {
    .name = "signpost_intent_records",
    .title = "DNSUpdateRecords by readiness",
    .type = METRIC_GAUGE,
    .label = "ready",
    .help = "DNSUpdateRecords, by whether they are accepted and their external-dns runs or is not "
            "needed.",
};

struct report {
    struct update_record_reconcile *reconcile;
    struct update_record_status status;
};

static void set_condition(struct report *report, const char *type, enum condition_status status,
                          enum reason reason, const char *message)
{
    const struct update_record_reconcile *reconcile = report->reconcile;
    conditions_set(&report->status.conditions, &reconcile->before.conditions,
                   (struct condition){.type = type,
                                      .status = status,
                                      .reason = reason,
                                      .message = message,
                                      .observed_generation = reconcile->in->subject->generation},
                   reconcile->in->now_ms / 1000);
}

// ---- conditions ---------------------------------------------------------------------------------

static void report_accepted(struct report *report)
{
    unsigned minor;
    const struct update_record_reconcile *reconcile = report->reconcile;
    struct text version = reconcile->record.version;
    if (reconcile->fault.reason)
        set_condition(report, "Accepted", CONDITION_FALSE, reconcile->fault.reason,
                      reconcile->fault.text);
    else if (external_dns_release_read(version, &minor) == EXTERNAL_DNS_TOO_NEW)
        set_condition(report, "Accepted", CONDITION_TRUE, REASON_VERSION_UNKNOWN,
                      arena_printf(reconcile->arena,
                                   "%.*s is newer than what Signpost knows: its flags are spelled "
                                   "as those of v0.%d",
                                   TEXT_ARGS(version), EXTERNAL_DNS_NEWEST));
    else
        set_condition(report, "Accepted", CONDITION_TRUE, REASON_ACCEPTED,
                      "the record can be used");
}

static void report_credentials(struct report *report)
{
    const struct update_record_fault *fault = &report->reconcile->credentials;
    if (!fault->reason)
        set_condition(report, "CredentialsReady", CONDITION_TRUE, REASON_CREDENTIALS_READY,
                      "all Secrets that the record names are there, with their keys");
    else
        set_condition(report, "CredentialsReady",
                      fault->reason == REASON_FORBIDDEN ? CONDITION_UNKNOWN : CONDITION_FALSE,
                      fault->reason, fault->text);
}

static bool is_available(const struct update_record_reconcile *reconcile)
{
    const struct deployment *deployment = &reconcile->deployment;
    return reconcile->seen[EXTERNAL_DNS_DEPLOYMENT] && deployment->available > 0 &&
           deployment->observed_generation >= deployment->generation && deployment->updated > 0;
}

static const char *unreadable_text(const struct update_record_reconcile *reconcile)
{
    for (size_t i = 0; i < UPDATE_RECORD_SECRETS; i++)
        if (reconcile->in->inputs[i].unreadable && !reconcile->in->inputs[i].is_missing)
            return reconcile->in->inputs[i].unreadable;
    return reconcile->in->refused ? reconcile->in->refused->text : NULL;
}

static struct condition condition_of(enum condition_status status, enum reason reason,
                                     const char *message)
{
    return (struct condition){.status = status, .reason = reason, .message = message};
}

static const char *explain_progress(const struct update_record_reconcile *reconcile)
{
    if (reconcile->seen[EXTERNAL_DNS_DEPLOYMENT])
        return "the Deployment is being rolled out";
    if (reconcile->fault.reason)
        return "there is no Deployment until the record is accepted";
    if (reconcile->credentials.reason)
        return "there is no Deployment until its credentials are there";
    return "the Deployment is being made";
}

static struct condition live_condition(const struct update_record_reconcile *reconcile)
{
    const char *crash = update_record_crash(reconcile);
    const char *forbidden = unreadable_text(reconcile);
    if (!reconcile->in->runs_workloads)
        return condition_of(CONDITION_UNKNOWN, REASON_NOT_A_CLUSTER,
                            "objects live in a folder: the Deployment is written there, and "
                            "nobody runs it");
    if (forbidden)
        return condition_of(CONDITION_FALSE, REASON_FORBIDDEN, forbidden);
    if (!reconcile->record.image.len)
        return condition_of(CONDITION_FALSE, REASON_IMAGE_NOT_SET,
                            "neither spec.image nor --external-dns-image says which image is run: "
                            "set one of them");
    if (crash)
        return condition_of(CONDITION_FALSE, REASON_CRASH_LOOP,
                            arena_printf(reconcile->arena, "external-dns ended: %s", crash));
    if (is_available(reconcile))
        return condition_of(CONDITION_TRUE, REASON_AVAILABLE, "external-dns runs");
    return condition_of(CONDITION_FALSE, REASON_PROGRESSING, explain_progress(reconcile));
}

static struct condition available_condition(const struct update_record_reconcile *reconcile)
{
    if (reconcile->is_native)
        return condition_of(CONDITION_TRUE, REASON_UNUSED,
                            "Signpost writes to the provider itself, so no Deployment is wanted");
    if (reconcile->in->inputs[UPDATE_RECORD_ENDPOINTS].is_missing && reconcile->view.user_count)
        return condition_of(CONDITION_FALSE, REASON_CRD_MISSING,
                            "the cluster has no DNSEndpoint (dnsendpoints.externaldns.k8s.io): "
                            "apply its CRD");
    if (reconcile->wants_deployment)
        return live_condition(reconcile);
    return condition_of(CONDITION_TRUE, REASON_UNUSED,
                        "nobody publishes by this record, so no Deployment is wanted");
}

static void report_available(struct report *report)
{
    struct condition found = available_condition(report->reconcile);
    set_condition(report, "DeploymentAvailable", found.status, found.reason, found.message);
}

// The first publication that hears of a name that it is not carried out; NULL: none does.
static const struct record_user *first_failure(const struct record_view *view)
{
    for (size_t i = 0; i < view->user_count; i++)
        if (view->users[i].failure)
            return &view->users[i];
    return NULL;
}

static bool is_waited_for(const struct record_view *view)
{
    for (size_t i = 0; i < view->user_count; i++)
        if (view->users[i].is_awaited || view->users[i].is_draining)
            return true;
    return false;
}

// Publications hear what name servers answer, and of native names what the server says to updates.
// External-dns says nothing of names that it leaves alone.
static void report_synced(struct report *report)
{
    const struct update_record_reconcile *reconcile = report->reconcile;
    const struct record_view *view = &reconcile->view;
    const struct record_user *failing = first_failure(view);
    struct condition synced =
        condition_of(CONDITION_TRUE, REASON_SYNCED, "the provider has what is published");
    bool is_asked = reconcile->wants_deployment && reconcile->in->runs_workloads;
    if (is_asked)
        synced = update_record_synced(reconcile);
    else if (!reconcile->is_native || !view->user_count)
        return;
    if (failing && synced.status == CONDITION_TRUE)
        synced = condition_of(CONDITION_FALSE, failing->failure_reason, failing->failure);
    else if (!is_asked && is_waited_for(view))
        return;
    set_condition(report, "Synced", synced.status, synced.reason, synced.message);
}

static size_t count_draining(const struct update_record_reconcile *reconcile)
{
    size_t count = 0;
    for (size_t i = 0; i < reconcile->view.user_count; i++)
        count += reconcile->view.users[i].is_draining;
    return count;
}

// What a record that is deleted waits for.
static void report_in_use(struct report *report)
{
    const struct update_record_reconcile *reconcile = report->reconcile;
    const struct object *lister = reconcile->view.lister;
    if (lister)
        set_condition(report, "Draining", CONDITION_FALSE, REASON_IN_USE,
                      arena_printf(reconcile->arena,
                                   "the record is deleted, and its names stay as they are while "
                                   "DNSPublications list it, such as %.*s/%.*s: it goes when it "
                                   "is taken out of their lists",
                                   TEXT_ARGS(object_namespace(lister)),
                                   TEXT_ARGS(object_name(lister))));
}

static void report_changes(struct report *report)
{
    if (report->reconcile->is_moving)
        set_condition(report, "Moving", CONDITION_TRUE, REASON_MOVING,
                      "names are removed where they stand, and come back at the new place when "
                      "that is proven");
    if (update_record_reads_gone(report->reconcile) && count_draining(report->reconcile))
        set_condition(report, "Draining", CONDITION_TRUE, REASON_SOURCE_LAGGING,
                      "external-dns still reads DNSEndpoints that are gone, so it does not remove "
                      "their names yet");
    else if (count_draining(report->reconcile))
        set_condition(report, "Draining", CONDITION_TRUE, REASON_DRAINING,
                      "names of publications are being removed, and that is not proven yet");
    else if (report->reconcile->in->subject->deleted_s)
        report_in_use(report);
}

// ---- status -------------------------------------------------------------------------------------

static void list_users(struct report *report)
{
    const struct record_view *view = &report->reconcile->view;
    struct update_record_user *users =
        arena_new_array(report->reconcile->arena, struct update_record_user, view->user_count + 1);
    for (size_t i = 0; i < view->user_count; i++)
        users[i] = (struct update_record_user){
            .project = view->users[i].project,
            .composite_app = view->users[i].composite_app,
            .version = view->users[i].version,
            .group = view->users[i].group,
            .names = (int64_t)view->users[i].names,
        };
    report->status.users = users;
    report->status.user_count = view->user_count;
}

// Of a Deployment that stays as it is, those that run count.
static void list_running(struct report *report)
{
    struct error err;
    size_t count = 0;
    struct update_record_reconcile *reconcile = report->reconcile;
    struct arena *arena = reconcile->arena;
    struct text json = reconcile->deployment.spec;
    const struct value *spec =
        json.at ? value_read_json(arena, json, &value_own_limits, &err) : NULL;
    const struct value *container =
        pod_spec_container(value_at(spec, "template.spec", NULL), "external-dns");
    const struct value *args = value_list_at(container, "args");
    const char **items = arena_new_array(arena, const char *, value_count(args) + 1);
    value_each (arg, args)
        items[count++] =
            arena_copy(arena, value_text(arg).at ? value_text(arg).at : "", value_text(arg).len);
    report->status.args = items;
    report->status.arg_count = count;
}

static void list_start(struct report *report)
{
    const struct update_record_reconcile *reconcile = report->reconcile;
    const struct external_dns_start *start = &reconcile->start;
    if (!reconcile->has_start || (reconcile->is_held && reconcile->seen[EXTERNAL_DNS_DEPLOYMENT])) {
        list_running(report);
        return;
    }
    const char **env = arena_new_array(reconcile->arena, const char *, start->env_count + 1);
    for (size_t i = 0; i < start->env_count; i++)
        env[i] = start->env[i].name;
    report->status.args = start->args;
    report->status.arg_count = start->arg_count;
    report->status.env = env;
    report->status.env_count = start->env_count;
}

static void list_warnings(struct report *report)
{
    const struct findings *findings = &report->reconcile->findings;
    const char **texts =
        arena_new_array(report->reconcile->arena, const char *, findings->count + 1);
    for (size_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == FINDING_WARNING)
            texts[report->status.warning_count++] =
                finding_text(report->reconcile->arena, &findings->items[i]);
    report->status.warnings = texts;
}

// It is written ahead of nothing: that one is there, or was and is put back.
static struct text deployment_name(const struct update_record_reconcile *reconcile)
{
    bool is_known = reconcile->seen[EXTERNAL_DNS_DEPLOYMENT] ||
                    (reconcile->wants_deployment && reconcile->before.deployment.len);
    return is_known ? text_of(reconcile->name) : (struct text){0};
}

// ---- events -------------------------------------------------------------------------------------

static bool is_new(const struct report *report, const struct condition *now)
{
    const struct condition *before =
        conditions_find(&report->reconcile->before.conditions, now->type);
    return !before || before->reason != now->reason || before->status != now->status;
}

static void add_event(struct report *report, const char *type, const char *event, const char *line)
{
    const struct condition *now = conditions_find(&report->status.conditions, type);
    if (!now || now->status != CONDITION_FALSE || now->reason == REASON_PROGRESSING ||
        now->reason == REASON_SOURCE_LAGGING || !is_new(report, now))
        return;
    decision_add_event(
        report->reconcile->out, true, event,
        arena_printf(report->reconcile->arena, "%s: %s", reason_name(now->reason), now->message));
    report_line_add(report->reconcile->in, report->reconcile->out, LOG_WARN, line, "record",
                    now->reason, now->message);
}

static void add_events(struct report *report)
{
    const struct condition *available =
        conditions_find(&report->status.conditions, "DeploymentAvailable");
    add_event(report, "Accepted", EVENT_RECORD_REFUSED, "the record is refused");
    add_event(report, "CredentialsReady", EVENT_RECORD_NOT_READY,
              "the record lacks its credentials");
    add_event(report, "DeploymentAvailable", EVENT_RECORD_NOT_READY,
              "the external-dns of the record does not run");
    add_event(report, "Synced", EVENT_RECORD_NOT_READY,
              "the provider of the record is not as published");
    add_event(report, "Draining", EVENT_RECORD_IN_USE, "the record is deleted and in use");
    if (available->reason == REASON_AVAILABLE && is_new(report, available))
        decision_add_event(report->reconcile->out, false, EVENT_RECORD_READY, available->message);
}

static void count_ready(struct report *report)
{
    static const char *const types[] = {"Accepted", "CredentialsReady", "DeploymentAvailable"};
    bool is_ready = true;
    for (size_t i = 0; i < COUNT_OF(types); i++)
        is_ready &= conditions_find(&report->status.conditions, types[i])->status == CONDITION_TRUE;
    decision_add_sample(report->reconcile->out, &update_record_metric, is_ready ? "true" : "false",
                        1);
}

void update_record_report(struct update_record_reconcile *reconcile)
{
    const struct external_dns_pinned *pinned =
        reconcile->has_pinned ? &reconcile->pinned : &reconcile->record.pinned;
    struct report report = {
        .reconcile = reconcile,
        .status = {.observed_generation = reconcile->in->subject->generation,
                   .version = reconcile->record.version,
                   .owner_id = pinned->owner_id,
                   .deployment = deployment_name(reconcile),
                   .endpoints = (int64_t)reconcile->sync.names,
                   .last_sync_s = reconcile->sync.last_sync_s},
    };
    report_accepted(&report);
    report_credentials(&report);
    report_available(&report);
    report_synced(&report);
    report_changes(&report);
    list_users(&report);
    list_start(&report);
    list_warnings(&report);
    reconcile->out->status = update_record_status_encode(reconcile->arena, &report.status);
    add_events(&report);
    count_ready(&report);
}
