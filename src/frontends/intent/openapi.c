#include "frontends/intent/openapi.h"

#include <string.h>

#include "frontends/intent/route.h"
#include "kinds/emco_metadata.h"

static struct value *put_map(struct arena *arena, struct value *parent, const char *key)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(parent, text_of(key), map);
    return map;
}

static void put_text(struct arena *arena, struct value *map, const char *key, const char *text)
{
    if (text)
        value_set(map, text_of(key), value_make_text(arena, text_of(text)));
}

static struct value *schema_of_type(struct arena *arena, const char *type)
{
    struct value *schema = value_make(arena, VALUE_MAP);
    put_text(arena, schema, "type", type);
    return schema;
}

// ---- schemas out of a kind's table --------------------------------------------------------------

static struct value *schema_at(struct arena *arena, const struct kind *kind,
                               const struct field *field);

// Is `path` that of a direct member of the map at `parent`? Its own name goes to *name.
static bool is_member(const char *path, const char *parent, const char **name)
{
    size_t len = strlen(parent);
    if (strncmp(path, parent, len) != 0 || path[len] != '.')
        return false;
    *name = path + len + 1;
    return !strpbrk(*name, ".[");
}

static void put_members(struct arena *arena, const struct kind *kind, const char *parent,
                        const struct resource *resource, struct value *schema)
{
    struct value *properties = value_make(arena, VALUE_MAP);
    struct value *required = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < kind->field_count; i++) {
        const struct field *field = &kind->fields[i];
        const char *name;
        if (!is_member(field->path, parent, &name))
            continue;
        if (resource && resource->rename.object && !strcmp(name, resource->rename.object))
            name = resource->rename.body;
        else if (resource && resource_hides(resource, name, strlen(name)))
            continue;
        value_set(properties, text_of(name), schema_at(arena, kind, field));
        if (field->flags & FIELD_REQUIRED)
            value_append(required, value_make_text(arena, text_of(name)));
    }
    if (properties->first)
        value_set(schema, TEXT("properties"), properties);
    if (required->first)
        value_set(schema, TEXT("required"), required);
}

static void put_bounds(struct arena *arena, const struct kind *kind, const struct field *field,
                       struct value *schema)
{
    static const char *const least[] = {[FIELD_TEXT] = "minLength",
                                        [FIELD_INT] = "minimum",
                                        [FIELD_LIST] = "minItems",
                                        [FIELD_TEXT_MAP] = "minProperties"};
    static const char *const most[] = {[FIELD_TEXT] = "maxLength",
                                       [FIELD_INT] = "maximum",
                                       [FIELD_LIST] = "maxItems",
                                       [FIELD_TEXT_MAP] = "maxProperties"};
    int64_t max = kind_field_max(kind, field);
    bool has_bounds = field->type < COUNT_OF(least) && least[field->type];
    if (has_bounds && field->min)
        value_set(schema, text_of(least[field->type]), value_make_int(arena, field->min));
    if (has_bounds && max != INT64_MAX)
        value_set(schema, text_of(most[field->type]), value_make_int(arena, max));
    put_text(arena, schema, "pattern", field->pattern);
    if (field->choices)
        value_put_texts(arena, schema, "enum", field->choices);
}

static struct value *schema_at(struct arena *arena, const struct kind *kind,
                               const struct field *field)
{
    static const char *const types[] = {
        [FIELD_TEXT] = "string", [FIELD_INT] = "integer",    [FIELD_BOOL] = "boolean",
        [FIELD_MAP] = "object",  [FIELD_LIST] = "array",     [FIELD_TEXT_MAP] = "object",
        [FIELD_ANY] = NULL,      [FIELD_INT_MAP] = "object",
    };
    struct value *schema = schema_of_type(arena, types[field->type]);
    put_text(arena, schema, "description", field->doc);
    put_bounds(arena, kind, field, schema);
    if (field->type == FIELD_MAP)
        put_members(arena, kind, field->path, NULL, schema);
    if (field->type == FIELD_LIST) {
        const struct field *item = kind_find_field(kind, arena_printf(arena, "%s[0]", field->path));
        value_set(schema, TEXT("items"),
                  item ? schema_at(arena, kind, item) : value_make(arena, VALUE_MAP));
    }
    if (field->type == FIELD_TEXT_MAP || field->type == FIELD_INT_MAP)
        value_set(schema, TEXT("additionalProperties"),
                  schema_of_type(arena, field->type == FIELD_TEXT_MAP ? "string" : "integer"));
    return schema;
}

