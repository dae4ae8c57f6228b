#include "controllers/intent/edge_cluster.h"

#include <string.h>

#include "base/hash.h"
#include "controllers/intent/events.def"
#include "controllers/intent/report_line.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/group.h"
#include "kinds/secret/secret_kind.h"

enum {
    HEALTH_MS = 60 * 1000,
    RETRY_BASE_MS = 5 * 1000,
    IN_FLIGHT_MAX = 4,
};

// One reconciliation of an EdgeCluster.
struct edge_reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct edgecluster edge;
    struct edgecluster_status before;
    const struct backend_view *backend; // as it was before this reconciliation; or NULL
    struct secret *secret;              // the kubeconfig; NULL: there is none
    struct error fault;                 // why there is none
};
// What the condition says.
struct edge_report {
    enum condition_status status;
    enum reason reason;
    const char *message;
    struct text version;
};

const char *edge_cluster_backend(struct arena *arena, struct text name)
{
    return arena_printf(arena, "edge-cluster-%.*s", TEXT_ARGS(name));
}

// ---- the kubeconfig -----------------------------------------------------------------------------

static void refuse_secret(struct edge_reconcile *reconcile, enum fault fault, enum reason reason,
                          const char *what)
{
    error_set(&reconcile->fault, fault, reason_name(reason), "Secret %.*s/%.*s %s",
              TEXT_ARGS(reconcile->edge.kubeconfig_namespace),
              TEXT_ARGS(reconcile->edge.kubeconfig_name), what);
}

static void find_secret(struct edge_reconcile *reconcile)
{
    const struct input_objects *found = &reconcile->in->inputs[0];
    struct text key = reconcile->edge.kubeconfig_key;
    if (found->unreadable) {
        refuse_secret(reconcile, FAULT_WAIT, REASON_FORBIDDEN,
                      arena_printf(reconcile->arena, "cannot be read: %s", found->unreadable));
        return;
    }
    if (!found->count) {
        refuse_secret(reconcile, FAULT_WAIT,
                      found->is_synced ? REASON_SECRET_NOT_FOUND : REASON_PENDING,
                      found->is_synced ? "does not exist: create it" : "has not been read yet");
        return;
    }
    reconcile->secret = secret_kind_get(object_spec(found->objects[0]), key);
    if (!reconcile->secret)
        refuse_secret(reconcile, FAULT_WAIT, REASON_SECRET_KEY_MISSING,
                      arena_printf(reconcile->arena, "has no key %.*s: add it", TEXT_ARGS(key)));
}

// ---- the backend --------------------------------------------------------------------------------

// The kubeconfig says where the server is, and only the backend reads it: its registry is its name.
static void open_backend(struct edge_reconcile *reconcile)
{
    const char *name = edge_cluster_backend(reconcile->arena, reconcile->in->name);
    *decision_add_backend(reconcile->out, reconcile->arena) = (struct backend_want){
        .name = name,
        .provider = "kubernetes",
        .registry = name,
        .config = value_make(reconcile->arena, VALUE_MAP),
        .secret = reconcile->secret,
        .max_in_flight = IN_FLIGHT_MAX,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = HEALTH_MS,
        .retry_slow_ms = HEALTH_MS,
        .was_well = true,
        .guard_percent = 100,
        .fault = reconcile->fault,
    };
}

static void ask_health(struct edge_reconcile *reconcile)
{
    uint64_t epoch = 0;
    secret_fingerprint(reconcile->secret, (uint8_t *)&epoch, sizeof epoch);
    *decision_add_question(reconcile->out, reconcile->arena) =
        (struct question){.backend = edge_cluster_backend(reconcile->arena, reconcile->in->name),
                          .name = "health",
                          .good_for_ms = HEALTH_MS,
                          .epoch = epoch};
}

// ---- the condition ------------------------------------------------------------------------------

static struct edge_report report_of_error(struct edge_reconcile *reconcile,
                                          const struct error *error)
{
    enum reason reason = reason_find(text_of(error->reason));
    return (struct edge_report){.status = CONDITION_FALSE,
                                .reason = reason ? reason : REASON_SERVER_ERROR,
                                .message = arena_copy_text(reconcile->arena, error->text)};
}

static struct edge_report report_of_answer(const struct backend_view *backend)
{
    return (struct edge_report){.status = CONDITION_TRUE,
                                .reason = REASON_REACHABLE,
                                .message = "the API server of the cluster answers",
                                .version = value_text_at(backend->answer, "version")};
}

