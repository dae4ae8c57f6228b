#include "kinds/daemonset/daemonset_kind.h"

#include "base/labels.h"
#include "kinds/group.h"
#include "kinds/pod_spec.h"
#include "kinds/text_list.h"

// Whole numbers of an object, in the order of the body.
static const struct number {
    const char *path;
    size_t offset;
} numbers[] = {
    {"metadata.generation", offsetof(struct daemonset, generation)},
    {"status.observedGeneration", offsetof(struct daemonset, observed_generation)},
    {"status.desiredNumberScheduled", offsetof(struct daemonset, desired)},
    {"status.currentNumberScheduled", offsetof(struct daemonset, current)},
    {"status.updatedNumberScheduled", offsetof(struct daemonset, updated)},
    {"status.numberAvailable", offsetof(struct daemonset, available)},
    {"status.numberReady", offsetof(struct daemonset, ready)},
};

static void pack_tolerations(struct pack_writer *out, const struct value *pods)
{
    AUTO_BUFFER json = {0};
    tolerations_write(&json, value_find(pods, "tolerations"));
    pack_text(out, buffer_text(&json));
}

static void pack_config_maps(struct pack_writer *out, const struct value *pods)
{
    value_each (volume, value_list_at(pods, "volumes"))
        text_list_add(out, value_text_at(volume, "configMap.name"));
    text_list_end(out);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *template = value_at(object, "spec.template", NULL);
    const struct value *pods = value_find(template, "spec");
    labels_pack(object, out);
    pack_text(out, pod_spec_image(pods, DAEMONSET_CONTAINER));
    text_map_pack(out, value_find(pods, "nodeSelector"));
    pack_tolerations(out, pods);
    pack_text(out, value_text_at(template, "metadata.annotations[" CONFIG_ID_ANNOTATION "]"));
    int_or_text_pack(out,
                     value_at(object, "spec.updateStrategy.rollingUpdate.maxUnavailable", NULL));
    pack_config_maps(out, pods);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pack_signed(out, value_int_at(object, numbers[i].path, 0));
}

void daemonset_unpack(struct arena *arena, struct text spec, struct daemonset *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct daemonset){.image = unpack_text(&in)};
    out->node_selector = text_map_unpack(arena, &in, &out->node_selector_count);
    out->tolerations = unpack_text(&in);
    out->config_id = unpack_text(&in);
    out->max_unavailable = unpack_text(&in);
    out->config_maps = text_list_unpack(arena, &in, &out->config_map_count);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *(int64_t *)((char *)out + numbers[i].offset) = unpack_signed(&in);
}

const struct kind daemonset_kind = {
    .group = "apps",
    .version = "v1",
    .name = "DaemonSet",
    .plural = "daemonsets",
    .singular = "daemonset",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "Pods on each node that it selects.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
