#include "controllers/clusterdns/reconcile.h"

// This file reports the metrics of the main object. They are read from the status of before and of
// now, so a restart changes none of it.

const struct controller_metric clusterdns_metrics[CLUSTERDNS_METRICS] = {
    [METRIC_ENTRIES] = {.name = "signpost_corefile_entries",
                        .title = "Zones that DNS objects name",
                        .type = METRIC_GAUGE,
                        .label = "state",
                        .help = "Zones that DNS objects name, by their state in status.forwarders: "
                                "Serving, LastGood or Refused."},
    [METRIC_PODS] = {.name = "signpost_corefile_pods",
                     .title = "Pods by the Corefile that they run",
                     .type = METRIC_GAUGE,
                     .label = "state",
                     .help = "Pods of CoreDNS by what they run: current, old (another Corefile of "
                             "ours) or silent."},
    [METRIC_RESTORES] = {.name = "signpost_corefile_restores_total",
                         .title = "Corefiles that were put back",
                         .type = METRIC_COUNT,
                         .help = "Corefiles that CoreDNS refused when they stood in their place, "
                                 "so that the last good one was put back."},
    [METRIC_CONVERGED] = {.name = "signpost_corefile_converged",
                          .title = "Condition Converged",
                          .type = METRIC_GAUGE,
                          .label = "status",
                          .help = "1 at the status that the condition Converged has: True, False "
                                  "or Unknown; 0 at the others."},
    [METRIC_LAST_CONVERGED] = {.name = "signpost_corefile_last_converged_timestamp_seconds",
                               .title = "Since all Pods last came to run what was wanted",
                               .type = METRIC_GAUGE,
                               .help = "Unix time at which all Pods last came to run the Corefile "
                                       "that was wanted."},
};

const struct controller_alert clusterdns_alerts[CLUSTERDNS_ALERTS] = {
    {.name = "CoreDNSReloadFailed",
     .type = ALERT_RISES,
     .foreign_metric = "coredns_reload_failed_total",
     .severity = "critical",
     .summary = "CoreDNS refused its Corefile and goes on with the one before.",
     .description =
         "It answers as before, but a Pod that restarts cannot start. The log of CoreDNS "
         "and the condition Degraded of DNS/default say which line it refused; the file "
         "is not tried again until it changes."},
    {.name = "SignpostCorefileNotConverged",
     .type = ALERT_ABOVE_0,
     .metric = &clusterdns_metrics[METRIC_CONVERGED],
     .label = "False",
     .lasting = "10m",
     .severity = "warning",
     .summary = "Not all Pods of CoreDNS run the Corefile that is wanted.",
     .description = "The condition Converged of DNS/default says why, and status.pods which Pods "
                    "they are."},
};

static void add(struct reconcile *reconcile, enum clusterdns_metric metric, const char *label,
                int64_t value)
{
    decision_add_sample(reconcile->out, &clusterdns_metrics[metric], label, value);
}

static void report_entries(struct reconcile *reconcile)
{
    static const char *const labels[] = {
        [DNS_SERVING] = "Serving", [DNS_LAST_GOOD] = "LastGood", [DNS_REFUSED] = "Refused"};
    int64_t counts[COUNT_OF(labels)] = {0};
    for (size_t i = 0; i < reconcile->merged.forwarder_count; i++)
        counts[reconcile->merged.forwarders[i].state]++;
    for (size_t state = 0; state < COUNT_OF(labels); state++)
        add(reconcile, METRIC_ENTRIES, labels[state], counts[state]);
}

static void report_pods(struct reconcile *reconcile)
{
    const struct dns_pods *pods = &reconcile->now.pods;
    add(reconcile, METRIC_PODS, "current", pods->current);
    add(reconcile, METRIC_PODS, "old", pods->old);
    add(reconcile, METRIC_PODS, "silent", pods->silent);
}

static void report_convergence(struct reconcile *reconcile, const struct condition *converged)
{
    static const struct {
        enum condition_status status;
        const char *label;
    } rows[] = {
        {CONDITION_TRUE, "True"}, {CONDITION_FALSE, "False"}, {CONDITION_UNKNOWN, "Unknown"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        add(reconcile, METRIC_CONVERGED, rows[i].label, converged->status == rows[i].status);
    if (converged->status == CONDITION_TRUE)
        reconcile->now.config.converged_s = converged->transition_s;
    if (reconcile->now.config.converged_s)
        add(reconcile, METRIC_LAST_CONVERGED, NULL, reconcile->now.config.converged_s);
}

// A Corefile that has not been proved before was wanted since Pods last ran another one.
static void report_programmed(struct reconcile *reconcile, const struct condition *converged)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Converged");
    bool is_new = !text_equal(reconcile->before.config.proved[0], reconcile->now.config.proved[0]);
    if (converged->status != CONDITION_TRUE || !is_new || !before ||
        before->status == CONDITION_TRUE)
        return;
    int64_t took_ms = reconcile->in->now_ms - before->transition_s * 1000;
    reconcile->out->programmed_ms = took_ms > 0 ? took_ms : 1;
}

void report_metrics(struct reconcile *reconcile)
{
    const struct condition *converged = conditions_find(&reconcile->now.conditions, "Converged");
    report_entries(reconcile);
    report_pods(reconcile);
    if (reconcile->is_taken_back) // not what a Pod of its own refused: that never stood there
        add(reconcile, METRIC_RESTORES, NULL, 1);
    report_convergence(reconcile, converged);
    report_programmed(reconcile, converged);
}
