#include "controllers/clusterdns/clusterdns_controller.h"

#include <string.h>

#include "base/digest.h"
#include "controllers/clusterdns/reconcile.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"

enum { DEBOUNCE_S = 1, SHA256_OCTETS = 32 };

// ---- which Corefile -----------------------------------------------------------------------------

// The status begins as it was before: what nothing changes below stays in it.
static void carry_over(struct reconcile *reconcile)
{
    if (reconcile->before.config.mode.len &&
        !text_is(reconcile->before.config.mode, mode_names[reconcile->mode])) {
        reconcile->before.config.proved_count = 0; // these are of another file
        reconcile->before.config.written = (struct text){0};
        reconcile->before.config.refused = (struct text){0};
        reconcile->before.config.refusal = (struct text){0};
    }
    reconcile->now.config = reconcile->before.config;
    reconcile->now.config.mode = text_of(mode_names[reconcile->mode]);
    reconcile->now.config.layout = text_of(reconcile->settings->layout);
    reconcile->now.config.version =
        text_of(arena_printf(reconcile->arena, "%u.%u.%u", reconcile->version.major,
                             reconcile->version.minor, reconcile->version.patch));
    if (reconcile->mode == MODE_FILE)
        reconcile->now.config.config_map = text_of(reconcile->settings->corefile_path);
    else
        reconcile->now.config.config_map = text_of(
            arena_printf(reconcile->arena, "%.*s/%.*s", TEXT_ARGS(reconcile->target.namespace_),
                         TEXT_ARGS(reconcile->target.name)));
}

static const char *sha256_of(struct reconcile *reconcile, struct text text)
{
    uint8_t digest[DIGEST_MAX];
    char hex[2 * DIGEST_MAX + 1];
    digest_of(DIGEST_SHA256, text, digest);
    hex_encode(digest, SHA256_OCTETS, hex);
    return arena_copy_text(reconcile->arena, hex);
}

static void name_config(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    config->id = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    config->sha256 = text_of(sha256_of(reconcile, reconcile->text));
}

// Written ahead: the status names the config before anything of it is written, so that after a
// crash its copy is looked up.
static void begin_config(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    name_config(reconcile);
    config->since_s = reconcile->in->now_ms / 1000;
    config->refusal = (struct text){0};
    if (text_is(config->refused, reconcile->id))
        config->refused = (struct text){0}; // another one was wanted since: it gets another try
    if (reconcile->mode == MODE_FILE && !is_unmanaged(reconcile))
        decision_add_event(reconcile->out, false, EVENT_COREFILE_WRITTEN,
                           arena_printf(reconcile->arena, "config %s goes to %s", reconcile->id,
                                        reconcile->settings->corefile_path));
}

// Changes within DEBOUNCE_S are written together.
static bool is_too_early(struct reconcile *reconcile)
{
    int64_t begins_ms = (reconcile->before.config.since_s + DEBOUNCE_S) * 1000;
    if (!reconcile->before.config.id.len || reconcile->in->now_ms >= begins_ms ||
        reconcile->in->now_ms < reconcile->before.config.since_s * 1000)
        return false;
    decision_wake_at(reconcile->out, begins_ms);
    return true;
}

static bool is_new(const struct reconcile *reconcile)
{
    return !text_is(reconcile->before.config.id, reconcile->id) || !knows_bundles(reconcile) ||
           !knows_copy(reconcile);
}

// Says what stands now where CoreDNS refused a Corefile.
static const char *explain_return(const struct reconcile *reconcile)
{
    if (!reconcile->is_restoring)
        return "what stands there stays, as there is none to go back to";
    return reconcile->id[0] ? "the one before stands again" : "our part of it is taken out";
}

// CoreDNS refused the Corefile that is wanted: the last good one takes its place.
static void go_back(struct reconcile *reconcile)
{
    const char *refused = arena_copy_text(reconcile->arena, reconcile->id);
    reconcile->is_restoring = make_earlier_text(reconcile);
    if (reconcile->is_restoring && reconcile->id[0])
        name_config(reconcile);
    reconcile->fault = REASON_COREFILE_REFUSED;
    reconcile->fault_text = arena_printf(
        reconcile->arena, "CoreDNS refused config %s, and %s; another spec is tried at once: %.*s",
        refused, explain_return(reconcile), TEXT_ARGS(reconcile->before.config.refusal));
}

