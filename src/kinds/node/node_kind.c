#include "kinds/node/node_kind.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    bool is_ready = false;
    value_each (item, value_list_at(object, "status.conditions"))
        if (text_is(value_text_at(item, "type"), "Ready"))
            is_ready = text_is(value_text_at(item, "status"), "True");
    pack_number(out, is_ready);
}

bool node_is_ready(struct text spec)
{
    struct pack_reader in = pack_open(spec);
    return unpack_number(&in);
}

const struct kind node_kind = {
    .group = "",
    .version = "v1",
    .name = "Node",
    .plural = "nodes",
    .singular = "node",
    .is_foreign = true,
    .has_their_status = true,
    .doc = "A machine of the cluster.",
    .pack_spec = pack_spec,
};
