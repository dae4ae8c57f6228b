#include <string.h>

#include "base/kind_private.h"
#include "base/memory.h"
#include "base/must.h"

// The CRD is built as a tree and written by value_write_yaml, so quoting is nobody's business here.
struct crd {
    const struct kind *kind;
    struct arena *arena;
};

static struct value *schema_of(const struct crd *crd, const struct field *row);

static struct value *add(const struct crd *crd, struct value *map, const char *key,
                         enum value_type type)
{
    return value_put(crd->arena, map, key, value_make(crd->arena, type));
}

static void add_texts(const struct crd *crd, struct value *map, const char *key,
                      const char *const *texts)
{
    if (!texts || !texts[0])
        return;
    value_put_texts(crd->arena, map, key, texts);
}

static void add_rule(const struct crd *crd, struct value *schema, const char *rule,
                     const char *message)
{
    static const char key[] = "x-kubernetes-validations";
    struct value *rules = value_find(schema, key);
    if (!rules)
        rules = add(crd, schema, key, VALUE_LIST);
    struct value *entry = value_make(crd->arena, VALUE_MAP);
    value_put_text(crd->arena, entry, "message", message);
    value_put_text(crd->arena, entry, "rule", rule);
    value_append(rules, entry);
}

static void add_rules(const struct crd *crd, struct value *schema, const char *path)
{
    for (size_t i = 0; i < crd->kind->rule_count; i++) {
        const struct kind_rule *rule = &crd->kind->rules[i];
        if (strcmp(rule->path, path) == 0)
            add_rule(crd, schema, rule->rule, rule->message);
    }
}

static const char *immutable_text(const struct crd *crd, const struct field *row)
{
    return arena_printf(crd->arena, "%s is immutable", row->path);
}

// CEL writes a reserved word between underscores.
static const char *cel_name(const struct crd *crd, const char *name)
{
    static const char *const reserved[] = {
        "true",     "false",   "null",      "in",     "as",     "break", "const",
        "continue", "else",    "for",       "if",     "import", "let",   "loop",
        "function", "package", "namespace", "return", "var",    "void",  "while",
    };
    for (size_t i = 0; i < COUNT_OF(reserved); i++) {
        if (strcmp(name, reserved[i]) == 0)
            return arena_printf(crd->arena, "__%s__", name);
    }
    return name;
}

// A rule on a field is skipped where old or new lack it, so an optional one also needs a rule on
// the map around it.
static void add_presence_rule(const struct crd *crd, struct value *schema, const struct field *row,
                              const char *name)
{
    if (!(row->flags & FIELD_IMMUTABLE) || (row->flags & FIELD_REQUIRED))
        return;
    const char *safe = cel_name(crd, name);
    add_rule(crd, schema, arena_printf(crd->arena, "has(self.%s) == has(oldSelf.%s)", safe, safe),
             immutable_text(crd, row));
}

static void add_max(const struct crd *crd, struct value *schema, const char *key,
                    const struct field *row)
{
    int64_t max = kind_field_max(crd->kind, row);
    if (max != INT64_MAX)
        value_put_int(crd->arena, schema, key, max);
}

static void add_text_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    value_put_text(crd->arena, schema, "type", "string");
    if (row->flags & FIELD_TIME)
        value_put_text(crd->arena, schema, "format", "date-time");
    if (row->flags & FIELD_BYTES)
        value_put_text(crd->arena, schema, "format", "byte");
    add_texts(crd, schema, "enum", row->choices);
    if (row->pattern)
        value_put_text(crd->arena, schema, "pattern", row->pattern);
    if (row->min > 0)
        value_put_int(crd->arena, schema, "minLength", row->min);
    add_max(crd, schema, "maxLength", row);
}

// Of OpenAPI's formats int64 is the one that holds 32 bits without sign; for others API servers
// warn whoever applies the CRD.
static const char *int_format(const struct field *row)
{
    return row->flags & (FIELD_INT64 | FIELD_UINT32) ? "int64" : "int32";
}

static void add_int_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    value_put_text(crd->arena, schema, "type", "integer");
    value_put_text(crd->arena, schema, "format", int_format(row));
    value_put_int(crd->arena, schema, "minimum", row->min);
    add_max(crd, schema, "maximum", row);
}

