#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "base/must.h"
#include "kinds/pod_spec.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"

// The objects of a CoreDNS of our own: DaemonSet, Service, ServiceAccount, copies of authorities.

enum { HEALTH_PORT = 8080, READY_PORT = 8181, METRICS_PORT = 9153, DNS_PORT = 53 };
static const char account_name[] = "dns";

// ---- finding ------------------------------------------------------------------------------------

static struct text own_namespace(const struct reconcile *reconcile)
{
    return text_of(reconcile->settings->dns_namespace);
}

static const struct object *find_own(const struct reconcile *reconcile, enum clusterdns_input input,
                                     const char *name)
{
    return find_input_object(reconcile, input, reconcile->settings->dns_namespace, text_of(name));
}

const struct daemonset *find_workload(struct reconcile *reconcile)
{
    const struct object *seen = find_own(reconcile, INPUT_DAEMON_SETS, WORKLOAD_NAME);
    if (!seen)
        return NULL;
    struct daemonset *daemonset = arena_new_of(reconcile->arena, struct daemonset);
    daemonset_unpack(reconcile->arena, object_spec(seen), daemonset);
    return daemonset;
}

// ---- trees --------------------------------------------------------------------------------------

// A tree of JSON with single quotes, so that it reads well here.
static struct value *tree_of(struct reconcile *reconcile, const char *json)
{
    struct error err;
    char *text = arena_copy_text(reconcile->arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    struct value *tree =
        value_read_json(reconcile->arena, text_of(text), &value_manifest_limits, &err);
    must(tree);
    return tree;
}

static const struct value *node_selector(struct reconcile *reconcile)
{
    const struct value *given = reconcile->spec.node_selector;
    return value_count(given) ? given : tree_of(reconcile, "{'kubernetes.io/os':'linux'}");
}

static const struct value *tolerations(struct reconcile *reconcile)
{
    const struct value *given = reconcile->spec.tolerations;
    return value_count(given)
               ? given
               : tree_of(reconcile,
                         "[{'key':'node-role.kubernetes.io/master','operator':'Exists'}]");
}

// ---- authorities --------------------------------------------------------------------------------

static const char *bundle_copy_name(const struct reconcile *reconcile, struct text name)
{
    return arena_printf(reconcile->arena, "ca-%.*s", TEXT_ARGS(name));
}

bool has_bundle_copy(const struct reconcile *reconcile, struct text name)
{
    return find_own(reconcile, INPUT_CONFIG_MAPS, bundle_copy_name(reconcile, name)) != NULL;
}

static void copy_bundle(struct reconcile *reconcile, struct text name)
{
    struct config_map source;
    struct config_map there = {0};
    const char *copy = bundle_copy_name(reconcile, name);
    const struct object *seen =
        find_input_object(reconcile, INPUT_CONFIG_MAPS, reconcile->settings->ca_namespace, name);
    const struct object *made = find_own(reconcile, INPUT_CONFIG_MAPS, copy);
    if (!seen)
        return;
    config_map_unpack(reconcile->arena, object_spec(seen), &source);
    if (made)
        config_map_unpack(reconcile->arena, object_spec(made), &there);
    struct text pem = config_map_data(&source, "ca-bundle.crt");
    if (made && text_equal(pem, config_map_data(&there, "ca-bundle.crt")))
        return;
    struct value *tree = own_tree(reconcile);
    struct value *data = value_make(reconcile->arena, VALUE_MAP);
    value_set(data, TEXT("ca-bundle.crt"), value_make_text(reconcile->arena, pem));
    value_set(tree, TEXT("data"), data);
    announce_write(reconcile,
                   want_object(reconcile, &config_map_kind, own_namespace(reconcile), text_of(copy),
                               made, tree),
                   EVENT_WORKLOAD_CHANGED, "has other authorities");
}

static bool is_used(const struct merged *merged, struct text name)
{
    for (size_t i = 0; i < merged->bundle_count; i++)
        if (text_equal(merged->bundles[i], name))
            return true;
    return false;
}

static void keep_bundles(struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    for (size_t i = 0; i < reconcile->merged.bundle_count; i++)
        copy_bundle(reconcile, reconcile->merged.bundles[i]);
    for (size_t i = 0; i < before->bundle_count; i++) {
        const char *copy = bundle_copy_name(reconcile, before->bundles[i]);
        const struct object *made = find_own(reconcile, INPUT_CONFIG_MAPS, copy);
        if (made && !is_used(&reconcile->merged, before->bundles[i]))
            want_object(reconcile, &config_map_kind, own_namespace(reconcile), text_of(copy), made,
                        NULL);
    }
}

// The folder of a bundle in the Pods, from the path that the Corefile names.
static struct text bundle_folder(struct text path)
{
    const char *slash = memrchr(path.at, '/', path.len);
    return (struct text){path.at, slash ? (size_t)(slash - path.at) : path.len};
}

static bool has_mount(const struct value *mounts, struct text path)
{
    value_each (item, mounts)
        if (text_equal(value_text_at(item, "mountPath"), path))
            return true;
    return false;
}

static bool has_volume(const struct value *volumes, const char *name)
{
    value_each (item, volumes)
        if (text_is(value_text_at(item, "name"), name))
            return true;
    return false;
}

static void add_bundle(struct reconcile *reconcile, const struct corefile_forward *forward,
                       struct value *volumes, struct value *mounts)
{
    if (!forward->tls_bundle.at)
        return;
    struct text folder = bundle_folder(forward->tls_bundle);
    for (size_t i = 0; i < reconcile->merged.bundle_count; i++) {
        struct text name = reconcile->merged.bundles[i];
        const struct object *source = find_input_object(reconcile, INPUT_CONFIG_MAPS,
                                                        reconcile->settings->ca_namespace, name);
        const char *path = source ? merge_bundle_path(reconcile->arena, forward->tls_server_name,
                                                      name, object_version(source))
                                  : "";
        const char *copy = bundle_copy_name(reconcile, name);
        if (!text_is(folder, path) || has_mount(mounts, folder))
            continue;
        if (!has_volume(volumes, copy))
            value_append(volumes, tree_of(reconcile, arena_printf(reconcile->arena,
                                                                  "{'name':'%s','configMap':{"
                                                                  "'name':'%s'}}",
                                                                  copy, copy)));
        value_append(mounts, tree_of(reconcile, arena_printf(reconcile->arena,
                                                             "{'name':'%s','mountPath':'%s',"
                                                             "'readOnly':true}",
                                                             copy, path)));
    }
}

// ---- the DaemonSet ------------------------------------------------------------------------------

static void add_volumes(struct reconcile *reconcile, const char *config_map, struct value *pod,
                        struct value *container)
{
    const struct corefile_input *input = &reconcile->merged.input;
    struct value *volumes = tree_of(
        reconcile,
        arena_printf(reconcile->arena,
                     "[{'name':'config-volume','configMap':{'name':'%s','items':[{'key':'Corefile',"
                     "'path':'Corefile'}]}}]",
                     config_map));
    struct value *mounts = tree_of(reconcile, "[{'name':'config-volume','mountPath':'/etc/coredns',"
                                              "'readOnly':true}]");
    for (size_t i = 0; i < input->entry_count; i++)
        add_bundle(reconcile, &input->entries[i].forward, volumes, mounts);
    add_bundle(reconcile, &input->root, volumes, mounts);
    value_set(pod, TEXT("volumes"), volumes);
    value_set(container, TEXT("volumeMounts"), mounts);
}

static struct value *container_tree(struct reconcile *reconcile, const char *image)
{
    struct value *container = tree_of(
        reconcile,
        arena_printf(
            reconcile->arena,
            "{'name':'dns','args':['-conf','/etc/coredns/Corefile'],"
            "'ports':[{'name':'dns','containerPort':%lld,'protocol':'UDP'},"
            "{'name':'dns-tcp','containerPort':%lld,'protocol':'TCP'},"
            "{'name':'metrics','containerPort':%d,'protocol':'TCP'}],"
            "'resources':{'requests':{'cpu':'50m','memory':'70Mi'}},"
            "'securityContext':{'readOnlyRootFilesystem':true,'allowPrivilegeEscalation':false,"
            "'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']}},"
            "'readinessProbe':{'httpGet':{'path':'/ready','port':%d,'scheme':'HTTP'},"
            "'initialDelaySeconds':10,'periodSeconds':3,'timeoutSeconds':3,"
            "'successThreshold':1,'failureThreshold':3},"
            "'livenessProbe':{'httpGet':{'path':'/health','port':%d,'scheme':'HTTP'},"
            "'initialDelaySeconds':60,'timeoutSeconds':5,'periodSeconds':10,"
            "'successThreshold':1,'failureThreshold':5},"
            "'terminationMessagePolicy':'FallbackToLogsOnError'}",
            (long long)reconcile->settings->dns_port, (long long)reconcile->settings->dns_port,
            METRICS_PORT, READY_PORT, HEALTH_PORT));
    value_put_text(reconcile->arena, container, "image", image);
    return container;
}

struct value *pod_spec_tree(struct reconcile *reconcile, const char *image, const char *config_map)
{
    struct value *pod =
        tree_of(reconcile, "{'serviceAccountName':'dns','priorityClassName':'system-node-critical',"
                           "'dnsPolicy':'Default','terminationGracePeriodSeconds':30}");
    struct value *containers = value_make(reconcile->arena, VALUE_LIST);
    struct value *container = container_tree(reconcile, image);
    add_volumes(reconcile, config_map, pod, container);
    value_append(containers, container);
    value_set(pod, TEXT("nodeSelector"), value_copy(reconcile->arena, node_selector(reconcile)));
    value_set(pod, TEXT("tolerations"), value_copy(reconcile->arena, tolerations(reconcile)));
    value_set(pod, TEXT("containers"), containers);
    return pod;
}

static struct value *template_tree(struct reconcile *reconcile, bool is_rolling)
{
    struct arena *arena = reconcile->arena;
    struct value *template = value_make(arena, VALUE_MAP);
    value_put(arena, template, "metadata.labels[" DAEMON_SET_LABEL "]",
              value_make_text(arena, reconcile->in->name));
    value_put(arena, template, "metadata.labels[" OPERATOR_LABEL "]",
              value_make_text(arena, reconcile->in->name));
    if (is_rolling)
        value_put_text(arena, template, "metadata.annotations[" CONFIG_ID_ANNOTATION "]",
                       reconcile->id);
    value_set(template, TEXT("spec"),
              pod_spec_tree(reconcile, reconcile->settings->image, WORKLOAD_NAME));
    return template;
}

static bool rolls(const struct reconcile *reconcile)
{
    return !strcmp(reconcile->settings->update, "rolling");
}

// A label that somebody added goes: null removes it.
static void drop_other_labels(struct reconcile *reconcile, struct value *tree,
                              const struct daemonset *there)
{
    struct value *selector = value_at(tree, "spec.template.spec.nodeSelector", NULL);
    for (size_t i = 0; there && i < there->node_selector_count; i++)
        if (!value_find_text(selector, there->node_selector[i].key))
            value_set(selector, there->node_selector[i].key,
                      value_make(reconcile->arena, VALUE_NULL));
}

static struct value *daemonset_tree(struct reconcile *reconcile, const struct daemonset *there)
{
    struct arena *arena = reconcile->arena;
    struct value *tree = own_tree(reconcile);
    struct value *spec =
        tree_of(reconcile, "{'minReadySeconds':9,'updateStrategy':{'type':'RollingUpdate',"
                           "'rollingUpdate':{'maxSurge':'10%','maxUnavailable':0}}}");
    value_put(arena, spec, "selector.matchLabels[" DAEMON_SET_LABEL "]",
              value_make_text(arena, reconcile->in->name));
    value_set(spec, TEXT("template"), template_tree(reconcile, rolls(reconcile)));
    value_set(tree, TEXT("spec"), spec);
    drop_other_labels(reconcile, tree, there);
    return tree;
}

static struct text tolerations_text(struct reconcile *reconcile)
{
    AUTO_BUFFER out = {0};
    tolerations_write(&out, tolerations(reconcile));
    return (struct text){arena_copy(reconcile->arena, out.at, out.len), out.len};
}

static bool has_same_selector(struct reconcile *reconcile, const struct daemonset *there)
{
    const struct value *wanted = node_selector(reconcile);
    if (value_count(wanted) != there->node_selector_count)
        return false;
    for (size_t i = 0; i < there->node_selector_count; i++)
        if (!text_equal(value_text(value_find_text(wanted, there->node_selector[i].key)),
                        there->node_selector[i].value))
            return false;
    return true;
}

static bool has_same_volumes(struct reconcile *reconcile, const struct daemonset *there)
{
    struct value *pod = pod_spec_tree(reconcile, "", WORKLOAD_NAME);
    const struct value *volumes = value_find(pod, "volumes");
    size_t at = 0;
    if (value_count(volumes) != there->config_map_count)
        return false;
    value_each (item, volumes)
        if (!text_equal(value_text_at(item, "configMap.name"), there->config_maps[at++]))
            return false;
    return true;
}

static bool is_as_wanted(struct reconcile *reconcile, const struct daemonset *there)
{
    return text_is(there->image, reconcile->settings->image) &&
           has_same_selector(reconcile, there) && has_same_volumes(reconcile, there) &&
           text_equal(there->tolerations, tolerations_text(reconcile)) &&
           (!rolls(reconcile) || text_is(there->config_id, reconcile->id));
}

static void keep_daemonset(struct reconcile *reconcile)
{
    const struct object *seen = find_own(reconcile, INPUT_DAEMON_SETS, WORKLOAD_NAME);
    const struct daemonset *there = find_workload(reconcile);
    if (!reconcile->settings->image || (there && is_as_wanted(reconcile, there)))
        return;
    announce_write(reconcile,
                   want_object(reconcile, &daemonset_kind, own_namespace(reconcile),
                               TEXT(WORKLOAD_NAME), seen, daemonset_tree(reconcile, there)),
                   EVENT_WORKLOAD_CHANGED, seen ? "is changed" : "is made");
}

// ---- the others ---------------------------------------------------------------------------------

static struct value *service_tree(struct reconcile *reconcile)
{
    struct value *tree = own_tree(reconcile);
    struct value *spec = tree_of(
        reconcile,
        arena_printf(reconcile->arena,
                     "{'ports':[{'name':'dns','port':%d,'targetPort':'dns','protocol':'UDP'},"
                     "{'name':'dns-tcp','port':%d,'targetPort':'dns-tcp','protocol':'TCP'},"
                     "{'name':'metrics','port':%d,'targetPort':'metrics','protocol':'TCP'}]}",
                     DNS_PORT, DNS_PORT, METRICS_PORT));
    value_put(reconcile->arena, spec, "selector[" DAEMON_SET_LABEL "]",
              value_make_text(reconcile->arena, reconcile->in->name));
    value_set(tree, TEXT("spec"), spec);
    return tree;
}

// A Service that is there is left as it is: a change of its addresses would cost all Pods their
// DNS.
static void keep_service(struct reconcile *reconcile)
{
    if (find_own(reconcile, INPUT_SERVICES, WORKLOAD_NAME))
        return;
    struct value *tree = service_tree(reconcile);
    if (reconcile->settings->cluster_ip)
        value_put_text(reconcile->arena, tree, "spec.clusterIP", reconcile->settings->cluster_ip);
    announce_write(reconcile,
                   want_object(reconcile, &service_kind, own_namespace(reconcile),
                               TEXT(WORKLOAD_NAME), NULL, tree),
                   EVENT_WORKLOAD_CHANGED, "is made");
}

static void keep_account(struct reconcile *reconcile)
{
    if (find_own(reconcile, INPUT_SERVICE_ACCOUNTS, account_name))
        return;
    announce_write(reconcile,
                   want_object(reconcile, &serviceaccount_kind, own_namespace(reconcile),
                               text_of(account_name), NULL, own_tree(reconcile)),
                   EVENT_WORKLOAD_CHANGED, "is made");
}

void want_workload(struct reconcile *reconcile)
{
    keep_account(reconcile);
    keep_service(reconcile);
    keep_bundles(reconcile);
    keep_daemonset(reconcile);
}

// ---- the end ------------------------------------------------------------------------------------

static bool drop(struct reconcile *reconcile, const struct kind *kind, enum clusterdns_input input,
                 const char *name)
{
    const struct object *seen = find_own(reconcile, input, name);
    if (seen && !seen->deleted_s)
        want_object(reconcile, kind, own_namespace(reconcile), text_of(name), seen, NULL);
    return seen != NULL;
}

bool drop_workload(struct reconcile *reconcile)
{
    const struct dns_config *before = &reconcile->before.config;
    bool is_left = drop(reconcile, &daemonset_kind, INPUT_DAEMON_SETS, WORKLOAD_NAME);
    is_left |= drop(reconcile, &service_kind, INPUT_SERVICES, WORKLOAD_NAME);
    is_left |= drop(reconcile, &serviceaccount_kind, INPUT_SERVICE_ACCOUNTS, account_name);
    is_left |= drop(reconcile, &config_map_kind, INPUT_CONFIG_MAPS, WORKLOAD_NAME);
    for (size_t i = 0; i < before->bundle_count; i++)
        is_left |= drop(reconcile, &config_map_kind, INPUT_CONFIG_MAPS,
                        bundle_copy_name(reconcile, before->bundles[i]));
    return is_left;
}
