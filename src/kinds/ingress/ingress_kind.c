#include "kinds/ingress/ingress_kind.h"

#include "kinds/text_list.h"

// ---- packing ------------------------------------------------------------------------------------

static void pack_rules(struct pack_writer *out, const struct value *object)
{
    value_each (rule, value_list_at(object, "spec.rules"))
        text_list_add(out, value_text_at(rule, "host"));
    text_list_end(out);
}

static void pack_tls(struct pack_writer *out, const struct value *object)
{
    value_each (entry, value_list_at(object, "spec.tls"))
        value_each (host, value_list_at(entry, "hosts"))
            text_list_add(out, value_text(host));
    text_list_end(out);
}

static void pack_points(struct pack_writer *out, const struct value *object)
{
    value_each (point, value_list_at(object, "status.loadBalancer.ingress")) {
        pack_number(out, 1);
        pack_text(out, value_text_at(point, "ip"));
        pack_text(out, value_text_at(point, "hostname"));
    }
    pack_number(out, 0);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.ingressClassName"));
    pack_rules(out, object);
    pack_tls(out, object);
    pack_points(out, object);
    pihole_annotations_pack(object, out);
}

// ---- unpacking ----------------------------------------------------------------------------------

static const struct ingress_point *unpack_points(struct arena *arena, struct pack_reader *in,
                                                 size_t *count)
{
    const struct pack_reader begin = *in;
    for (*count = 0; unpack_number(in); ++*count) {
        unpack_text(in);
        unpack_text(in);
    }
    struct ingress_point *points = arena_new_array(arena, struct ingress_point, *count + 1);
    *in = begin;
    for (size_t i = 0; unpack_number(in); i++) {
        points[i].ip = unpack_text(in);
        points[i].hostname = unpack_text(in);
    }
    return points;
}

void ingress_unpack(struct arena *arena, struct text spec, struct ingress_spec *out)
{
    struct pack_reader in = pack_open(spec);
    *out = (struct ingress_spec){.class_ = unpack_text(&in)};
    out->hosts = text_list_unpack(arena, &in, &out->host_count);
    out->tls_hosts = text_list_unpack(arena, &in, &out->tls_host_count);
    out->points = unpack_points(arena, &in, &out->point_count);
    pihole_annotations_unpack(&in, &out->pihole);
}

// ---- table --------------------------------------------------------------------------------------

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .doc = "What is published."},
    {.path = "spec.ingressClassName",
     .type = FIELD_TEXT,
     .doc = "Which Ingress controller it is for."},
    {.path = "spec.rules", .type = FIELD_LIST, .doc = "Where requests go."},
    {.path = "spec.rules[]", .type = FIELD_MAP, .doc = "One host."},
    {.path = "spec.rules[].host", .type = FIELD_TEXT, .doc = "Its name; all when absent."},
    {.path = "spec.tls", .type = FIELD_LIST, .doc = "Certificates."},
    {.path = "spec.tls[]", .type = FIELD_MAP, .doc = "One certificate."},
    {.path = "spec.tls[].hosts", .type = FIELD_LIST, .doc = "Names that it is for."},
    {.path = "spec.tls[].hosts[]", .type = FIELD_TEXT, .doc = "One name."},
};

const struct kind ingress_kind = {
    .group = "networking.k8s.io",
    .version = "v1",
    .name = "Ingress",
    .plural = "ingresses",
    .singular = "ingress",
    .is_namespaced = true,
    .is_foreign = true,
    .advised = PIHOLE_PREFIX,
    .has_their_status = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .doc = "Hosts that are published, and the addresses at which they are.",
    .pack_spec = pack_spec,
    .pack_managed = pihole_managed_pack,
    .list_names = pihole_list_names,
};
