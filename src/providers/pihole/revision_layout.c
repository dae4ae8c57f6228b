#include <stdlib.h>

#include "base/must.h"
#include "providers/pihole/revision_private.h"

// The lines of a list as revised. Ours stay where they are; new ones go to the end. When that is
// too long for a PATCH, ours are packed: several names of one address a line. When that is too long
// as well, those that are new are.

enum { TTL_OCTETS = 11 }; // ",2147483647"

// A name of ours, with its value: of the list as read, or brought by a change.
struct item {
    enum record_type type;
    struct text name;
    struct text value;
    uint32_t ttl_s;
    struct change *const *change; // or NULL
};

struct items {
    struct item *at;
    size_t count;
    size_t capacity;
};

static size_t json_len(struct text text)
{
    bool is_plain = true;
    for (size_t i = 0; i < text.len && is_plain; i++) {
        unsigned char c = (unsigned char)text.at[i];
        is_plain = c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
    }
    if (is_plain)
        return text.len + 2;
    AUTO_BUFFER written = {0};
    value_write_json_text(&written, text);
    return written.len;
}

static void add_revised(struct layout *layout, struct revised revised)
{
    mem_reserve(&layout->at, &layout->capacity, layout->count + 1);
    revised.json_len = json_len(revised.text);
    layout->json_len += revised.json_len + (layout->count > 0);
    layout->packed += revised.is_packed;
    layout->at[layout->count++] = revised;
}

static void add_item(struct items *items, struct item item)
{
    mem_reserve(&items->at, &items->capacity, items->count + 1);
    items->at[items->count++] = item;
}

static struct item item_of_pair(const struct pair *pair)
{
    return (struct item){pair->type, pair->name, pair->value, pair->ttl_s, &pair->change};
}

static struct item item_of_entry(const struct list *list, const struct entry *entry)
{
    return (struct item){entry->type, list->names[entry->name].text, entry->value, entry->ttl_s,
                         NULL};
}

// ---- lines from items ---------------------------------------------------------------------------

static struct change *const *changes_of(struct revision *revision, const struct item *items,
                                        size_t count, size_t *change_count)
{
    *change_count = 0;
    if (count == 1) {
        *change_count = items->change != NULL;
        return items->change;
    }
    struct change **changes = arena_new_array(revision->arena, struct change *, count);
    for (size_t i = 0; i < count; i++) {
        if (items[i].change)
            changes[(*change_count)++] = *items[i].change;
    }
    return changes;
}

// A line of the names of items with one value. `line`: whose place it has, or LIST_NONE.
static void write_line(struct revision *revision, struct layout *layout, const struct item *items,
                       size_t count, uint32_t line)
{
    struct text names[PACKED_NAMES];
    AUTO_BUFFER text = {0};
    must(count <= COUNT_OF(names));
    for (size_t i = 0; i < count; i++)
        names[i] = items[i].name;
    list_render(&text, &revision->list->rules, items->type, items->value, items->ttl_s, names,
                count);
    struct revised revised = {
        .line = line, .is_ours = true, .is_packed = count > 1, .is_new = true};
    revised.text = (struct text){arena_copy(revision->arena, text.at, text.len), text.len};
    revised.changes = changes_of(revision, items, count, &revised.change_count);
    if (line != LIST_NONE)
        revised.is_new = !text_equal(
            revised.text, revision->list->parts[list_part_of(items->type)].at[line].text);
    add_revised(layout, revised);
}

static void write_lines(struct revision *revision, struct layout *layout, const struct items *items,
                        size_t from, uint32_t line)
{
    for (size_t i = from; i < items->count; i++)
        write_line(revision, layout, &items->at[i], 1, i == from ? line : LIST_NONE);
}

static void keep_line(struct revision *revision, struct layout *layout, enum list_part part,
                      uint32_t at, bool is_ours)
{
    const struct line *line = &revision->list->parts[part].at[at];
    add_revised(layout, (struct revised){.text = line->text,
                                         .line = at,
                                         .is_ours = is_ours,
                                         .is_packed = is_ours && line->entry_count > 1});
}

// ---- one line of ours ---------------------------------------------------------------------------

// What is left of it goes to `items`, what takes the place of the rest to `others`.
static void take_apart(const struct revision *revision, const struct line *line,
                       struct items *items, struct items *others)
{
    for (uint32_t i = line->entry; i < line->entry + line->entry_count; i++) {
        const struct fate *fate = &revision->fates[i];
        if (!fate->is_gone)
            add_item(items, item_of_entry(revision->list, &revision->list->entries[i]));
        if (fate->pair)
            add_item(others, item_of_pair(&revision->pairs[fate->pair - 1]));
    }
}

