#include "controllers/clusterdns/reconcile.h"

#include <string.h>

// The conditions of a DNS object: those of OpenShift's operator in its words, and ours.

enum { DAMPING_S = 40, DEGRADED_PART = 10, MANY_ZONES = 200 };

static void set(struct reconcile *reconcile, const char *type, enum condition_status status,
                enum reason reason, const char *message)
{
    conditions_set(&reconcile->now.conditions, &reconcile->before.conditions,
                   (struct condition){.type = type,
                                      .status = status,
                                      .reason = reason,
                                      .message = message,
                                      .observed_generation = reconcile->in->subject->generation},
                   reconcile->in->now_ms / 1000);
}

// ---- what runs ----------------------------------------------------------------------------------

// A workload as the conditions see it: our DaemonSet or their Deployment.
struct workload {
    bool is_there;
    int64_t desired;
    int64_t updated;
    int64_t available;
};

static struct workload workload_of(struct reconcile *reconcile)
{
    struct deployment deployment;
    const struct daemonset *own = find_workload(reconcile);
    const struct object *theirs =
        find_input_object(reconcile, INPUT_DEPLOYMENTS, SYSTEM_NAMESPACE, TEXT("coredns"));
    int64_t servers = (int64_t)reconcile->proof.total;
    if (reconcile->mode == MODE_FILE)
        return (struct workload){true, servers, servers, servers};
    if (reconcile->mode == MODE_OWNED)
        return own ? (struct workload){true, own->desired, own->updated, own->available}
                   : (struct workload){0};
    if (!theirs)
        return (struct workload){0};
    deployment_unpack(object_spec(theirs), &deployment);
    return (struct workload){true, deployment.wanted, deployment.updated, deployment.available};
}

static bool has_address(const struct reconcile *reconcile)
{
    return reconcile->cluster_ip_count || reconcile->mode == MODE_FILE;
}

static void report_available(struct reconcile *reconcile, const struct workload *workload)
{
    static const enum reason reasons[2][3] = {
        {REASON_AS_EXPECTED, REASON_NO_DAEMON_SET, REASON_NO_DAEMON_SET_PODS},
        {REASON_NO_SERVICE, REASON_NO_DAEMON_SET_NO_SERVICE, REASON_NO_DAEMON_SET_PODS_NO_SERVICE},
    };
    static const char *const messages[2][3] = {
        {"The DNS daemonset has available pods, and the DNS service has a cluster IP address.",
         "The DNS daemonset does not exist.", "The DNS daemonset has no pods available."},
        {"No IP address is assigned to the DNS service.",
         "The DNS daemonset does not exist.\nNo IP address is assigned to the DNS service.",
         "The DNS daemonset has no pods available.\nNo IP address is assigned to the DNS "
         "service."},
    };
    size_t address = !has_address(reconcile);
    size_t pods = !workload->is_there ? 1 : !workload->available ? 2 : 0;
    bool is_available = !address && !pods;
    set(reconcile, "Available", is_available ? CONDITION_TRUE : CONDITION_FALSE,
        reasons[address][pods], messages[address][pods]);
}

static void add_message(struct buffer *out, const char *text)
{
    buffer_printf(out, "%s%s", out->len ? "\n" : "", text);
}

static bool was_true(const struct reconcile *reconcile, const char *type)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, type);
    return before && before->status == CONDITION_TRUE;
}

// A process that has just begun has asked nobody yet: what was proved before stays so, unless a Pod
// says otherwise.
static size_t count_current(const struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    return proof->current + (was_converged(reconcile) ? proof->unknown : 0);
}

static bool has_converged(const struct reconcile *reconcile)
{
    return count_current(reconcile) == reconcile->proof.total;
}

static bool is_rolling(const struct reconcile *reconcile)
{
    return !reconcile->fault && reconcile->id[0] && !has_converged(reconcile) &&
           !is_past_deadline(reconcile);
}

static void explain_progress(struct reconcile *reconcile, const struct workload *workload,
                             struct buffer *out)
{
    if (!has_address(reconcile))
        add_message(out, "No IP address is assigned to the DNS service.");
    if (!workload->is_there)
        add_message(out, reconcile->mode == MODE_OWNED && !reconcile->settings->image
                             ? "The DNS daemonset is not made: --coredns-image says which image "
                               "it runs."
                             : "The DNS daemonset does not exist.");
    else if (workload->updated != workload->desired)
        add_message(out, arena_printf(reconcile->arena, "Have %lld up-to-date DNS pods, want %lld.",
                                      (long long)workload->updated, (long long)workload->desired));
}

