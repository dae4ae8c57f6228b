#include "controllers/clusterdns/reconcile.h"

#include <string.h>

#include "kinds/pod_spec.h"

// One Pod loads a Corefile before the others do: what it can't load never replaces what works.

enum {
    PREFLIGHT_MAX_S = 60,
    ID_SHOWN = 8,
    KILLED_EXIT = 128, // and more: a signal ended it, as when memory runs out or a node is drained
};

static const char *pod_name(const struct reconcile *reconcile)
{
    return arena_printf(reconcile->arena, "%.*s-preflight-%.*s", TEXT_ARGS(reconcile->target.name),
                        ID_SHOWN, reconcile->id);
}

static struct text pod_namespace(const struct reconcile *reconcile)
{
    return reconcile->target.namespace_;
}

static const struct object *find_pod(const struct reconcile *reconcile, const char *name)
{
    struct text namespace_ = pod_namespace(reconcile);
    return find_input_object(reconcile, INPUT_PREFLIGHT_PODS,
                             arena_copy(reconcile->arena, namespace_.at, namespace_.len),
                             text_of(name));
}

// ---- the Pod ------------------------------------------------------------------------------------

// Returns the Pod template of the Deployment kube-system/coredns; NULL: it is not there.
static struct value *read_their_spec(struct reconcile *reconcile)
{
    struct deployment deployment;
    const struct object *theirs =
        find_input_object(reconcile, INPUT_DEPLOYMENTS, SYSTEM_NAMESPACE, TEXT("coredns"));
    if (!theirs)
        return NULL;
    deployment_unpack(object_spec(theirs), &deployment);
    return deployment.image.len
               ? value_at(read_tree(reconcile, deployment.spec), "template.spec", NULL)
               : NULL;
}

static void use_copy(struct reconcile *reconcile, struct value *config_map)
{
    if (text_equal(value_text_at(config_map, "name"), reconcile->target.name))
        value_put_text(reconcile->arena, config_map, "name",
                       copy_name(reconcile, text_of(reconcile->id)));
}

// Mounts our copy in the place of the ConfigMap that the Deployment mounts.
static void mount_copy(struct reconcile *reconcile, struct value *spec)
{
    value_each (volume, value_list_at(spec, "volumes")) {
        use_copy(reconcile, value_find(volume, "configMap"));
        value_each (source, value_list_at(volume, "projected.sources"))
            use_copy(reconcile, value_find(source, "configMap"));
    }
}

static void remove_members(struct value *map, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        value_remove(map, names[i]);
}

// Takes the container of CoreDNS alone, without what binds it to a node.
static struct value *copy_their_spec(struct reconcile *reconcile)
{
    static const char *const of_others[] = {
        "initContainers", "affinity", "nodeName", "hostname", "topologySpreadConstraints",
        "hostNetwork",    NULL};
    static const char *const of_containers[] = {"livenessProbe", "startupProbe", "lifecycle", NULL};
    static const char *const of_ports[] = {"hostPort", "hostIP", NULL};
    struct value *spec = read_their_spec(reconcile);
    struct value *containers = value_make(reconcile->arena, VALUE_LIST);
    struct value *container =
        value_copy(reconcile->arena, pod_spec_container(spec, DEPLOYMENT_CONTAINER));
    value_append(containers, container);
    value_set(spec, TEXT("containers"), containers);
    remove_members(spec, of_others);
    remove_members(container, of_containers);
    value_each (port, value_list_at(container, "ports"))
        remove_members(port, of_ports);
    value_put_text(reconcile->arena, container, "terminationMessagePolicy",
                   "FallbackToLogsOnError");
    mount_copy(reconcile, spec);
    return spec;
}

static void want_pod(struct reconcile *reconcile, const char *name)
{
    struct value *tree = own_tree(reconcile);
    struct value *spec = reconcile->mode == MODE_OWNED
                             ? pod_spec_tree(reconcile, reconcile->settings->image,
                                             copy_name(reconcile, text_of(reconcile->id)))
                             : copy_their_spec(reconcile);
    value_put_text(reconcile->arena, spec, "restartPolicy", "Never");
    value_set(tree, TEXT("spec"), spec);
    want_object(reconcile, &pod_kind, pod_namespace(reconcile), text_of(name), NULL, tree);
}

