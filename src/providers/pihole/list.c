#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "providers/pihole/list_private.h"

#define TAG "signpost:"

static const char *const part_keys[LIST_PARTS] = {"hosts", "cnameRecords"};

const char *list_part_key(enum list_part part)
{
    must(part < LIST_PARTS);
    return part_keys[part];
}

bool list_has_type(enum record_type type)
{
    return type <= RECORD_CNAME;
}

enum list_part list_part_of(enum record_type type)
{
    must(list_has_type(type));
    return type == RECORD_CNAME ? LIST_CNAMES : LIST_HOSTS;
}

static bool name_matches(const void *context, uint32_t id, const void *key)
{
    const struct list *list = context;
    return text_equal(list->names[id].text, *(const struct text *)key);
}

static uint64_t name_hash(const void *context, uint32_t id)
{
    const struct list *list = context;
    return list->names[id].hash;
}

static const struct table_ops name_ops = {name_matches, name_hash};

static uint64_t hash_of(struct text text)
{
    return hash_octets(text.at, text.len);
}

bool list_has_name(const struct list *list, struct text name)
{
    return list_find_name(list, name) != LIST_NONE;
}

uint32_t list_find_name(const struct list *list, struct text name)
{
    return table_find(&list->by_name, hash_of(name), &name);
}

static uint32_t add_name(struct list *list, struct text name)
{
    struct text canonical = canonical_name(list->arena, name);
    uint32_t id = list_find_name(list, canonical);
    if (id != TABLE_NONE)
        return id;
    id = (uint32_t)list->name_count;
    mem_reserve(&list->names, &list->name_capacity, list->name_count + 1);
    struct name *added = &list->names[list->name_count++];
    *added = (struct name){.text = canonical, .hash = hash_of(canonical)};
    memset(added->first, 0xff, sizeof added->first);
    memset(added->last, 0xff, sizeof added->last);
    table_add(&list->by_name, added->hash, id);
    return id;
}

static void add_entry(struct list *list, struct entry entry)
{
    uint32_t id = (uint32_t)list->entry_count;
    struct name *name = &list->names[entry.name];
    mem_reserve(&list->entries, &list->entry_capacity, list->entry_count + 1);
    list->entries[list->entry_count++] = entry;
    if (name->last[entry.type] == LIST_NONE)
        name->first[entry.type] = id;
    else
        list->entries[name->last[entry.type]].next = id;
    name->last[entry.type] = id;
}

// A name that stands twice in one line counts once.
static bool is_in_line(const struct list *list, uint32_t name, enum record_type type, uint32_t line)
{
    uint32_t last = list->names[name].last[type];
    return last != LIST_NONE && list->entries[last].line == line;
}

static void add_entries(struct list *list, struct line *line, uint32_t at, const struct cut *cut)
{
    struct entry entry = {.type = cut->type, .line = at, .next = LIST_NONE, .ttl_s = cut->ttl_s};
    line->entry = (uint32_t)list->entry_count;
    if (!cut->name_count)
        return;
    if (cut->type == RECORD_CNAME)
        entry.value = canonical_name(list->arena, cut->value);
    else
        must(canonical_address(list->arena, cut->type, cut->value, &entry.value));
    for (size_t i = 0; i < cut->name_count; i++) {
        if (!cut->names[i].len)
            continue;
        entry.name = add_name(list, cut->names[i]);
        if (!is_in_line(list, entry.name, entry.type, at))
            add_entry(list, entry);
    }
    line->entry_count = (uint32_t)list->entry_count - line->entry;
}

static bool has_line(const char *stored, struct text line)
{
    struct text rest = text_of(stored), piece;
    while (text_cut(&rest, '\n', &piece)) {
        if (piece.len && text_equal(piece, line))
            return true;
    }
    return false;
}

static const char *stored_of(const struct list *list, const struct entry *entry)
{
    const struct ledger_view *ledger = list->rules.ledger;
    return ledger->find(ledger->context, entry->type, list->names[entry->name].text);
}

// Is it what we write when we pack, and does the ledger name each of its names alone?
static bool is_packed_by_ledger(const struct list *list, const struct line *line)
{
    static const struct list_rules untagged = {.has_tags = false};
    const struct entry *entries = &list->entries[line->entry];
    struct text names[PACKED_NAMES];
    AUTO_BUFFER form = {0};
    if (line->entry_count > PACKED_NAMES)
        return false;
    for (uint32_t i = 0; i < line->entry_count; i++) {
        names[i] = list->names[entries[i].name].text;
        buffer_clear(&form);
        list_render(&form, &untagged, entries->type, entries->value, entries->ttl_s, &names[i], 1);
        if (!has_line(stored_of(list, &entries[i]), buffer_text(&form)))
            return false;
    }
    buffer_clear(&form);
    list_render(&form, &untagged, entries->type, entries->value, entries->ttl_s, names,
                line->entry_count);
    return text_equal(buffer_text(&form), line->text);
}

static bool is_by_ledger(const struct list *list, const struct line *line)
{
    if (!list->rules.ledger || !line->entry_count || line->has_comment)
        return false;
    bool is_named = line->entry_count == 1
                        ? has_line(stored_of(list, &list->entries[line->entry]), line->text)
                        : is_packed_by_ledger(list, line);
    return is_named && !(list->rules.strangers && line_set_has(list->rules.strangers, line->text));
}

