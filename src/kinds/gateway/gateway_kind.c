#include "kinds/gateway/gateway_kind.h"

#include "kinds/text_list.h"

static bool is_ip(const struct value *address)
{
    struct text type = value_text_at(address, "type");
    return !type.at || text_is(type, "IPAddress");
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *list = value_at(object, "status.addresses", NULL);
    value_each (address, list && list->type == VALUE_LIST ? list : NULL)
        if (is_ip(address))
            text_list_add(out, value_text_at(address, "value"));
    text_list_end(out);
}

const struct text *gateway_unpack(struct arena *arena, struct text spec, size_t *count)
{
    struct pack_reader in = pack_open(spec);
    return text_list_unpack(arena, &in, count);
}

const struct kind gateway_kind = {
    .group = "gateway.networking.k8s.io",
    .version = "v1",
    .name = "Gateway",
    .plural = "gateways",
    .singular = "gateway",
    .is_namespaced = true,
    .is_foreign = true,
    .has_their_status = true,
    .doc = "Where routes are reached; its addresses.",
    .pack_spec = pack_spec,
};