static void add_bool_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    (void)row;
    value_put_text(crd->arena, schema, "type", "boolean");
}

static void add_properties(const struct crd *crd, struct value *schema, const struct field *row)
{
    struct value *properties = NULL;
    struct value *required = NULL;
    struct text name;
    size_t from = row ? (size_t)(row - crd->kind->fields) + 1 : 0;
    for (size_t i = from; i < crd->kind->field_count; i++) {
        const struct field *child = &crd->kind->fields[i];
        if (!kind_is_child(row, child, &name))
            continue;
        properties = value_find(schema, "properties");
        if (!properties)
            properties = add(crd, schema, "properties", VALUE_MAP);
        value_set(properties, name, schema_of(crd, child));
        add_presence_rule(crd, schema, child, name.at);
        if (!(child->flags & FIELD_REQUIRED))
            continue;
        if (!required)
            required = value_make(crd->arena, VALUE_LIST);
        value_append(required, value_make_text(crd->arena, name));
    }
    if (required)
        value_set(schema, TEXT("required"), required);
}

static void add_map_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    value_put_text(crd->arena, schema, "type", "object");
    add_properties(crd, schema, row);
}

static void add_list_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    const struct field *items = kind_items(crd->kind, row);
    must(items);
    value_put_text(crd->arena, schema, "type", "array");
    if (row->min > 0)
        value_put_int(crd->arena, schema, "minItems", row->min);
    add_max(crd, schema, "maxItems", row);
    value_set(schema, TEXT("items"), schema_of(crd, items));
    if (!row->list_key)
        return;
    value_put_text(crd->arena, schema, "x-kubernetes-list-type", "map");
    add_texts(crd, schema, "x-kubernetes-list-map-keys",
              (const char *const[]){row->list_key, NULL});
}

static void add_entries(const struct crd *crd, struct value *schema, const struct field *row)
{
    if (row->min > 0)
        value_put_int(crd->arena, schema, "minProperties", row->min);
    add_max(crd, schema, "maxProperties", row);
}

static void add_text_map_limits(const struct crd *crd, struct value *schema,
                                const struct field *row)
{
    value_put_text(crd->arena, schema, "type", "object");
    struct value *values = add(crd, schema, "additionalProperties", VALUE_MAP);
    value_put_text(crd->arena, values, "type", "string");
    if (row->flags & FIELD_BYTES)
        value_put_text(crd->arena, values, "format", "byte");
    int64_t max = kind_value_max(crd->kind, row);
    if (max != INT64_MAX)
        value_put_int(crd->arena, values, "maxLength", max);
    add_entries(crd, schema, row);
}

static void add_int_map_limits(const struct crd *crd, struct value *schema, const struct field *row)
{
    value_put_text(crd->arena, schema, "type", "object");
    struct value *values = add(crd, schema, "additionalProperties", VALUE_MAP);
    value_put_text(crd->arena, values, "type", "integer");
    value_put_text(crd->arena, values, "format", int_format(row));
    add_entries(crd, schema, row);
}

static void add_any(const struct crd *crd, struct value *schema, const struct field *row)
{
    (void)row;
    value_put_bool(crd->arena, schema, "x-kubernetes-preserve-unknown-fields", true);
}

static void add_default(const struct crd *crd, struct value *schema, const struct field *row)
{
    if (row->fallback)
        value_set(schema, TEXT("default"), kind_make_fallback(crd->arena, row));
}

static struct value *schema_of(const struct crd *crd, const struct field *row)
{
    static void (*const by_type[])(const struct crd *, struct value *, const struct field *) = {
        [FIELD_TEXT] = add_text_limits,       [FIELD_INT] = add_int_limits,
        [FIELD_BOOL] = add_bool_limits,       [FIELD_MAP] = add_map_limits,
        [FIELD_LIST] = add_list_limits,       [FIELD_TEXT_MAP] = add_text_map_limits,
        [FIELD_INT_MAP] = add_int_map_limits, [FIELD_ANY] = add_any,
    };
    struct value *schema = value_make(crd->arena, VALUE_MAP);
    if (row->doc)
        value_put_text(crd->arena, schema, "description", row->doc);
    by_type[row->type](crd, schema, row);
    if (row->flags & FIELD_NULLABLE)
        value_put_bool(crd->arena, schema, "nullable", true);
    add_default(crd, schema, row);
    add_rules(crd, schema, row->path);
    if (row->flags & FIELD_IMMUTABLE)
        add_rule(crd, schema, "self == oldSelf", immutable_text(crd, row));
    return schema;
}

