#include "kinds/network/network_kind.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "status.serviceNetwork[0]"));
}

struct text network_services(struct text spec)
{
    struct pack_reader in = pack_open(spec);
    return unpack_text(&in);
}

const struct kind network_kind = {
    .group = NETWORK_GROUP,
    .version = "v1",
    .name = "Network",
    .plural = "networks",
    .singular = "network",
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "The networks of a cluster of OpenShift's.",
    .pack_spec = pack_spec,
};
