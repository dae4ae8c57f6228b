#include "kinds/dnsendpoint/dnsendpoint_kind.h"

#include "base/labels.h"
#include "kinds/group.h"
#include "kinds/tree_body.h"

// ---- reading ------------------------------------------------------------------------------------

static void decode_targets(struct arena *arena, const struct value *list, struct endpoint *out)
{
    struct text *targets = arena_new_array(arena, struct text, value_count(list) + 1);
    value_each (target, list)
        if (target->type == VALUE_TEXT)
            targets[out->target_count++] = target->text;
    out->targets = targets;
}

static void decode_properties(struct arena *arena, const struct value *list, struct endpoint *out)
{
    struct text_pair *properties = arena_new_array(arena, struct text_pair, value_count(list) + 1);
    value_each (map, list)
        properties[out->property_count++] =
            (struct text_pair){value_text_at(map, "name"), value_text_at(map, "value")};
    out->properties = properties;
}

static struct endpoint decode_endpoint(struct arena *arena, const struct value *map)
{
    struct endpoint endpoint = {
        .dns_name = value_text_at(map, "dnsName"),
        .type = value_text_at(map, "recordType"),
        .ttl_s = value_int_at(map, "recordTTL", 0),
        .set_identifier = value_text_at(map, "setIdentifier"),
    };
    decode_targets(arena, value_list_at(map, "targets"), &endpoint);
    decode_properties(arena, value_list_at(map, "providerSpecific"), &endpoint);
    return endpoint;
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    pack_signed(out, value_int_at(object, "metadata.generation", 0));
    pack_signed(out, value_int_at(object, "status.observedGeneration", 0));
    text_map_pack_of(out, value_at(object, "metadata.annotations", NULL), DNS_GROUP);
    tree_pack(out, value_list_at(object, "spec.endpoints"));
}

void dnsendpoint_unpack(struct arena *arena, struct text spec, struct dnsendpoint *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct dnsendpoint){.generation = unpack_signed(&in)};
    out->observed_generation = unpack_signed(&in);
    out->annotations = text_map_unpack(arena, &in, &out->annotation_count);
    const struct value *list = tree_unpack(arena, &in);
    struct endpoint *endpoints = arena_new_array(arena, struct endpoint, value_count(list) + 1);
    value_each (map, list)
        endpoints[out->count++] = decode_endpoint(arena, map);
    out->endpoints = endpoints;
}

// ---- writing ------------------------------------------------------------------------------------

static struct value *encode_properties(struct arena *arena, const struct endpoint *endpoint)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < endpoint->property_count; i++) {
        struct value *map = value_make(arena, VALUE_MAP);
        value_put(arena, map, "name", value_make_text(arena, endpoint->properties[i].key));
        value_put(arena, map, "value", value_make_text(arena, endpoint->properties[i].value));
        value_append(list, map);
    }
    return list;
}

static struct value *encode_endpoint(struct arena *arena, const struct endpoint *endpoint)
{
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *targets = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < endpoint->target_count; i++)
        value_append(targets, value_make_text(arena, endpoint->targets[i]));
    value_put(arena, map, "dnsName", value_make_text(arena, endpoint->dns_name));
    value_put(arena, map, "recordType", value_make_text(arena, endpoint->type));
    value_put(arena, map, "targets", targets);
    if (endpoint->ttl_s)
        value_put_int(arena, map, "recordTTL", endpoint->ttl_s);
    if (endpoint->set_identifier.len)
        value_put(arena, map, "setIdentifier", value_make_text(arena, endpoint->set_identifier));
    if (endpoint->property_count)
        value_put(arena, map, "providerSpecific", encode_properties(arena, endpoint));
    return map;
}

struct value *dnsendpoint_encode(struct arena *arena, const struct endpoint *endpoints,
                                 size_t count)
{
    struct value *spec = value_make(arena, VALUE_MAP);
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++)
        value_append(list, encode_endpoint(arena, &endpoints[i]));
    value_put(arena, spec, "endpoints", list);
    return spec;
}

// ---- rules --------------------------------------------------------------------------------------

// External-dns refuses targets of these types whose end is another one. Types that it takes with a
// dot and without, such as CNAME, are not here.
static const struct target_rule {
    const char *type;
    bool ends_in_dot;
} target_rules[] = {
    {"A", false}, {"AAAA", false}, {"NS", false}, {"PTR", false}, {"NAPTR", true}, {"SRV", true},
};

