#include "controllers/clusterdns/reconcile.h"

#include <string.h>

// One Pod loads a Corefile before the others do: what it can't load never replaces what works.

enum { PENDING_MAX_S = 60, ID_SHOWN = 8 };

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

static const char *image_of(struct reconcile *reconcile)
{
    struct deployment deployment;
    const struct object *theirs =
        find_input_object(reconcile, INPUT_DEPLOYMENTS, SYSTEM_NAMESPACE, TEXT("coredns"));
    if (reconcile->mode == MODE_OWNED)
        return reconcile->settings->image;
    if (!theirs)
        return NULL;
    deployment_unpack(object_spec(theirs), &deployment);
    return deployment.image.len
               ? arena_copy(reconcile->arena, deployment.image.at, deployment.image.len)
               : NULL;
}

// Where no Pod runs yet, a Corefile that CoreDNS refuses takes nothing away: it needs no preflight.
static bool is_called_for(struct reconcile *reconcile)
{
    const struct proof *proof = &reconcile->proof;
    bool is_known_mode = reconcile->mode == MODE_OWNED || reconcile->mode == MODE_ADOPTED;
    return is_known_mode && !strcmp(reconcile->settings->preflight, "auto") &&
           reconcile->target.text.len && proof->total && !proof->current && image_of(reconcile);
}

static void want_pod(struct reconcile *reconcile, const char *name)
{
    struct value *tree = own_tree(reconcile);
    struct value *spec =
        pod_spec_tree(reconcile, image_of(reconcile), copy_name(reconcile, text_of(reconcile->id)));
    value_put_text(reconcile->arena, spec, "restartPolicy", "Never");
    if (reconcile->mode == MODE_ADOPTED)
        value_put_text(reconcile->arena, spec, "serviceAccountName", "coredns");
    value_set(tree, TEXT("spec"), spec);
    want_object(reconcile, &pod_kind, pod_namespace(reconcile), text_of(name), NULL, tree);
}

static bool is_overdue(struct reconcile *reconcile, const struct object *object)
{
    int64_t until_s = (int64_t)object->created_s + PENDING_MAX_S;
    if (reconcile->in->now_ms / 1000 >= until_s) {
        decision_add_event(reconcile->out, false, EVENT_PREFLIGHT_SKIPPED,
                           "no node took the Pod that was to load the Corefile first; what the "
                           "linter says has to do");
        return true;
    }
    decision_wake_at(reconcile->out, until_s * 1000);
    return false;
}

enum preflight preflight_config(struct reconcile *reconcile)
{
    struct pod pod;
    const char *name = pod_name(reconcile);
    const struct object *object = find_pod(reconcile, name);
    if (!is_called_for(reconcile))
        return PREFLIGHT_PASSED;
    if (!object) {
        want_pod(reconcile, name);
        return PREFLIGHT_WAITING;
    }
    pod_unpack(object_spec(object), &pod);
    if (pod.end.is_known && pod.end.exit_code) {
        refuse_config(reconcile,
                      pod.end.message.len ? pod.end.message : TEXT("CoreDNS ended without a word"));
        return PREFLIGHT_FAILED;
    }
    bool is_loaded = pod.is_ready;
    bool is_pending = text_is(pod.phase, "Pending") || !pod.phase.len;
    return is_loaded || (is_pending && is_overdue(reconcile, object)) ? PREFLIGHT_PASSED
                                                                      : PREFLIGHT_WAITING;
}

void drop_preflights(struct reconcile *reconcile)
{
    const char *kept = is_in_place(reconcile) ? NULL : pod_name(reconcile);
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
