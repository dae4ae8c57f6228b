#pragma once

#include "controllers/intent/intent_controller.h"
#include "kinds/group.h"

// The controller of DNSPublications: from the services of a deployment intent group to the
// DNSEndpoints that external-dns reads, and back again.

#define INTENT_PUBLICATION_FINALIZER DNS_GROUP "/dns-publication"

// On each DNSEndpoint of ours. The labels: which external-dns carries it, whose it is as a hash.
#define INTENT_RECORD_LABEL DNS_GROUP "/update-record"
#define INTENT_PROJECT_LABEL DNS_GROUP "/project"
#define INTENT_PUBLICATION_LABEL DNS_GROUP "/publication"
// The annotations: "namespace/name" of the DNSPublication; the EMCO name of the record.
#define INTENT_PUBLICATION_ANNOTATION DNS_GROUP "/publication"
#define INTENT_RECORD_ANNOTATION DNS_GROUP "/update-record"
// Where others may publish the same name: "namespace/group" of those that share it.
#define INTENT_SHARE_ANNOTATION DNS_GROUP "/share-group"

enum publication_input {
    PUBLICATION_ENDPOINTS, // DNSEndpoints of ours for it
    PUBLICATION_SHARED,    // those of all publications of its share group
    PUBLICATION_UPDATE_RECORDS,
    PUBLICATION_CLOUDS,
    PUBLICATION_CLUSTERS,
    PUBLICATION_INTENTS,
    PUBLICATION_NAMESPACES,
    PUBLICATION_SERVICES,
    PUBLICATION_NODES,
    PUBLICATION_PROVIDERS, // nothing depends on them; the REST API shows and writes them
    PUBLICATION_INPUTS,
};
enum intent_metric { INTENT_NAMES_METRIC, INTENT_DRAIN_METRIC, INTENT_METRICS };
extern const struct controller_metric intent_metrics[INTENT_METRICS];
void publication_decide(const struct snapshot *snapshot, void *model, struct decision *out);
