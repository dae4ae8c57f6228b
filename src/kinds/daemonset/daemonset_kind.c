#include "kinds/daemonset/daemonset_kind.h"

#include "base/labels.h"
#include "kinds/pod_spec.h"
#include "kinds/tree_body.h"

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

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_text(out,
              pod_spec_image(value_at(object, "spec.template.spec", NULL), DAEMONSET_CONTAINER));
    tree_pack(out, value_find(object, "spec"));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pack_signed(out, value_int_at(object, numbers[i].path, 0));
}

void daemonset_unpack(struct text spec, struct daemonset *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct daemonset){.image = unpack_text(&in)};
    out->spec = unpack_text(&in);
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
