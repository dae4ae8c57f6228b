#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

#include <string.h>

#include "kinds/external_name.h"
#include "kinds/private_key.h"
#include "kinds/tree_body.h"

#define INBOUND "spec.inbound[]"

enum {
    APP_LABEL_MAX = 317, // a label's key, = and its value
    PROTOCOL_MAX = 5,
    PORT_MAX = 65535,
    WORD_MAX = 63,
    NAME_MAX = 253,
};

static const char *const short_names[] = {"tgi", NULL};
static const char *const categories[] = {"signpost", NULL};
static const char *const annotations[] = {"name", NULL};

// ---- reading ------------------------------------------------------------------------------------

static struct inbound_intent decode_inbound(const struct value *map)
{
    return (struct inbound_intent){
        .metadata = emco_metadata_decode(map),
        .app = value_text_at(map, "app"),
        .app_label = value_text_at(map, "appLabel"),
        .service = value_text_at(map, "serviceName"),
        .port = value_int_at(map, "port", 0),
        .protocol = value_text_at(map, "protocol"),
        .external_name = value_text_at(map, "externalName"),
        .is_external = value_bool_at(map, "externalSupport", false),
        .is_istio = text_is(value_text_at(map, "serviceMesh"), "istio"),
    };
}

void trafficgroupintent_unpack(struct arena *arena, struct text spec,
                               struct trafficgroupintent *out)
{
    struct pack_reader in = pack_open(spec);
    const struct value *object = tree_unpack(arena, &in);
    const struct value *list = value_list_at(object, "spec.inbound");
    struct inbound_intent *inbound =
        arena_new_array(arena, struct inbound_intent, value_count(list) + 1);
    *out = (struct trafficgroupintent){
        .metadata = emco_object_metadata(object),
        .coordinates = emco_coordinates_decode(value_find(object, "spec")),
        .inbound = inbound,
    };
    value_each (map, list)
        inbound[out->inbound_count++] = decode_inbound(map);
}

bool inbound_intent_is_published(const struct inbound_intent *intent)
{
    return intent->is_external && intent->external_name.len;
}

// ---- secrets ------------------------------------------------------------------------------------

static bool contains(struct text text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if (text_equal_nocase((struct text){text.at + i, len}, text_of(word)))
            return true;
    return false;
}

static bool is_private_key(const struct value *item)
{
    return item->type == VALUE_TEXT && item->text.len &&
           (contains(item->key, "privatekey") || private_key_is_in(item->text));
}

static const struct value *children_of(const struct value *tree)
{
    return tree && (tree->type == VALUE_MAP || tree->type == VALUE_LIST) ? tree : NULL;
}

static bool has_private_key(const struct value *tree)
{
    value_each (item, children_of(tree))
        if (is_private_key(item) || has_private_key(item))
            return true;
    return false;
}

static bool has_secret(const struct value *object)
{
    return has_private_key(value_find(object, "spec"));
}

// ---- rules --------------------------------------------------------------------------------------

// A value of a tree: its way up is its path, which is built for a fault alone. Those of a deep tree
// are longer than all that is in it.
struct place {
    const struct place *parent; // NULL: the spec
    const struct value *value;
    size_t index; // among its siblings
};

static void add_path(struct buffer *out, const struct place *place)
{
    if (!place->parent) {
        buffer_add_text(out, "spec");
        return;
    }
    add_path(out, place->parent);
    if (place->parent->value->type == VALUE_LIST) {
        buffer_printf(out, "[%zu]", place->index);
        return;
    }
    finding_path_add(out, place->value->key);
}

static void refuse_private_key(const struct place *place, struct findings *findings)
{
    AUTO_BUFFER path = {0};
    if (findings_errors(findings) >= FINDINGS_MAX)
        return;
    add_path(&path, place);
    findings_add_at(findings, FINDING_ERROR, path.at,
                    "is a private key, which would stay in the object's history: put it into a "
                    "Secret and name that in external.privateKeySecret");
}

static void check_private_keys(const struct place *parent, struct findings *findings)
{
    size_t index = 0;
    value_each (item, children_of(parent->value)) {
        const struct place place = {parent, item, index++};
        if (is_private_key(item))
            refuse_private_key(&place, findings);
        check_private_keys(&place, findings);
    }
}

static void check_external_name(const struct inbound_intent *intent, const char *path,
                                struct findings *findings)
{
    struct error err;
    AUTO_BUFFER name = {0};
    const char *at = arena_printf(findings->arena, "%s.externalName", path);
    if (intent->is_external && !intent->external_name.len)
        findings_add_at(findings, FINDING_WARNING, at,
                        "without it nothing is published for externalSupport");
    if (intent->external_name.len && !external_name_write(&name, intent->external_name, &err))
        findings_add_at(findings, FINDING_WARNING, at, "this entry is not published: %s", err.text);
}

