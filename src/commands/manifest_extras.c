#include "commands/manifest.h"

// Objects that are printed only when they are asked for, as not every cluster has who reads them.

#define LABEL "[app.kubernetes.io/name]"

// ---- PodMonitor ---------------------------------------------------------------------------------

// Each process makes its own certificate for metrics, which nobody can know.
static const struct manifest_row secure_rows[] = {
    {"scheme", VALUE_TEXT, "https", 0},
    {"tlsConfig.insecureSkipVerify", VALUE_BOOL, NULL, true},
    {"authorization.type", VALUE_TEXT, "Bearer", 0},
    {"authorization.credentials.name", VALUE_TEXT, MANIFEST_SCRAPER, 0},
    {"authorization.credentials.key", VALUE_TEXT, "token", 0},
};

// The cluster fills it with a token of that account.
static void write_token(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    struct value *object =
        manifest_begin(manifest, "v1", "Secret", MANIFEST_SCRAPER, manifest->namespace_);
    value_put_text(arena, object, "metadata.annotations[kubernetes.io/service-account.name]",
                   MANIFEST_SCRAPER);
    value_put_text(arena, object, "type", "kubernetes.io/service-account-token");
    manifest_end(manifest, object, "");
}

void manifest_write_pod_monitor(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    bool is_secure = option_flag(manifest->invocation, "metrics-secure");
    struct value *object = manifest_begin(manifest, MANIFEST_MONITORING, "PodMonitor",
                                          MANIFEST_NAME, manifest->namespace_);
    value_put_text(arena, object, "spec.selector.matchLabels" LABEL, MANIFEST_NAME);
    struct value *endpoint =
        manifest_item(manifest, manifest_list(manifest, object, "spec.podMetricsEndpoints"));
    value_put_text(arena, endpoint, "port", manifest_ports[0].name);
    if (is_secure) {
        manifest_put_rows(manifest, endpoint, secure_rows, COUNT_OF(secure_rows));
        manifest_write_scraper(manifest);
        write_token(manifest);
    }
    manifest_end(manifest, object, "");
}

// ---- NetworkPolicy ------------------------------------------------------------------------------

// The policy does not limit egress: backends are named by objects and files that change, and the
// API server has an address that is none of its Pods'.
void manifest_write_network_policy(const struct manifest *manifest)
{
    static const char *const types[] = {"Ingress", NULL};
    struct arena *arena = manifest->arena;
    struct value *object = manifest_begin(manifest, "networking.k8s.io/v1", "NetworkPolicy",
                                          MANIFEST_NAME, manifest->namespace_);
    value_put_text(arena, object, "spec.podSelector.matchLabels" LABEL, MANIFEST_NAME);
    value_put_texts(arena, object, "spec.policyTypes", types);
    struct value *rule = manifest_item(manifest, manifest_list(manifest, object, "spec.ingress"));
    struct value *open = manifest_list(manifest, rule, "ports");
    struct value *ports = manifest_put_ports(manifest, value_make(arena, VALUE_MAP));
    value_each (port, ports) {
        struct value *entry = manifest_item(manifest, open);
        value_set(entry, TEXT("port"), value_copy(arena, value_at(port, "name", NULL)));
        value_set(entry, TEXT("protocol"), value_copy(arena, value_at(port, "protocol", NULL)));
    }
    manifest_end(manifest, object, "");
}
