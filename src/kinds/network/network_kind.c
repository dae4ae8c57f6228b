#include "kinds/network/network_kind.h"

#include "kinds/text_list.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *networks = value_list_at(object, "status.serviceNetwork");
    if (!value_count(networks))
        networks = value_list_at(object, "spec.serviceNetwork");
    value_each (network, networks)
        text_list_add(out, value_text(network));
    text_list_end(out);
}

const struct text *network_unpack(struct arena *arena, struct text spec, size_t *count)
{
    struct pack_reader in = pack_open(spec);
    return text_list_unpack(arena, &in, count);
}

const struct kind network_kind = {
    .group = "config.openshift.io",
    .version = "v1",
    .name = "Network",
    .plural = "networks",
    .singular = "network",
    .is_foreign = true,
    .is_observed = true,
    .has_their_status = true,
    .doc = "How the networks of an OpenShift cluster are laid out.",
    .pack_spec = pack_spec,
};
