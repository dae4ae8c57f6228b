#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "dns/corefile/coredns.h"
#include "dns/corefile/corefile_private.h"

const char *const mode_names[MODES] = {
    [MODE_FOREIGN] = "foreign", [MODE_OFF] = "off",       [MODE_OWNED] = "owned",
    [MODE_ADOPTED] = "adopted", [MODE_IMPORT] = "import", [MODE_FILE] = "file",
};

const struct object *find_input_object(const struct reconcile *reconcile,
                                       enum clusterdns_input input, const char *namespace_,
                                       struct text name)
{
    const struct input_objects *objects = &reconcile->in->inputs[input];
    for (size_t i = 0; i < objects->count; i++)
        if (text_is(object_namespace(objects->objects[i]), namespace_) &&
            text_equal(object_name(objects->objects[i]), name))
            return objects->objects[i];
    return NULL;
}

bool is_left_alone(const struct reconcile *reconcile)
{
    return reconcile->mode == MODE_FOREIGN || reconcile->mode == MODE_OFF;
}

bool is_unmanaged(const struct reconcile *reconcile)
{
    return text_is(reconcile->spec.management_state, "Unmanaged");
}

const char *copy_name(const struct reconcile *reconcile, struct text id)
{
    return arena_printf(reconcile->arena, "%.*s-%.*s", TEXT_ARGS(reconcile->target.name),
                        TEXT_ARGS(id));
}

// ---- which mode ---------------------------------------------------------------------------------

static enum mode mode_named(struct text name)
{
    for (size_t i = 0; i < MODES; i++)
        if (text_is(name, mode_names[i]))
            return (enum mode)i;
    return MODES;
}

// `import ...custom...`, as k3s, RKE2, AKS and Gardener have it. Tokens are looked at, so that a
// comment counts for nothing; the files are not.
static bool imports_custom(struct text text)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct corefile_lexer lexer;
    struct corefile_token token;
    bool is_import = false;
    if (!text.len || !memmem(text.at, text.len, "import", sizeof "import" - 1))
        return false;
    corefile_lexer_init(&lexer, arena, text, 0);
    while (corefile_lexer_next(&lexer, &token)) {
        struct text word = {token.at, token.len};
        if (is_import && memmem(word.at, word.len, "custom", sizeof "custom" - 1))
            return true;
        is_import = text_is(word, "import");
    }
    return false;
}

static struct text system_corefile(const struct reconcile *reconcile)
{
    struct config_map map;
    const struct object *seen =
        find_input_object(reconcile, INPUT_CONFIG_MAPS, SYSTEM_NAMESPACE, TEXT("coredns"));
    if (!seen)
        return (struct text){0};
    config_map_unpack(reconcile->arena, object_spec(seen), &map);
    struct text text = config_map_data(&map, "Corefile");
    return text.at ? text : TEXT("");
}

bool has_openshifts_operator(const struct reconcile *reconcile)
{
    return find_input_object(reconcile, INPUT_DEPLOYMENTS, "openshift-dns-operator",
                             TEXT("dns-operator"));
}

// The mode of before stays while no Corefile is there: an upgrade may remove its ConfigMap for a
// moment.
static enum mode mode_by_itself(const struct reconcile *reconcile)
{
    enum mode before = mode_named(reconcile->before.config.mode);
    struct text text = system_corefile(reconcile);
    if (has_openshifts_operator(reconcile))
        return MODE_FOREIGN;
    if (reconcile->settings->corefile_path)
        return MODE_FILE;
    if (before == MODE_OWNED && reconcile->before.config.id.len)
        return before;
    if (!text.at && (before == MODE_ADOPTED || before == MODE_IMPORT))
        return before;
    if (!text.at)
        return MODE_OWNED;
    return imports_custom(text) ? MODE_IMPORT : MODE_ADOPTED;
}

bool may_own(const void *context)
{
    const struct clusterdns_settings *settings = context;
    enum mode given = mode_named(text_of(settings->mode));
    return given == MODE_OWNED || (given == MODES && !settings->corefile_path);
}

// ---- where --------------------------------------------------------------------------------------

static const struct place {
    const char *name;
    const char *key;
} places[MODES] = {
    [MODE_OWNED] = {WORKLOAD_NAME, "Corefile"},
    [MODE_ADOPTED] = {"coredns", "Corefile"},
    [MODE_IMPORT] = {"coredns-custom", "signpost.server"},
};

static void find_target(struct reconcile *reconcile)
{
    const struct place *place = &places[reconcile->mode];
    struct target *target = &reconcile->target;
    *target = (struct target){0};
    if (!place->name)
        return;
    target->namespace_ = reconcile->mode == MODE_OWNED ? text_of(reconcile->settings->dns_namespace)
                                                       : TEXT(SYSTEM_NAMESPACE);
    target->name = text_of(place->name);
    target->key = place->key;
    target->seen = find_input_object(
        reconcile, INPUT_CONFIG_MAPS,
        arena_copy(reconcile->arena, target->namespace_.at, target->namespace_.len), target->name);
    if (!target->seen)
        return;
    config_map_unpack(reconcile->arena, object_spec(target->seen), &target->map);
    target->text = config_map_data(&target->map, target->key);
}

// ---- what CoreDNS is it -------------------------------------------------------------------------