static void check_inbound(const struct value *map, size_t index, struct findings *findings)
{
    const char *path = arena_printf(findings->arena, "spec.inbound[%zu]", index);
    const struct inbound_intent intent = decode_inbound(map);
    check_external_name(&intent, path, findings);
}

static void validate(const struct value *object, struct findings *findings)
{
    const struct emco_coordinates at = emco_coordinates_decode(value_find(object, "spec"));
    const struct text coordinates[] = {at.composite_app, at.version, at.group};
    const struct place spec = {.value = value_find(object, "spec")};
    size_t index = 0;
    emco_check_name(object, coordinates, COUNT_OF(coordinates), findings);
    value_each (map, value_list_at(object, "spec.inbound"))
        check_inbound(map, index++, findings);
    check_private_keys(&spec, findings);
}

// ---- table --------------------------------------------------------------------------------------

#define WORD_FIELD(path_, what)                                                                    \
    {                                                                                              \
        .path = path_, .type = FIELD_TEXT, .max = WORD_MAX, .doc = (what)                          \
    }

static const struct field fields[] = {
    {.path = "spec",
     .type = FIELD_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "Whose services, and how they are reached."},
    EMCO_METADATA_FIELDS("spec"),
    EMCO_COORDINATE_FIELDS,
    {.path = "spec.inbound",
     .type = FIELD_LIST,
     .max = TRAFFICGROUPINTENT_INBOUND_MAX,
     .list_key = "name",
     .doc = "The services that are reached."},
    {.path = INBOUND, .type = FIELD_MAP, .doc = "One service."},
    EMCO_NAME_FIELD(INBOUND ".name", FIELD_REQUIRED, "Name of the entry."),
    EMCO_METADATA_FIELDS(INBOUND),
    EMCO_NAME_FIELD(INBOUND ".app", FIELD_REQUIRED, "The app that serves."),
    {.path = INBOUND ".appLabel",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = APP_LABEL_MAX,
     .doc = "Label of its pods."},
    EMCO_NAME_FIELD(INBOUND ".serviceName", FIELD_REQUIRED, "Name of its Service."),
    {.path = INBOUND ".port",
     .type = FIELD_INT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = PORT_MAX,
     .doc = "Port at which it serves."},
    {.path = INBOUND ".protocol",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = PROTOCOL_MAX,
     .doc = "Protocol that it speaks, such as HTTP."},
    {.path = INBOUND ".externalName",
     .type = FIELD_TEXT,
     .max = EXTERNAL_NAME_MAX,
     .doc = "The name under which it is published, if externalSupport is true."},
    {.path = INBOUND ".externalSupport",
     .type = FIELD_BOOL,
     .doc = "It is reached from outside its logical cloud."},
    WORD_FIELD(INBOUND ".serviceMesh",
               "With istio the address of its ingress gateway is published; none when absent."),
    WORD_FIELD(INBOUND ".edgeCNF", "Has no effect; none when absent."),
    {.path = INBOUND ".management", .type = FIELD_MAP, .doc = "Has no effect."},
    WORD_FIELD(INBOUND ".management.sidecarProxy", "Has no effect."),
    WORD_FIELD(INBOUND ".management.tlsType", "Has no effect."),
    {.path = INBOUND ".external", .type = FIELD_MAP, .doc = "Has no effect."},
    {.path = INBOUND ".external.externalCerts",
     .type = FIELD_ANY,
     .doc = "Certificates, which are kept; never a private key."},
    {.path = INBOUND ".external.privateKeySecret",
     .type = FIELD_MAP,
     .doc = "The Secret of the same namespace with the private key of the certificates."},
    {.path = INBOUND ".external.privateKeySecret.name",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = NAME_MAX,
     .pattern = KIND_NAME_PATTERN,
     .doc = "Its name."},
    {.path = INBOUND ".external.privateKeySecret.key",
     .type = FIELD_TEXT,
     .flags = FIELD_REQUIRED,
     .min = 1,
     .max = NAME_MAX,
     .pattern = KIND_KEY_PATTERN,
     .doc = "Its key."},
    EMCO_EXTRA_FIELD(INBOUND),
    EMCO_EXTRA_FIELD("spec"),
};

static const struct kind_column columns[] = {
    {"App", "string", ".spec.compositeApp", 0},
    {"Version", "string", ".spec.version", 0},
    {"Group", "string", ".spec.deploymentIntentGroup", 0},
    {"Description", "string", ".spec.description", 1},
    {"Age", "date", ".metadata.creationTimestamp", 0},
};

const struct kind trafficgroupintent_kind = {
    .group = DNS_GROUP,
    .version = "v1alpha1",
    .name = "TrafficGroupIntent",
    .plural = "trafficgroupintents",
    .singular = "trafficgroupintent",
    .short_names = short_names,
    .categories = categories,
    .is_namespaced = true,
    .is_on_request = true,
    .annotations = annotations,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Services of an app that are reached from outside.",
    .pack_spec = object_tree_pack,
    .validate = validate,
    .has_secret = has_secret,
};
