#include "kinds/service/service_kind.h"

#include "base/labels.h"
#include "kinds/pod_spec.h"
#include "kinds/text_list.h"

// ---- packing ------------------------------------------------------------------------------------

static void pack_texts(struct pack_writer *out, const struct value *list)
{
    value_each (item, list)
        text_list_add(out, value_text(item));
    text_list_end(out);
}

static void pack_ports(struct pack_writer *out, const struct value *object)
{
    value_each (port, value_list_at(object, "spec.ports")) {
        struct text protocol = value_text_at(port, "protocol");
        pack_number(out, 1);
        pack_text(out, value_text_at(port, "name"));
        pack_signed(out, value_int_at(port, "port", 0));
        pack_text(out, protocol.len ? protocol : TEXT("TCP"));
        int_or_text_pack(out, value_find(port, "targetPort"));
    }
    pack_number(out, 0);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "spec.clusterIP"));
    pack_texts(out, value_list_at(object, "spec.clusterIPs"));
    pack_texts(out, value_list_at(object, "spec.ipFamilies"));
    pack_ports(out, object);
    text_map_pack(out, value_at(object, "spec.selector", NULL));
}

// ---- unpacking ----------------------------------------------------------------------------------

static struct service_port unpack_port(struct pack_reader *in)
{
    struct service_port port = {.name = unpack_text(in)};
    port.port = unpack_signed(in);
    port.protocol = unpack_text(in);
    port.target = unpack_text(in);
    return port;
}

static const struct service_port *unpack_ports(struct arena *arena, struct pack_reader *in,
                                               size_t *count)
{
    struct pack_reader counting = *in;
    for (*count = 0; unpack_number(&counting); ++*count)
        unpack_port(&counting);
    struct service_port *ports = arena_new_array(arena, struct service_port, *count + 1);
    for (size_t i = 0; unpack_number(in); i++)
        ports[i] = unpack_port(in);
    return ports;
}

void service_unpack(struct arena *arena, struct text spec, struct service *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct service){.cluster_ip = unpack_text(&in)};
    out->cluster_ips = text_list_unpack(arena, &in, &out->cluster_ip_count);
    out->ip_families = text_list_unpack(arena, &in, &out->ip_family_count);
    out->ports = unpack_ports(arena, &in, &out->port_count);
    out->selector = text_map_unpack(arena, &in, &out->selector_count);
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