static struct value *root_schema(const struct crd *crd)
{
    static const char *const texts[] = {"apiVersion", "kind"};
    struct value *schema = value_make(crd->arena, VALUE_MAP);
    if (crd->kind->doc)
        value_put_text(crd->arena, schema, "description", crd->kind->doc);
    value_put_text(crd->arena, schema, "type", "object");
    struct value *properties = add(crd, schema, "properties", VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        value_put_text(crd->arena, add(crd, properties, texts[i], VALUE_MAP), "type", "string");
    value_put_text(crd->arena, add(crd, properties, "metadata", VALUE_MAP), "type", "object");
    add_properties(crd, schema, NULL);
    add_rules(crd, schema, "");
    return schema;
}

static void add_columns(const struct crd *crd, struct value *version)
{
    if (!crd->kind->column_count)
        return;
    struct value *columns = add(crd, version, "additionalPrinterColumns", VALUE_LIST);
    for (size_t i = 0; i < crd->kind->column_count; i++) {
        const struct kind_column *column = &crd->kind->columns[i];
        struct value *entry = value_make(crd->arena, VALUE_MAP);
        value_put_text(crd->arena, entry, "jsonPath", column->json_path);
        value_put_text(crd->arena, entry, "name", column->name);
        if (column->priority)
            value_put_int(crd->arena, entry, "priority", column->priority);
        value_put_text(crd->arena, entry, "type", column->type);
        value_append(columns, entry);
    }
}

static void add_names(const struct crd *crd, struct value *spec)
{
    const struct kind *kind = crd->kind;
    struct value *names = add(crd, spec, "names", VALUE_MAP);
    add_texts(crd, names, "categories", kind->categories);
    value_put_text(crd->arena, names, "kind", kind->name);
    value_put_text(crd->arena, names, "listKind", arena_printf(crd->arena, "%sList", kind->name));
    value_put_text(crd->arena, names, "plural", kind->plural);
    add_texts(crd, names, "shortNames", kind->short_names);
    value_put_text(crd->arena, names, "singular", kind->singular);
}

static void add_version(const struct crd *crd, struct value *spec)
{
    struct value *version = value_make(crd->arena, VALUE_MAP);
    value_append(add(crd, spec, "versions", VALUE_LIST), version);
    add_columns(crd, version);
    value_put_text(crd->arena, version, "name", crd->kind->version);
    struct value *schema = add(crd, version, "schema", VALUE_MAP);
    value_set(schema, TEXT("openAPIV3Schema"), root_schema(crd));
    value_put_bool(crd->arena, version, "served", true);
    value_put_bool(crd->arena, version, "storage", true);
    if (crd->kind->has_status)
        add(crd, add(crd, version, "subresources", VALUE_MAP), "status", VALUE_MAP);
}

void kind_write_crd(struct buffer *out, const struct kind *kind)
{
    must(!kind->is_foreign);
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct crd crd = {kind, arena};
    struct value *root = value_make(arena, VALUE_MAP);
    value_put_text(arena, root, "apiVersion", "apiextensions.k8s.io/v1");
    value_put_text(arena, root, "kind", "CustomResourceDefinition");
    struct value *metadata = add(&crd, root, "metadata", VALUE_MAP);
    value_put_text(arena, metadata, "name",
                   arena_printf(arena, "%s.%s", kind->plural, kind->group));
    struct value *spec = add(&crd, root, "spec", VALUE_MAP);
    value_put_text(arena, spec, "group", kind->group);
    add_names(&crd, spec);
    value_put_text(arena, spec, "scope", kind->is_namespaced ? "Namespaced" : "Cluster");
    add_version(&crd, spec);
    buffer_add_text(out, "---\n");
    value_write_yaml(out, root, 0);
}