static bool was_refused(const struct reconcile *reconcile)
{
    return reconcile->before.config.refusal.len &&
           text_is(reconcile->before.config.refused, reconcile->id);
}

// ---- what follows -------------------------------------------------------------------------------

// The copy comes first: the Pod mounts it.
static bool is_loadable(struct reconcile *reconcile)
{
    const struct value *annotations;
    if (!strcmp(reconcile->settings->preflight, "off"))
        return true;
    return copy_text(reconcile, text_of(reconcile->id), &annotations).at &&
           preflight_config(reconcile) == PREFLIGHT_PASSED;
}

// True: what is wanted stands there, or is on its way.
static bool write_config(struct reconcile *reconcile)
{
    if (reconcile->mode == MODE_FILE) {
        want_file(reconcile);
        return true;
    }
    if (!reconcile->is_restoring)
        want_copy(reconcile);
    if (reconcile->mode == MODE_OWNED)
        keep_bundle_copies(reconcile); // before a Pod mounts them
    drop_preflights(reconcile);
    if (!reconcile->is_restoring && !is_in_place(reconcile) && !is_loadable(reconcile))
        return false;
    if (reconcile->mode == MODE_OWNED)
        want_workload(reconcile);
    if (is_in_place(reconcile))
        return true;
    want_target(reconcile, reconcile->text, reconcile->annotations);
    reconcile->now.config.since_s = reconcile->in->now_ms / 1000;
    reconcile->now.config.written = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    return true;
}

static bool is_proved(const struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    return proof->total && proof->current == proof->total;
}

static void note_proof(struct reconcile *reconcile)
{
    struct dns_config *config = &reconcile->now.config;
    struct text id = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    if (!is_proved(reconcile) || reconcile->is_restoring)
        return;
    if (reconcile->mode == MODE_FILE && !is_unmanaged(reconcile))
        keep_good_file(reconcile);
    config->refused = (struct text){0};
    config->refusal = (struct text){0};
    if (config->proved_count && text_equal(config->proved[0], id))
        return;
    config->proved[1] = config->proved[0];
    config->proved[0] = id;
    config->proved_count += config->proved_count < DNS_PROVED_MAX;
}

void refuse_config(struct reconcile *reconcile, struct text why)
{
    struct dns_config *config = &reconcile->now.config;
    config->refused = text_of(arena_copy_text(reconcile->arena, reconcile->id));
    config->refusal = why;
    decision_add_event(
        reconcile->out, true, EVENT_COREFILE_REFUSED,
        arena_printf(reconcile->arena, "config %s: %.*s", reconcile->id, TEXT_ARGS(why)));
}

static void note_refusal(struct reconcile *reconcile)
{
    const char *crash = reconcile->proof.crash;
    const struct dns_config *config = &reconcile->now.config;
    if (config->proved_count && text_is(config->proved[0], reconcile->id))
        return; // all Pods ran it: what ails them now is not the text
    bool is_tried = reconcile->mode == MODE_FILE
                        ? !reconcile->fault && text_equal(reconcile->target.text, reconcile->text)
                        : is_in_place(reconcile);
    bool can_go_back = reconcile->now.config.proved_count || reconcile->mode == MODE_ADOPTED ||
                       reconcile->mode == MODE_IMPORT;
    if (reconcile->is_restoring || !can_go_back || !is_tried || !is_config_refused(reconcile))
        return;
    reconcile->is_taken_back = true;
    refuse_config(
        reconcile,
        text_of(crash ? crash : "no Pod has loaded it in time, and all run an older one"));
}

static void clean_up(struct reconcile *reconcile)
{
    list_copies(reconcile);
    if (!is_unmanaged(reconcile))
        drop_copies(reconcile);
}