// Pods come and go: a condition that was False turns True only after DAMPING_S.
static bool is_damped(struct reconcile *reconcile, const char *type)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, type);
    int64_t now_s = reconcile->in->now_ms / 1000;
    if (!before || before->status != CONDITION_FALSE || now_s - before->transition_s > DAMPING_S)
        return false;
    decision_wake_at(reconcile->out, (before->transition_s + DAMPING_S + 1) * 1000);
    return true;
}

static enum reason progress_reason(const struct reconcile *reconcile,
                                   const struct workload *workload)
{
    if (reconcile->mode == MODE_OWNED && !workload->is_there && !reconcile->settings->image)
        return REASON_IMAGE_MISSING;
    return REASON_RECONCILING;
}

// Returns whether it is true.
static bool report_progressing(struct reconcile *reconcile, const struct workload *workload)
{
    AUTO_BUFFER messages = {0};
    explain_progress(reconcile, workload, &messages);
    if (messages.len && !reconcile->fault && !is_damped(reconcile, "Progressing")) {
        set(reconcile, "Progressing", CONDITION_TRUE, progress_reason(reconcile, workload),
            arena_copy(reconcile->arena, messages.at, messages.len));
        return true;
    }
    if (is_rolling(reconcile)) {
        set(reconcile, "Progressing", CONDITION_TRUE, REASON_COREFILE_ROLLING_OUT,
            "Not all DNS pods run the wanted Corefile yet.");
        return true;
    }
    set(reconcile, "Progressing", CONDITION_FALSE, REASON_AS_EXPECTED,
        "All DNS pods are available, and the DNS service has a cluster IP address.");
    return false;
}

static const char *explain_degradation(const struct reconcile *reconcile,
                                       const struct workload *workload)
{
    int64_t unavailable = workload->desired - workload->available;
    int64_t most = (workload->desired * DEGRADED_PART + 99) / 100;
    if (!has_address(reconcile))
        return "NoService: No IP address is assigned to the DNS service.";
    if (!workload->is_there)
        return "NoDNSDaemonSet: The DNS daemonset does not exist.";
    if (!workload->desired)
        return "NoDNSPodsDesired: No DNS pods are desired; this could mean all nodes are tainted "
               "or unschedulable.";
    if (!workload->available)
        return "NoDNSPodsAvailable: No DNS pods are available.";
    if (unavailable > most)
        return arena_printf(reconcile->arena,
                            "MaxUnavailableDNSPodsExceeded: Too many DNS pods are unavailable "
                            "(%lld > %lld max unavailable).",
                            (long long)unavailable, (long long)most);
    return NULL;
}

static const char *stale_names(const struct reconcile *reconcile)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < reconcile->proof.stale_count; i++)
        buffer_printf(&out, "%s%.*s", i ? ", " : "", TEXT_ARGS(reconcile->proof.stale[i]));
    return arena_copy(reconcile->arena, out.at ? out.at : "", out.len);
}

// Names the Pods that had the time to load what is wanted and run another one. NULL: none does.
static const char *explain_old_config(const struct reconcile *reconcile)
{
    if (!reconcile->id[0] || !reconcile->proof.old || has_converged(reconcile) ||
        !is_past_deadline(reconcile))
        return NULL;
    return arena_printf(reconcile->arena, "these Pods do not run config %s: %s", reconcile->id,
                        stale_names(reconcile));
}

static void report_degraded(struct reconcile *reconcile, const struct workload *workload,
                            bool is_progressing)
{
    const char *why = explain_degradation(reconcile, workload);
    const char *old = explain_old_config(reconcile);
    if (reconcile->fault && !is_progressing)
        set(reconcile, "Degraded", CONDITION_TRUE, reconcile->fault, reconcile->fault_text);
    else if (old && !is_progressing)
        set(reconcile, "Degraded", CONDITION_TRUE, REASON_PODS_ON_OLD_CONFIG, old);
    else if (why && !is_progressing && !is_damped(reconcile, "Degraded"))
        set(reconcile, "Degraded", CONDITION_TRUE, REASON_DEGRADED_CONDITIONS, why);
    else
        set(reconcile, "Degraded", CONDITION_FALSE, REASON_AS_EXPECTED,
            "Enough DNS pods are available, and the DNS service has a cluster IP address.");
}

static void report_upgradeable(struct reconcile *reconcile)
{
    if (is_unmanaged(reconcile))
        set(reconcile, "Upgradeable", CONDITION_FALSE, REASON_OPERATOR_UNMANAGED,
            "Cannot upgrade while managementState is Unmanaged");
    else
        set(reconcile, "Upgradeable", CONDITION_TRUE, REASON_AS_EXPECTED,
            "DNS Operator can be upgraded");
}

// ---- what is served -----------------------------------------------------------------------------

