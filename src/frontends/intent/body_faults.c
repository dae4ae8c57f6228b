#include "frontends/intent/body_faults.h"

#include <stdarg.h>
#include <stdio.h>

static const char *format_text(struct arena *arena, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
static const char *format_text(struct arena *arena, const char *format, va_list args)
{
    AUTO_BUFFER text = {0};
    buffer_vprintf(&text, format, args);
    return arena_copy(arena, buffer_text(&text).at, text.len);
}

void body_faults_add(struct body_faults *faults, const char *pointer, const char *format, ...)
{
    va_list args;
    if (faults->count == FAULTS_MAX)
        return;
    va_start(args, format);
    faults->items[faults->count++] =
        (struct fault_line){pointer, format_text(faults->arena, format, args)};
    va_end(args);
}

void body_faults_warn(struct body_faults *faults, const char *format, ...)
{
    va_list args;
    if (faults->warning_count == WARNINGS_MAX)
        return;
    va_start(args, format);
    faults->warnings[faults->warning_count++] = format_text(faults->arena, format, args);
    va_end(args);
}

static void add_escaped(struct buffer *out, char c)
{
    if (c == '~')
        buffer_add_text(out, "~0");
    else if (c == '/')
        buffer_add_text(out, "~1");
    else
        buffer_add_char(out, c);
}

const char *body_faults_pointer(struct arena *arena, const char *parent, const char *path)
{
    AUTO_BUFFER out = {0};
    bool is_inside = false; // of brackets, where a dot is one of the name
    buffer_add_text(&out, parent);
    if (*path && *path != '[' && *path != '.')
        buffer_add_char(&out, '/');
    for (; *path; path++) {
        if (*path == '[' || (*path == '.' && !is_inside)) {
            buffer_add_char(&out, '/');
            is_inside = *path == '[';
        } else if (*path == ']' && is_inside) {
            is_inside = false;
        } else {
            add_escaped(&out, *path);
        }
    }
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

void body_faults_write(const struct body_faults *faults, struct buffer *out)
{
    for (size_t i = 0; i < faults->count; i++)
        buffer_printf(out, "%s%s%s\n", faults->items[i].pointer,
                      *faults->items[i].pointer ? ": " : "", faults->items[i].text);
}