// ---- what became of it --------------------------------------------------------------------------

// Where no Pod runs yet, a Corefile that CoreDNS refuses takes nothing away: it needs no preflight.
static bool is_called_for(struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    bool has_spec = reconcile->mode == MODE_OWNED
                        ? reconcile->settings->image && reconcile->target.text.len
                        : read_their_spec(reconcile) != NULL;
    return has_spec && !strcmp(reconcile->settings->preflight, "auto") && proof->total &&
           !proof->current;
}

static enum preflight skip_preflight(struct reconcile *reconcile, const char *why)
{
    decision_add_event(reconcile->out, false, EVENT_PREFLIGHT_SKIPPED,
                       arena_printf(reconcile->arena,
                                    "the Pod that was to load the Corefile first told nothing of "
                                    "it, so what the linter says has to do: %s",
                                    why));
    return PREFLIGHT_PASSED;
}

// A Pod that was made and has said nothing yet gets PREFLIGHT_MAX_S.
static enum preflight wait_for_pod(struct reconcile *reconcile, const struct object *object,
                                   const struct pod *pod)
{
    int64_t until_s = (int64_t)object->created_s + PREFLIGHT_MAX_S;
    bool is_running = text_is(pod->phase, "Running");
    if (is_running && pod->ip.len && answers_wanted_config(reconcile, pod->ip))
        return PREFLIGHT_PASSED;
    if (reconcile->in->now_ms / 1000 >= until_s)
        return skip_preflight(reconcile,
                              is_running ? "it neither is ready nor answers" : "no node runs it");
    decision_wake_at(reconcile->out, until_s * 1000);
    return PREFLIGHT_WAITING;
}

static enum preflight judge_pod(struct reconcile *reconcile, const struct object *object)
{
    struct pod pod;
    pod_unpack(object_spec(object), &pod);
    bool is_killed = pod.end.exit_code >= KILLED_EXIT;
    if (pod.end.is_known && pod.end.exit_code && !is_killed && is_about_text(pod.end.message)) {
        refuse_config(reconcile,
                      pod.end.message.len ? pod.end.message : TEXT("CoreDNS ended without a word"));
        return PREFLIGHT_FAILED;
    }
    if (pod.is_ready)
        return PREFLIGHT_PASSED;
    if (text_is(pod.phase, "Failed") || text_is(pod.phase, "Succeeded"))
        return skip_preflight(reconcile, "it ended without an error of CoreDNS");
    return wait_for_pod(reconcile, object, &pod);
}

enum preflight preflight_config(struct reconcile *reconcile)
{
    const char *name = pod_name(reconcile);
    const struct object *object = find_pod(reconcile, name);
    if (!is_called_for(reconcile))
        return PREFLIGHT_PASSED;
    if (object)
        return judge_pod(reconcile, object);
    // The store may have refused another object of the decision, so the Pod gets its minute.
    int64_t until_s = reconcile->now.config.since_s + PREFLIGHT_MAX_S;
    if (reconcile->in->refused && reconcile->in->now_ms / 1000 >= until_s)
        return skip_preflight(reconcile,
                              arena_copy_text(reconcile->arena, reconcile->in->refused->text));
    decision_wake_at(reconcile->out, until_s * 1000);
    want_pod(reconcile, name);
    return PREFLIGHT_WAITING;
}

void drop_preflights(struct reconcile *reconcile)
{
    bool is_over = is_in_place(reconcile) || is_unmanaged(reconcile);
    const char *kept = is_over ? NULL : pod_name(reconcile);
    const struct input_objects *pods = &reconcile->in->inputs[INPUT_PREFLIGHT_PODS];
    for (size_t i = 0; i < pods->count; i++) {
        const struct object *pod = pods->objects[i];
        bool is_kept = kept && text_is(object_name(pod), kept) &&
                       !text_is(reconcile->now.config.refused, reconcile->id);
        if (!is_kept && !pod->deleted_s &&
            memmem(object_name(pod).at, object_name(pod).len, "-preflight-", 11))
            want_object(reconcile, &pod_kind, object_namespace(pod), object_name(pod), pod, NULL);
    }
}
