#include "kinds/deployment/deployment_kind.h"

#include "base/labels.h"
#include "kinds/group.h"
#include "kinds/pod_spec.h"
#include "kinds/tree_body.h"

// Whole numbers of an object, in the order of the body.
static const struct number {
    const char *path;
    size_t offset;
    int64_t fallback;
} numbers[] = {
    {"spec.replicas", offsetof(struct deployment, wanted), 1},
    {"metadata.generation", offsetof(struct deployment, generation), 0},
    {"status.observedGeneration", offsetof(struct deployment, observed_generation), 0},
    {"status.replicas", offsetof(struct deployment, replicas), 0},
    {"status.updatedReplicas", offsetof(struct deployment, updated), 0},
    {"status.availableReplicas", offsetof(struct deployment, available), 0},
};

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_text(out,
              pod_spec_image(value_at(object, "spec.template.spec", NULL), DEPLOYMENT_CONTAINER));
    tree_pack(out, value_find(object, "spec"));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pack_signed(out, value_int_at(object, numbers[i].path, numbers[i].fallback));
    text_map_pack_of(out, value_at(object, "metadata.annotations", NULL), DNS_GROUP);
}

static void unpack_fixed(struct pack_reader *in, struct deployment *out)
{
    labels_skip(in);
    *out = (struct deployment){.image = unpack_text(in)};
    out->spec = unpack_text(in);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        *(int64_t *)((char *)out + numbers[i].offset) = unpack_signed(in);
}

void deployment_unpack(struct text spec, struct deployment *out)
{
    struct pack_reader in = pack_open(spec);
    unpack_fixed(&in, out);
}

const struct text_pair *deployment_annotations(struct arena *arena, struct text spec, size_t *count)
{
    struct deployment before;
    struct pack_reader in = pack_open(spec);
    unpack_fixed(&in, &before);
    return text_map_unpack(arena, &in, count);
}

const struct kind deployment_kind = {
    .group = "apps",
    .version = "v1",
    .name = "Deployment",
    .plural = "deployments",
    .singular = "deployment",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "A number of pods that are alike.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
