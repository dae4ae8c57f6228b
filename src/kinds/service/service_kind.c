#include "kinds/service/service_kind.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.clusterIP"));
}

void service_unpack(struct text spec, struct service *out)
{
    struct pack_reader in = pack_open(spec);
    out->cluster_ip = unpack_text(&in);
}

const struct kind service_kind = {
    .group = "",
    .version = "v1",
    .name = "Service",
    .plural = "services",
    .singular = "service",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "An address at which Pods are reached.",
    .pack_spec = pack_spec,
};