static void manage(struct reconcile *reconcile)
{
    note_bundles(reconcile);
    bool is_refused = reconcile->text.at && was_refused(reconcile);
    if (is_refused)
        go_back(reconcile);
    if (!reconcile->text.at && !reconcile->is_restoring)
        return; // what stands there stays
    prove_config(reconcile);
    if (is_refused && !reconcile->is_restoring) { // there is none to go back to: so it does here
        drop_preflights(reconcile);
        return;
    }
    if (!reconcile->is_restoring && is_new(reconcile)) {
        if (is_too_early(reconcile))
            return;
        begin_config(reconcile);
        clean_up(reconcile);
        return;
    }
    if (is_unmanaged(reconcile))
        drop_preflights(reconcile);
    else if (write_config(reconcile) && !reconcile->is_restoring)
        (void)release_other_modes(reconcile);
    look_at_upstreams(reconcile);
    note_proof(reconcile);
    if (!is_unmanaged(reconcile))
        note_refusal(reconcile);
    clean_up(reconcile);
}

static void note_refused_write(struct reconcile *reconcile)
{
    if (!reconcile->in->refused || reconcile->fault)
        return;
    reconcile->fault = REASON_FORBIDDEN;
    reconcile->fault_text = arena_copy_text(reconcile->arena, reconcile->in->refused->text);
}

static void decide_main(struct reconcile *reconcile)
{
    reconcile->out->finalizer = FINALIZER_ADD;
    open_coredns(reconcile);
    if (reconcile->mode == MODE_FILE && !read_file(reconcile))
        return;
    find_placement(reconcile);
    make_text(reconcile);
    carry_over(reconcile);
    find_obstacle(reconcile);
    manage(reconcile);
    note_refused_write(reconcile);
    report_conditions(reconcile);
}

// The Corefile has entries of all objects, so what becomes of it concerns each of them.
static void note_fault_of_main(struct reconcile *reconcile)
{
    reconcile->fault = REASON_COREFILE_REFUSED;
    reconcile->fault_text =
        arena_printf(reconcile->arena,
                     "CoreDNS refused config %s, which has the entries of all DNS "
                     "objects: %.*s",
                     reconcile->id, TEXT_ARGS(reconcile->before.config.refusal));
}

static void decide_fragment(struct reconcile *reconcile)
{
    if (!reconcile->settings->has_fragments) {
        report_fragment(reconcile, "only the DNS object " DNS_MAIN_NAME
                                   " counts, as --dns-fragments is false");
        return;
    }
    if (!reconcile->object_count) {
        report_fragment(reconcile,
                        "fragments are served together with the DNS object " DNS_MAIN_NAME
                        ", which is not there");
        return;
    }
    if (reconcile->mode == MODE_FILE && !read_file(reconcile))
        return;
    make_text(reconcile);
    if (reconcile->text.at && was_refused(reconcile))
        note_fault_of_main(reconcile);
    report_fragment(reconcile, NULL);
}

// What is remembered of the Corefile stands in the status of the main object.
static void remember_config(struct reconcile *reconcile)
{
    struct dns_status main_status;
    const struct object *main_object =
        find_input_object(reconcile, INPUT_DNSES, "", TEXT(DNS_MAIN_NAME));
    if (reconcile->is_main || !main_object)
        return;
    dns_status_unpack(reconcile->arena, object_spec(main_object), object_managed(main_object),
                      &main_status);
    reconcile->before.config = main_status.config;
}

static bool reconcile_open(struct reconcile *reconcile, const struct snapshot *snapshot,
                           struct decision *out)
{
    *reconcile = (struct reconcile){
        .arena = snapshot->arena,
        .in = snapshot,
        .out = out,
        .settings = snapshot->settings,
        .is_main = text_is(snapshot->name, DNS_MAIN_NAME),
        .id = arena_new_array(snapshot->arena, char, CONFIG_ID_LEN + 1),
    };
    if (!snapshot->subject)
        return false;
    dns_unpack(reconcile->arena, object_spec(snapshot->subject), &reconcile->spec);
    dns_status_unpack(reconcile->arena, object_spec(snapshot->subject),
                      object_managed(snapshot->subject), &reconcile->before);
    remember_config(reconcile);
    find_mode(reconcile);
    return true;
}

