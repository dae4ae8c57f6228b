#include <stdlib.h>

#include "providers/pihole/list_private.h"

// What a list holds, told as record sets; and what of it has to be remembered.

struct values {
    struct text *at;
    size_t count;
    size_t capacity;
};

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

size_t list_tidy_values(struct text *values, size_t count)
{
    size_t kept = 0;
    if (count > 1)
        qsort(values, count, sizeof *values, compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || !text_equal(values[kept - 1], values[i]))
            values[kept++] = values[i];
    }
    return kept;
}

static void report_set(struct list *list, uint32_t name, enum record_type type, bool is_ours,
                       struct values *values,
                       void (*report_existing)(void *context, const struct existing_set *existing),
                       void *context)
{
    struct existing_set existing = {.is_ours = is_ours};
    values->count = 0;
    list_each (id, list, name, type) {
        const struct entry *entry = &list->entries[id];
        if ((list_line_of(list, entry)->whose == WHOSE_OURS) != is_ours)
            continue;
        mem_reserve(&values->at, &values->capacity, values->count + 1);
        if (!values->count)
            existing.set.ttl_s = entry->ttl_s;
        values->at[values->count++] = entry->value;
    }
    if (!values->count)
        return;
    values->count = list_tidy_values(values->at, values->count);
    existing.set = list_set(list->arena, type, list->names[name].text, existing.set.ttl_s,
                            values->at, values->count);
    report_existing(context, &existing);
}

void list_report(struct list *list,
                 void (*report_existing)(void *context, const struct existing_set *existing),
                 void *context)
{
    struct values values = {0};
    for (uint32_t name = 0; name < list->name_count; name++) {
        for (enum record_type type = 0; type <= RECORD_CNAME; type++) {
            report_set(list, name, type, true, &values, report_existing, context);
            report_set(list, name, type, false, &values, report_existing, context);
        }
    }
    free(values.at);
}

struct record_set list_set(struct arena *arena, enum record_type type, struct text name,
                           uint32_t ttl_s, const struct text *values, size_t count)
{
    struct text *copies = arena_new_array(arena, struct text, count + 1);
    for (size_t i = 0; i < count; i++)
        copies[i] = values[i];
    return (struct record_set){.type = type,
                               .domain = name,
                               .subdomain = TEXT("@"),
                               .ttl_s = ttl_s,
                               .values = copies,
                               .value_count = count,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

bool list_value(struct arena *arena, enum record_type type, struct text value, struct text *out)
{
    if (type != RECORD_CNAME)
        return canonical_address(arena, type, value, out);
    *out = canonical_name(arena, value);
    return true;
}

struct text list_set_name(struct arena *arena, const struct record_set *set)
{
    struct text name = set->domain;
    if (!text_is(set->subdomain, "@"))
        name = text_of(
            arena_printf(arena, "%.*s.%.*s", TEXT_ARGS(set->subdomain), TEXT_ARGS(set->domain)));
    return canonical_name(arena, name);
}

bool list_entry(const struct list_rules *rules, const struct record_set *set, struct buffer *out)
{
    static const struct list_rules untagged = {.has_tags = false};
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!list_has_type(set->type) || (rules->has_tags && set->type != RECORD_CNAME))
        return false;
    struct text name = list_set_name(arena, set);
    for (size_t i = 0; i < set->value_count; i++) {
        struct text value;
        if (!list_value(arena, set->type, set->values[i], &value))
            continue;
        list_render(out, &untagged, set->type, value, set->ttl_s, &name, 1);
        buffer_add_char(out, '\n');
    }
    return true;
}

bool list_is_plain(const struct list *list, enum list_part part, size_t i)
{
    const struct line *line = &list->parts[part].at[i];
    return line->whose == WHOSE_SOMEBODYS && line->entry_count == 1 && !line->has_comment;
}
