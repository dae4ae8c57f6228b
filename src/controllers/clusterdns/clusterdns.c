#include "controllers/clusterdns/clusterdns_controller.h"

#include <string.h>

#include "controllers/clusterdns/reconcile.h"
#include "kinds/network/network_kind.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"
#include "kinds/servicemonitor/servicemonitor_kind.h"

// What the controller reads, may do and can be told. What it does begins in reconcile.c.

// ---- inputs -------------------------------------------------------------------------------------

// Those that count are looked up by their ids, so that a CRD that is older than the program, and
// drops the list of copies, costs no more than that some are never removed.
static void add_copies(const struct dns_config *config, struct strings *out)
{
    const struct text ids[] = {config->id, config->refused, config->written, config->proved[0],
                               config->proved[1]};
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        if (ids[i].len)
            strings_add(out, "%.*s-%.*s", TEXT_ARGS(config->config_map), TEXT_ARGS(ids[i]));
    for (size_t i = 0; i < config->copy_count; i++)
        strings_add(out, "%.*s", TEXT_ARGS(config->copies[i]));
}

// A fragment has no list of them in its status.
static void add_bundles(const struct object *subject, struct strings *out)
{
    struct dns_spec spec;
    const struct clusterdns_settings *settings = out->settings;
    dns_unpack(out->arena, object_spec(subject), &spec);
    for (size_t i = 0; i < spec.server_count; i++)
        if (spec.servers[i].forward.transport.bundle.len)
            strings_add(out, "%s/%.*s", settings->ca_namespace,
                        TEXT_ARGS(spec.servers[i].forward.transport.bundle));
}

static void want_config_maps(const struct object *subject, struct strings *out)
{
    struct dns_status status;
    const struct clusterdns_settings *settings = out->settings;
    dns_status_unpack(out->arena, object_spec(subject), object_managed(subject), &status);
    add_bundles(subject, out);
    strings_add(out, SYSTEM_NAMESPACE "/coredns");
    strings_add(out, SYSTEM_NAMESPACE "/coredns-custom");
    strings_add(out, "%s/" WORKLOAD_NAME, settings->dns_namespace);
    add_copies(&status.config, out);
    for (size_t i = 0; i < status.config.bundle_count; i++)
        strings_add(out, "%s/%.*s", settings->ca_namespace, TEXT_ARGS(status.config.bundles[i]));
    for (size_t i = 0; i < status.config.bundle_copy_count; i++)
        strings_add(out, "%s/%.*s", settings->dns_namespace,
                    TEXT_ARGS(status.config.bundle_copies[i]));
}

static void look_up_workload(const struct object *subject, struct strings *out)
{
    const struct clusterdns_settings *settings = out->settings;
    (void)subject;
    strings_add(out, "%s/" WORKLOAD_NAME, settings->dns_namespace);
}

static void want_services(const struct object *subject, struct strings *out)
{
    look_up_workload(subject, out);
    strings_add(out, SYSTEM_NAMESPACE "/kube-dns");
}

static void want_deployments(const struct object *subject, struct strings *out)
{
    (void)subject;
    strings_add(out, SYSTEM_NAMESPACE "/coredns");
    strings_add(out, "openshift-dns-operator/dns-operator");
}

static void want_account(const struct object *subject, struct strings *out)
{
    const struct clusterdns_settings *settings = out->settings;
    (void)subject;
    strings_add(out, "%s/dns", settings->dns_namespace);
}

static const struct input inputs[INPUTS] = {
    [INPUT_DNSES] = {.kind = &dns_kind},
    [INPUT_CONFIG_MAPS] = {.kind = &config_map_kind,
                           .lookup_keys = want_config_maps,
                           .is_named = true,
                           .reads_own_writes = true},
    [INPUT_DAEMON_SETS] = {.kind = &daemonset_kind,
                           .lookup_keys = look_up_workload,
                           .is_named = true,
                           .reads_own_writes = true},
    [INPUT_DEPLOYMENTS] = {.kind = &deployment_kind,
                           .lookup_keys = want_deployments,
                           .is_named = true},
    [INPUT_SERVICES] = {.kind = &service_kind,
                        .lookup_keys = want_services,
                        .is_named = true,
                        .reads_own_writes = true},
    [INPUT_SERVICE_ACCOUNTS] = {.kind = &serviceaccount_kind,
                                .lookup_keys = want_account,
                                .is_named = true,
                                .reads_own_writes = true},
    [INPUT_KUBE_DNS_PODS] = {.kind = &pod_kind, .labels = KUBE_DNS_LABEL},
    [INPUT_OWN_PODS] = {.kind = &pod_kind, .labels = DAEMON_SET_LABEL},
    [INPUT_PREFLIGHT_PODS] = {.kind = &pod_kind,
                              .labels = OPERATOR_LABEL,
                              .reads_own_writes = true},
    [INPUT_NODES] = {.kind = &node_kind, .is_optional = true},
    [INPUT_NETWORKS] = {.kind = &network_kind, .is_optional = true},
    [INPUT_SERVICE_MONITORS] = {.kind = &servicemonitor_kind,
                                .labels = OPERATOR_LABEL,
                                .reads_own_writes = true,
                                .is_optional = true},
};

