#include <string.h>

#include "base/kind.h"
#include "base/memory.h"

static size_t count_level(const struct findings *findings, enum finding_level level)
{
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].level == level;
    return count;
}

void findings_add(struct findings *findings, enum finding_level level, const char *path,
                  const char *format, ...)
{
    if (count_level(findings, level) >= FINDINGS_MAX)
        return;
    arena_reserve(findings->arena, &findings->items, &findings->capacity, findings->count + 1);
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    findings->items[findings->count++] = (struct finding){
        .level = level,
        .path = arena_copy_text(findings->arena, path),
        .text = arena_copy(findings->arena, buffer_text(&text).at, text.len),
    };
}

void findings_add_at(struct findings *findings, enum finding_level level, const char *path,
                     const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_printf(&text, "%s: ", path);
    buffer_vprintf(&text, format, args);
    va_end(args);
    findings_add(findings, level, path, "%s", text.at);
}

void finding_path_add(struct buffer *path, struct text name)
{
    bool has_dot = name.len && memchr(name.at, '.', name.len);
    if (has_dot)
        buffer_add_char(path, '[');
    else if (path->len)
        buffer_add_char(path, '.');
    text_clean(path, name, FINDING_NAME_MAX);
    if (has_dot)
        buffer_add_char(path, ']');
}

size_t findings_errors(const struct findings *findings)
{
    return count_level(findings, FINDING_ERROR);
}

const char *findings_join(const struct findings *findings, enum finding_level level)
{
    AUTO_BUFFER joined = {0};
    if (!count_level(findings, level))
        return NULL;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].level != level)
            continue;
        if (joined.len)
            buffer_add_text(&joined, "; ");
        buffer_add_text(&joined, findings->items[i].text);
    }
    return arena_copy(findings->arena, buffer_text(&joined).at, joined.len);
}

// Texts that name their field do so from the object's root, or from the spec.
static bool names_field(const struct finding *finding)
{
    const char *path = finding->path;
    struct text text = text_of(finding->text);
    return text_starts(text, path) ||
           (text_starts(text_of(path), "spec.") && text_starts(text, path + strlen("spec.")));
}

const char *finding_text(struct arena *arena, const struct finding *finding)
{
    if (names_field(finding))
        return arena_copy_text(arena, finding->text);
    return arena_printf(arena, "%s: %s", finding->path, finding->text);
}

// "spec.values[0]" lies below "spec.values".
static bool is_at_or_below(const char *path, const char *above)
{
    size_t len = strlen(above);
    return !strncmp(path, above, len) &&
           (path[len] == '\0' || path[len] == '.' || path[len] == '[');
}

static bool is_echo(const struct findings *findings, size_t shapes, const struct finding *finding)
{
    for (size_t i = 0; i < shapes; i++)
        if (is_at_or_below(finding->path, findings->items[i].path))
            return true;
    return false;
}

void findings_drop_echoes(struct findings *findings, size_t shapes)
{
    size_t kept = shapes;
    for (size_t i = shapes; i < findings->count; i++)
        if (!is_echo(findings, shapes, &findings->items[i]))
            findings->items[kept++] = findings->items[i];
    findings->count = kept;
}

void findings_locate(struct findings *findings, const struct value *object)
{
    for (size_t i = 0; i < findings->count; i++) {
        struct finding *finding = &findings->items[i];
        const struct value *nearest;
        if (finding->line)
            continue;
        value_at(object, finding->path, &nearest);
        if (!nearest)
            continue;
        finding->line = nearest->key_line ? nearest->key_line : nearest->line;
        finding->column = nearest->key_line ? nearest->key_column : nearest->column;
    }
}