// ---- schemas of bodies --------------------------------------------------------------------------

static void put_metadata_text(struct arena *arena, struct value *properties, const char *name,
                              int64_t max)
{
    struct value *schema = schema_of_type(arena, "string");
    value_set(schema, TEXT("maxLength"), value_make_int(arena, max));
    value_set(properties, text_of(name), schema);
}

static struct value *metadata_schema(struct arena *arena)
{
    struct value *schema = schema_of_type(arena, "object");
    struct value *properties = put_map(arena, schema, "properties");
    put_metadata_text(arena, properties, "name", EMCO_NAME_MAX);
    put_text(arena, value_find(properties, "name"), "pattern", EMCO_NAME_PATTERN);
    put_metadata_text(arena, properties, "description", EMCO_DESCRIPTION_MAX);
    put_metadata_text(arena, properties, "userData1", EMCO_USER_DATA_MAX);
    put_metadata_text(arena, properties, "userData2", EMCO_USER_DATA_MAX);
    value_put_texts(arena, schema, "required", (const char *const[]){"name", NULL});
    value_put_bool(arena, schema, "additionalProperties", false);
    return schema;
}

static struct value *body_schema(struct arena *arena, const struct resource *resource)
{
    struct value *schema = schema_of_type(arena, "object");
    struct value *properties = put_map(arena, schema, "properties");
    put_text(arena, schema, "description", resource->doc);
    value_put_bool(arena, schema, "additionalProperties", false);
    if (!resource->hidden) {
        put_metadata_text(arena, properties, "clusterLabel", EMCO_NAME_MAX);
        return schema;
    }
    value_set(properties, TEXT("metadata"), metadata_schema(arena));
    if (!resource->has_spec)
        return schema;
    const char *parent = resource->list ? arena_printf(arena, "spec.%s[]", resource->list) : "spec";
    struct value *spec = schema_of_type(arena, "object");
    put_members(arena, resource->kind, parent, resource, spec);
    value_put_bool(arena, spec, "additionalProperties", resource->keeps_unknown);
    value_set(properties, TEXT("spec"), spec);
    return schema;
}

// The schema of the body with which a GET of `/status` is answered.
static struct value *status_schema(struct arena *arena, const struct kind *kind)
{
    struct value *schema = schema_of_type(arena, "object");
    struct value *properties = put_map(arena, schema, "properties");
    struct value *metadata = schema_of_type(arena, "object");
    put_metadata_text(arena, put_map(arena, metadata, "properties"), "name", EMCO_NAME_MAX);
    value_set(properties, TEXT("metadata"), metadata);
    value_set(properties, TEXT("status"), schema_at(arena, kind, kind_find_field(kind, "status")));
    return schema;
}

static const char *status_schema_name(struct arena *arena, const struct resource *resource)
{
    return arena_printf(arena, "%s-status", resource->route);
}

// ---- paths --------------------------------------------------------------------------------------

static const struct {
    const char *methods;
    const char *code;
    const char *text;
} other_answers[] = {
    {"post delete", "200",
     "With dryRun=All: every object that would be written, as the store would hold it."},
    {"put", "201", "It is new."},
    {"get", "304", "It is as If-None-Match names it."},
    {"get post put delete", "400", "The request breaks a rule."},
    {"get post put delete", "401", "It is not known who asks."},
    {"get post put delete", "403", "Who asks may not do that."},
    {"get post put delete", "404", "There is no such item."},
    {"post put delete", "409", "It exists, is in use, or what it belongs to is missing."},
    {"put delete", "412", "It is not as If-Match or If-None-Match names it."},
    {"post put", "413", "The body is too large."},
    {"post put", "422", "The body is not JSON, or a value has another type."},
    {"get post put delete", "503", "The store is away: try again after Retry-After."},
};

static const char *const moves[] = {"drain", "abandon", NULL};
static const char *const dry_runs[] = {"All", NULL};

