#include "commands/manifest.h"

#define LABEL "[app.kubernetes.io/name]"
#define POD "spec.template.spec."

enum { METRICS_PORT = 8080, PROBES_PORT = 8081, WEBHOOK_PORT = 9443, HTTPS_PORT = 443 };

// ---- namespace ----------------------------------------------------------------------------------

static const struct manifest_row namespace_rows[] = {
    {"metadata.labels[pod-security.kubernetes.io/enforce]", VALUE_TEXT, "restricted", 0},
    {"metadata.labels[pod-security.kubernetes.io/warn]", VALUE_TEXT, "restricted", 0},
};

void manifest_write_namespace(const struct manifest *manifest)
{
    struct value *object = manifest_begin(manifest, "v1", "Namespace", manifest->namespace_, NULL);
    manifest_put_rows(manifest, object, namespace_rows, COUNT_OF(namespace_rows));
    manifest_end(manifest, object, "");
}

// ---- services -----------------------------------------------------------------------------------

struct service {
    const char *name;
    const char *port_name;
    int64_t port;
};

static void write_service(const struct manifest *manifest, const struct service *service)
{
    struct arena *arena = manifest->arena;
    struct value *object =
        manifest_begin(manifest, "v1", "Service", service->name, manifest->namespace_);
    value_put_bool(arena, object, "spec.publishNotReadyAddresses", true);
    value_put_text(arena, object, "spec.selector" LABEL, MANIFEST_NAME);
    struct value *ports = value_put(arena, object, "spec.ports", value_make(arena, VALUE_LIST));
    struct value *port = manifest_item(manifest, ports);
    value_put_text(arena, port, "name", service->port_name);
    value_put_int(arena, port, "port", service->port);
    value_put_text(arena, port, "protocol", "TCP");
    value_put_text(arena, port, "targetPort", service->port_name);
    manifest_end(manifest, object, "");
}

void manifest_write_services(const struct manifest *manifest)
{
    write_service(manifest, &(struct service){MANIFEST_METRICS_SERVICE, "metrics", METRICS_PORT});
    if (manifest->has_admission && !manifest->webhook_url)
        write_service(manifest, &(struct service){MANIFEST_WEBHOOK_SERVICE, "webhook", HTTPS_PORT});
    manifest_write_installation_services(manifest);
}

// ---- deployment ---------------------------------------------------------------------------------

static const struct manifest_row deployment_rows[] = {
    {"spec.selector.matchLabels" LABEL, VALUE_TEXT, MANIFEST_NAME, 0},
    {"spec.template.metadata.labels" LABEL, VALUE_TEXT, MANIFEST_NAME, 0},
    {POD "serviceAccountName", VALUE_TEXT, MANIFEST_NAME, 0},
    // Variables that Kubernetes makes of Services begin with SIGNPOST_ as well.
    {POD "enableServiceLinks", VALUE_BOOL, NULL, false},
    {POD "terminationGracePeriodSeconds", VALUE_INT, NULL, 45},
    {POD "securityContext.runAsNonRoot", VALUE_BOOL, NULL, true},
    {POD "securityContext.runAsUser", VALUE_INT, NULL, 65532},
    {POD "securityContext.runAsGroup", VALUE_INT, NULL, 65532},
    {POD "securityContext.seccompProfile.type", VALUE_TEXT, "RuntimeDefault", 0},
};

static const struct manifest_row container_rows[] = {
    {"securityContext.allowPrivilegeEscalation", VALUE_BOOL, NULL, false},
    {"securityContext.readOnlyRootFilesystem", VALUE_BOOL, NULL, true},
    {"resources.requests.cpu", VALUE_TEXT, "10m", 0},
    {"resources.requests.memory", VALUE_TEXT, "32Mi", 0},
    {"livenessProbe.httpGet.path", VALUE_TEXT, "/healthz", 0},
    {"livenessProbe.httpGet.port", VALUE_TEXT, "probes", 0},
    {"livenessProbe.periodSeconds", VALUE_INT, NULL, 10},
    {"livenessProbe.timeoutSeconds", VALUE_INT, NULL, 5},
    {"readinessProbe.httpGet.path", VALUE_TEXT, "/readyz", 0},
    {"readinessProbe.httpGet.port", VALUE_TEXT, "probes", 0},
    {"readinessProbe.periodSeconds", VALUE_INT, NULL, 5},
    {"readinessProbe.timeoutSeconds", VALUE_INT, NULL, 5},
};

static const struct manifest_row limits[] = {{"resources.limits.memory", VALUE_TEXT, "128Mi", 0}};
// Options that mean the same to `signpost run`, and are handed on when they were given.
static const char *const handed_on[] = {
    "controllers", "owner-id",       "leader-elect-resource-name",
    "webhook-url", "metrics-secure", "status-page",
};

static void add_argument(const struct manifest *manifest, struct value *list, const char *option,
                         const char *value)
{
    const char *text = arena_printf(manifest->arena, "--%s=%s", option, value);
    value_append(list, value_make_text(manifest->arena, text_of(text)));
}