static bool is_written(const struct list *list, const struct line *line)
{
    return list->rules.written && line_set_has(list->rules.written, line->text);
}

static bool is_tag(struct text comment)
{
    return text_starts(comment, TAG) && comment.len > sizeof TAG - 1 &&
           !memchr(comment.at, ' ', comment.len) && !memchr(comment.at, '\t', comment.len);
}

static enum whose whose_is(const struct list *list, const struct line *line)
{
    if (line->is_tagged)
        return WHOSE_ANOTHER_OWNERS;
    return is_written(list, line) || is_by_ledger(list, line) ? WHOSE_OURS : WHOSE_SOMEBODYS;
}

static void read_line(struct list *list, enum list_part part, uint32_t at, struct text text,
                      struct cut *cut)
{
    struct line *line = &list->parts[part].at[at];
    line->text = (struct text){arena_copy(list->arena, text.at, text.len), text.len};
    if (part == LIST_HOSTS)
        cut_hosts(cut, line->text);
    else
        cut_cname(cut, line->text);
    line->refusal = cut->refusal;
    line->has_comment = cut->comment.at;
    line->is_tagged = line->has_comment && is_tag(cut->comment);
    bool has_our_tag = line->has_comment && text_equal(cut->comment, list->tag);
    // One of ours that cannot be is dropped by each revision, so its names are not there.
    if (!has_our_tag || !line->refusal)
        add_entries(list, line, at, cut);
    line->whose = has_our_tag ? WHOSE_OURS : whose_is(list, line);
}

static bool check_part(enum list_part part, const struct value *texts, struct error *err)
{
    if (texts && texts->type != VALUE_LIST)
        return error_set(err, FAULT_AGAIN, "", "dns.%s is not a list", part_keys[part]);
    value_each (text, texts) {
        if (text->type != VALUE_TEXT)
            return error_set(err, FAULT_AGAIN, "", "dns.%s is not a list of texts",
                             part_keys[part]);
    }
    return true;
}

static void read_part(struct list *list, enum list_part part, const struct value *texts)
{
    struct lines *lines = &list->parts[part];
    struct cut cut = {0};
    lines->at = arena_new_array(list->arena, struct line, value_count(texts) + 1);
    value_each (text, texts)
        read_line(list, part, (uint32_t)lines->count++, value_text(text), &cut);
    cut_done(&cut);
}

struct list *list_read(const struct list_rules *rules, const struct value *hosts,
                       const struct value *cnames, struct error *err)
{
    if (!check_part(LIST_HOSTS, hosts, err) || !check_part(LIST_CNAMES, cnames, err))
        return NULL;
    struct list *list = mem_new_of(struct list);
    list->arena = arena_new();
    list->tag = text_of(arena_printf(list->arena, TAG "%s", rules->owner_id));
    list->rules = *rules;
    list->rules.owner_id = list->tag.at + sizeof TAG - 1;
    list->by_name = (struct table){.ops = &name_ops, .context = list};
    read_part(list, LIST_HOSTS, hosts);
    read_part(list, LIST_CNAMES, cnames);
    list->rules.ledger = NULL;
    list->rules.strangers = NULL;
    list->rules.written = NULL;
    return list;
}

void list_free(struct list *list)
{
    if (!list)
        return;
    table_done(&list->by_name);
    free(list->names);
    free(list->entries);
    arena_free(list->arena);
    free(list);
}

struct content_id list_others(const struct list *list)
{
    AUTO_BUFFER lines = {0};
    for (enum list_part part = 0; part < LIST_PARTS; part++)
        for (size_t i = 0; i < list->parts[part].count; i++) {
            const struct line *line = &list->parts[part].at[i];
            if (line->whose == WHOSE_OURS)
                continue;
            buffer_add(&lines, line->text.at, line->text.len);
            buffer_add_char(&lines, '\n');
        }
    return content_id_of(lines.at, lines.len);
}

size_t list_count(const struct list *list, enum list_part part)
{
    return list->parts[part].count;
}

struct text list_line(const struct list *list, enum list_part part, size_t i)
{
    must(i < list->parts[part].count);
    return list->parts[part].at[i].text;
}

bool list_refused(const struct list *list, enum list_part *part, size_t *i, const char **why)
{
    for (*part = LIST_HOSTS; *part < LIST_PARTS; (*part)++) {
        for (*i = 0; *i < list->parts[*part].count; (*i)++) {
            *why = list->parts[*part].at[*i].refusal;
            if (*why)
                return true;
        }
    }
    return false;
}

void list_leave_out(struct list *list, enum list_part part, size_t i)
{
    must(i < list->parts[part].count);
    list->parts[part].at[i].is_left_out = true;
}

void list_render(struct buffer *out, const struct list_rules *rules, enum record_type type,
                 struct text value, uint32_t ttl_s, const struct text *names, size_t count)
{
    if (type == RECORD_CNAME) {
        for (size_t i = 0; i < count; i++)
            buffer_printf(out, "%.*s,", TEXT_ARGS(names[i]));
        buffer_add(out, value.at, value.len);
        if (ttl_s)
            buffer_printf(out, ",%u", ttl_s);
        return;
    }
    buffer_add(out, value.at, value.len);
    for (size_t i = 0; i < count; i++) {
        buffer_add_char(out, ' ');
        buffer_add(out, names[i].at, names[i].len);
    }
    if (rules->has_tags)
        buffer_printf(out, " # " TAG "%s", rules->owner_id);
}
