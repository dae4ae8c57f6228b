#include <string.h>

#include "base/url.h"
#include "commands/commands.h"
#include "commands/manifest.h"
#include "commands/print.h"
#include "kinds/kinds.h"
#include "store/cluster/cluster.h"
#include "store/owner.h"

// What can be printed, in the order in which a cluster takes it; a part that several flags ask for
// is printed once.
enum {
    CRDS = 1,
    NAMESPACE = 2,
    ACCOUNT = 4,
    RBAC = 8,
    SERVICES = 16,
    DEPLOYMENT = 32,
    HOOKS = 64,
    PEOPLE = 128,
    CONFIGURATIONS = 256,
    ALERTS = 512,
    POD_MONITOR = 1024,
    NETWORK_POLICY = 2048,
    DASHBOARD = 4096,
};

static const struct {
    unsigned part;
    void (*write)(const struct manifest *manifest);
} parts[] = {
    {CRDS, manifest_write_crds},
    {NAMESPACE, manifest_write_namespace},
    {ACCOUNT, manifest_write_account},
    {RBAC, manifest_write_rbac},
    {PEOPLE, manifest_write_people},
    {CONFIGURATIONS, manifest_write_configurations},
    {SERVICES, manifest_write_services},
    {DEPLOYMENT, manifest_write_deployment},
    {HOOKS, manifest_write_admission},
    {ALERTS, manifest_write_alerts},
    {POD_MONITOR, manifest_write_pod_monitor},
    {NETWORK_POLICY, manifest_write_network_policy},
    {DASHBOARD, manifest_write_dashboard},
};

static const struct {
    const char *flag;
    unsigned parts;
} sections[] = {
    {"all",
     CRDS | NAMESPACE | ACCOUNT | RBAC | PEOPLE | CONFIGURATIONS | SERVICES | DEPLOYMENT | HOOKS},
    {"crd", CRDS},
    {"rbac", ACCOUNT | RBAC},
    {"roles", PEOPLE},
    {"deployment", NAMESPACE | ACCOUNT | CONFIGURATIONS | DEPLOYMENT},
    {"service", SERVICES},
    {"webhook", HOOKS},
    {"alerts", ALERTS},
    {"pod-monitor", POD_MONITOR},
    {"network-policy", NETWORK_POLICY},
    {"dashboard", DASHBOARD},
};

static const struct option section_rows[] = {
    {.name = "all", .type = OPTION_FLAG, .doc = "All of what follows up to --webhook."},
    {.name = "crd",
     .type = OPTION_FLAG,
     .doc = "The CustomResourceDefinitions of all kinds that are built in; with --controllers, of "
            "those that they look at."},
    {.name = "rbac",
     .type = OPTION_FLAG,
     .doc = "The ServiceAccount, and just the rights that the controllers need, each with what it "
            "is for."},
    {.name = "roles",
     .type = OPTION_FLAG,
     .doc = "ClusterRoles for people, which the cluster's own view, edit and admin take in: who "
            "may view a namespace sees its records, zones and what became of them, who may edit it "
            "changes them; admin of the whole cluster keeps classes."},
    {.name = "deployment",
     .type = OPTION_FLAG,
     .doc = "The Namespace (pod security: restricted), the ServiceAccount, the Deployment, which "
            "spreads over nodes, with more than one replica a PodDisruptionBudget, and with "
            "--zones-config the ConfigMap that holds it."},
    {.name = "service",
     .type = OPTION_FLAG,
     .doc = "The Services of metrics and admission, with --zones-config or --primary-listen that "
            "of the hidden primary, and those of other APIs that the controllers bring."},
    {.name = "webhook",
     .type = OPTION_FLAG,
     .doc = "The ValidatingWebhookConfiguration. Whoever leads fills its caBundle in."},
    {.name = "alerts",
     .type = OPTION_FLAG,
     .doc = "A PrometheusRule, as the Prometheus operator reads it, with the alerts of every "
            "Signpost and of the controllers. It is no part of --all."},
    {.name = "pod-monitor",
     .type = OPTION_FLAG,
     .doc = "A PodMonitor, as the Prometheus operator reads it, for /metrics; with "
            "--metrics-secure also the account whose token it shows. It is no part of --all."},
    {.name = "network-policy",
     .type = OPTION_FLAG,
     .doc = "A NetworkPolicy that lets nothing in but what goes to the container's ports. What "
            "goes out is left open, as objects name the servers. It is no part of --all."},
    {.name = "dashboard",
     .type = OPTION_FLAG,
     .doc = "A dashboard of Grafana with all metrics, as a ConfigMap with the label that Grafana's "
            "sidecar looks for. It is no part of --all."},
};

