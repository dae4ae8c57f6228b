#include "commands/report.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN_OCTETS_MAX = 4096 };

static const struct {
    const char *mark;
    const char *colour;
} levels[REPORT_LEVELS] = {
    [REPORT_ERROR] = {"", ""},
    [REPORT_WARNING] = {"warning: ", "\033[33m"},
    [REPORT_INFO] = {"info: ", "\033[36m"},
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
    mem_reserve(&report->items, &report->capacity, report->count + 1);
    report->items[report->count++] =
        (struct report_line){level, place, arena_copy_text(report->arena, buffer_text(&text).at)};
    report->counts[level]++;
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
    return order ? order : strcmp(a->text, b->text);
}

static void write_line(struct buffer *out, const struct report_line *line, bool has_colour)
{
    AUTO_BUFFER path = {0};
    text_clean(&path, text_of(line->place.path), SHOWN_OCTETS_MAX);
    buffer_printf(out, "%s%s:%u:%u:%s ", has_colour ? "\033[1m" : "", buffer_text(&path).at,
                  line->place.line, line->place.column, has_colour ? "\033[0m" : "");
    buffer_printf(out, "%s%s%s", has_colour ? levels[line->level].colour : "",
                  levels[line->level].mark, has_colour ? "\033[0m" : "");
    text_clean(out, text_of(line->text), SHOWN_OCTETS_MAX);
    buffer_add_char(out, '\n');
}

void report_write(struct buffer *out, struct report *report, bool has_colour)
{
    if (report->count)
        qsort(report->items, report->count, sizeof *report->items, compare_places);
    for (size_t i = 0; i < report->count; i++)
        write_line(out, &report->items[i], has_colour);
}
