#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/value.h"
#include "base/when.h"
#include "dns/ledger_private.h"

enum {
    VERSION = 1,
    ENTRY_OCTETS = 160, // of its member names, type, hash and time
    HASH_DIGITS = 16,
    EDITION_DIGITS = 18,
};

#define EDITION "edition"

static const struct value_limits limits = {
    .octets = 2 * 1024 * 1024, .depth = 5, .nodes = 128 * 1024};

// ---- writing ------------------------------------------------------------------------------------

// Of what becomes longer in JSON; a newline becomes `","`.
static size_t escape_octets(struct text text)
{
    size_t octets = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        octets += c == '\n' ? 2 : c == '"' || c == '\\' || c == '\t';
    }
    return octets;
}

size_t ledger_item_octets(const struct ledger_item *item)
{
    struct ledger_entry entry = ledger_entry_of(item);
    return ENTRY_OCTETS + entry.name.len + entry.state.len + entry.set.len +
           escape_octets(entry.set) + entry.owner.len + escape_octets(entry.owner) +
           entry.stored.len + escape_octets(entry.stored);
}

static void add_member(struct buffer *out, const char *key, struct text value)
{
    buffer_printf(out, "%s\"%s\":", out->at[out->len - 1] == '{' ? "" : ",", key);
    value_write_json_text(out, value);
}

static bool is_one_line(struct text stored)
{
    return memchr(stored.at, '\n', stored.len) == stored.at + stored.len - 1;
}

static void add_lines(struct buffer *out, struct text stored)
{
    struct text rest = {stored.at, stored.len - 1};
    struct text line;
    const char *mark = ",\"stored\":[";
    while (text_cut(&rest, '\n', &line)) {
        buffer_add_text(out, mark);
        value_write_json_text(out, line);
        mark = ",";
    }
    buffer_add_char(out, ']');
}

static void add_stored(struct buffer *out, struct text stored)
{
    if (!stored.len)
        return;
    if (is_one_line(stored))
        add_member(out, "stored", (struct text){stored.at, stored.len - 1});
    else
        add_lines(out, stored);
}

static void add_entry(struct buffer *out, const struct ledger_entry *entry)
{
    char hash[HASH_DIGITS + 1];
    char since[WHEN_TEXT_MAX];
    hex_encode(entry->hash, sizeof entry->hash, hash);
    when_write(entry->since_s, since);
    buffer_add_char(out, '{');
    add_member(out, "name", entry->name);
    add_member(out, "type", text_of(record_type_name(entry->type)));
    add_member(out, "set", entry->set);
    add_member(out, "owner", entry->owner);
    add_member(out, "hash", text_of(hash));
    add_member(out, "state", entry->state);
    add_member(out, "since", text_of(since));
    add_stored(out, entry->stored);
    buffer_add_char(out, '}');
}

static int compare_entries(const void *a, const void *b)
{
    const struct ledger_entry *left = a, *right = b;
    int order = text_compare(left->name, right->name);
    if (!order)
        order = (int)left->type - (int)right->type;
    return order ? order : text_compare(left->set, right->set);
}

static int compare_facts(const void *a, const void *b)
{
    const struct ledger_known_fact *left = a, *right = b;
    return strcmp(left->fact, right->fact);
}

static void add_facts(struct buffer *out, const struct ledger *ledger)
{
    AUTO_BUFFER edition = {0};
    if (ledger->fact_count > 1)
        qsort(ledger->facts, ledger->fact_count, sizeof *ledger->facts, compare_facts);
    buffer_add_char(out, '{');
    if (ledger->edition) {
        buffer_add_number(&edition, ledger->edition);
        add_member(out, EDITION, buffer_text(&edition));
    }
    for (size_t i = 0; i < ledger->fact_count; i++)
        add_member(out, ledger->facts[i].fact, text_of(ledger->facts[i].value));
    buffer_add_char(out, '}');
}

void ledger_write_shard(const struct ledger *ledger, uint32_t shard, struct buffer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct ledger_bits bits = ledger->shards[shard].bits;
    struct ledger_entry *entries =
        arena_new_array(arena, struct ledger_entry, ledger->shards[shard].count + 1);
    size_t count = 0;
    for (uint32_t id = 0; id < ledger->slots.end; id++) {
        const struct ledger_item *item = &ledger->items[id];
        if (item->octets && ledger_bits_cover(bits, item->prefix) &&
            ledger_shard_of(ledger, item->prefix) == shard)
            entries[count++] = ledger_entry_of(item);
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    buffer_printf(out, "{\"v\":%d,\"meta\":", VERSION);
    add_facts(out, ledger);
    buffer_add_text(out, ",\"entries\":[");
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(out, i ? ",\n" : "\n");
        add_entry(out, &entries[i]);
    }
    buffer_add_text(out, "]}\n");
}

// ---- reading ------------------------------------------------------------------------------------

