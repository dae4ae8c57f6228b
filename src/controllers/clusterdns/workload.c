#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "kinds/serviceaccount/serviceaccount_kind.h"

// The objects of a CoreDNS of our own: DaemonSet, Service and ServiceAccount.

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
    daemonset_unpack(object_spec(seen), daemonset);
    return daemonset;
}

// ---- the DaemonSet ------------------------------------------------------------------------------

static void add_volumes(struct reconcile *reconcile, const char *config_map, struct value *pod,
                        struct value *container)
{
    struct value *volumes = tree_of(
        reconcile,
        arena_printf(reconcile->arena,
                     "[{'name':'config-volume','configMap':{'name':'%s','items':[{'key':'Corefile',"
                     "'path':'Corefile'}]}}]",
                     config_map));
    struct value *mounts = tree_of(reconcile, "[{'name':'config-volume','mountPath':'/etc/coredns',"
                                              "'readOnly':true}]");
    add_bundle_mounts(reconcile, volumes, mounts);
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
    value_set(pod, TEXT("nodeSelector"),
              value_copy(reconcile->arena, reconcile->placement.node_selector));
    value_set(pod, TEXT("tolerations"),
              value_copy(reconcile->arena, reconcile->placement.tolerations));
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

// A node label that somebody added goes: null removes it.
static void drop_other_labels(struct reconcile *reconcile, struct value *spec,
                              const struct value *there)
{
    struct value *selector = value_at(spec, "template.spec.nodeSelector", NULL);
    value_each (label, value_at(there, "template.spec.nodeSelector", NULL))
        if (!value_find_text(selector, label->key))
            value_set(selector, label->key, value_make(reconcile->arena, VALUE_NULL));
}

static struct value *daemonset_spec_tree(struct reconcile *reconcile, const struct value *there)
{
    struct value *spec =
        tree_of(reconcile, "{'minReadySeconds':9,'updateStrategy':{'type':'RollingUpdate',"
                           "'rollingUpdate':{'maxSurge':'10%','maxUnavailable':0}}}");
    value_put(reconcile->arena, spec, "selector.matchLabels[" DAEMON_SET_LABEL "]",
              value_make_text(reconcile->arena, reconcile->in->name));
    value_set(spec, TEXT("template"), template_tree(reconcile, rolls(reconcile)));
    drop_other_labels(reconcile, spec, there);
    return spec;
}

// An empty value counts as absent to value_covers(), but not in a map of labels.
static bool has_labels(const struct value *there, const struct value *spec)
{
    const struct value *labels = value_at(there, "template.spec.nodeSelector", NULL);
    value_each (label, value_at(spec, "template.spec.nodeSelector", NULL))
        if (label->type != VALUE_NULL && !value_find_text(labels, label->key))
            return false;
    return true;
}

// Writes the object unless it is there with all of that spec; what an API server and others added
// stays.
static void keep_spec(struct reconcile *reconcile, const struct kind *kind,
                      const struct object *seen, const struct value *there, struct value *spec)
{
    if (there && value_covers(there, spec) && has_labels(there, spec))
        return;
    struct value *tree = own_tree(reconcile);
    value_set(tree, TEXT("spec"), spec);
    announce_write(
        reconcile,
        want_object(reconcile, kind, own_namespace(reconcile), TEXT(WORKLOAD_NAME), seen, tree),
        EVENT_WORKLOAD_CHANGED, seen ? "is changed" : "is made");
}

static void keep_daemonset(struct reconcile *reconcile)
{
    const struct object *seen = find_own(reconcile, INPUT_DAEMON_SETS, WORKLOAD_NAME);
    const struct daemonset *set = find_workload(reconcile);
    const struct value *there = set ? read_tree(reconcile, set->spec) : NULL;
    if (reconcile->settings->image)
        keep_spec(reconcile, &daemonset_kind, seen, there, daemonset_spec_tree(reconcile, there));
}

// ---- the others ---------------------------------------------------------------------------------

static struct value *service_spec_tree(struct reconcile *reconcile)
{
    struct value *spec = tree_of(
        reconcile,
        arena_printf(reconcile->arena,
                     "{'ports':[{'name':'dns','port':%d,'targetPort':'dns','protocol':'UDP'},"
                     "{'name':'dns-tcp','port':%d,'targetPort':'dns-tcp','protocol':'TCP'},"
                     "{'name':'metrics','port':%d,'targetPort':'metrics','protocol':'TCP'}]}",
                     DNS_PORT, DNS_PORT, METRICS_PORT));
    value_put(reconcile->arena, spec, "selector[" DAEMON_SET_LABEL "]",
              value_make_text(reconcile->arena, reconcile->in->name));
    return spec;
}

// The addresses of a Service that is there stay: a change would cost all Pods their DNS.
static void keep_service(struct reconcile *reconcile)
{
    struct service service = {0};
    const struct object *seen = find_own(reconcile, INPUT_SERVICES, WORKLOAD_NAME);
    struct value *spec = service_spec_tree(reconcile);
    if (seen)
        service_unpack(object_spec(seen), &service);
    else if (reconcile->settings->cluster_ip)
        value_put_text(reconcile->arena, spec, "clusterIP", reconcile->settings->cluster_ip);
    keep_spec(reconcile, &service_kind, seen, read_tree(reconcile, service.spec), spec);
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
    keep_daemonset(reconcile);
}

// ---- the end ------------------------------------------------------------------------------------

static bool drop(struct reconcile *reconcile, const struct kind *kind, enum clusterdns_input input,
                 const char *name)
{
    const struct object *seen = find_own(reconcile, input, name);
    if (!seen || !is_ours(seen))
        return false;
    if (!seen->deleted_s)
        want_object(reconcile, kind, own_namespace(reconcile), text_of(name), seen, NULL);
    return true;
}

bool drop_workload(struct reconcile *reconcile)
{
    bool is_left = drop(reconcile, &daemonset_kind, INPUT_DAEMON_SETS, WORKLOAD_NAME);
    is_left |= drop(reconcile, &service_kind, INPUT_SERVICES, WORKLOAD_NAME);
    is_left |= drop(reconcile, &serviceaccount_kind, INPUT_SERVICE_ACCOUNTS, account_name);
    is_left |= drop(reconcile, &config_map_kind, INPUT_CONFIG_MAPS, WORKLOAD_NAME);
    is_left |= drop_bundle_copies(reconcile);
    return is_left;
}