static void put_arguments(const struct manifest *manifest, struct value *container)
{
    static const char *const fixed[] = {"run", "--store=cluster", "--metrics-bind-address=:8080",
                                        "--health-probe-bind-address=:8081", NULL};
    struct value *list = value_put_texts(manifest->arena, container, "args", fixed);
    add_argument(manifest, list, "admission", manifest->has_admission ? "true" : "false");
    for (size_t i = 0; i < manifest->namespace_count; i++)
        add_argument(manifest, list, "namespaces", manifest->namespaces[i]);
    for (size_t i = 0; i < COUNT_OF(handed_on); i++)
        if (option_is_set(manifest->invocation, handed_on[i]))
            add_argument(manifest, list, handed_on[i],
                         option_text(manifest->invocation, handed_on[i]));
    manifest_put_installation_arguments(manifest, list);
}

static void put_environment(const struct manifest *manifest, struct value *container)
{
    static const struct {
        const char *name;
        const char *path;
    } rows[] = {{"POD_NAME", "metadata.name"}, {"POD_NAMESPACE", "metadata.namespace"}};
    struct arena *arena = manifest->arena;
    struct value *list = value_put(arena, container, "env", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value *entry = manifest_item(manifest, list);
        value_put_text(arena, entry, "name", rows[i].name);
        value_put_text(arena, entry, "valueFrom.fieldRef.fieldPath", rows[i].path);
    }
    manifest_put_installation_variables(manifest, list);
}

const struct manifest_port manifest_ports[MANIFEST_PORT_COUNT] = {
    {"metrics", METRICS_PORT},
    {"probes", PROBES_PORT},
    {"webhook", WEBHOOK_PORT},
};

struct value *manifest_put_ports(const struct manifest *manifest, struct value *container)
{
    struct arena *arena = manifest->arena;
    struct value *list = value_put(arena, container, "ports", value_make(arena, VALUE_LIST));
    for (size_t i = 0; i < MANIFEST_PORT_COUNT; i++) {
        struct value *entry = manifest_item(manifest, list);
        value_put_text(arena, entry, "name", manifest_ports[i].name);
        value_put_int(arena, entry, "containerPort", manifest_ports[i].port);
        value_put_text(arena, entry, "protocol", "TCP");
    }
    manifest_put_installation_ports(manifest, list);
    return list;
}

static void put_limits(const struct manifest *manifest, struct value *container)
{
    const struct installation *small = manifest_find_small(manifest);
    if (small)
        manifest_put_rows(manifest, container, small->limits, small->limit_count);
    else
        manifest_put_rows(manifest, container, limits, COUNT_OF(limits));
}

static struct value *put_container(const struct manifest *manifest, struct value *list)
{
    static const char *const all[] = {"ALL", NULL};
    struct value *container = manifest_item(manifest, list);
    value_put_text(manifest->arena, container, "name", MANIFEST_NAME);
    value_put_text(manifest->arena, container, "image", manifest->image);
    put_arguments(manifest, container);
    put_environment(manifest, container);
    manifest_put_ports(manifest, container);
    manifest_put_rows(manifest, container, container_rows, COUNT_OF(container_rows));
    put_limits(manifest, container);
    value_put_texts(manifest->arena, container, "securityContext.capabilities.drop", all);
    return container;
}

// One replica on each node, as far as there are nodes.
static void put_spread(const struct manifest *manifest, struct value *deployment)
{
    struct arena *arena = manifest->arena;
    struct value *entry = manifest_item(
        manifest, manifest_list(manifest, deployment, POD "topologySpreadConstraints"));
    value_put_int(arena, entry, "maxSkew", 1);
    value_put_text(arena, entry, "topologyKey", "kubernetes.io/hostname");
    value_put_text(arena, entry, "whenUnsatisfiable", "ScheduleAnyway");
    value_put_text(arena, entry, "labelSelector.matchLabels" LABEL, MANIFEST_NAME);
}

// Nodes are emptied one replica at a time.
static void write_budget(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    struct value *object = manifest_begin(manifest, "policy/v1", "PodDisruptionBudget",
                                          MANIFEST_NAME, manifest->namespace_);
    value_put_int(arena, object, "spec.maxUnavailable", 1);
    value_put_text(arena, object, "spec.selector.matchLabels" LABEL, MANIFEST_NAME);
    manifest_end(manifest, object, "");
}

void manifest_write_deployment(const struct manifest *manifest)
{
    struct arena *arena = manifest->arena;
    struct value *object =
        manifest_begin(manifest, "apps/v1", "Deployment", MANIFEST_NAME, manifest->namespace_);
    value_put_int(arena, object, "spec.replicas", manifest->replicas);
    manifest_put_rows(manifest, object, deployment_rows, COUNT_OF(deployment_rows));
    put_spread(manifest, object);
    struct value *container = put_container(
        manifest, value_put(arena, object, POD "containers", value_make(arena, VALUE_LIST)));
    manifest_put_installation_files(manifest, object, container);
    manifest_end(manifest, object, manifest_installation_comments(manifest));
    if (manifest->replicas > 1)
        write_budget(manifest);
}