static void leave_alone(struct reconcile *reconcile, bool is_going)
{
    if (reconcile->mode == MODE_FOREIGN && !is_going)
        decision_add_event(reconcile->out, true, EVENT_FOREIGN_OPERATOR,
                           "openshift-dns-operator has the DNS of this cluster, so Signpost leaves "
                           "it alone; `signpost corefile check` and `convert` help all the same");
    // The finalizer is OpenShift's own.
    if (reconcile->mode == MODE_OFF && is_going && reconcile->is_main &&
        !has_openshifts_operator(reconcile))
        reconcile->out->finalizer = FINALIZER_REMOVE;
}

static void decide_object(struct reconcile *reconcile, bool is_going)
{
    if (is_going && reconcile->is_main) {
        release_all(reconcile);
        return;
    }
    if (is_going)
        return; // nothing is a fragment's to take away
    collect_objects(reconcile);
    if (reconcile->is_main)
        decide_main(reconcile);
    else
        decide_fragment(reconcile);
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile;
    (void)model;
    if (!reconcile_open(&reconcile, snapshot, out))
        return;
    if (is_left_alone(&reconcile))
        leave_alone(&reconcile, snapshot->subject->deleted_s);
    else
        decide_object(&reconcile, snapshot->subject->deleted_s);
    corefile_free(reconcile.live);
    corefile_free(reconcile.earlier);
}

// ---- inputs -------------------------------------------------------------------------------------

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
    for (size_t i = 0; i < status.config.corefile_count; i++)
        strings_add(out, "%.*s", TEXT_ARGS(status.config.corefiles[i]));
    for (size_t i = 0; i < status.config.bundle_count; i++)
        strings_add(out, "%s/%.*s", settings->ca_namespace, TEXT_ARGS(status.config.bundles[i]));
    for (size_t i = 0; i < status.config.copy_count; i++)
        strings_add(out, "%s/%.*s", settings->dns_namespace, TEXT_ARGS(status.config.copies[i]));
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
    [INPUT_NODES] = {.kind = &node_kind},
};

// ---- the controller -----------------------------------------------------------------------------

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_one[] = {"get", "watch", NULL};
static const char *const keep[] = {"get", "watch", "create", "patch", "delete", NULL};
static const char *const keep_all[] = {"get", "list", "watch", "create", "delete", NULL};
static const char *const patch[] = {"patch", NULL};
static const char *const change[] = {"get", "list", "watch", "patch", NULL};

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
     .verbs = keep_all,
     .scope = RIGHT_CLUSTER,
     .why = "Pods of CoreDNS, to ask each which Corefile it runs, and one that loads a Corefile "
            "before the others do."},
    {.group = "",
     .resource = "nodes",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Whether a node is there at all whose Pod does not answer."},
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
     .doc =
         "Domain of Services and Pods; cluster.local when not given, and none in mode file, where "
         "CoreDNS has no cluster to ask.",
     .offset = offsetof(struct clusterdns_settings, cluster_domain)},
    {.name = "dns-namespace",
     .type = SETTING_TEXT,
     .fallback = "openshift-dns",
     .placeholder = "NAMESPACE",
     .doc = "Namespace of an own CoreDNS.",
     .offset = offsetof(struct clusterdns_settings, dns_namespace)},
    {.name = "ca-namespace",
     .type = SETTING_TEXT,
     .fallback = "openshift-config",
     .placeholder = "NAMESPACE",
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
     .doc = "Address of the Service of an own CoreDNS; as the API server chooses when not given.",
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

const struct controller clusterdns_controller = {
    .name = "clusterdns",
    .reads_own_writes = true,
    .kind = &dns_kind,
    .finalizer = DNS_FINALIZER,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .decide = decide,
    .rights = rights,
    .settings = settings,
    .setting_count = COUNT_OF(settings),
    .settings_size = sizeof(struct clusterdns_settings),
    .metrics = clusterdns_metrics,
    .metric_count = CLUSTERDNS_METRICS,
    .alerts = clusterdns_alerts,
    .alert_count = CLUSTERDNS_ALERTS,
};
