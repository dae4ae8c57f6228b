#include "base/when.h"
#include "kinds/dnspublication/dnspublication_body.h"
#include "kinds/tree_body.h"

const char *const dnspublication_desires[] = {"Created", "Instantiated", "Terminated", NULL};

// ---- reading ------------------------------------------------------------------------------------

static enum dnspublication_desired desired_of(const struct value *spec)
{
    struct text word = value_text_at(spec, "desired");
    for (unsigned i = 0; dnspublication_desires[i]; i++)
        if (text_is(word, dnspublication_desires[i]))
            return (enum dnspublication_desired)i;
    return DNSPUBLICATION_WANTS_CREATED;
}

static int64_t hold_down_of(const struct value *spec)
{
    int64_t ms;
    return duration_parse(value_text_at(spec, "holdDown"), &ms, NULL) && ms >= 0 ? ms : -1;
}

static struct placement decode_placement(struct arena *arena, const struct value *map)
{
    const struct value *list = value_list_at(map, "clusters");
    struct placement_cluster *clusters =
        arena_new_array(arena, struct placement_cluster, value_count(list) + 1);
    struct placement placement = {.app = value_text_at(map, "app"), .clusters = clusters};
    value_each (cluster, list)
        clusters[placement.cluster_count++] = (struct placement_cluster){
            .provider = value_text_at(cluster, "provider"),
            .cluster = value_text_at(cluster, "cluster"),
        };
    return placement;
}

static void decode_placements(struct arena *arena, const struct value *list,
                              struct dnspublication *out)
{
    struct placement *placements = arena_new_array(arena, struct placement, value_count(list) + 1);
    value_each (map, list)
        placements[out->placement_count++] = decode_placement(arena, map);
    out->placements = placements;
}

static void unpack_spec(struct arena *arena, struct text body, struct dnspublication *out)
{
    struct pack_reader in = pack_open(body);
    const struct value *object = tree_unpack(arena, &in);
    const struct value *spec = value_find(object, "spec");
    *out = (struct dnspublication){
        .metadata = emco_object_metadata(object),
        .coordinates = emco_coordinates_decode(spec),
        .logical_cloud = value_text_at(spec, "logicalCloud"),
        .composite_profile = value_text_at(spec, "compositeProfile"),
        .release = value_text_at(spec, "release"),
        .share_group = value_text_at(spec, "shareGroup"),
        .hold_down_ms = hold_down_of(spec),
        .desired = desired_of(spec),
        .update = value_int_at(spec, "update", 0),
        .is_approved = text_is(
            value_text_at(object, "metadata.annotations[" DNSPUBLICATION_APPROVED_ANNOTATION "]"),
            "true"),
    };
    decode_placements(arena, value_list_at(spec, "placement"), out);
}

void dnspublication_unpack(struct arena *arena, struct text spec, struct text ours,
                           struct dnspublication *out, struct dnspublication_status *out_status)
{
    unpack_spec(arena, spec, out);
    if (out_status)
        dnspublication_unpack_managed(arena, spec, ours, out_status);
}

// ---- rules --------------------------------------------------------------------------------------

static void check_group(const struct value *object, struct text group, struct findings *findings)
{
    if (!value_text_at(object, "metadata.name").len || text_equal(emco_name_of(object), group))
        return;
    findings_add_at(
        findings, FINDING_ERROR, "spec.deploymentIntentGroup",
        "must be the name of the object, or that in its annotation " EMCO_NAME_ANNOTATION);
}

static void check_hold_down(const struct value *object, struct findings *findings)
{
    int64_t ms;
    struct error err;
    struct text text = value_text_at(object, "spec.holdDown");
    if (!text.at)
        return;
    if (!duration_parse(text, &ms, &err))
        findings_add_at(findings, FINDING_ERROR, "spec.holdDown", "%s", err.text);
    else if (ms < 0)
        findings_add_at(findings, FINDING_ERROR, "spec.holdDown", "must not be negative");
}

static void validate(const struct value *object, struct findings *findings)
{
    const struct emco_coordinates at = emco_coordinates_decode(value_find(object, "spec"));
    const struct text coordinates[] = {at.composite_app, at.version};
    emco_check_name(object, coordinates, COUNT_OF(coordinates), findings);
    check_group(object, at.group, findings);
    check_hold_down(object, findings);
}

// ---- table --------------------------------------------------------------------------------------

#define PLACEMENT "spec.placement[]"
#define NAMES "status.names[]"
#define RECORDS "status.records[]"
#define RETAINED "status.retained[]"

enum { SHARE_GROUP_MAX = 63, HOLD_DOWN_MAX = 32, QUALIFIED_MAX = 2 * EMCO_NAME_MAX + 1 };

