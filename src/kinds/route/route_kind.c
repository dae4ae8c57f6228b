#include "kinds/route/route_kind.h"

#include "kinds/text_list.h"

#define GROUP "gateway.networking.k8s.io"

// ---- packing ------------------------------------------------------------------------------------

static void pack_hosts(const struct value *object, struct pack_writer *out)
{
    value_each (host, value_list_at(object, "spec.hostnames"))
        text_list_add(out, value_text(host));
    text_list_end(out);
}

// Absent is the default.
static bool is_or_absent(struct text text, const char *wanted)
{
    return !text.at || text_is(text, wanted);
}

static bool is_gateway(const struct value *parent)
{
    return is_or_absent(value_text_at(parent, "group"), GROUP) &&
           is_or_absent(value_text_at(parent, "kind"), "Gateway") &&
           value_text_at(parent, "name").len;
}

static void pack_gateway(struct text own_namespace, const struct value *parent,
                         struct pack_writer *out)
{
    AUTO_BUFFER identity = {0};
    struct text given = value_text_at(parent, "namespace");
    struct text namespace_ = given.len ? given : own_namespace;
    struct text name = value_text_at(parent, "name");
    buffer_printf(&identity, "%.*s/%.*s", TEXT_ARGS(namespace_), TEXT_ARGS(name));
    text_list_add(out, buffer_text(&identity));
}

static void pack_gateways(const struct value *object, struct pack_writer *out)
{
    size_t count = 0;
    struct text own_namespace = value_text_at(object, "metadata.namespace");
    value_each (parent, value_list_at(object, "spec.parentRefs"))
        if (is_gateway(parent) && count++ < ROUTE_GATEWAYS_MAX)
            pack_gateway(own_namespace, parent, out);
    text_list_end(out);
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_hosts(object, out);
    pack_gateways(object, out);
    pihole_annotations_pack(object, out);
}

void route_unpack(struct arena *arena, struct text spec, struct route_spec *out)
{
    struct pack_reader in = pack_open(spec);
    *out = (struct route_spec){0};
    out->hosts = text_list_unpack(arena, &in, &out->host_count);
    out->gateways = text_list_unpack(arena, &in, &out->gateway_count);
    pihole_annotations_unpack(&in, &out->pihole);
}

// ---- tables -------------------------------------------------------------------------------------

#define PARENT_FIELDS                                                                              \
    {.path = "spec", .type = FIELD_MAP, .doc = "What is published."},                              \
        {.path = "spec.parentRefs", .type = FIELD_LIST, .doc = "Through what it is reached."},     \
        {.path = "spec.parentRefs[]", .type = FIELD_MAP, .doc = "One Gateway."},                   \
        {.path = "spec.parentRefs[].namespace",                                                    \
         .type = FIELD_TEXT,                                                                       \
         .doc = "Its namespace; that of the route when absent."},                                  \
    {                                                                                              \
        .path = "spec.parentRefs[].name", .type = FIELD_TEXT, .doc = "Its name."                   \
    }

static const struct field fields[] = {
    PARENT_FIELDS,
    {.path = "spec.hostnames", .type = FIELD_LIST, .doc = "Names that it is for."},
    {.path = "spec.hostnames[]", .type = FIELD_TEXT, .doc = "One name."},
};
static const struct field tcp_fields[] = {PARENT_FIELDS};

// What an older Gateway API has.
static const char *const older_tls[] = {"v1alpha3", "v1alpha2", NULL};
static const char *const older_tcp[] = {"v1alpha2", NULL};

#define ROUTE(kind_, plural_, singular_, ...)                                                      \
    {                                                                                              \
        .group = GROUP, .version = "v1", .name = kind_, .plural = plural_, .singular = singular_,  \
        .is_namespaced = true, .is_foreign = true, .advised = PIHOLE_PREFIX,                       \
        .has_their_status = true, .pack_spec = pack_spec, .pack_managed = pihole_managed_pack,     \
        .list_names = pihole_list_names, __VA_ARGS__                                               \
    }

const struct kind httproute_kind =
    ROUTE("HTTPRoute", "httproutes", "httproute", .fields = fields, .field_count = COUNT_OF(fields),
          .doc = "HTTP hosts that a Gateway passes on.");
const struct kind grpcroute_kind =
    ROUTE("GRPCRoute", "grpcroutes", "grpcroute", .fields = fields, .field_count = COUNT_OF(fields),
          .doc = "gRPC hosts that a Gateway passes on.");
const struct kind tlsroute_kind =
    ROUTE("TLSRoute", "tlsroutes", "tlsroute", .fields = fields, .field_count = COUNT_OF(fields),
          .other_versions = older_tls, .doc = "TLS hosts that a Gateway passes on.");
const struct kind tcproute_kind = ROUTE(
    "TCPRoute", "tcproutes", "tcproute", .fields = tcp_fields, .field_count = COUNT_OF(tcp_fields),
    .other_versions = older_tcp, .doc = "A TCP port that a Gateway passes on.");