// ---- the controller -----------------------------------------------------------------------------

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_one[] = {"get", "watch", NULL};
static const char *const keep[] = {"get", "watch", "create", "patch", "delete", NULL};
static const char *const make_and_remove[] = {"create", "delete", NULL};
static const char *const patch[] = {"patch", NULL};
static const char *const change[] = {"get", "list", "watch", "patch", NULL};
static const char *const write[] = {"create", "patch", "delete", NULL};

static bool is_preflight_on(const void *settings)
{
    return strcmp(((const struct clusterdns_settings *)settings)->preflight, "off") != 0;
}

static const struct kube_right rights[] = {
    {.group = OPERATOR_GROUP,
     .resource = "dnses",
     .verbs = change,
     .scope = RIGHT_CLUSTER,
     .why = "What is to be forwarded, and the finalizer of the main object."},
    {.group = OPERATOR_GROUP,
     .resource = "dnses/status",
     .verbs = patch,
     .scope = RIGHT_CLUSTER,
     .why = "What became of it."},
    {.group = "",
     .resource = "configmaps",
     .verbs = keep,
     .scope = RIGHT_REFERENCED,
     .why = "The Corefile, copies of it to go back to, and authorities: each by its name."},
    {.group = "apps",
     .resource = "daemonsets",
     .verbs = keep,
     .scope = RIGHT_REFERENCED,
     .why = "The CoreDNS of an own installation."},
    {.group = "apps",
     .resource = "deployments",
     .verbs = follow_one,
     .scope = RIGHT_REFERENCED,
     .why = "The CoreDNS that is there already, and whether OpenShift's operator is."},
    {.group = "",
     .resource = "services",
     .verbs = keep,
     .scope = RIGHT_REFERENCED,
     .why = "The address of the cluster's DNS."},
    {.group = "",
     .resource = "serviceaccounts",
     .verbs = keep,
     .scope = RIGHT_REFERENCED,
     .why = "The account of an own CoreDNS."},
    {.group = "",
     .resource = "pods",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Pods of CoreDNS, to ask each which Corefile it runs."},
    {.group = "",
     .resource = "pods",
     .verbs = make_and_remove,
     .scope = RIGHT_CLUSTER,
     .is_needed = is_preflight_on,
     .why = "A Pod that loads a Corefile before the others do."},
    {.group = "",
     .resource = "nodes",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Whether a node is there at all whose Pod does not answer."},
    {.group = "config.openshift.io",
     .resource = "networks",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Where Services have their addresses, in a cluster that says so."},
    {.group = "monitoring.coreos.com",
     .resource = "servicemonitors",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .why = "Whether an own CoreDNS is scraped for its metrics, where Prometheus's operator is."},
    {.group = "monitoring.coreos.com",
     .resource = "servicemonitors",
     .verbs = write,
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .is_needed = may_own,
     .why = "The one by which it is."},
    {0},
};

static const char *const modes[] = {"auto", "owned", "adopted", "import", "file", "off", NULL};
static const char *const layouts[] = {"plain", "openshift", NULL};
static const char *const updates[] = {"rolling", "reload", NULL};
static const char *const preflights[] = {"auto", "off", NULL};

static bool check_version(const char *const *items, struct error *err)
{
    struct coredns_version version;
    if (coredns_version_read(text_of(items[0]), &version))
        return true;
    return error_set(err, FAULT_SPEC, NULL, "%s is no release such as 1.12.4", items[0]);
}

static bool check_addresses(const char *const *items, struct error *err)
{
    struct dns_address address;
    for (size_t i = 0; items[i]; i++)
        if (!dns_address_read(text_of(items[i]), &address))
            return error_set(err, FAULT_SPEC, NULL, "%s must be IP, IPv4:PORT or [IPv6]:PORT",
                             items[i]);
    return true;
}

static bool check_domain(const char *const *items, struct error *err)
{
    if (kind_is_name(text_of(items[0])))
        return true;
    return error_set(err, FAULT_SPEC, NULL,
                     "%s must be a domain in lower case without a final dot, such as cluster.local",
                     items[0]);
}

static bool check_namespace(const char *const *items, struct error *err)
{
    if (kind_is_name(text_of(items[0])) && !strchr(items[0], '.'))
        return true;
    return error_set(err, FAULT_SPEC, NULL, "%s must be the name of a namespace", items[0]);
}

static bool check_ip(const char *const *items, struct error *err)
{
    struct dns_address address;
    if (dns_address_read(text_of(items[0]), &address) && !address.port && items[0][0] != '[')
        return true;
    return error_set(err, FAULT_SPEC, NULL, "%s must be an IP address", items[0]);
}

static const struct controller_setting settings[] = {
    {.name = "corefile-mode",
     .type = SETTING_CHOICE,
     .fallback = "auto",
     .choices = modes,
     .doc = "What of CoreDNS is ours: owned (all of it), adopted (our server blocks in "
            "kube-system/coredns), import (a key of kube-system/coredns-custom), file. auto looks "
            "which of them is there.",
     .offset = offsetof(struct clusterdns_settings, mode)},
    {.name = "corefile-layout",
     .type = SETTING_CHOICE,
     .fallback = "plain",
     .choices = layouts,
     .doc = "openshift writes the text of OpenShift's operator to the octet.",
     .offset = offsetof(struct clusterdns_settings, layout)},
    {.name = "corefile-update",
     .type = SETTING_CHOICE,
     .fallback = "rolling",
     .choices = updates,
     .doc = "rolling replaces the Pods of an own CoreDNS; reload lets them load the file.",
     .offset = offsetof(struct clusterdns_settings, update)},
    {.name = "corefile-preflight",
     .type = SETTING_CHOICE,
     .fallback = "auto",
     .choices = preflights,
     .doc = "auto lets one Pod of its own load a Corefile before the others do.",
     .offset = offsetof(struct clusterdns_settings, preflight)},
    {.name = "corefile-deadline",
     .type = SETTING_MS,
     .fallback = "3m",
     .min = 1000,
     .doc = "How long CoreDNS has to load a Corefile before the last good one is put back.",
     .offset = offsetof(struct clusterdns_settings, deadline_ms)},
    {.name = "coredns-image",
     .type = SETTING_TEXT,
     .placeholder = "IMAGE",
     .doc = "Image of an own CoreDNS; without it there is no DaemonSet.",
     .offset = offsetof(struct clusterdns_settings, image)},
    {.name = "coredns-version",
     .type = SETTING_TEXT,
     .placeholder = "VERSION",
     .check = check_version,
     .doc = "Release of CoreDNS; that of the image when not given.",
     .offset = offsetof(struct clusterdns_settings, version)},
    {.name = "cluster-domain",
     .type = SETTING_TEXT,
     .placeholder = "DOMAIN",
     .check = check_domain,
     .doc =
         "Domain of Services and Pods; cluster.local when not given, and none in mode file, where "
         "CoreDNS has no cluster to ask.",
     .offset = offsetof(struct clusterdns_settings, cluster_domain)},
    {.name = "dns-namespace",
     .type = SETTING_TEXT,
     .fallback = "openshift-dns",
     .placeholder = "NAMESPACE",
     .check = check_namespace,
     .doc = "Namespace of an own CoreDNS.",
     .offset = offsetof(struct clusterdns_settings, dns_namespace)},
    {.name = "ca-namespace",
     .type = SETTING_TEXT,
     .fallback = "openshift-config",
     .placeholder = "NAMESPACE",
     .check = check_namespace,
     .doc = "Namespace of the ConfigMaps that caBundle names.",
     .offset = offsetof(struct clusterdns_settings, ca_namespace)},
    {.name = "dns-port",
     .type = SETTING_INT,
     .fallback = "5353",
     .min = 1,
     .max = 65535,
     .doc = "Port of an own CoreDNS in its Pods.",
     .offset = offsetof(struct clusterdns_settings, dns_port)},
    {.name = "dns-cluster-ip",
     .type = SETTING_TEXT,
     .placeholder = "IP",
     .check = check_ip,
     .doc =
         "Address of the Service of an own CoreDNS. Not given: the tenth of the first network of "
         "Services where networks.config.openshift.io/cluster names one, else as the API server "
         "chooses.",
     .offset = offsetof(struct clusterdns_settings, cluster_ip)},
    {.name = "coredns-metrics-address",
     .type = SETTING_ADDRESS,
     .doc = "Where CoreDNS serves its metrics; :9153, or 127.0.0.1:9153 in layout openshift.",
     .offset = offsetof(struct clusterdns_settings, metrics_address)},
    {.name = "dns-fragments",
     .type = SETTING_FLAG,
     .fallback = "true",
     .doc = "Serves servers and pluginConfig of DNS objects beside the one named default.",
     .offset = offsetof(struct clusterdns_settings, has_fragments)},
    {.name = "corefile-path",
     .type = SETTING_TEXT,
     .placeholder = "FILE",
     .doc = "The Corefile of a CoreDNS that runs without Kubernetes: it is replaced there.",
     .offset = offsetof(struct clusterdns_settings, corefile_path)},
    {.name = "coredns-address",
     .type = SETTING_LIST,
     .placeholder = "ADDR",
     .check = check_addresses,
     .doc = "Such a CoreDNS, to ask it what it runs.",
     .offset = offsetof(struct clusterdns_settings, coredns_addresses)},
};

// Zones of others, the cluster's own names and CoreDNS's release are what an object is refused for
// although it breaks no rule by itself.
static const char *const outward_reasons[] = {"PartiallyAccepted", "Refused", NULL};

const struct controller clusterdns_controller = {
    .name = "clusterdns",
    .reads_own_writes = true,
    .kind = &dns_kind,
    .finalizer = DNS_FINALIZER,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .decide = clusterdns_decide,
    .outward_reasons = outward_reasons,
    .rights = rights,
    .workload_account = &clusterdns_account,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct clusterdns_settings),
    .metrics = clusterdns_metrics,
    .metric_count = CLUSTERDNS_METRICS,
    .alerts = clusterdns_alerts,
    .alert_count = CLUSTERDNS_ALERTS,
};