static struct text running_image(const struct reconcile *reconcile)
{
    struct daemonset daemonset;
    struct deployment deployment;
    const struct object *own = find_input_object(
        reconcile, INPUT_DAEMON_SETS, reconcile->settings->dns_namespace, TEXT(WORKLOAD_NAME));
    const struct object *theirs =
        find_input_object(reconcile, INPUT_DEPLOYMENTS, SYSTEM_NAMESPACE, TEXT("coredns"));
    if (reconcile->mode == MODE_OWNED && reconcile->settings->image)
        return text_of(reconcile->settings->image);
    if (reconcile->mode == MODE_OWNED && own) {
        daemonset_unpack(object_spec(own), &daemonset);
        return daemonset.image;
    }
    if (reconcile->mode == MODE_OWNED || !theirs)
        return (struct text){0};
    deployment_unpack(object_spec(theirs), &deployment);
    return deployment.image;
}

static void find_version(struct reconcile *reconcile)
{
    const char *given = reconcile->settings->version;
    struct text image = running_image(reconcile);
    reconcile->has_version = given ? coredns_version_read(text_of(given), &reconcile->version)
                                   : coredns_version_of_image(image, &reconcile->version);
    if (!reconcile->has_version)
        reconcile->version = coredns_newest;
}

static void add_cluster_ip(struct reconcile *reconcile, struct text ip)
{
    for (size_t i = 0; i < reconcile->cluster_ip_count; i++)
        if (text_equal(reconcile->cluster_ips[i], ip))
            return;
    if (ip.len && reconcile->cluster_ip_count < CLUSTER_IPS_MAX)
        reconcile->cluster_ips[reconcile->cluster_ip_count++] = ip;
}

// The Service's address is what Pods ask.
static void find_cluster_ip(struct reconcile *reconcile)
{
    struct service service;
    bool is_own = reconcile->mode == MODE_OWNED;
    const struct object *seen = find_input_object(
        reconcile, INPUT_SERVICES, is_own ? reconcile->settings->dns_namespace : SYSTEM_NAMESPACE,
        is_own ? TEXT(WORKLOAD_NAME) : TEXT("kube-dns"));
    if (!seen)
        return;
    service_unpack(object_spec(seen), &service);
    if (text_is(service.cluster_ip, "None"))
        return;
    add_cluster_ip(reconcile, service.cluster_ip);
    value_each (ip, value_list_at(read_tree(reconcile, service.spec), "clusterIPs"))
        add_cluster_ip(reconcile, value_text(ip));
}

void use_mode(struct reconcile *reconcile, enum mode mode)
{
    reconcile->mode = mode;
    find_target(reconcile);
}

struct text find_other_text(const struct reconcile *reconcile, enum mode mode)
{
    struct reconcile other = *reconcile;
    use_mode(&other, mode);
    bool is_written =
        mode == MODE_IMPORT || config_map_annotation(&other.target.map, CONFIG_ID_ANNOTATION).at;
    return is_written ? other.target.text : (struct text){0};
}

void find_mode(struct reconcile *reconcile)
{
    enum mode chosen = mode_named(text_of(reconcile->settings->mode));
    reconcile->mode = chosen == MODES ? mode_by_itself(reconcile) : chosen;
    if (is_left_alone(reconcile))
        return;
    find_target(reconcile);
    find_version(reconcile);
    find_cluster_ip(reconcile);
}

// ---- what stands in the way ---------------------------------------------------------------------

// An object that we may not read looks absent, and then a second CoreDNS would be made.
static const char *find_unreadable(const struct reconcile *reconcile)
{
    const struct input_objects *maps = &reconcile->in->inputs[INPUT_CONFIG_MAPS];
    const struct input_objects *deployments = &reconcile->in->inputs[INPUT_DEPLOYMENTS];
    if (mode_named(text_of(reconcile->settings->mode)) != MODES)
        return NULL; // it does not depend on what is there
    if (maps->unreadable && !system_corefile(reconcile).at)
        return arena_printf(reconcile->arena,
                            "whether the cluster has a CoreDNS can't be seen, so none is made: %s",
                            maps->unreadable);
    if (deployments->unreadable)
        return arena_printf(reconcile->arena,
                            "whether OpenShift's operator runs here can't be seen, so nothing is "
                            "changed: %s",
                            deployments->unreadable);
    return NULL;
}

static const struct own_object {
    enum clusterdns_input input;
    const char *kind;
} own_objects[] = {
    {INPUT_CONFIG_MAPS, "ConfigMap"},
    {INPUT_DAEMON_SETS, "DaemonSet"},
    {INPUT_SERVICES, "Service"},
};

static const char *find_object_of_others(const struct reconcile *reconcile)
{
    const char *namespace_ = reconcile->settings->dns_namespace;
    for (size_t i = 0; reconcile->mode == MODE_OWNED && i < COUNT_OF(own_objects); i++) {
        const struct object *seen =
            find_input_object(reconcile, own_objects[i].input, namespace_, TEXT(WORKLOAD_NAME));
        if (seen && !is_ours(seen))
            return arena_printf(reconcile->arena,
                                "%s %s/" WORKLOAD_NAME " was made by somebody else, as it has no "
                                "label " OPERATOR_LABEL ": remove it, or give another "
                                "--dns-namespace",
                                own_objects[i].kind, namespace_);
    }
    return NULL;
}

// A main object whose status we wrote has the mode in it.
static bool is_status_pruned(const struct reconcile *reconcile)
{
    return reconcile->is_main && conditions_find(&reconcile->before.conditions, "Accepted") &&
           !reconcile->before.config.mode.len;
}

void find_obstacle(struct reconcile *reconcile)
{
    const char *why = find_unreadable(reconcile);
    if (!why)
        why = find_object_of_others(reconcile);
    if (!why && is_status_pruned(reconcile))
        why = "the CRD of DNS objects keeps no status.config, as OpenShift's does not, so what was "
              "written can't be remembered: install the one that `signpost manifests` prints";
    if (!why)
        return;
    reconcile->fault = REASON_FORBIDDEN;
    reconcile->fault_text = why;
    drop_text(reconcile);
}
