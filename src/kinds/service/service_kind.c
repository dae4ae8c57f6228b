#include "kinds/service/service_kind.h"

#include "base/labels.h"
#include "kinds/text_list.h"
#include "kinds/tree_body.h"

#define HEADLESS "None"

// Servers of old have the one address alone.
static void pack_cluster_ips(const struct value *object, struct pack_writer *out)
{
    const struct value *list = value_list_at(object, "spec.clusterIPs");
    struct text one = value_text_at(object, "spec.clusterIP");
    value_each (address, list)
        if (!text_is(value_text(address), HEADLESS))
            text_list_add(out, value_text(address));
    if (!list && !text_is(one, HEADLESS))
        text_list_add(out, one);
    text_list_end(out);
}

static void pack_ingress(const struct value *object, const char *key, struct pack_writer *out)
{
    value_each (ingress, value_list_at(object, "status.loadBalancer.ingress"))
        text_list_add(out, value_text_at(ingress, key));
    text_list_end(out);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_text(out, value_text_at(object, "spec.clusterIP"));
    tree_pack(out, value_find(object, "spec"));
    pack_text(out, value_text_at(object, "spec.type"));
    pack_cluster_ips(object, out);
    pack_ingress(object, "ip", out);
    pack_ingress(object, "hostname", out);
}

static void unpack_service(struct pack_reader *in, struct service *out)
{
    labels_skip(in);
    *out = (struct service){.cluster_ip = unpack_text(in)};
    out->spec = unpack_text(in);
}

void service_unpack(struct text spec, struct service *out)
{
    struct pack_reader in = pack_open(spec);
    unpack_service(&in, out);
}

void service_addresses_unpack(struct arena *arena, struct text spec, struct service_addresses *out)
{
    struct service before;
    struct pack_reader in = pack_open(spec);
    unpack_service(&in, &before);
    *out = (struct service_addresses){.type = unpack_text(&in)};
    out->cluster_ips = text_list_unpack(arena, &in, &out->cluster_ip_count);
    out->ips = text_list_unpack(arena, &in, &out->ip_count);
    out->hostnames = text_list_unpack(arena, &in, &out->hostname_count);
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
    .has_their_status = true,
    .doc = "An address under which pods are reached.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
