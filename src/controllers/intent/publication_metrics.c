#include "controllers/intent/publication_reconcile.h"

const struct controller_metric intent_metrics[INTENT_METRICS] = {
    [INTENT_NAMES_METRIC] = {.name = "signpost_intent_names",
                             .title = "Names of DNSPublications",
                             .type = METRIC_GAUGE,
                             .label = "state",
                             .help = "Names of DNSPublications, by their state in status.names."},
    [INTENT_DRAIN_METRIC] = {.name = "signpost_intent_drain_seconds",
                             .title = "Until names were gone",
                             .type = METRIC_SECONDS,
                             .help = "How long it took until the names of a DNSPublication were "
                                     "proven or assumed to be gone from the provider of a "
                                     "DNSUpdateRecord, after its last DNSEndpoint went."},
};

void publication_count_drains(const struct publication_reconcile *reconcile)
{
    struct decision *out = reconcile->out;
    if (!reconcile->drain_count)
        return;
    decision_add_sample(out, &intent_metrics[INTENT_DRAIN_METRIC], NULL, reconcile->drain_s);
    out->samples[out->sample_count - 1].times = reconcile->drain_count;
}

void publication_count_names(const struct publication_reconcile *reconcile,
                             const struct published_name *names, size_t count)
{
    int64_t counts[NAME_STATES] = {0};
    for (size_t i = 0; i < count; i++)
        counts[names[i].state]++;
    for (size_t state = 0; state < NAME_STATES; state++)
        if (counts[state])
            decision_add_sample(reconcile->out, &intent_metrics[INTENT_NAMES_METRIC],
                                dnspublication_name_states[state], counts[state]);
}
