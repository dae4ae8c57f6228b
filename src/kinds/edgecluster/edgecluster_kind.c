#include "kinds/edgecluster/edgecluster_body.h"
#include "kinds/tree_body.h"

#define SECRET "spec.kubeconfigSecret"

enum { NAMESPACE_MAX = 63, NAME_MAX = 253 };

static const char *const short_names[] = {"ecl", NULL};
static const char *const categories[] = {"signpost", NULL};

const char *edgecluster_object_name(struct arena *arena, struct text provider, struct text cluster)
{
    return arena_printf(arena, "%s.%s", emco_object_name(arena, provider),
                        emco_object_name(arena, cluster));
}

// ---- reading ------------------------------------------------------------------------------------

static void decode_labels(struct arena *arena, const struct value *list, struct edgecluster *out)
{
    struct text *labels = arena_new_array(arena, struct text, value_count(list) + 1);
    value_each (label, list)
        if (label->type == VALUE_TEXT)
            labels[out->label_count++] = label->text;
    out->labels = labels;
}

static struct text text_or(struct text text, const char *fallback)
{
    return text.len ? text : text_of(fallback);
}

void edgecluster_unpack(struct arena *arena, struct text spec, struct edgecluster *out)
{
    struct pack_reader in = pack_open(spec);
    const struct value *object = tree_unpack(arena, &in);
    const struct value *secret = value_at(object, SECRET, NULL);
    *out = (struct edgecluster){
        .metadata = emco_object_metadata(object),
        .provider = value_text_at(object, "spec.provider"),
        .kv = kv_sets_decode(arena, value_list_at(object, "spec.kvPairs")),
        .is_local = value_bool_at(object, "spec.local", false),
        .kubeconfig_namespace = value_text_at(secret, "namespace"),
        .kubeconfig_name = value_text_at(secret, "name"),
        .kubeconfig_key = text_or(value_text_at(secret, "key"), "kubeconfig"),
    };
    out->metadata.name = value_text_at(object, "spec.cluster");
    decode_labels(arena, value_list_at(object, "spec.labels"), out);
}

// ---- rules --------------------------------------------------------------------------------------

static void check_name(const struct value *object, struct findings *findings)
{
    struct text own = value_text_at(object, "metadata.name");
    struct text provider = value_text_at(object, "spec.provider");
    struct text cluster = value_text_at(object, "spec.cluster");
    if (!own.len || !emco_name_is_valid(provider) || !emco_name_is_valid(cluster))
        return;
    const char *wanted = edgecluster_object_name(findings->arena, provider, cluster);
    if (!text_is(own, wanted))
        findings_add_at(findings, FINDING_ERROR, "metadata.name",
                        "must be %s, which is made of spec.provider and spec.cluster", wanted);
}

// A label that stood in the list before.
static bool is_repeated(const struct value *list, const struct value *label)
{
    for (const struct value *before = list->first; before != label; before = before->next)
        if (text_equal(value_text(before), value_text(label)))
            return true;
    return false;
}

static void check_labels(const struct value *list, struct findings *findings)
{
    size_t index = 0;
    value_each (label, list) {
        if (is_repeated(list, label))
            findings_add_at(findings, FINDING_ERROR,
                            arena_printf(findings->arena, "spec.labels[%zu]", index),
                            "stands in the list before: remove it");
        index++;
    }
}

static void validate(const struct value *object, struct findings *findings)
{
    check_name(object, findings);
    check_labels(value_list_at(object, "spec.labels"), findings);
    kv_pairs_check(object, findings);
}

// ---- table --------------------------------------------------------------------------------------

static const struct field fields[] = {
    {.path = "spec",
     .type = FIELD_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "Which cluster, and what is known about it."},
    EMCO_METADATA_FIELDS("spec"),
    EMCO_NAME_FIELD("spec.provider", FIELD_REQUIRED | FIELD_IMMUTABLE, "Its provider."),
    EMCO_NAME_FIELD("spec.cluster", FIELD_REQUIRED | FIELD_IMMUTABLE, "Its name there."),
    KV_PAIRS_FIELDS,
    {.path = "spec.labels",
     .type = FIELD_LIST,
     .max = EDGECLUSTER_LABELS_MAX,
     .doc = "Words by which clusters are chosen together."},
    EMCO_NAME_FIELD("spec.labels[]", 0, "One word."),
    {.path = "spec.local",
     .type = FIELD_BOOL,
     .doc = "It is the cluster that Signpost runs in, whose Services and Nodes are read."},
    {.path = SECRET, .type = FIELD_MAP, .doc = "The Secret with the kubeconfig of the cluster."},
    {.path = SECRET ".namespace",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = NAMESPACE_MAX,
     .pattern = KIND_NAMESPACE_PATTERN,
     .doc = "Its namespace."},
    {.path = SECRET ".name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = NAME_MAX,
     .pattern = KIND_NAME_PATTERN,
     .doc = "Its name."},
    {.path = SECRET ".key",
     .type = FIELD_TEXT,
     .min = 1,
     .max = NAME_MAX,
     .pattern = KIND_KEY_PATTERN,
     .doc = "Its key; kubeconfig when absent."},
    EMCO_EXTRA_FIELD("spec"),

    {.path = "status", .type = FIELD_MAP, .doc = "Whether its API server can be asked."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    {.path = "status.version", .type = FIELD_TEXT, .doc = "Release of its API server."},
    CONDITION_FIELDS("Reachable, of a cluster with spec.kubeconfigSecret."),
};

static const struct kind_column columns[] = {
    {"Provider", "string", ".spec.provider", 0},
    {"Cluster", "string", ".spec.cluster", 0},
    {"Local", "boolean", ".spec.local", 0},
    {"Reachable", "string", ".status.conditions[?(@.type==\"Reachable\")].status", 0},
    {"Reason", "string", ".status.conditions[?(@.type==\"Reachable\")].reason", 0},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

static const char *const right_when[] = {"Reachable=True", NULL};

// Only a cluster that is read through its kubeconfig can be out of reach.
static bool is_over(const struct value *object)
{
    return value_bool_at(object, "spec.local", false) || !value_text_at(object, SECRET ".name").len;
}

const struct kind edgecluster_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "EdgeCluster",
    .plural = "edgeclusters",
    .singular = "edgecluster",
    .short_names = short_names,
    .categories = categories,
    .read_role = "view",
    .change_role = "admin",
    .has_status = true,
    .is_on_request = true,
    .condition_types = edgecluster_condition_types,
    .right_when = right_when,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "A cluster of a provider.",
    .pack_spec = object_tree_pack,
    .pack_managed = edgecluster_pack_managed,
    .validate = validate,
    .is_over = is_over,
};
