#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/pihole/draft_private.h"

// How a draft is written: which form its lines have, which requests that takes.

#define BODY_HEAD "{\"config\":{\"dns\":{"
#define BODY_TAIL "}}}"
#define PATH "/api/config"

static void count_part(struct draft *draft, enum list_part part)
{
    const struct layout *layout = &draft->parts[part];
    struct draft_counts counts = {.removed = draft->list->parts[part].count};
    for (size_t i = 0; i < layout->count; i++) {
        const struct drafted *drafted = &layout->at[i];
        bool is_added = drafted->line == LIST_NONE;
        counts.added += is_added;
        counts.removed -= !is_added;
        counts.replaced += !is_added && drafted->is_new;
    }
    draft->counts[part] = counts;
}

static void use_layout(struct draft *draft, enum list_part part, struct layout layout)
{
    free(draft->parts[part].at);
    draft->parts[part] = layout;
    count_part(draft, part);
}

// ---- its length

static const bool only[LIST_PARTS][LIST_PARTS] = {
    [LIST_HOSTS] = {[LIST_HOSTS] = true},
    [LIST_CNAMES] = {[LIST_CNAMES] = true},
};
static const bool all_parts[LIST_PARTS] = {true, true};

static size_t layout_body_len(const struct layout *layout, enum list_part part)
{
    return strlen(BODY_HEAD) + strlen("\"\":") + strlen(list_part_key(part)) + layout->json_len +
           strlen(BODY_TAIL);
}

size_t draft_body_len(const struct draft *draft, const bool parts[LIST_PARTS])
{
    size_t len = 0, count = 0;
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (!parts[part])
            continue;
        len += layout_body_len(&draft->parts[part], part);
        count++;
    }
    // Each was counted with a head and a tail of its own; a comma parts them.
    return count < 2 ? len : len - (count - 1) * (strlen(BODY_HEAD BODY_TAIL) - 1);
}

static bool is_one_element(const struct draft *draft)
{
    struct draft_counts hosts = draft->counts[LIST_HOSTS];
    return draft->setup.way == DRAFT_AUTO && hosts.added + hosts.removed == 1 && !hosts.replaced &&
           !draft_changes_part(draft, LIST_CNAMES);
}

static bool fits(const struct draft *draft, enum list_part part)
{
    return draft_body_len(draft, only[part]) <= DRAFT_BODY_MAX;
}

// ---- its form

static bool try_unpacked(struct draft *draft)
{
    struct layout layout = draft_layout(draft, LIST_HOSTS, FORM_UNPACKED);
    if (layout_body_len(&layout, LIST_HOSTS) >= DRAFT_UNPACK_BELOW) {
        free(layout.at);
        return false;
    }
    use_layout(draft, LIST_HOSTS, layout);
    return true;
}

static void try_packed(struct draft *draft)
{
    struct layout layout = draft_layout(draft, LIST_HOSTS, FORM_PACKED);
    if (layout_body_len(&layout, LIST_HOSTS) > DRAFT_BODY_MAX) {
        free(layout.at);
        return;
    }
    use_layout(draft, LIST_HOSTS, layout);
    draft->is_packed = true;
}

void draft_lay_out(struct draft *draft)
{
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        use_layout(draft, part, draft_layout(draft, part, FORM_KEPT));
    if (draft->setup.way == DRAFT_BY_ELEMENT || is_one_element(draft) ||
        !draft_changes_part(draft, LIST_HOSTS))
        return;
    if (draft->parts[LIST_HOSTS].packed && try_unpacked(draft))
        return;
    if (!fits(draft, LIST_HOSTS))
        try_packed(draft);
}

// ---- its requests

static void add_write(struct draft *draft, struct write write)
{
    mem_reserve(&draft->writes, &draft->write_capacity, draft->write_count + 1);
    draft->writes[draft->write_count++] = write;
}

static void add_patch(struct draft *draft, const bool parts[LIST_PARTS])
{
    struct write write = {.verb = DRAFT_PATCH};
    memcpy(write.writes, parts, sizeof write.writes);
    add_write(draft, write);
}

static void add_element(struct draft *draft, enum list_part part, enum draft_verb verb,
                        struct text text, const struct drafted *from)
{
    struct write write = {.verb = verb, .part = part, .text = text, .from = from};
    write.writes[part] = true;
    add_write(draft, write);
}

