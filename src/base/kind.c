#include "base/kind.h"

#include <string.h>

#include "base/kind_private.h"
#include "base/must.h"

void kind_api_version(struct buffer *out, const struct kind *kind)
{
    if (*kind->group)
        buffer_printf(out, "%s/", kind->group);
    buffer_add_text(out, kind->version);
}

const char *kind_version_at(const struct kind *kind, size_t at)
{
    if (!at)
        return kind->version;
    for (size_t i = 0; kind->other_versions && kind->other_versions[i]; i++)
        if (i + 1 == at)
            return kind->other_versions[i];
    return NULL;
}

bool kind_has_version(const struct kind *kind, struct text version)
{
    const char *own;
    for (size_t i = 0; (own = kind_version_at(kind, i)); i++)
        if (text_is(version, own))
            return true;
    return false;
}

// Splits "group/version"; the core group has no slash.
static struct text split_group(struct text api_version, struct text *version)
{
    const char *slash = api_version.at ? memchr(api_version.at, '/', api_version.len) : NULL;
    if (!slash) {
        *version = api_version;
        return TEXT("");
    }
    size_t len = (size_t)(slash - api_version.at);
    *version = (struct text){slash + 1, api_version.len - len - 1};
    return (struct text){api_version.at, len};
}

const struct kind *kind_lookup(const struct kind *const *kinds, size_t count,
                               const struct value *document, bool *is_known_group)
{
    struct text version;
    struct text api_version = value_text(value_find(document, "apiVersion"));
    struct text name = value_text(value_find(document, "kind"));
    struct text group = split_group(api_version, &version);
    const struct kind *found = NULL;
    *is_known_group = false;
    for (size_t i = 0; i < count && api_version.at; i++) {
        const struct kind *kind = kinds[i];
        if (!text_is(group, kind->group))
            continue;
        *is_known_group = true;
        if (!found && kind_has_version(kind, version) && text_is(name, kind->name))
            found = kind;
    }
    return found;
}

// Does the path of a row match one of an object, where an item is "[2]"?
static bool path_matches(const char *row, const char *path)
{
    while (*row && *row == *path) {
        row++;
        path++;
        if (row[-1] == '[' && *row == ']')
            path += strspn(path, "0123456789");
    }
    return !*row && !*path;
}

const struct field *kind_find_field(const struct kind *kind, const char *path)
{
    for (size_t i = 0; i < kind->field_count; i++) {
        if (path_matches(kind->fields[i].path, path))
            return &kind->fields[i];
    }
    return NULL;
}

static int64_t longest_choice(const struct field *field)
{
    size_t longest = 0;
    for (const char *const *choice = field->choices; *choice; choice++)
        longest = strlen(*choice) > longest ? strlen(*choice) : longest;
    return (int64_t)longest;
}

static int64_t text_max(const struct field *field)
{
    if (field->choices)
        return longest_choice(field);
    return field->flags & FIELD_TIME ? KIND_TIME_MAX : KIND_TEXT_MAX;
}

static int64_t int_max(const struct field *field)
{
    if (field->flags & FIELD_INT64)
        return INT64_MAX;
    return field->flags & FIELD_UINT32 ? UINT32_MAX : INT32_MAX;
}

int64_t kind_field_max(const struct kind *kind, const struct field *field)
{
    if (field->max)
        return field->max;
    if (kind->is_lenient)
        return INT64_MAX;
    if (field->type == FIELD_INT)
        return int_max(field);
    if (kind->is_foreign)
        return INT64_MAX;
    switch (field->type) {
    case FIELD_TEXT:
        return text_max(field);
    case FIELD_LIST:
        return KIND_LIST_MAX;
    case FIELD_TEXT_MAP:
    case FIELD_INT_MAP:
        return KIND_TEXT_MAP_MAX;
    case FIELD_INT:
    case FIELD_BOOL:
    case FIELD_MAP:
    case FIELD_ANY:
        break;
    }
    return INT64_MAX;
}

int64_t kind_value_max(const struct kind *kind, const struct field *field)
{
    if (field->value_max)
        return field->value_max;
    return kind->is_foreign || kind->is_lenient ? INT64_MAX : KIND_TEXT_MAX;
}

bool kind_is_child(const struct field *parent, const struct field *row, struct text *name)
{
    size_t len = parent ? strlen(parent->path) : 0;
    const char *at = row->path + len;
    if (parent && (strncmp(row->path, parent->path, len) != 0 || *at++ != '.'))
        return false;
    *name = text_of(at);
    return name->len == strcspn(at, ".[");
}

const struct field *kind_child(const struct kind *kind, const struct field *parent,
                               struct text name)
{
    struct text own;
    for (size_t i = parent ? (size_t)(parent - kind->fields) + 1 : 0; i < kind->field_count; i++) {
        if (kind_is_child(parent, &kind->fields[i], &own) && text_equal(own, name))
            return &kind->fields[i];
    }
    return NULL;
}

const struct field *kind_items(const struct kind *kind, const struct field *list)
{
    size_t len = strlen(list->path);
    for (size_t i = (size_t)(list - kind->fields) + 1; i < kind->field_count; i++) {
        const char *path = kind->fields[i].path;
        if (strncmp(path, list->path, len) == 0 && strcmp(path + len, "[]") == 0)
            return &kind->fields[i];
    }
    return NULL;
}

struct value *kind_make_fallback(struct arena *arena, const struct field *field)
{
    struct text text = text_of(field->fallback);
    int64_t integer;
    if (field->type == FIELD_INT && text_to_int64(text, &integer))
        return value_make_int(arena, integer);
    if (field->type == FIELD_BOOL)
        return value_make_bool(arena, text_is(text, "true"));
    if (field->type == FIELD_LIST)
        return value_make(arena, VALUE_LIST);
    must(field->type == FIELD_TEXT);
    return value_make_text(arena, text);
}

static bool equals_fallback(const struct field *field, const struct value *value)
{
    struct text fallback = text_of(field->fallback);
    int64_t integer;
    if (!value || !fallback.at)
        return false;
    if (value->type == VALUE_INT)
        return text_to_int64(fallback, &integer) && integer == value->integer;
    if (value->type == VALUE_BOOL)
        return text_is(fallback, value->boolean ? "true" : "false");
    return value->type == VALUE_TEXT && text_equal(fallback, value->text);
}

static bool is_unchanged(const struct field *field, const struct value *old,
                         const struct value *new_)
{
    if (old && new_)
        return value_equal(old, new_);
    return old == new_ || equals_fallback(field, old ? old : new_);
}

void kind_check_update(const struct kind *kind, const struct value *old, const struct value *new_,
                       struct findings *findings)
{
    for (size_t i = 0; i < kind->field_count; i++) {
        const struct field *field = &kind->fields[i];
        if (!(field->flags & FIELD_IMMUTABLE))
            continue;
        must(!strchr(field->path, '['));
        if (!is_unchanged(field, value_at(old, field->path, NULL),
                          value_at(new_, field->path, NULL)))
            findings_add(findings, FINDING_ERROR, field->path, "%s is immutable", field->path);
    }
    findings_locate(findings, new_);
}