static void add_sentence(struct buffer *out, const char *text)
{
    if (text)
        buffer_printf(out, "%s%s", out->len ? "; " : "", text);
}

// The Corefile that is wanted is not written, and will not be until the spec or the file changes.
static bool is_stuck(const struct reconcile *reconcile)
{
    return reconcile->fault == REASON_COREFILE_REFUSED ||
           reconcile->fault == REASON_FOREIGN_COREFILE_BROKEN ||
           reconcile->fault == REASON_TOO_LARGE;
}

// While nothing is written, a zone is served as the Corefile that is there has it, or not at all.
static void mark_unserved(struct reconcile *reconcile, const struct merge_outcome *outcome)
{
    for (size_t i = 0; is_stuck(reconcile) && i < outcome->forwarder_count; i++) {
        uint16_t port;
        struct dns_forwarder *forwarder =
            &reconcile->merged.forwarders[outcome->first_forwarder + i];
        if (forwarder->state != DNS_SERVING)
            continue;
        bool is_live =
            reconcile->live && corefile_find_zone(reconcile->live, forwarder->zone, &port);
        forwarder->state = is_live ? DNS_LAST_GOOD : DNS_REFUSED;
        forwarder->reason = reconcile->fault;
        forwarder->message = reconcile->fault_text;
    }
}

static const char *accepted_message(struct reconcile *reconcile,
                                    const struct merge_outcome *outcome)
{
    AUTO_BUFFER out = {0};
    struct text state = reconcile->spec.management_state;
    add_sentence(&out, is_stuck(reconcile) ? reconcile->fault_text : NULL);
    add_sentence(&out, outcome->fault_text);
    add_sentence(&out, reconcile->placement_fault);
    add_sentence(&out, outcome->warning_text);
    if (text_is(state, "Force") || text_is(state, "Removed"))
        add_sentence(&out, arena_printf(reconcile->arena,
                                        "managementState %.*s counts as Managed: the cluster keeps "
                                        "its DNS",
                                        TEXT_ARGS(state)));
    if (reconcile->is_main && reconcile->merged.forwarder_count > MANY_ZONES)
        add_sentence(&out, "over 200 zones: each Pod checks the servers of each");
    if (!out.len)
        return "every entry is served as it is written";
    return arena_copy(reconcile->arena, out.at, out.len);
}

static void report_accepted(struct reconcile *reconcile, const struct merge_outcome *outcome)
{
    bool is_good = !outcome->bad_count && !outcome->fault_text && !reconcile->placement_fault &&
                   !is_stuck(reconcile);
    size_t served = 0;
    for (size_t i = 0; i < outcome->forwarder_count; i++)
        served += reconcile->merged.forwarders[outcome->first_forwarder + i].state == DNS_SERVING;
    set(reconcile, "Accepted", is_good ? CONDITION_TRUE : CONDITION_FALSE,
        is_good  ? REASON_ACCEPTED
        : served ? REASON_PARTIALLY_ACCEPTED
                 : REASON_REFUSED,
        accepted_message(reconcile, outcome));
}

// Those that are not served as written come first; else they keep their order.
static void show_forwarders(struct reconcile *reconcile, size_t first, size_t count)
{
    struct dns_forwarder *shown =
        arena_new_array(reconcile->arena, struct dns_forwarder, count + 1);
    size_t filled = 0;
    for (int state = DNS_REFUSED; state >= DNS_SERVING; state--)
        for (size_t i = 0; i < count; i++)
            if (reconcile->merged.forwarders[first + i].state == (enum dns_state)state)
                shown[filled++] = reconcile->merged.forwarders[first + i];
    reconcile->now.forwarders = shown;
    reconcile->now.forwarder_count = filled;
    reconcile->now.forwarders_total = count;
}

// ---- what the Pods run --------------------------------------------------------------------------

static void report_converged(struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    struct arena *arena = reconcile->arena;
    if (!reconcile->id[0])
        set(reconcile, "Converged", CONDITION_FALSE, REASON_WAITING,
            "no Corefile can be written yet");
    else if (!proof->total)
        set(reconcile, "Converged", CONDITION_UNKNOWN, REASON_NO_PODS,
            "no Pod of CoreDNS runs that could be asked");
    else if (has_converged(reconcile))
        set(reconcile, "Converged", CONDITION_TRUE, REASON_CONVERGED,
            arena_printf(arena, "all Pods of CoreDNS run config %s", reconcile->id));
    else if (!is_past_deadline(reconcile)) {
        decision_wake_at(reconcile->out, deadline_of(reconcile));
        set(reconcile, "Converged", CONDITION_FALSE, REASON_WAITING,
            arena_printf(arena, "not all Pods of CoreDNS run config %s yet", reconcile->id));
    } else if (proof->old)
        set(reconcile, "Converged", CONDITION_FALSE, REASON_PODS_ON_OLD_CONFIG,
            explain_old_config(reconcile));
    else
        set(reconcile, "Converged", CONDITION_UNKNOWN, REASON_PODS_SILENT,
            arena_printf(arena, "these Pods %s: %s",
                         proof->is_named ? "do not answer version.bind (CH TXT)"
                                         : "do not show that they run it",
                         stale_names(reconcile)));
}

