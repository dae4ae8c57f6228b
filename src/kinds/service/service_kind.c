#include "kinds/service/service_kind.h"

#include "base/labels.h"
#include "kinds/pod_spec.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "spec.clusterIP"));
    tree_pack(out, value_find(object, "spec"));
}

void service_unpack(struct text spec, struct service *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct service){.cluster_ip = unpack_text(&in)};
    out->spec = unpack_text(&in);
}

const struct kind service_kind = {
    .group = "",
    .version = "v1",
    .name = "Service",
    .plural = "services",
    .singular = "service",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .doc = "An address under which pods are reached.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