static const char *const short_names[] = {"dnp", NULL};
static const char *const categories[] = {"signpost", NULL};
static const char *const annotations[] = {"name", "approved", NULL};
static const char *const right_when[] = {"Accepted=True", "Published=True", "AddressesReady=True",
                                         NULL};

static const struct field fields[] = {
    {.path = "spec",
     .type = FIELD_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "Whose names are published, and where."},
    EMCO_METADATA_FIELDS("spec"),
    EMCO_COORDINATE_FIELDS,
    EMCO_NAME_FIELD("spec.logicalCloud", FIELD_REQUIRED,
                    "The logical cloud whose clusters and records count."),
    EMCO_NAME_FIELD("spec.compositeProfile", 0, "Has no effect."),
    EMCO_NAME_FIELD("spec.release", 0, "Has no effect."),
    {.path = "spec.placement",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_PLACEMENTS_MAX,
     .doc = "Which app runs where; every app in every cluster of the logical cloud when absent."},
    {.path = PLACEMENT, .type = FIELD_MAP, .doc = "One app."},
    EMCO_NAME_FIELD(PLACEMENT ".app", FIELD_REQUIRED, "Its name."),
    {.path = PLACEMENT ".clusters",
     .type = FIELD_LIST,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = DNSPUBLICATION_CLUSTERS_MAX,
     .doc = "The clusters that it runs in."},
    {.path = PLACEMENT ".clusters[]", .type = FIELD_MAP, .doc = "One cluster."},
    EMCO_NAME_FIELD(PLACEMENT ".clusters[].provider", FIELD_REQUIRED, "Its provider."),
    EMCO_NAME_FIELD(PLACEMENT ".clusters[].cluster", FIELD_REQUIRED, "Its name there."),
    {.path = "spec.shareGroup",
     .type = FIELD_TEXT,
     .min = 1,
     .max = SHARE_GROUP_MAX,
     .doc = "Publications of a project with the same word here may publish the same name."},
    {.path = "spec.holdDown",
     .type = FIELD_TEXT,
     .max = HOLD_DOWN_MAX,
     .doc = "How long the last addresses of a name stay when they are not seen any more, such as "
            "1h; for ever when absent."},
    {.path = "spec.desired",
     .type = FIELD_TEXT,
     .choices = dnspublication_desires,
     .doc = "Instantiated publishes the names, Terminated removes them; Created when absent."},
    {.path = "spec.update",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Goes up at each request to read all inputs again."},
    EMCO_EXTRA_FIELD("spec"),

    {.path = "status", .type = FIELD_MAP, .doc = "How far the names are published."},
    {.path = "status.state",
     .type = FIELD_TEXT,
     .choices = dnspublication_states,
     .doc = "Where the publication is between Created and Terminated."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    {.path = "status.names",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_NAMES_MAX,
     .doc = "The names, the first 500 of them."},
    {.path = NAMES, .type = FIELD_MAP, .doc = "One name in one record."},
    {.path = NAMES ".name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 253,
     .doc = "The name, as it was written where it is none."},
    {.path = NAMES ".type", .type = FIELD_TEXT, .max = 16, .doc = "A, AAAA or CNAME."},
    {.path = NAMES ".record",
     .type = FIELD_TEXT,
     .max = QUALIFIED_MAX,
     .doc = "The DNS update record: its name, behind its project and / where that is another."},
    {.path = NAMES ".cluster",
     .type = FIELD_TEXT,
     .max = QUALIFIED_MAX,
     .doc = "provider/cluster of a record that a cluster lists."},
    {.path = NAMES ".targets",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_TARGETS_MAX,
     .doc = "Its addresses or host name, the first 16."},
    {.path = NAMES ".targets[]", .type = FIELD_TEXT, .max = 253, .doc = "One of them."},
    {.path = NAMES ".state",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .choices = dnspublication_name_states,
     .doc = "How far it is published."},
    {.path = NAMES ".reason", .type = FIELD_TEXT, .max = 64, .doc = "Why, as one word."},
    {.path = NAMES ".message",
     .type = FIELD_TEXT,
     .max = DNSPUBLICATION_MESSAGE_MAX,
     .doc = "Why, and what to do, for people."},
    {.path = NAMES ".since",
     .type = FIELD_TEXT,
     .flags = FIELD_TIME,
     .doc = "When its state last changed."},
    {.path = "status.namesTotal", .type = FIELD_INT, .doc = "How many names there are."},
    {.path = "status.records",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_RECORDS_MAX,
     .doc = "The DNSUpdateRecords at whose providers names may stand."},
    {.path = RECORDS, .type = FIELD_MAP, .doc = "One of them."},
    {.path = RECORDS ".namespace",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 63,
     .doc = "Its namespace."},
    {.path = RECORDS ".name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 253,
     .doc = "Its name."},
    {.path = RECORDS ".drainingSince",
     .type = FIELD_TEXT,
     .flags = FIELD_TIME,
     .doc = "Since when nothing is published by it any more."},
    {.path = RECORDS ".lastSyncTime",
     .type = FIELD_TEXT,
     .flags = FIELD_TIME,
     .doc = "The last synchronization of external-dns that counts as proof that the names went."},
    {.path = RECORDS ".syncs",
     .type = FIELD_INT,
     .doc = "How many such synchronizations were seen since then; two are a proof."},
    {.path = RECORDS ".carried",
     .type = FIELD_BOOL,
     .doc = "Somebody may have carried names to the provider."},
    {.path = RECORDS ".names",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_NAMES_MAX,
     .doc = "The names that are to go from there, the first 500 of them."},
    {.path = RECORDS ".names[]", .type = FIELD_TEXT, .max = 253, .doc = "One of them."},
    {.path = RECORDS ".targets",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_NAMES_MAX,
     .doc = "What they had as targets, the first 500 of all; by these it is seen whether they are "
            "gone."},
    {.path = RECORDS ".targets[]", .type = FIELD_TEXT, .max = 253, .doc = "One of them."},
    {.path = "status.retained",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_RECORDS_MAX,
     .doc = "The DNSUpdateRecords at whose providers names stay that nobody removes any more."},
    {.path = RETAINED, .type = FIELD_MAP, .doc = "One of them."},
    {.path = RETAINED ".namespace",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 63,
     .doc = "Its namespace."},
    {.path = RETAINED ".name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .max = 253,
     .doc = "Its name."},
    {.path = RETAINED ".names",
     .type = FIELD_LIST,
     .max = DNSPUBLICATION_NAMES_MAX,
     .doc = "The names that stay, the first 500 of them."},
    {.path = RETAINED ".names[]", .type = FIELD_TEXT, .max = 253, .doc = "One of them."},
    {.path = RETAINED ".message",
     .type = FIELD_TEXT,
     .max = DNSPUBLICATION_MESSAGE_MAX,
     .doc = "Why nobody removes them, for people."},
    CONDITION_FIELDS("Accepted, AddressesReady, Published, Drained."),
};

static const struct kind_column columns[] = {
    {"App", "string", ".spec.compositeApp", 0},
    {"Version", "string", ".spec.version", 0},
    {"Cloud", "string", ".spec.logicalCloud", 1},
    {"Desired", "string", ".spec.desired", 1},
    {"State", "string", ".status.state", 0},
    {"Names", "integer", ".status.namesTotal", 0},
    {"Published", "string", ".status.conditions[?(@.type==\"Published\")].status", 0},
    {"Reason", "string", ".status.conditions[?(@.type==\"Published\")].reason", 0},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

static void write_summary(const struct value *object, struct buffer *out)
{
    int64_t count = value_int_at(object, "status.namesTotal", 0);
    buffer_printf(out, "%lld name%s of %.*s/%.*s", (long long)count, count == 1 ? "" : "s",
                  TEXT_ARGS(value_text_at(object, "spec.compositeApp")),
                  TEXT_ARGS(value_text_at(object, "spec.version")));
}

// Nothing is published, and nothing is meant to be.
static bool is_over(const struct value *object)
{
    static const struct {
        enum dnspublication_desired desired;
        enum dnspublication_state state;
    } ends[] = {
        {DNSPUBLICATION_WANTS_CREATED, DNSPUBLICATION_CREATED},
        {DNSPUBLICATION_WANTS_CREATED, DNSPUBLICATION_APPROVED},
        {DNSPUBLICATION_WANTS_TERMINATED, DNSPUBLICATION_TERMINATED},
    };
    enum dnspublication_desired desired = desired_of(value_find(object, "spec"));
    struct text state = value_text_at(object, "status.state");
    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (ends[i].desired == desired && text_is(state, dnspublication_states[ends[i].state]))
            return true;
    return false;
}

const struct kind dnspublication_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "DNSPublication",
    .plural = "dnspublications",
    .singular = "dnspublication",
    .short_names = short_names,
    .categories = categories,
    .is_namespaced = true,
    .has_status = true,
    .is_on_request = true,
    .is_status_ahead = true,
    .annotations = annotations,
    .condition_types = dnspublication_condition_types,
    .right_when = right_when,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Names of an app's services that are published.",
    .pack_spec = object_tree_pack,
    .pack_managed = dnspublication_pack_managed,
    .validate = validate,
    .write_summary = write_summary,
    .list_names = dnspublication_list_names,
    .is_over = is_over,
};
