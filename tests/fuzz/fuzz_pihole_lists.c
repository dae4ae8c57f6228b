#include <string.h>

#include "base/must.h"
#include "providers/pihole/revision.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

enum { CHANGES_MAX = 8, VALUES_MAX = 4 };

struct room {
    struct arena *arena;
    struct list_rules rules;
    struct ledger_view ledger;
    struct text remembered;
    struct change changes[CHANGES_MAX];
    struct change *pointers[CHANGES_MAX];
    struct text values[CHANGES_MAX][VALUES_MAX];
    size_t count;
    enum revision_way way;
};

// The ledger names all its lines for any name.
static const char *find(const void *context, enum record_type type, struct text name)
{
    const struct room *room = context;
    (void)type;
    return name.len % 2 ? arena_copy(room->arena, room->remembered.at, room->remembered.len) : NULL;
}

static struct value *texts_of(struct arena *arena, struct text lines)
{
    struct value *list = value_make(arena, VALUE_LIST);
    struct text line;
    while (lines.len && text_cut(&lines, '\n', &line)) {
        // JSON hands out nothing else.
        if (utf8_is_valid(line))
            value_append(list, value_make_text(arena, line));
    }
    return list;
}

// "A name value value": the first letter says the operation, too.
static void take_change(struct room *room, struct text line)
{
    static const enum record_type types[] = {RECORD_A, RECORD_AAAA, RECORD_CNAME, RECORD_TXT};
    struct text word;
    if (room->count == CHANGES_MAX || !line.len)
        return;
    struct change *change = &room->changes[room->count];
    change->op = line.at[0] & 4 ? CHANGE_REMOVE : CHANGE_SET;
    change->may_adopt = line.at[0] & 8;
    change->set.type = types[line.at[0] & 3];
    change->set.subdomain = TEXT("@");
    change->set.values = room->values[room->count];
    text_cut(&line, ' ', &word);
    if (!text_cut(&line, ' ', &change->set.domain))
        return;
    while (change->set.value_count < VALUES_MAX && text_cut(&line, ' ', &word))
        room->values[room->count][change->set.value_count++] = word;
    for (size_t i = 0; i < room->count; i++) {
        if (record_set_is_same_key(&room->changes[i].set, &change->set))
            return;
    }
    room->pointers[room->count++] = change;
}

static void check_existing(void *context, const struct existing_set *existing)
{
    size_t *count = context;
    const struct record_set *set = &existing->set;
    must(set->domain.len > 0 && set->value_count > 0 && list_has_type(set->type));
    for (size_t i = 1; i < set->value_count; i++)
        must(text_compare(set->values[i - 1], set->values[i]) < 0);
    ++*count;
}

static void check_writes(struct room *room, const struct revision *revision)
{
    for (size_t i = 0; i < revision_write_count(revision); i++) {
        struct revision_write write = revision_write(revision, i);
        AUTO_BUFFER out = {0};
        revision_write_path(revision, i, &out);
        must(!memchr(out.at, ' ', out.len));
        buffer_clear(&out);
        if (write.verb != REVISION_PATCH)
            continue;
        revision_write_body(revision, i, &out);
        must(out.len == write.body_len && out.len <= REVISION_BODY_MAX);
        must(value_read_json(room->arena, buffer_text(&out), &value_manifest_limits, NULL));
    }
}

static void check_blames(const struct revision *revision)
{
    static const char *const hints[] = {"dns.hosts[0]: x", "dns.cnameRecords[1]: x", "dns.hosts[",
                                        ""};
    for (size_t i = 0; i < revision_write_count(revision); i++) {
        for (size_t h = 0; h < COUNT_OF(hints); h++) {
            struct blame blame = revision_blame(revision, i, hints[h]);
            must(blame.kind != BLAME_CHANGES || blame.change_count > 0);
        }
    }
}

static void check(struct room *room, struct text hosts_text, struct text cnames_text)
{
    struct value *hosts = texts_of(room->arena, hosts_text);
    struct value *cnames = texts_of(room->arena, cnames_text);
    struct line_set strangers = {0};
    enum list_part part;
    size_t i, existing_sets = 0;
    const char *why;
    CLEANUP(list) struct list *list = list_read(&room->rules, hosts, cnames, NULL);
    must(list && list_count(list, LIST_HOSTS) == value_count(hosts));
    list_report(list, check_existing, &existing_sets);
    if (list_refused(list, &part, &i, &why))
        must(i < list_count(list, part) && why[0]);
    const struct revision_setup setup = {room->way, room->arena};
    CLEANUP(revision)
    struct revision *revision = revision_new(list, &setup, room->pointers, room->count);
    strangers_note(&strangers, list, revision);
    check_blames(revision);
    check_writes(room, revision);
    line_set_done(&strangers);
}

// Sections, parted by a line "--": options, what the ledger remembers, changes, hosts, aliases.
static struct text section(struct text *rest)
{
    struct text all = *rest;
    for (size_t i = 0; i + 2 < all.len; i++) {
        if (memcmp(all.at + i, "--\n", 3) == 0 && (i == 0 || all.at[i - 1] == '\n')) {
            *rest = (struct text){all.at + i + 3, all.len - i - 3};
            return (struct text){all.at, i};
        }
    }
    *rest = (struct text){all.at + all.len, 0};
    return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text rest = {(const char *)at, len}, line;
    struct room room = {.arena = arena, .rules = {.owner_id = "1a2b3c4d"}};
    if (!len)
        return 0;
    struct text options = section(&rest);
    room.rules.has_tags = memchr(options.at, 't', options.len) != NULL;
    room.way = memchr(options.at, 'p', options.len)   ? REVISION_BY_PATCH
               : memchr(options.at, 'e', options.len) ? REVISION_BY_ELEMENT
                                                      : REVISION_AUTO;
    room.remembered = section(&rest);
    struct text changes = section(&rest);
    room.ledger = (struct ledger_view){.find = find, .context = &room};
    room.rules.ledger = &room.ledger;
    while (changes.len && text_cut(&changes, '\n', &line))
        take_change(&room, line);
    struct text hosts = section(&rest);
    check(&room, hosts, rest);
    return 0;
}
