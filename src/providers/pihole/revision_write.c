#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "providers/pihole/revision_private.h"

// How a revision is written: which form its lines have, which requests that takes.

#define BODY_HEAD "{\"config\":{\"dns\":{"
#define BODY_TAIL "}}}"
#define PATH "/api/config"

static void count_part(struct revision *revision, enum list_part part)
{
    const struct layout *layout = &revision->parts[part];
    struct revision_counts counts = {.removed = revision->list->parts[part].count};
    for (size_t i = 0; i < layout->count; i++) {
        const struct revised *revised = &layout->at[i];
        bool is_added = revised->line == LIST_NONE;
        counts.added += is_added;
        counts.removed -= !is_added;
        counts.replaced += !is_added && revised->is_new;
    }
    revision->counts[part] = counts;
}

static void use_layout(struct revision *revision, enum list_part part, struct layout layout)
{
    free(revision->parts[part].at);
    revision->parts[part] = layout;
    count_part(revision, part);
}

// ---- its length ---------------------------------------------------------------------------------

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

size_t revision_body_len(const struct revision *revision, const bool parts[LIST_PARTS])
{
    size_t len = 0, count = 0;
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (!parts[part])
            continue;
        len += layout_body_len(&revision->parts[part], part);
        count++;
    }
    // Each was counted with a head and a tail of its own; a comma parts them.
    return count < 2 ? len : len - (count - 1) * (strlen(BODY_HEAD BODY_TAIL) - 1);
}

static bool is_by_element(const struct revision *revision)
{
    static const size_t most[] = {[REVISION_AUTO] = 1, [REVISION_SHARED] = REVISION_FEW};
    enum revision_way way = revision->setup.way;
    struct revision_counts hosts = revision->counts[LIST_HOSTS];
    if (way == REVISION_BY_ELEMENT || way == REVISION_BY_PATCH)
        return way == REVISION_BY_ELEMENT;
    return hosts.added + hosts.removed <= most[way] && !hosts.replaced &&
           !revision_changes_part(revision, LIST_CNAMES);
}

static bool fits(const struct revision *revision, enum list_part part)
{
    return revision_body_len(revision, only[part]) <= REVISION_BODY_MAX;
}

// ---- its form -----------------------------------------------------------------------------------

static bool try_unpacked(struct revision *revision, enum list_part part)
{
    struct layout layout = revision_layout(revision, part, FORM_UNPACKED);
    if (layout_body_len(&layout, part) >= REVISION_UNPACK_BELOW) {
        free(layout.at);
        return false;
    }
    use_layout(revision, part, layout);
    return true;
}

// By elements, if that is too long for a PATCH as well: as few as possible.
static void pack(struct revision *revision, enum list_part part)
{
    struct layout layout = revision_layout(revision, part, FORM_PACKED);
    bool is_packed = layout_body_len(&layout, part) <= REVISION_BODY_MAX;
    if (!is_packed) {
        free(layout.at);
        layout = revision_layout(revision, part, FORM_GROWN);
    }
    use_layout(revision, part, layout);
    revision->is_packed |= is_packed;
}

static void fit_part(struct revision *revision, enum list_part part)
{
    if (!revision_changes_part(revision, part) ||
        (revision->parts[part].packed && try_unpacked(revision, part)))
        return;
    if (!fits(revision, part))
        pack(revision, part);
}

void revision_lay_out(struct revision *revision)
{
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        use_layout(revision, part, revision_layout(revision, part, FORM_KEPT));
    if (is_by_element(revision))
        return;
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        fit_part(revision, part);
}

// ---- its requests -------------------------------------------------------------------------------

static void add_write(struct revision *revision, struct write write)
{
    mem_reserve(&revision->writes, &revision->write_capacity, revision->write_count + 1);
    revision->writes[revision->write_count++] = write;
}

static void add_patch(struct revision *revision, const bool parts[LIST_PARTS])
{
    struct write write = {.verb = REVISION_PATCH};
    memcpy(write.writes, parts, sizeof write.writes);
    add_write(revision, write);
}

static void add_element(struct revision *revision, enum list_part part, enum revision_verb verb,
                        struct text text, const struct revised *from)
{
    struct write write = {.verb = verb, .part = part, .text = text, .from = from};
    write.writes[part] = true;
    add_write(revision, write);
}

// An alias of it gets another target, in a line elsewhere.
static bool is_moved(const struct revision *revision, enum list_part part, uint32_t at)
{
    const struct line *line = &revision->list->parts[part].at[at];
    uint32_t i = line->entry, end = line->entry + line->entry_count;
    while (i < end && !revision->fates[i].pair)
        i++;
    return part == LIST_CNAMES && i < end;
}

