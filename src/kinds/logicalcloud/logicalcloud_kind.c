#include "kinds/logicalcloud/logicalcloud_kind.h"

#include "dns/corefile/go_text.h"
#include "kinds/tree_body.h"

#define REFERENCE "spec.clusterReferences[]"
#define LABEL "[a-z0-9]([-a-z0-9]*[a-z0-9])?"

enum { NAMESPACE_MAX = 63, ADDRESS_MAX = 45 };

static const char *const short_names[] = {"lcl", NULL};
static const char *const categories[] = {"signpost", NULL};
static const char *const annotations[] = {"name", NULL};

// ---- reading ------------------------------------------------------------------------------------

static struct text load_balancer_of(const struct value *map)
{
    struct text address = value_text_at(map, "loadBalancerIP");
    bool is_given = address.len && !text_is(address, "0.0.0.0");
    return is_given ? address : (struct text){0};
}

static void decode_references(struct arena *arena, const struct value *list,
                              struct logicalcloud *out)
{
    struct cluster_reference *references =
        arena_new_array(arena, struct cluster_reference, value_count(list) + 1);
    value_each (map, list)
        references[out->reference_count++] = (struct cluster_reference){
            .metadata = emco_metadata_decode(map),
            .provider = value_text_at(map, "clusterProvider"),
            .cluster = value_text_at(map, "cluster"),
            .load_balancer = load_balancer_of(map),
        };
    out->references = references;
}

void logicalcloud_unpack(struct arena *arena, struct text spec, struct logicalcloud *out)
{
    struct pack_reader in = pack_open(spec);
    const struct value *object = tree_unpack(arena, &in);
    *out = (struct logicalcloud){
        .metadata = emco_object_metadata(object),
        .namespace_ = value_text_at(object, "spec.namespace"),
        .kv = kv_sets_decode(arena, value_list_at(object, "spec.kvPairs")),
    };
    decode_references(arena, value_list_at(object, "spec.clusterReferences"), out);
}

// ---- rules --------------------------------------------------------------------------------------

static void check_address(const struct value *map, size_t index, struct findings *findings)
{
    struct text address = value_text_at(map, "loadBalancerIP");
    if (address.len && !go_is_ip(address))
        findings_add_at(
            findings, FINDING_ERROR,
            arena_printf(findings->arena, "spec.clusterReferences[%zu].loadBalancerIP", index),
            "must be an IPv4 or IPv6 address");
}

static void validate(const struct value *object, struct findings *findings)
{
    size_t index = 0;
    emco_check_name(object, NULL, 0, findings);
    value_each (map, value_list_at(object, "spec.clusterReferences"))
        check_address(map, index++, findings);
    kv_pairs_check(object, findings);
}

// ---- table --------------------------------------------------------------------------------------

static const struct field fields[] = {
    {.path = "spec",
     .type = FIELD_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "Which clusters, and what is known about them."},
    EMCO_METADATA_FIELDS("spec"),
    {.path = "spec.namespace",
     .type = FIELD_TEXT,
     .min = 1,
     .max = NAMESPACE_MAX,
     .pattern = "^" LABEL "$",
     .doc = "Where its Services stand in each cluster; the namespace of the project when absent."},
    {.path = "spec.clusterReferences",
     .type = FIELD_LIST,
     .max = LOGICALCLOUD_REFERENCES_MAX,
     .list_key = "name",
     .doc = "Its clusters."},
    {.path = REFERENCE, .type = FIELD_MAP, .doc = "One cluster."},
    EMCO_NAME_FIELD(REFERENCE ".name", FIELD_REQUIRED, "Name of the reference."),
    EMCO_METADATA_FIELDS(REFERENCE),
    EMCO_NAME_FIELD(REFERENCE ".clusterProvider", FIELD_REQUIRED, "Provider of the cluster."),
    EMCO_NAME_FIELD(REFERENCE ".cluster", FIELD_REQUIRED, "Name of the cluster at its provider."),
    {.path = REFERENCE ".loadBalancerIP",
     .type = FIELD_TEXT,
     .max = ADDRESS_MAX,
     .doc = "Address at which its services are reached; 0.0.0.0 says that there is none."},
    EMCO_EXTRA_FIELD(REFERENCE),
    KV_PAIRS_FIELDS,
    EMCO_EXTRA_FIELD("spec"),
};

static const struct kind_column columns[] = {
    {"Cloud-Namespace", "string", ".spec.namespace", 0},
    {"Description", "string", ".spec.description", 1},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

const struct kind logicalcloud_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "LogicalCloud",
    .plural = "logicalclouds",
    .singular = "logicalcloud",
    .short_names = short_names,
    .categories = categories,
    .is_namespaced = true,
    .is_on_request = true,
    .annotations = annotations,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Clusters that a project uses together.",
    .pack_spec = object_tree_pack,
    .validate = validate,
};
