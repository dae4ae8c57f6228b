#include "base/section.h"

#include <string.h>

#include "base/digest.h"

static const char *dot_between(const struct section *section, const char *key)
{
    return section->at[0] && key[0] && key[0] != '[' ? "." : "";
}

bool section_prefix(const struct section *section, const struct value *value, const char *key,
                    struct error *err)
{
    const struct value *place = value ? value : section->map;
    const char *path_end = section->at[0] || key[0] ? ": " : "";
    if (place && place->line)
        return error_prefix(err, "%s:%u:%u: %s%s%s%s", section->file, place->line, place->column,
                            section->at, dot_between(section, key), key, path_end);
    return error_prefix(err, "%s: %s%s%s%s", section->file, section->at, dot_between(section, key),
                        key, path_end);
}

bool section_fail(const struct section *section, const struct value *value, const char *key,
                  struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_setv(err, FAULT_SPEC, "InvalidConfiguration", format, args);
    va_end(args);
    return section_prefix(section, value, key, err);
}

static bool is_nothing(const struct value *value)
{
    return !value || value->type == VALUE_NULL;
}

static bool check_type(const struct section *section, const struct value *value, const char *key,
                       enum value_type type, struct error *err)
{
    if (value->type == type)
        return true;
    bool is_scalar =
        value->type == VALUE_BOOL || value->type == VALUE_INT || value->type == VALUE_FLOAT;
    return section_fail(section, value, key, err, "expected a %s, found a %s%s",
                        value_type_name(type), value_type_name(value->type),
                        type == VALUE_TEXT && is_scalar ? ": quote it" : "");
}

// *out is NULL when nothing is there.
static bool find(const struct section *section, const char *key, enum value_type type,
                 const struct value **out, struct error *err)
{
    const struct value *value = value_find(section->map, key);
    if (is_nothing(value))
        *out = NULL;
    else if (!check_type(section, value, key, type, err))
        return false;
    else
        *out = value;
    return true;
}

static bool check_terminated(const struct section *section, const struct value *value,
                             const char *key, struct error *err)
{
    if (!value->text.len || !memchr(value->text.at, '\0', value->text.len))
        return true;
    return section_fail(section, value, key, err, "a NUL is not allowed");
}

bool section_text(const struct section *section, const char *key, const char **out,
                  struct error *err)
{
    const struct value *value;
    if (!find(section, key, VALUE_TEXT, &value, err) ||
        (value && !check_terminated(section, value, key, err)))
        return false;
    *out = value && value->text.len ? arena_copy(section->arena, value->text.at, value->text.len)
                                    : NULL;
    return true;
}

bool section_path(const struct section *section, const char *key, const char **out,
                  struct error *err)
{
    const char *path;
    if (!section_text(section, key, &path, err))
        return false;
    *out = path && path[0] != '/' ? arena_printf(section->arena, "%s/%s", section->folder, path)
                                  : path;
    return true;
}

bool section_bool(const struct section *section, const char *key, bool *out, struct error *err)
{
    const struct value *value;
    if (!find(section, key, VALUE_BOOL, &value, err))
        return false;
    *out = value && value->boolean;
    return true;
}

bool section_secret(const struct section *section, const char *key, struct secret **out,
                    struct error *err)
{
    const struct value *value;
    if (!find(section, key, VALUE_TEXT, &value, err))
        return false;
    *out = value && value->text.len ? secret_new(value->text.at, value->text.len) : NULL;
    return true;
}

static struct secret *decode_pem(struct text base64)
{
    AUTO_BUFFER pem = {0};
    struct secret *secret = NULL;
    buffer_reserve(&pem, base64.len + 1); // no growing: it would leave a copy behind
    if (base64_decode(&pem, base64, NULL) && pem.len && strstr(pem.at, "-----BEGIN "))
        secret = secret_new(pem.at, pem.len);
    secret_wipe(pem.at, pem.capacity);
    return secret;
}

bool section_pem(const struct section *section, const char *key, struct secret **out,
                 struct error *err)
{
    const struct value *value;
    if (!find(section, key, VALUE_TEXT, &value, err))
        return false;
    struct secret *secret = value && value->text.len ? decode_pem(value->text) : NULL;
    if (value && value->text.len && !secret)
        return section_fail(section, value, key, err, "expected the base64 of PEM");
    *out = secret;
    return true;
}

bool section_list(const struct section *section, const char *key, size_t limit, const char ***out,
                  struct error *err)
{
    const struct value *list;
    if (!find(section, key, VALUE_LIST, &list, err))
        return false;
    if (value_count(list) > limit)
        return section_fail(section, list, key, err, "more than %zu entries", limit);
    const char **texts = arena_new_array(section->arena, const char *, value_count(list) + 1);
    size_t at = 0;
    value_each (item, list) {
        if (!check_type(section, item, key, VALUE_TEXT, err) ||
            !check_terminated(section, item, key, err))
            return false;
        texts[at++] = arena_copy(section->arena, item->text.at, item->text.len);
    }
    *out = at ? texts : NULL;
    return true;
}

bool section_map(const struct section *section, const char *key, struct section *out,
                 struct error *err)
{
    const struct value *map;
    if (!find(section, key, VALUE_MAP, &map, err))
        return false;
    struct section below = *section;
    below.at = arena_printf(section->arena, "%s%s%s", section->at, dot_between(section, key), key);
    below.map = map;
    *out = below;
    return true;
}

bool section_check_plain(const struct section *section, const char *key, const char *text,
                         struct error *err)
{
    for (; text && *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return section_fail(section, value_find(section->map, key), key, err,
                                "control characters are not allowed");
    return true;
}