bool endpoint_is_same(const struct endpoint *a, const struct endpoint *b)
{
    if (!text_equal(a->dns_name, b->dns_name) || !text_equal(a->type, b->type) ||
        a->ttl_s != b->ttl_s || a->target_count != b->target_count)
        return false;
    for (size_t i = 0; i < a->target_count; i++)
        if (!text_equal(a->targets[i], b->targets[i]))
            return false;
    return true;
}

const char *dnsendpoint_target_fault(struct text type, struct text target)
{
    for (size_t i = 0; i < COUNT_OF(target_rules); i++)
        if (text_is(type, target_rules[i].type) &&
            text_ends(target, ".") != target_rules[i].ends_in_dot)
            return target_rules[i].ends_in_dot ? "must end in a dot" : "must not end in a dot";
    return NULL;
}

static void check_endpoint(const struct value *map, size_t at, struct findings *findings)
{
    struct text type = value_text_at(map, "recordType");
    size_t index = 0;
    value_each (target, value_list_at(map, "targets")) {
        const char *fault = dnsendpoint_target_fault(type, value_text(target));
        if (fault && target->type == VALUE_TEXT)
            findings_add_at(
                findings, FINDING_WARNING,
                arena_printf(findings->arena, "spec.endpoints[%zu].targets[%zu]", at, index),
                "%s in a record set of type %.*s, or external-dns drops it", fault,
                TEXT_ARGS(type));
        index++;
    }
}

// Warnings: the endpoints beside it are published all the same.
static void validate(const struct value *object, struct findings *findings)
{
    size_t at = 0;
    value_each (map, value_list_at(object, "spec.endpoints"))
        check_endpoint(map, at++, findings);
}

// Whatever external-dns made of it: only its log says that.
static void list_names(const struct value *object, struct kind_names *out)
{
    int64_t generation = value_int_at(object, "metadata.generation", 0);
    int64_t observed = value_int_at(object, "status.observedGeneration", 0);
    bool is_read = observed && observed >= generation;
    value_each (map, value_list_at(object, "spec.endpoints")) {
        struct kind_name *added =
            kind_names_add(out, KIND_NAME_RECORDS, value_text_at(map, "dnsName"));
        added->type = value_text_at(map, "recordType");
        added->values = kind_names_join(out->arena, value_list_at(map, "targets"));
        added->status = is_read ? "True" : "Unknown";
        added->reason = is_read ? TEXT("Read") : TEXT("NotRead");
        added->message = is_read ? TEXT("external-dns has read it, and its log says what it did")
                                 : TEXT("external-dns has not read it yet; does one run that reads "
                                        "this object?");
    }
}

// ---- table --------------------------------------------------------------------------------------

#define ENDPOINT "spec.endpoints[]"

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .doc = "What is published."},
    {.path = "spec.endpoints", .type = FIELD_LIST, .doc = "Record sets."},
    {.path = ENDPOINT, .type = FIELD_MAP, .doc = "One record set."},
    {.path = ENDPOINT ".dnsName", .type = FIELD_TEXT, .doc = "Owner name, without a final dot."},
    {.path = ENDPOINT ".recordType", .type = FIELD_TEXT, .doc = "Record type."},
    {.path = ENDPOINT ".targets", .type = FIELD_LIST, .doc = "Values."},
    {.path = ENDPOINT ".targets[]", .type = FIELD_TEXT, .doc = "One value."},
    {.path = ENDPOINT ".recordTTL",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "TTL in seconds; 0 is as good as absent."},
    {.path = ENDPOINT ".setIdentifier",
     .type = FIELD_TEXT,
     .doc = "Tells several sets at a name apart."},
    {.path = ENDPOINT ".providerSpecific", .type = FIELD_LIST, .doc = "Settings of a provider."},
    {.path = ENDPOINT ".providerSpecific[]", .type = FIELD_MAP, .doc = "One setting."},
    {.path = ENDPOINT ".providerSpecific[].name", .type = FIELD_TEXT, .doc = "Its name."},
    {.path = ENDPOINT ".providerSpecific[].value", .type = FIELD_TEXT, .doc = "Its value."},
};

const struct kind dnsendpoint_kind = {
    .group = "externaldns.k8s.io",
    .version = "v1alpha1",
    .name = "DNSEndpoint",
    .plural = "dnsendpoints",
    .singular = "dnsendpoint",
    .is_namespaced = true,
    .is_foreign = true,
    .has_their_status = true,
    .judged_with = "admit-dnsendpoints",
    .judged_where = DNS_GROUP "/project",
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .doc = "Record sets that external-dns publishes.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
    .validate = validate,
    .list_names = list_names,
};
