#include "controllers/clusterdns/reconcile.h"

#include "base/labels.h"

// This file decides on which nodes an own CoreDNS runs. A placement that no node meets would take
// the cluster's DNS away, so the one before stays.

static struct placement default_placement(struct reconcile *reconcile)
{
    return (struct placement){
        tree_of(reconcile, "{'kubernetes.io/os':'linux'}"),
        tree_of(reconcile, "[{'key':'node-role.kubernetes.io/master','operator':'Exists'}]")};
}

// ---- which nodes --------------------------------------------------------------------------------

// core/v1 Toleration: without a key all taints, without an effect all effects of the key.
static bool tolerates(const struct value *toleration, const struct node_taint *taint)
{
    struct text key = value_text_at(toleration, "key");
    struct text effect = value_text_at(toleration, "effect");
    bool is_any_value = text_is(value_text_at(toleration, "operator"), "Exists");
    if (key.len && !text_equal(key, taint->key))
        return false;
    if (effect.len && !text_equal(effect, taint->effect))
        return false;
    if (!key.len || is_any_value)
        return is_any_value;
    return text_equal(value_text_at(toleration, "value"), taint->value);
}

static bool is_tolerated(const struct value *tolerations, const struct node_taint *taint)
{
    if (text_is(taint->effect, "PreferNoSchedule"))
        return true;
    value_each (toleration, tolerations)
        if (tolerates(toleration, taint))
            return true;
    return false;
}

static bool takes_pods(struct reconcile *reconcile, const struct object *object,
                       const struct placement *placement)
{
    struct node node;
    struct text body = object_spec(object);
    node_unpack(reconcile->arena, body, &node);
    if (node.is_unschedulable)
        return false;
    value_each (label, placement->node_selector) {
        struct text there = labels_find(body, label->key);
        if (!there.at || !text_equal(there, value_text(label)))
            return false;
    }
    for (size_t i = 0; i < node.taint_count; i++)
        if (!is_tolerated(placement->tolerations, &node.taints[i]))
            return false;
    return true;
}

static bool has_node(struct reconcile *reconcile, const struct placement *placement)
{
    const struct input_objects *nodes = &reconcile->in->inputs[INPUT_NODES];
    for (size_t i = 0; i < nodes->count; i++)
        if (takes_pods(reconcile, nodes->objects[i], placement))
            return true;
    return false;
}

// ---- which placement ----------------------------------------------------------------------------

// Returns the placement of the DaemonSet that is there, or else the default.
static struct placement placement_before(struct reconcile *reconcile)
{
    const struct daemonset *there = find_workload(reconcile);
    const struct value *spec = there ? read_tree(reconcile, there->spec) : NULL;
    const struct value *pod = value_at(spec, "template.spec", NULL);
    if (!pod)
        return default_placement(reconcile);
    const struct value *selector = value_at(pod, "nodeSelector", NULL);
    return (struct placement){selector ? selector : value_make(reconcile->arena, VALUE_MAP),
                              value_list_at(pod, "tolerations")};
}

static struct placement wanted_placement(struct reconcile *reconcile)
{
    const struct dns_spec *spec = &reconcile->spec;
    struct placement placement = default_placement(reconcile);
    if (value_count(spec->node_selector))
        placement.node_selector = spec->node_selector;
    if (value_count(spec->tolerations))
        placement.tolerations = spec->tolerations;
    return placement;
}

void find_placement(struct reconcile *reconcile)
{
    const struct input_objects *nodes = &reconcile->in->inputs[INPUT_NODES];
    bool is_given =
        value_count(reconcile->spec.node_selector) || value_count(reconcile->spec.tolerations);
    struct dns_faults faults = {.arena = reconcile->arena};
    const struct dns_fault *fault = dns_check_placement(&reconcile->spec, &faults);
    reconcile->placement = wanted_placement(reconcile);
    if (!fault && (!is_given || !nodes->is_synced || nodes->unreadable || !nodes->count ||
                   has_node(reconcile, &reconcile->placement)))
        return;
    reconcile->placement = placement_before(reconcile);
    if (fault) {
        reconcile->placement_fault = arena_printf(
            reconcile->arena, "%s %s, so CoreDNS stays where it runs", fault->path, fault->text);
        return;
    }
    reconcile->placement_fault = "spec.nodePlacement: no node that takes Pods has these labels and "
                                 "only these taints, so CoreDNS stays where it runs";
}