// False: nothing is known yet, and the status stays as it is from before a restart.
static bool make_report(struct edge_reconcile *reconcile, struct edge_report *out)
{
    const struct backend_view *backend = reconcile->backend;
    if (reconcile->fault.fault != FAULT_NONE) {
        *out = report_of_error(reconcile, &reconcile->fault);
        return out->reason != REASON_PENDING;
    }
    // The provider itself may refuse the kubeconfig.
    if (backend && backend->fault.fault == FAULT_SPEC) {
        *out = report_of_error(reconcile, &backend->fault);
        return true;
    }
    if (backend && backend->answered_s) {
        *out = backend->is_answer_ok ? report_of_answer(backend)
                                     : report_of_error(reconcile, &backend->answer_error);
        return true;
    }
    *out = (struct edge_report){.status = CONDITION_UNKNOWN,
                                .reason = REASON_HEALTH_CHECK_PENDING,
                                .message = "the API server of the cluster has not answered yet"};
    return !reconcile->before.conditions.count;
}

static void write_status(struct edge_reconcile *reconcile, const struct edge_report *report)
{
    int64_t generation = reconcile->in->subject->generation;
    struct edgecluster_status status = {.observed_generation = generation,
                                        .version = report->version};
    conditions_set(&status.conditions, &reconcile->before.conditions,
                   (struct condition){.type = "Reachable",
                                      .status = report->status,
                                      .reason = report->reason,
                                      .message = report->message,
                                      .observed_generation = generation},
                   reconcile->in->now_ms / 1000);
    reconcile->out->status = edgecluster_status_encode(reconcile->arena, &status);
}

static void note_change(struct edge_reconcile *reconcile, const struct edge_report *report)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Reachable");
    struct decision *out = reconcile->out;
    bool is_well = report->status == CONDITION_TRUE;
    if (report->status == CONDITION_UNKNOWN || (before && before->reason == report->reason))
        return;
    decision_add_event(out, !is_well, is_well ? EVENT_CLUSTER_REACHABLE : EVENT_CLUSTER_UNREACHABLE,
                       report->message);
    report_line_add(reconcile->in, out, is_well ? LOG_INFO : LOG_WARN,
                    is_well ? "cluster is reachable" : "cluster is not reachable", "cluster",
                    report->reason, report->message);
}

// ---- the decision -------------------------------------------------------------------------------

// One that is not read through a kubeconfig has no status.
static void clear_status(struct edge_reconcile *reconcile)
{
    const struct edgecluster_status none = {.observed_generation =
                                                reconcile->in->subject->generation};
    if (reconcile->before.conditions.count)
        reconcile->out->status = edgecluster_status_encode(reconcile->arena, &none);
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct edge_report report;
    const struct object *subject = snapshot->subject;
    struct edge_reconcile reconcile = {.in = snapshot, .out = out, .arena = snapshot->arena};
    if (!subject)
        return;
    edgecluster_unpack(snapshot->arena, object_spec(subject), &reconcile.edge);
    edgecluster_status_unpack(snapshot->arena, object_spec(subject), object_managed(subject),
                              &reconcile.before);
    if (!edgecluster_is_remote(&reconcile.edge)) {
        clear_status(&reconcile);
        return;
    }
    reconcile.backend = snapshot->backend_count ? snapshot->backends[0] : NULL;
    find_secret(&reconcile);
    if (reconcile.secret)
        ask_health(&reconcile);
    open_backend(&reconcile);
    out->fault = reconcile.fault;
    if (!make_report(&reconcile, &report))
        return;
    write_status(&reconcile, &report);
    note_change(&reconcile, &report);
}

// ---- the controller -----------------------------------------------------------------------------

static void look_up_secret(const struct object *subject, struct strings *out)
{
    struct edgecluster edge;
    edgecluster_unpack(out->arena, object_spec(subject), &edge);
    if (edgecluster_is_remote(&edge))
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(edge.kubeconfig_namespace),
                    TEXT_ARGS(edge.kubeconfig_name));
}

static void look_up_backend(const struct object *subject, struct strings *out)
{
    strings_add(out, "%s", edge_cluster_backend(out->arena, object_name(subject)));
}

static const struct input inputs[] = {
    {.kind = &secret_kind, .is_named = true, .lookup_keys = look_up_secret},
};
static const struct backend_input backends = {.lookup_keys = look_up_backend};

static const char *const outward_reasons[] = {"SecretNotFound", "SecretKeyMissing", NULL};

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_one[] = {"get", "watch", NULL};
static const char *const patch[] = {"patch", NULL};

static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "edgeclusters",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Addresses and records of each cluster."},
    {.group = DNS_GROUP,
     .resource = "edgeclusters/status",
     .verbs = patch,
     .scope = RIGHT_CLUSTER,
     .why = "Whether the API server of a cluster answers."},
    {.group = "",
     .resource = "secrets",
     .verbs = follow_one,
     .scope = RIGHT_REFERENCED,
     .why = "Kubeconfigs of clusters: those that an EdgeCluster names, one by one."},
    {0},
};

const struct controller edge_cluster_controller = {
    .name = "edge-cluster",
    .kind = &edgecluster_kind,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .backends = &backends,
    .decide = decide,
    .outward_reasons = outward_reasons,
    .rights = rights,
};