// In queries. ROUTE_OPENAPI: of all paths.
static const struct {
    const char *methods;
    enum route_action action;
    const struct resource *of; // NULL: of all
    const char *name;
    const char *type;
    const char *const *choices; // NULL: any
    const char *text;
} parameters[] = {
    {"get", ROUTE_LIST, NULL, "limit", "integer", NULL,
     "1 to 1000: so many items, and a Link to the next ones."},
    {"get", ROUTE_LIST, NULL, "continue", "string", NULL, "Items behind the one of that name."},
    {"get", ROUTE_ITEM, &resources[RESOURCE_CLUSTER_PAIRS], "key", "string", NULL,
     "The value of that key alone."},
    {"put", ROUTE_ITEM, &resources[RESOURCE_RECORD], "move", "string", moves,
     "Names may be absent while the record moves to another place. \"abandon\": what the old place "
     "does not remove stays there."},
    {"post", ROUTE_LIST, NULL, "strict", "boolean", NULL, "What it names must be there."},
    {"put", ROUTE_ITEM, NULL, "strict", "boolean", NULL, "What it names must be there."},
    {"post put delete", ROUTE_OPENAPI, NULL, "dryRun", "string", dry_runs,
     "Nothing is stored, and the answer is 200 with every object that would be written, as the "
     "store would hold it."},
};

static void put_answer(struct arena *arena, struct value *answers, const char *code,
                       const char *text, const char *schema, bool is_list)
{
    struct value *answer = put_map(arena, answers, code);
    put_text(arena, answer, "description", text);
    if (!schema)
        return;
    struct value *content = put_map(arena, answer, "content");
    struct value *json = put_map(arena, put_map(arena, content, "application/json"), "schema");
    if (is_list) {
        put_text(arena, json, "type", "array");
        json = put_map(arena, json, "items");
    }
    put_text(arena, json, "$ref", arena_printf(arena, "#/components/schemas/%s", schema));
}

static void put_other_answers(struct arena *arena, struct value *answers, const char *method,
                              const char *schema)
{
    for (size_t i = 0; i < COUNT_OF(other_answers); i++)
        if (strstr(other_answers[i].methods, method))
            put_answer(arena, answers, other_answers[i].code, other_answers[i].text,
                       !strcmp(other_answers[i].code, "201") ? schema : NULL, false);
}

static bool has_parameter(size_t at, const struct resource *resource, enum route_action action,
                          const char *method)
{
    enum route_action of = parameters[at].action;
    return strstr(parameters[at].methods, method) && (of == ROUTE_OPENAPI || of == action) &&
           (!parameters[at].of || parameters[at].of == resource);
}

static void put_query(struct arena *arena, struct value *operation, const struct resource *resource,
                      enum route_action action, const char *method)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < COUNT_OF(parameters); i++) {
        if (!has_parameter(i, resource, action, method))
            continue;
        struct value *parameter = value_make(arena, VALUE_MAP);
        struct value *schema = schema_of_type(arena, parameters[i].type);
        put_text(arena, parameter, "name", parameters[i].name);
        put_text(arena, parameter, "in", "query");
        put_text(arena, parameter, "description", parameters[i].text);
        if (parameters[i].choices)
            value_put_texts(arena, schema, "enum", parameters[i].choices);
        value_set(parameter, TEXT("schema"), schema);
        value_append(list, parameter);
    }
    if (list->first)
        value_set(operation, TEXT("parameters"), list);
}

// A cluster may come with its kubeconfig, as a file of its own.
static void put_parts(struct arena *arena, struct value *content, const char *schema)
{
    struct value *form = put_map(arena, content, "multipart/form-data");
    struct value *parts = put_map(arena, form, "schema");
    put_text(arena, parts, "type", "object");
    struct value *properties = put_map(arena, parts, "properties");
    put_text(arena, put_map(arena, properties, "metadata"), "$ref", schema);
    struct value *file = schema_of_type(arena, "string");
    put_text(arena, file, "format", "binary");
    value_set(properties, TEXT("file"), file);
    value_put_texts(arena, parts, "required", (const char *const[]){"metadata", NULL});
}

static void put_body(struct arena *arena, struct value *operation, const struct resource *resource)
{
    struct value *body = put_map(arena, operation, "requestBody");
    const char *schema = arena_printf(arena, "#/components/schemas/%s", resource->route);
    value_put_bool(arena, body, "required", true);
    struct value *content = put_map(arena, body, "content");
    struct value *json = put_map(arena, content, "application/json");
    put_text(arena, put_map(arena, json, "schema"), "$ref", schema);
    if (resource == &resources[RESOURCE_CLUSTER])
        put_parts(arena, content, schema);
}