// Of lines that are moved, or of the others. Lines of the revision that were read stand in the
// order in which they were read.
static void add_removals(struct revision *revision, enum list_part part, bool are_moved)
{
    const struct lines *lines = &revision->list->parts[part];
    const struct layout *layout = &revision->parts[part];
    size_t next = 0;
    for (uint32_t at = 0; at < lines->count; at++) {
        while (next < layout->count && layout->at[next].line == LIST_NONE)
            next++;
        bool is_there = next < layout->count && layout->at[next].line == at;
        const struct revised *revised = is_there ? &layout->at[next++] : NULL;
        bool is_gone = !revised || (revised->is_new && part == LIST_HOSTS);
        if (is_gone && is_moved(revision, part, at) == are_moved)
            add_element(revision, part, REVISION_DELETE, lines->at[at].text, NULL);
    }
}

// Two lines for one alias are refused, so there the old one goes first.
static void add_additions(struct revision *revision, enum list_part part)
{
    const struct line *lines = revision->list->parts[part].at;
    if (part == LIST_CNAMES)
        add_removals(revision, part, true);
    for (size_t i = 0; i < revision->parts[part].count; i++) {
        const struct revised *revised = &revision->parts[part].at[i];
        if (!revised->is_new)
            continue;
        if (part == LIST_CNAMES && revised->line != LIST_NONE)
            add_element(revision, part, REVISION_DELETE, lines[revised->line].text, NULL);
        add_element(revision, part, REVISION_PUT, revised->text, revised);
    }
}

void revision_plan_writes(struct revision *revision)
{
    bool has_elements = is_by_element(revision);
    bool patches[LIST_PARTS], elements[LIST_PARTS];
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        patches[part] =
            revision_changes_part(revision, part) && !has_elements && fits(revision, part);
        elements[part] = revision_changes_part(revision, part) && !patches[part];
    }
    bool is_one = patches[LIST_HOSTS] && patches[LIST_CNAMES] &&
                  revision_body_len(revision, all_parts) <= REVISION_BODY_MAX;
    if (is_one)
        add_patch(revision, all_parts);
    for (enum list_part part = 0; part < LIST_PARTS && !is_one; part++) {
        if (patches[part])
            add_patch(revision, only[part]);
    }
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (elements[part])
            add_additions(revision, part);
    }
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (elements[part])
            add_removals(revision, part, false);
    }
}

size_t revision_write_count(const struct revision *revision)
{
    return revision->write_count;
}

static const struct write *write_at(const struct revision *revision, size_t i)
{
    must(i < revision->write_count);
    return &revision->writes[i];
}

struct revision_write revision_write(const struct revision *revision, size_t i)
{
    const struct write *write = write_at(revision, i);
    struct revision_write out = {.verb = write->verb, .line = write->text};
    memcpy(out.writes, write->writes, sizeof out.writes);
    if (write->verb == REVISION_PATCH)
        out.body_len = revision_body_len(revision, write->writes);
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

void revision_write_path(const struct revision *revision, size_t i, struct buffer *out)
{
    const struct write *write = write_at(revision, i);
    buffer_add_text(out, PATH);
    if (write->verb == REVISION_PATCH)
        return;
    buffer_printf(out, "/dns/%s/", list_part_key(write->part));
    add_percent(out, write->text);
}

static void add_part(const struct revision *revision, enum list_part part, struct buffer *out)
{
    const struct layout *layout = &revision->parts[part];
    buffer_printf(out, "\"%s\":[", list_part_key(part));
    for (size_t i = 0; i < layout->count; i++) {
        if (i)
            buffer_add_char(out, ',');
        value_write_json_text(out, layout->at[i].text);
    }
    buffer_add_char(out, ']');
}

void revision_write_body(const struct revision *revision, size_t i, struct buffer *out)
{
    const struct write *write = write_at(revision, i);
    size_t before = out->len;
    must(write->verb == REVISION_PATCH);
    buffer_reserve(out, revision_body_len(revision, write->writes) + 1);
    buffer_add_text(out, BODY_HEAD);
    for (enum list_part part = 0; part < LIST_PARTS; part++) {
        if (!write->writes[part])
            continue;
        if (part && write->writes[LIST_HOSTS])
            buffer_add_char(out, ',');
        add_part(revision, part, out);
    }
    buffer_add_text(out, BODY_TAIL);
    must(out->len - before == revision_body_len(revision, write->writes));
}
