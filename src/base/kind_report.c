#include <string.h>

#include "base/kind_private.h"
#include "base/memory.h"

static void add_step(struct buffer *out, const struct spot *spot)
{
    if (!spot->name.at) {
        buffer_printf(out, "[%zu]", spot->index);
        return;
    }
    finding_path_add(out, spot->name);
}

static void add_path(struct buffer *out, const struct spot *spot)
{
    if (!spot->parent)
        return;
    add_path(out, spot->parent);
    add_step(out, spot);
}

static const char *spot_path(struct arena *arena, const struct spot *spot)
{
    AUTO_BUFFER path = {0};
    add_path(&path, spot);
    return arena_copy(arena, buffer_text(&path).at, path.len);
}

static void place(struct finding *finding, const struct spot *spot)
{
    while (spot && !spot->value)
        spot = spot->parent;
    if (!spot)
        return;
    finding->line = spot->value->key_line ? spot->value->key_line : spot->value->line;
    finding->column = spot->value->key_line ? spot->value->key_column : spot->value->column;
}

void check_add(const struct check *check, const struct spot *spot, const char *text)
{
    size_t before = check->findings->count;
    const char *path = spot_path(check->findings->arena, spot);
    findings_add(check->findings, FINDING_ERROR, path, "%s", text);
    if (check->findings->count > before)
        place(&check->findings->items[before], spot);
}

static void fail(const struct check *check, const struct spot *spot, const char *between,
                 const char *format, va_list args) __attribute__((format(printf, 4, 0)));

static void fail(const struct check *check, const struct spot *spot, const char *between,
                 const char *format, va_list args)
{
    AUTO_BUFFER text = {0};
    const char *path = spot_path(check->findings->arena, spot);
    if (*path)
        buffer_printf(&text, "%s%s", path, between);
    buffer_vprintf(&text, format, args);
    check_add(check, spot, text.at);
}

void check_fail(const struct check *check, const struct spot *spot, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(check, spot, ": ", format, args);
    va_end(args);
}

void check_fail_bare(const struct check *check, const struct spot *spot, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(check, spot, " ", format, args);
    va_end(args);
}

void check_fail_unknown(const struct check *check, const struct spot *spot,
                        const char *const *candidates, size_t count)
{
    const char *nearest = text_nearest(spot->name, candidates, count);
    if (nearest)
        check_fail(check, spot, "unknown field; did you mean %s?", nearest);
    else
        check_fail(check, spot, "unknown field");
}

static const char *phrase(enum value_type type)
{
    static const char *const phrases[] = {
        [VALUE_NULL] = "null",      [VALUE_BOOL] = "a boolean", [VALUE_INT] = "a number",
        [VALUE_FLOAT] = "a number", [VALUE_TEXT] = "text",      [VALUE_LIST] = "a list",
        [VALUE_MAP] = "a map",
    };
    return phrases[type];
}

static const char *remedy(const struct value *value, enum value_type wanted)
{
    int64_t integer;
    if (wanted == VALUE_TEXT && value->is_plain && value->type != VALUE_NULL)
        return ": quote it";
    if (value->type != VALUE_TEXT)
        return "";
    if (wanted == VALUE_INT && text_to_int64(value->text, &integer))
        return ": remove the quotes";
    bool is_boolean = text_is(value->text, "true") || text_is(value->text, "false");
    return wanted == VALUE_BOOL && is_boolean ? ": remove the quotes" : "";
}

bool check_type(const struct check *check, const struct spot *spot, enum value_type wanted)
{
    enum value_type type = spot->value->type;
    if (type == wanted)
        return true;
    if (wanted == VALUE_INT && type == VALUE_FLOAT)
        check_fail(check, spot, "expected a whole number within 64 bits");
    else
        check_fail(check, spot, "expected %s, found %s%s", phrase(wanted), phrase(type),
                   remedy(spot->value, wanted));
    return false;
}
