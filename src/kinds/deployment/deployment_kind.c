#include "kinds/deployment/deployment_kind.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *containers = value_list_at(object, "spec.template.spec.containers");
    pack_text(out, value_text_at(containers ? containers->first : NULL, "image"));
    pack_signed(out, value_int_at(object, "spec.replicas", 1));
    pack_signed(out, value_int_at(object, "status.updatedReplicas", 0));
    pack_signed(out, value_int_at(object, "status.availableReplicas", 0));
}

void deployment_unpack(struct text spec, struct deployment *out)
{
    struct pack_reader in = pack_open(spec);
    out->image = unpack_text(&in);
    out->replicas = unpack_signed(&in);
    out->updated = unpack_signed(&in);
    out->available = unpack_signed(&in);
}

const struct kind deployment_kind = {
    .group = "apps",
    .version = "v1",
    .name = "Deployment",
    .plural = "deployments",
    .singular = "deployment",
    .is_namespaced = true,
    .is_foreign = true,
    .has_their_status = true,
    .doc = "Pods of one kind, so many of them.",
    .pack_spec = pack_spec,
};