static void report_upstreams(struct reconcile *reconcile)
{
    const struct upstreams *upstreams = &reconcile->upstreams;
    if (upstreams->failing)
        set(reconcile, "UpstreamsHealthy", CONDITION_FALSE, REASON_FAILING,
            arena_printf(reconcile->arena, "these servers failed health checks within 5 min: %s",
                         upstreams->failing));
    else if (upstreams->is_observed ||
             (upstreams->is_unasked && was_true(reconcile, "UpstreamsHealthy")))
        set(reconcile, "UpstreamsHealthy", CONDITION_TRUE, REASON_HEALTHY,
            "no server that is forwarded to failed a health check within 5 min");
    else
        set(reconcile, "UpstreamsHealthy", CONDITION_UNKNOWN, REASON_NOT_OBSERVED,
            "the metrics of CoreDNS could not be looked at yet");
}

static void show_pods(struct reconcile *reconcile, const struct workload *workload)
{
    const struct proof *proof = &reconcile->proof;
    struct dns_pods *pods = &reconcile->now.pods;
    reconcile->now.has_pods = true;
    pods->desired = workload->desired;
    pods->current = (int64_t)count_current(reconcile);
    pods->old = (int64_t)proof->old;
    pods->silent = (int64_t)proof->total - pods->current - (int64_t)proof->old;
    memcpy(pods->stale, proof->stale, sizeof pods->stale);
    pods->stale_count = has_converged(reconcile) ? 0 : proof->stale_count;
}

// ---- the status ---------------------------------------------------------------------------------

static void finish(struct reconcile *reconcile)
{
    reconcile->now.observed_generation = reconcile->in->subject->generation;
    reconcile->now.cluster_domain = cluster_domain(reconcile);
    reconcile->now.cluster_ip = reconcile->cluster_ip_count ? reconcile->cluster_ips[0] : TEXT("");
    reconcile->out->status = dns_status_encode(reconcile->arena, &reconcile->now);
}

static bool has_become(const struct reconcile *reconcile, const char *type,
                       enum condition_status status)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, type);
    const struct condition *now = conditions_find(&reconcile->now.conditions, type);
    return now && now->status == status && (!before || before->status != status);
}

static void report_events(struct reconcile *reconcile)
{
    const struct condition *accepted = conditions_find(&reconcile->now.conditions, "Accepted");
    const struct condition *converged = conditions_find(&reconcile->now.conditions, "Converged");
    if (has_become(reconcile, "Converged", CONDITION_TRUE))
        decision_add_event(reconcile->out, false, EVENT_COREFILE_CONVERGED, converged->message);
    if (has_become(reconcile, "Accepted", CONDITION_FALSE))
        decision_add_event(reconcile->out, true, EVENT_ENTRIES_REFUSED, accepted->message);
}

void report_conditions(struct reconcile *reconcile)
{
    struct workload workload = workload_of(reconcile);
    for (size_t i = 0; i < reconcile->object_count; i++)
        mark_unserved(reconcile, &reconcile->merged.outcomes[i]);
    report_accepted(reconcile, &reconcile->merged.outcomes[reconcile->own_at]);
    show_forwarders(reconcile, 0, reconcile->merged.forwarder_count);
    show_pods(reconcile, &workload);
    report_available(reconcile, &workload);
    report_degraded(reconcile, &workload, report_progressing(reconcile, &workload));
    report_upgradeable(reconcile);
    report_converged(reconcile);
    report_upstreams(reconcile);
    report_events(reconcile);
    report_metrics(reconcile);
    finish(reconcile);
}

void report_fragment(struct reconcile *reconcile, const char *why_not)
{
    if (why_not) {
        set(reconcile, "Accepted", CONDITION_FALSE, REASON_NOT_DEFAULT, why_not);
    } else {
        const struct merge_outcome *outcome = &reconcile->merged.outcomes[reconcile->own_at];
        mark_unserved(reconcile, outcome);
        report_accepted(reconcile, outcome);
        show_forwarders(reconcile, outcome->first_forwarder, outcome->forwarder_count);
        report_events(reconcile);
    }
    finish(reconcile);
}