struct bench {
    struct revision *revision;
    struct layout layout;
    enum list_part part;
    enum layout_form form;
    struct items items;
    struct items others;
};

static void lay_ours(struct bench *bench, uint32_t at)
{
    const struct line *line = &bench->revision->list->parts[bench->part].at[at];
    struct items *items = &bench->items;
    items->count = bench->others.count = 0;
    take_apart(bench->revision, line, items, &bench->others);
    bool is_whole = items->count == line->entry_count;
    bool is_kept = items->count && (items->count == 1 || bench->form != FORM_UNPACKED);
    if (is_whole && is_kept)
        keep_line(bench->revision, &bench->layout, bench->part, at, true);
    else if (is_kept && items->count <= PACKED_NAMES)
        write_line(bench->revision, &bench->layout, items->at, items->count, at);
    else
        write_lines(bench->revision, &bench->layout, items, 0, at);
    if (bench->form != FORM_GROWN)
        write_lines(bench->revision, &bench->layout, &bench->others, 0,
                    items->count ? LIST_NONE : at);
}

static bool is_ours_now(const struct revision *revision, enum list_part part, uint32_t at)
{
    return revision->list->parts[part].at[at].whose == WHOSE_OURS ||
           revision_adopts(revision, part, at);
}

static void lay_line(struct bench *bench, uint32_t at)
{
    const struct line *line = &bench->revision->list->parts[bench->part].at[at];
    if (!is_ours_now(bench->revision, bench->part, at))
        keep_line(bench->revision, &bench->layout, bench->part, at, false);
    else if (line->is_left_out || !line->entry_count)
        return;
    else if (bench->form == FORM_PACKED)
        take_apart(bench->revision, line, &bench->items, &bench->items);
    else
        lay_ours(bench, at);
}

// ---- packing ------------------------------------------------------------------------------------

static int compare_items(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    int by_type = (x->type > y->type) - (x->type < y->type);
    int by_value = by_type ? by_type : text_compare(x->value, y->value);
    int by_ttl = by_value ? by_value : (x->ttl_s > y->ttl_s) - (x->ttl_s < y->ttl_s);
    return by_ttl ? by_ttl : text_compare(x->name, y->name);
}

static bool go_together(const struct item *a, const struct item *b)
{
    return text_equal(a->value, b->value) && a->ttl_s == b->ttl_s;
}

// How many of the items from `from` on go into one line.
static size_t run_of(const struct items *items, size_t from)
{
    const struct item *first = &items->at[from];
    size_t room = first->type == RECORD_CNAME ? ALIAS_LINE_MAX - TTL_OCTETS : SIZE_MAX;
    size_t len = first->name.len + 1 + first->value.len;
    size_t count = 1;
    while (count < PACKED_NAMES && from + count < items->count &&
           go_together(first, &first[count])) {
        len += first[count].name.len + 1;
        if (len > room)
            break;
        count++;
    }
    return count;
}

static void sort_items(struct items *items)
{
    size_t kept = 0;
    if (items->count)
        qsort(items->at, items->count, sizeof *items->at, compare_items);
    for (size_t i = 0; i < items->count; i++) {
        if (kept == 0 || compare_items(&items->at[kept - 1], &items->at[i]) != 0)
            items->at[kept++] = items->at[i];
    }
    items->count = kept;
}

static void lay_packed(struct bench *bench)
{
    struct items *items = &bench->items;
    sort_items(items);
    for (size_t i = 0, count; i < items->count; i += count) {
        count = run_of(items, i);
        write_line(bench->revision, &bench->layout, &items->at[i], count, LIST_NONE);
    }
}

// What the lines as read have no place for.
static void add_new(struct bench *bench)
{
    for (size_t i = 0; i < bench->revision->pair_count; i++) {
        const struct pair *pair = &bench->revision->pairs[i];
        if (list_part_of(pair->type) == bench->part &&
            (pair->entry == LIST_NONE || bench->form == FORM_GROWN))
            add_item(&bench->items, item_of_pair(pair));
    }
}

struct layout revision_layout(struct revision *revision, enum list_part part, enum layout_form form)
{
    bool packs = form == FORM_PACKED || form == FORM_GROWN;
    struct bench bench = {.revision = revision, .part = part, .form = form};
    bench.layout.json_len = 2;
    for (uint32_t at = 0; at < revision->list->parts[part].count; at++)
        lay_line(&bench, at);
    if (form != FORM_PACKED)
        bench.items.count = 0;
    add_new(&bench);
    if (packs)
        lay_packed(&bench);
    else
        write_lines(revision, &bench.layout, &bench.items, 0, LIST_NONE);
    free(bench.items.at);
    free(bench.others.at);
    return bench.layout;
}