// Two lines for one alias are refused, so there the old one goes first.
static void add_additions(struct draft *draft, enum list_part part)
{
    const struct line *lines = draft->list->parts[part].at;
    for (size_t i = 0; i < draft->parts[part].count; i++) {
        const struct drafted *drafted = &draft->parts[part].at[i];
        if (!drafted->is_new)
            continue;
        if (part == LIST_CNAMES && drafted->line != LIST_NONE)
            add_element(draft, part, DRAFT_DELETE, lines[drafted->line].text, NULL);
        add_element(draft, part, DRAFT_PUT, drafted->text, drafted);
    }
}

// Lines of the draft that were read stand in the order in which they were read.
static void add_removals(struct draft *draft, enum list_part part)
{
    const struct lines *lines = &draft->list->parts[part];
    const struct layout *layout = &draft->parts[part];
    size_t next = 0;
    for (uint32_t at = 0; at < lines->count; at++) {
        while (next < layout->count && layout->at[next].line == LIST_NONE)
            next++;
        bool is_there = next < layout->count && layout->at[next].line == at;
        const struct drafted *drafted = is_there ? &layout->at[next++] : NULL;
        if (!drafted || (drafted->is_new && part == LIST_HOSTS))
            add_element(draft, part, DRAFT_DELETE, lines->at[at].text, NULL);
    }
}

void draft_plan_writes(struct draft *draft)
{
    bool is_by_element = draft->setup.way == DRAFT_BY_ELEMENT || is_one_element(draft);
    bool patches[LIST_PARTS], elements[LIST_PARTS];
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        patches[part] = draft_changes_part(draft, part) && !is_by_element && fits(draft, part);
        elements[part] = draft_changes_part(draft, part) && !patches[part];
    }
    bool is_one = patches[LIST_HOSTS] && patches[LIST_CNAMES] &&
                  draft_body_len(draft, all_parts) <= DRAFT_BODY_MAX;
    if (is_one)
        add_patch(draft, all_parts);
    for (enum list_part part = 0; part < LIST_PARTS && !is_one; part++) {
        if (patches[part])
            add_patch(draft, only[part]);
    }
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (elements[part])
            add_additions(draft, part);
    }
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (elements[part])
            add_removals(draft, part);
    }
}

size_t draft_write_count(const struct draft *draft)
{
    return draft->write_count;
}

static const struct write *write_at(const struct draft *draft, size_t i)
{
    must(i < draft->write_count);
    return &draft->writes[i];
}

struct draft_write draft_write(const struct draft *draft, size_t i)
{
    const struct write *write = write_at(draft, i);
    struct draft_write out = {.verb = write->verb};
    memcpy(out.writes, write->writes, sizeof out.writes);
    if (write->verb == DRAFT_PATCH)
        out.body_len = draft_body_len(draft, write->writes);
    return out;
}

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

static void add_percent(struct buffer *out, struct text text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (is_unreserved(text.at[i]))
            buffer_add_char(out, text.at[i]);
        else
            buffer_add(out, (char[]){'%', hex[c >> 4], hex[c & 15]}, 3);
    }
}

void draft_write_path(const struct draft *draft, size_t i, struct buffer *out)
{
    const struct write *write = write_at(draft, i);
    buffer_add_text(out, PATH);
    if (write->verb == DRAFT_PATCH)
        return;
    buffer_printf(out, "/dns/%s/", list_part_key(write->part));
    add_percent(out, write->text);
}

static void add_part(const struct draft *draft, enum list_part part, struct buffer *out)
{
    const struct layout *layout = &draft->parts[part];
    buffer_printf(out, "\"%s\":[", list_part_key(part));
    for (size_t i = 0; i < layout->count; i++) {
        if (i)
            buffer_add_char(out, ',');
        value_write_json_text(out, layout->at[i].text);
    }
    buffer_add_char(out, ']');
}

void draft_write_body(const struct draft *draft, size_t i, struct buffer *out)
{
    const struct write *write = write_at(draft, i);
    size_t before = out->len;
    must(write->verb == DRAFT_PATCH);
    buffer_reserve(out, draft_body_len(draft, write->writes) + 1);
    buffer_add_text(out, BODY_HEAD);
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (!write->writes[part])
            continue;
        if (part && write->writes[LIST_HOSTS])
            buffer_add_char(out, ',');
        add_part(draft, part, out);
    }
    buffer_add_text(out, BODY_TAIL);
    must(out->len - before == draft_body_len(draft, write->writes));
}