static bool refuse(struct error *err, const char *what)
{
    return error_set(err, FAULT_SPEC, "LedgerUnreadable", "%s", what);
}

// The pages in the order of their shards, as add_shards() made them.
struct reading {
    struct arena *arena;
    struct ledger *ledger;
    uint32_t shard;
};

static bool has_only(const struct value *map, const char *const *keys)
{
    value_each (item, map) {
        const char *const *key = keys;
        while (*key && !text_is(item->key, *key))
            key++;
        if (!*key)
            return false;
    }
    return true;
}

static bool take_type(const struct value *tree, struct ledger_entry *out, struct error *err)
{
    return record_type_parse(value_text_at(tree, "type"), &out->type) ||
           refuse(err, "its type is not known");
}

static bool take_hash(const struct value *tree, struct ledger_entry *out, struct error *err)
{
    struct text hash = value_text_at(tree, "hash");
    return (hash.len == HASH_DIGITS && hex_decode(hash, out->hash, sizeof out->hash)) ||
           refuse(err, "its hash is not 16 hex digits");
}

static bool take_since(const struct value *tree, struct ledger_entry *out, struct error *err)
{
    int64_t since_ms;
    struct text since = value_text_at(tree, "since");
    if (!since.len || !when_parse(since, &since_ms, NULL))
        return refuse(err, "its since is no time");
    out->since_s = since_ms / 1000;
    return true;
}

static bool take_text(const struct value *tree, const char *key, struct text *out,
                      struct error *err)
{
    const struct value *value = value_find(tree, key);
    if (!value || value->type != VALUE_TEXT)
        return error_set(err, FAULT_SPEC, "LedgerUnreadable", "its %s is no text", key);
    *out = value_text(value);
    return true;
}

static bool add_line(struct buffer *lines, const struct value *value)
{
    struct text line = value_text(value);
    if (!line.at || memchr(line.at, '\n', line.len))
        return false;
    buffer_add(lines, line.at, line.len);
    buffer_add_char(lines, '\n');
    return true;
}

static bool take_stored(struct arena *arena, const struct value *tree, struct ledger_entry *out,
                        struct error *err)
{
    AUTO_BUFFER lines = {0};
    const struct value *stored = value_find(tree, "stored");
    bool is_list = stored && stored->type == VALUE_LIST;
    bool is_good = !stored || is_list || add_line(&lines, stored);
    value_each (item, is_list ? stored : NULL)
        is_good = is_good && add_line(&lines, item);
    if (!is_good)
        return refuse(err, "what is stored is neither a line nor a list of lines");
    out->stored = (struct text){arena_copy(arena, buffer_text(&lines).at, lines.len), lines.len};
    return true;
}

static bool take_entry(struct arena *arena, const struct value *tree, struct ledger_entry *out,
                       struct error *err)
{
    static const char *const keys[] = {"name",  "type",  "set",    "owner", "hash",
                                       "state", "since", "stored", NULL};
    *out = (struct ledger_entry){0};
    if (tree->type != VALUE_MAP || !has_only(tree, keys))
        return refuse(err, "it has members that this version does not know");
    return take_text(tree, "name", &out->name, err) && take_type(tree, out, err) &&
           take_text(tree, "set", &out->set, err) && take_text(tree, "owner", &out->owner, err) &&
           take_text(tree, "state", &out->state, err) && take_hash(tree, out, err) &&
           take_since(tree, out, err) && take_stored(arena, tree, out, err) &&
           ledger_check(out, err);
}

// An entry counts in the shard with the longest prefix alone.
static bool file_entry(const struct reading *reading, const struct ledger_entry *entry,
                       struct error *err)
{
    struct ledger_entry other;
    struct ledger *ledger = reading->ledger;
    uint32_t prefix = ledger_name_prefix(entry->name);
    if (!ledger_bits_cover(ledger->shards[reading->shard].bits, prefix))
        return refuse(err, "it belongs to another shard");
    if (ledger_shard_of(ledger, prefix) != reading->shard)
        return true;
    if (ledger_find(ledger, entry->type, entry->name, entry->set, &other))
        return refuse(err, "it stands there twice");
    ledger_add(ledger, entry);
    return true;
}

static bool read_entries(const struct reading *reading, const struct value *list, struct error *err)
{
    size_t at = 0;
    if (!list || list->type != VALUE_LIST)
        return refuse(err, "entries is no list");
    value_each (item, list) {
        struct ledger_entry entry;
        if (!take_entry(reading->arena, item, &entry, err) || !file_entry(reading, &entry, err))
            return error_prefix(err, "entries[%zu]: ", at);
        at++;
    }
    return true;
}

static bool take_edition(const struct value *meta, uint64_t *edition, struct error *err)
{
    int64_t number = 0;
    const struct value *value = value_find(meta, EDITION);
    *edition = 0;
    if (!value)
        return true;
    struct text text = value_text(value);
    if (!text.len || text.len > EDITION_DIGITS || !text_to_int64(text, &number) || number < 0)
        return refuse(err, "meta.edition is no number");
    *edition = (uint64_t)number;
    return true;
}

