#include "commands/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/value.h"

enum { SHOWN_OCTETS_MAX = 4096 };

static const struct {
    const char *name;
    const char *mark;
    const char *colour;
} levels[REPORT_LEVELS] = {
    [REPORT_ERROR] = {"error", "", ""},
    [REPORT_WARNING] = {"warning", "warning: ", "\033[33m"},
    [REPORT_INFO] = {"info", "info: ", "\033[36m"},
};

void report_done(struct report *report)
{
    free(report->items);
}

void report_add(struct report *report, enum report_level level, struct spot place,
                const char *format, ...)
{
    AUTO_BUFFER text = {0};
    va_list args;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    report_add_about(report, level, place, NULL, NULL, buffer_text(&text).at);
}

bool report_is_full(const struct report *report)
{
    return report->limit && report->count >= report->limit;
}

void report_add_about(struct report *report, enum report_level level, struct spot place,
                      const char *object, const char *reason, const char *text)
{
    report->counts[level]++;
    if (report_is_full(report))
        return;
    mem_reserve(&report->items, &report->capacity, report->count + 1);
    report->items[report->count++] = (struct report_line){
        .level = level,
        .place = place,
        .object = object ? arena_copy_text(report->arena, object) : NULL,
        .reason = reason,
        .text = arena_copy_text(report->arena, text),
    };
}

static int compare_numbers(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const void *left, const void *right)
{
    const struct report_line *a = left;
    const struct report_line *b = right;
    int order = strcmp(a->place.path, b->place.path);
    if (!order)
        order = compare_numbers(a->place.line, b->place.line);
    if (!order)
        order = compare_numbers(a->place.column, b->place.column);
    if (!order && a->object && b->object)
        order = strcmp(a->object, b->object);
    return order ? order : strcmp(a->text, b->text);
}

static void write_place(struct buffer *out, const struct spot *place, bool has_colour)
{
    AUTO_BUFFER path = {0};
    if (!*place->path)
        return;
    text_clean(&path, text_of(place->path), SHOWN_OCTETS_MAX);
    buffer_printf(out, "%s%s:", has_colour ? "\033[1m" : "", buffer_text(&path).at);
    if (place->line)
        buffer_printf(out, "%u:%u:", place->line, place->column);
    buffer_printf(out, "%s ", has_colour ? "\033[0m" : "");
}

static void write_line(struct buffer *out, const struct report_line *line, bool has_colour)
{
    write_place(out, &line->place, has_colour);
    buffer_printf(out, "%s%s%s", has_colour ? levels[line->level].colour : "",
                  levels[line->level].mark, has_colour ? "\033[0m" : "");
    if (line->object) {
        text_clean(out, text_of(line->object), SHOWN_OCTETS_MAX);
        buffer_add_text(out, ": ");
    }
    if (line->reason)
        buffer_printf(out, "%s: ", line->reason);
    text_clean(out, text_of(line->text), SHOWN_OCTETS_MAX);
    buffer_add_char(out, '\n');
}

static void sort(struct report *report)
{
    if (report->count)
        qsort(report->items, report->count, sizeof *report->items, compare_places);
}

void report_write(struct buffer *out, struct report *report, bool has_colour)
{
    sort(report);
    for (size_t i = 0; i < report->count; i++)
        write_line(out, &report->items[i], has_colour);
}

static void write_member(struct buffer *out, const char *name, const char *text)
{
    if (!text)
        return;
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text_of(text), SHOWN_OCTETS_MAX);
    buffer_printf(out, ", \"%s\": ", name);
    value_write_json_text(out, buffer_text(&clean));
}

void report_write_json(struct buffer *out, struct report *report)
{
    sort(report);
    buffer_add_char(out, '[');
    for (size_t i = 0; i < report->count; i++) {
        const struct report_line *line = &report->items[i];
        buffer_printf(out, "%s{\"level\": \"%s\"", i ? ",\n " : "\n ", levels[line->level].name);
        if (*line->place.path) {
            write_member(out, "file", line->place.path);
            if (line->place.line)
                buffer_printf(out, ", \"line\": %u, \"column\": %u", line->place.line,
                              line->place.column);
        }
        write_member(out, "object", line->object);
        write_member(out, "reason", line->reason);
        write_member(out, "text", line->text);
        buffer_add_char(out, '}');
    }
    buffer_add_text(out, report->count ? "\n]" : "]");
}
