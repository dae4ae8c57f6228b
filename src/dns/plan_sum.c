#include "dns/plan_sum.h"

#include <stdlib.h>

#include "base/digest.h"
#include "dns/record_text.h"

struct lines {
    struct arena *arena;
    struct text *items;
    size_t count;
    size_t capacity;
};

static void begin_line(struct buffer *line, char sign, const struct record_set *set)
{
    buffer_printf(line, "%c ", sign);
    if (!text_is(set->subdomain, "@"))
        buffer_printf(line, "%.*s.", TEXT_ARGS(set->subdomain));
    buffer_printf(line, "%.*s.", TEXT_ARGS(set->domain));
}

static void end_line(struct lines *lines, struct buffer *line, struct text identifier)
{
    if (identifier.len)
        buffer_printf(line, " ;set=%.*s", TEXT_ARGS(identifier));
    mem_reserve(&lines->items, &lines->capacity, lines->count + 1);
    lines->items[lines->count++] =
        (struct text){arena_copy(lines->arena, line->at, line->len), line->len};
}

static void add_line(struct lines *lines, char sign, const struct record_set *set, size_t value,
                     struct text identifier)
{
    AUTO_BUFFER line = {0};
    struct text rdata = record_rdata_make(lines->arena, set, value);
    begin_line(&line, sign, set);
    buffer_printf(&line, " %u IN %s %.*s", set->ttl_s, record_type_name(set->type),
                  TEXT_ARGS(rdata));
    end_line(lines, &line, identifier);
}

static void add_unknown(struct lines *lines, char sign, const struct record_set *set,
                        struct text identifier)
{
    AUTO_BUFFER line = {0};
    begin_line(&line, sign, set);
    buffer_printf(&line, " IN %s", record_type_name(set->type));
    end_line(lines, &line, identifier);
}

static void add_set(struct lines *lines, char sign, const struct record_set *set,
                    struct text identifier)
{
    for (size_t i = 0; set && i < set->value_count; i++)
        add_line(lines, sign, set, i, identifier);
    if (set && !set->value_count)
        add_unknown(lines, sign, set, identifier);
}

static int compare_lines(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

static void digest_lines(const char *class_name, const struct lines *lines, char *out)
{
    AUTO_BUFFER text = {0};
    uint8_t digest[DIGEST_MAX];
    buffer_printf(&text, "class %s\n", class_name);
    for (size_t i = 0; i < lines->count; i++) {
        buffer_add(&text, lines->items[i].at, lines->items[i].len);
        buffer_add_char(&text, '\n');
    }
    digest_of(DIGEST_SHA256, buffer_text(&text), digest);
    hex_encode(digest, digest_len(DIGEST_SHA256), out);
}

void plan_sum_write(const char *class_name, const struct plan_sum_change *changes, size_t count,
                    char out[PLAN_SUM_MAX])
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct lines lines = {.arena = arena};
    for (size_t i = 0; i < count; i++) {
        add_set(&lines, '-', changes[i].before, changes[i].set);
        add_set(&lines, '+', changes[i].after, changes[i].set);
    }
    if (lines.count)
        qsort(lines.items, lines.count, sizeof *lines.items, compare_lines);
    digest_lines(class_name, &lines, out);
    free(lines.items);
}