static bool check_facts(const struct value *meta, struct error *err)
{
    if (!meta || meta->type != VALUE_MAP || value_count(meta) > LEDGER_FACTS_MAX)
        return refuse(err, "meta is no map, or too large");
    value_each (item, meta) {
        if (item->type != VALUE_TEXT)
            return refuse(err, "a fact in meta is no text");
        if (!ledger_fact_check(item->key, value_text(item), err))
            return false;
    }
    return true;
}

static bool has_same_facts(const struct ledger *ledger, const struct value *meta)
{
    size_t count = 0;
    value_each (item, meta) {
        AUTO_BUFFER key = {0};
        if (text_is(item->key, EDITION))
            continue;
        buffer_add(&key, item->key.at, item->key.len);
        const char *known = ledger_fact(ledger, key.at);
        if (!known || !text_is(value_text(item), known))
            return false;
        count++;
    }
    return count == ledger->fact_count;
}

// Pages differ where a change of the facts did not reach them all: the latest counts.
static bool read_facts(const struct reading *reading, const struct value *meta, struct error *err)
{
    uint64_t edition;
    struct ledger *ledger = reading->ledger;
    if (!check_facts(meta, err) || !take_edition(meta, &edition, err))
        return false;
    if (ledger->has_facts && edition == ledger->edition && has_same_facts(ledger, meta))
        return true;
    ledger->are_facts_torn = ledger->are_facts_torn || ledger->has_facts;
    if (ledger->has_facts && edition <= ledger->edition)
        return true;
    ledger_clear_facts(ledger);
    value_each (item, meta)
        if (!text_is(item->key, EDITION))
            ledger_set_fact(ledger, item->key, value_text(item));
    ledger->edition = edition;
    ledger->has_facts = true;
    return true;
}

static bool check_version(const struct value *tree, struct error *err)
{
    const struct value *version = value_find(tree, "v");
    if (!version || version->type != VALUE_INT)
        return refuse(err, "it is no ledger");
    if (version->integer != VERSION)
        return error_set(err, FAULT_SPEC, "LedgerUnreadable",
                         "its form is of version %lld, and this Signpost knows version %d alone",
                         (long long)version->integer, VERSION);
    return true;
}

static bool read_shard(const struct reading *reading, struct text json, struct error *err)
{
    static const char *const keys[] = {"v", "meta", "entries", NULL};
    const struct value *tree = value_read_json(reading->arena, json, &limits, err);
    if (!tree)
        return false;
    if (tree->type != VALUE_MAP)
        return refuse(err, "it is no ledger");
    if (!check_version(tree, err))
        return false;
    if (!has_only(tree, keys))
        return refuse(err, "it has members that this version does not know");
    return read_facts(reading, value_find(tree, "meta"), err) &&
           read_entries(reading, value_find(tree, "entries"), err);
}

// ---- pages --------------------------------------------------------------------------------------

// Its bits, from its name.
static bool is_shard(const struct ledger *ledger, struct text name, struct ledger_bits *bits)
{
    size_t len = strlen(ledger->prefix);
    return text_starts(name, ledger->prefix) &&
           ledger_bits_read((struct text){name.at + len, name.len - len}, bits);
}

static void add_shards(struct ledger *ledger, const struct ledger_shard_text *documents,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ledger_bits bits;
        if (!is_shard(ledger, documents[i].name, &bits))
            continue;
        uint32_t at = ledger_shard_add(ledger, bits);
        ledger->shards[at].version = text_dup(documents[i].version);
    }
    ledger_shards_settle(ledger);
}

static bool read_shards(struct ledger *ledger, const struct ledger_shard_text *documents,
                        size_t count, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct reading reading = {.arena = arena, .ledger = ledger};
    struct ledger_bits bits;
    for (size_t i = 0; i < count; i++) {
        if (!is_shard(ledger, documents[i].name, &bits))
            continue;
        if (!read_shard(&reading, documents[i].json, err)) {
            err->fault = FAULT_SPEC;
            snprintf(err->reason, sizeof err->reason, "LedgerUnreadable");
            return error_prefix(err, "%.*s: ", TEXT_ARGS(documents[i].name));
        }
        reading.shard++;
        arena_reset(arena);
    }
    ledger_shards_finish(ledger);
    if (ledger->are_facts_torn)
        ledger_shards_touch(ledger);
    return true;
}

bool ledger_read(struct ledger *ledger, const struct ledger_shard_text *documents, size_t count,
                 struct error *err)
{
    struct error local;
    struct ledger *next = ledger_like(ledger);
    add_shards(next, documents, count);
    if (!read_shards(next, documents, count, err ? err : &local)) {
        ledger_free(next);
        return false;
    }
    ledger_swap(ledger, next);
    ledger_free(next);
    return true;
}
