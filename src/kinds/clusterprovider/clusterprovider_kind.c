#include "kinds/clusterprovider/clusterprovider_kind.h"

#include "kinds/tree_body.h"

static const char *const short_names[] = {"clp", NULL};
static const char *const categories[] = {"signpost", NULL};
static const char *const annotations[] = {"name", NULL};

struct emco_metadata clusterprovider_unpack(struct arena *arena, struct text spec)
{
    struct pack_reader in = pack_open(spec);
    return emco_object_metadata(tree_unpack(arena, &in));
}

static void validate(const struct value *object, struct findings *findings)
{
    emco_check_name(object, NULL, 0, findings);
}

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .doc = "What is known about the provider."},
    EMCO_METADATA_FIELDS("spec"),
    EMCO_EXTRA_FIELD("spec"),
};

static const struct kind_column columns[] = {
    {"Description", "string", ".spec.description", 0},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

const struct kind clusterprovider_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "ClusterProvider",
    .plural = "clusterproviders",
    .singular = "clusterprovider",
    .short_names = short_names,
    .categories = categories,
    .read_role = "view",
    .change_role = "admin",
    .is_on_request = true,
    .annotations = annotations,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Under whose name clusters stand.",
    .pack_spec = object_tree_pack,
    .validate = validate,
};