static const struct option install_rows[] = {
    {.name = "namespace",
     .type = OPTION_TEXT,
     .letter = 'n',
     .fallback = MANIFEST_NAME,
     .placeholder = "NAME",
     .doc = "Namespace that Signpost runs in."},
    {.name = "image",
     .type = OPTION_TEXT,
     .fallback = "signpost:" SIGNPOST_VERSION,
     .placeholder = "IMAGE",
     .doc = "Image of the Deployment, whose entry point is this program."},
    {.name = "replicas",
     .type = OPTION_INT,
     .fallback = "2",
     .placeholder = "NUMBER",
     .min = 0,
     .max = 100,
     .doc = "How many of it run; one of them writes."},
    {.name = "namespaced",
     .type = OPTION_FLAG,
     .doc = "Rights in the namespaces of --namespaces alone (eight at most; its own if none are "
            "given), and for the whole cluster only to what lies in no namespace."},
    {.name = "secret-namespaces",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Namespaces of the Secrets that classes may name; all when not given, with "
            "--namespaced those that are watched."},
};

// The same as for `signpost run`: they shape the rights, and the Deployment hands them on.
static const struct option run_rows[] = {
    {.name = "controllers",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Which controllers run; the default ones when not given."},
    {.name = "namespaces",
     .variable = "WATCH_NAMESPACE",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Namespaces that are watched; all when not given."},
    {.name = "owner-id",
     .type = OPTION_TEXT,
     .placeholder = "ID",
     .doc = "Marks what this installation writes to shared backends; without it, it is derived "
            "from the cluster."},
    {.name = "leader-elect-resource-name",
     .type = OPTION_TEXT,
     .fallback = MANIFEST_NAME,
     .placeholder = "NAME",
     .doc = "Name of the Lease."},
    {.name = "admission",
     .variable = "ENABLE_WEBHOOKS",
     .type = OPTION_FLAG,
     .fallback = "true",
     .doc = "Serve admission reviews."},
    {.name = "webhook-url",
     .type = OPTION_TEXT,
     .placeholder = "URL",
     .doc = "Where the API server reaches admission, if not through a Service."},
    {.name = "metrics-secure",
     .type = OPTION_FLAG,
     .doc = "Serve /metrics over TLS, to accounts that may."},
    {.name = "status-page",
     .type = OPTION_FLAG,
     .doc = "Serve the status page where /metrics is, to those who may read that."},
};

static int fail_without_section(void)
{
    AUTO_BUFFER flags = {0};
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        buffer_printf(&flags, "%s--%s", i ? ", " : "", sections[i].flag);
    return command_fail(2, "say what to print: %s", flags.at);
}

static unsigned parts_asked(const struct invocation *invocation)
{
    unsigned asked = 0;
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (option_flag(invocation, sections[i].flag))
            asked |= sections[i].parts;
    return asked;
}

// ---- options ------------------------------------------------------------------------------------

static bool check_namespaces(const struct invocation *invocation, const char *option,
                             const char **names, size_t count, struct error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!option_check_namespace(invocation, option, names[i], err))
            return false;
    return true;
}

static bool check_owner(const struct invocation *invocation, struct error *err)
{
    const char *id = option_text(invocation, "owner-id");
    return !id || owner_id_check(text_of(id), err) || option_blame(invocation, "owner-id", id, err);
}

// The base URL without a final slash, or NULL when none was given.
static bool take_url(struct manifest *manifest, struct error *err)
{
    struct url url;
    const char *given = option_text(manifest->invocation, "webhook-url");
    if (!given)
        return true;
    if (!url_parse(&url, text_of(given), err))
        return option_blame(manifest->invocation, "webhook-url", given, err);
    if (!url.is_https) {
        error_set(err, FAULT_SPEC, "", "an API server calls https URLs only");
        return option_blame(manifest->invocation, "webhook-url", given, err);
    }
    AUTO_BUFFER text = {0};
    url_write(&text, &url);
    manifest->webhook_url = arena_copy_text(manifest->arena, text.at);
    return true;
}

static void take_namespaces(struct manifest *manifest)
{
    const struct invocation *invocation = manifest->invocation;
    manifest->namespace_count = option_list(invocation, "namespaces", &manifest->namespaces);
    manifest->secret_namespace_count =
        option_list(invocation, "secret-namespaces", &manifest->secret_namespaces);
    if (!manifest->is_namespaced)
        return;
    if (!manifest->namespace_count) {
        manifest->namespaces = &manifest->namespace_;
        manifest->namespace_count = 1;
    }
    if (!manifest->secret_namespace_count) {
        manifest->secret_namespaces = manifest->namespaces;
        manifest->secret_namespace_count = manifest->namespace_count;
    }
}

// More of them have one watch for the whole cluster, which Roles do not allow.
static bool check_count(const struct manifest *manifest, struct error *err)
{
    if (!manifest->is_namespaced || manifest->namespace_count <= CLUSTER_NAMESPACES_MAX)
        return true;
    return error_set(err, FAULT_SPEC, "",
                     "--namespaced goes with %d namespaces at most, and --namespaces names %zu: "
                     "leave --namespaced out, or run more than one Signpost",
                     CLUSTER_NAMESPACES_MAX, manifest->namespace_count);
}

// Reviews are of our own kinds.
static void take_admission(struct manifest *manifest)
{
    bool has_kinds = false;
    for (size_t i = 0; i < kind_count; i++)
        has_kinds |=
            !kinds[i]->is_foreign && enabled_controllers_is_about(&manifest->controllers, kinds[i]);
    manifest->has_admission = has_kinds && option_flag(manifest->invocation, "admission");
}

static bool take_options(struct manifest *manifest, bool has_deployment, struct error *err)
{
    const struct invocation *invocation = manifest->invocation;
    manifest->namespace_ = option_text(invocation, "namespace");
    manifest->image = option_text(invocation, "image");
    manifest->is_namespaced = option_flag(invocation, "namespaced");
    manifest->replicas = option_int(invocation, "replicas");
    take_namespaces(manifest);
    return enabled_controllers_init(&manifest->controllers, invocation, err) &&
           manifest_take_installations(manifest, has_deployment, err) &&
           check_owner(invocation, err) && take_url(manifest, err) && check_count(manifest, err) &&
           option_check_namespace(invocation, "namespace", manifest->namespace_, err) &&
           check_namespaces(invocation, "namespaces", manifest->namespaces,
                            manifest->namespace_count, err) &&
           check_namespaces(invocation, "secret-namespaces", manifest->secret_namespaces,
                            manifest->secret_namespace_count, err);
}

static int fail_empty(const struct invocation *invocation)
{
    if (!option_flag(invocation, "admission"))
        return command_fail(2, "--admission=false leaves nothing of --webhook to print: drop one "
                               "of them");
    return command_fail(2, "these controllers look at no kind of ours: there is nothing to print");
}

static int manifests_run(struct invocation *invocation)
{
    AUTO_BUFFER text = {0};
    struct error err;
    struct manifest manifest = {.arena = invocation->arena, .out = &text, .invocation = invocation};
    unsigned asked = parts_asked(invocation);
    if (!asked)
        return fail_without_section();
    if (!take_options(&manifest, asked & DEPLOYMENT, &err))
        return command_fail(2, "%s", err.text);
    take_admission(&manifest);
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (asked & parts[i].part)
            parts[i].write(&manifest);
    if (!text.len)
        return fail_empty(invocation);
    return print_out(&text, &err) ? 0 : command_fail(1, "%s", err.text);
}

extern const struct command manifests_command;
const struct command manifests_command = {
    .name = "manifests",
    .summary = "print what a cluster needs to run Signpost",
    .exit_docs =
        {
            "all is printed",
            "it cannot be written out",
            "an argument is wrong",
        },
    .doc =
        "Prints YAML for `kubectl apply --server-side -f -`, made of the same tables that the "
        "program itself checks objects with and asks for its rights by. CRDs that another operator "
        "brought are taken over with --force-conflicts; their objects stay. Settings of "
        "controllers are the same as for `signpost run`: they shape the rights, and the Deployment "
        "hands on those that are given.",
    .examples = "signpost manifests --all --image IMAGE | kubectl apply --server-side -f -\n"
                "signpost manifests --crd | kubectl apply --server-side -f -\n"
                "signpost manifests --rbac --namespaced --namespaces shop,blog\n"
                "signpost manifests --all --zones-config zones.yaml \\\n"
                "    --zones-service LoadBalancer\n"
                "signpost manifests --alerts --pod-monitor --network-policy --dashboard\n"
                "signpost manifests --all --controllers clusterdns --corefile-preflight off\n"
                "signpost manifests --all --controllers ingress \\\n"
                "    --pihole-url http://192.168.1.2 --default-target-ip 192.168.1.50\n",
    .groups = {{section_rows, COUNT_OF(section_rows), false},
               {install_rows, COUNT_OF(install_rows), false},
               {run_rows, COUNT_OF(run_rows), false},
               SUBJECT_OPTIONS(SUBJECT_INSTALL, false),
               SUBJECT_OPTIONS(SUBJECT_SETUP, false)},
    .has_settings = true,
    .run = manifests_run,
};