static const char *lower_case(struct arena *arena, struct text method)
{
    char *out = arena_copy(arena, method.at, method.len);
    for (size_t i = 0; i < method.len; i++)
        out[i] |= 0x20;
    return out;
}

static void put_operation(struct arena *arena, struct value *path, const struct resource *resource,
                          enum route_action action, struct text method)
{
    bool is_get = text_is(method, "GET");
    bool has_body = (action == ROUTE_LIST && !is_get) || text_is(method, "PUT");
    bool shows_item = action <= ROUTE_ITEM && !text_is(method, "DELETE");
    const char *code = text_is(method, "DELETE")            ? "204"
                       : action == ROUTE_LIST && !is_get    ? "201"
                       : action >= ROUTE_APPROVE && !is_get ? "202"
                                                            : "200";
    const char *verb = lower_case(arena, method);
    const char *schema = shows_item               ? resource->route
                         : action == ROUTE_STATUS ? status_schema_name(arena, resource)
                                                  : NULL;
    struct value *operation = put_map(arena, path, verb);
    put_text(arena, operation, "summary", resource->doc);
    struct value *answers = put_map(arena, operation, "responses");
    put_answer(arena, answers, code, "Done.", schema, action == ROUTE_LIST && is_get);
    put_other_answers(arena, answers, verb, shows_item ? resource->route : NULL);
    put_query(arena, operation, resource, action, verb);
    if (has_body)
        put_body(arena, operation, resource);
}

static void put_parameters(struct arena *arena, struct value *path, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < count; i++) {
        struct value *parameter = value_make(arena, VALUE_MAP);
        put_text(arena, parameter, "name", arena_printf(arena, "name%zu", i + 1));
        put_text(arena, parameter, "in", "path");
        value_put_bool(arena, parameter, "required", true);
        value_set(parameter, TEXT("schema"), schema_of_type(arena, "string"));
        value_append(list, parameter);
    }
    if (count)
        value_set(path, TEXT("parameters"), list);
}

static void put_path(struct arena *arena, struct value *paths, enum resource_id id,
                     enum route_action action)
{
    const struct resource *resource = &resources[id];
    bool is_apps = action == ROUTE_APPS;
    size_t count = is_apps ? 1 : resource->name_count - (action == ROUTE_LIST);
    struct text names[RESOURCE_NAMES_MAX];
    AUTO_BUFFER at = {0};
    if (!route_takes(id, action))
        return;
    for (size_t i = 0; i < count; i++)
        names[i] = text_of(arena_printf(arena, "{name%zu}", i + 1));
    route_write_path(&at, is_apps ? RESOURCE_PROJECT : id, names, action != ROUTE_LIST);
    if (is_apps)
        buffer_add_text(&at, "/composite-apps");
    if (route_action_word(action))
        buffer_printf(&at, "/%s", route_action_word(action));
    struct value *path = put_map(arena, paths, arena_copy_text(arena, at.at));
    put_parameters(arena, path, count);
    struct text rest = text_of(route_methods(action));
    struct text method;
    while (text_cut(&rest, ',', &method))
        put_operation(arena, path, resource, action, text_trim(method));
}

struct value *openapi_document(struct arena *arena)
{
    struct value *document = value_make(arena, VALUE_MAP);
    put_text(arena, document, "openapi", "3.0.2");
    struct value *info = put_map(arena, document, "info");
    put_text(arena, info, "title", "Signpost: DNS update records");
    put_text(arena, info, "version", SIGNPOST_VERSION);
    struct value *paths = put_map(arena, document, "paths");
    struct value *schemas = put_map(arena, put_map(arena, document, "components"), "schemas");
    for (enum resource_id id = 0; id < RESOURCES; id++) {
        for (enum route_action action = ROUTE_LIST; action < ROUTE_OPENAPI; action++)
            put_path(arena, paths, id, action);
        value_set(schemas, text_of(resources[id].route), body_schema(arena, &resources[id]));
        if (route_takes(id, ROUTE_STATUS))
            value_set(schemas, text_of(status_schema_name(arena, &resources[id])),
                      status_schema(arena, resources[id].kind));
    }
    return document;
}
