#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/must.h"
#include "dns/ledger_private.h"
#include "dns/record_text.h"

enum {
    LABEL_OCTETS_MAX = 63,
    LABEL_KEPT = 52,
    LABEL_DIGITS = 10,
    ZONE_DIGITS = 8,
    STEM_OCTETS_MAX = LEDGER_NAME_MAX - 1 - LEDGER_BITS_MAX - ZONE_DIGITS - 2,
    STEM_DIGITS = 8,
    NAME_OCTETS_MAX = 253,
    SET_OCTETS_MAX = 128,
    OWNER_OCTETS_MAX = 1024,
    STATE_OCTETS_MAX = 48,
    FACT_NAME_MAX = 63,
};

// ---- names --------------------------------------------------------------------------------------

static void digits_of(struct text text, size_t digits, char *out)
{
    uint8_t digest[DIGEST_MAX];
    digest_of(DIGEST_SHA256, text, digest);
    hex_encode(digest, digits / 2, out);
}

void ledger_label_write(const char *backend, char out[LEDGER_LABEL_MAX])
{
    char digits[LABEL_DIGITS + 1];
    if (strlen(backend) <= LABEL_OCTETS_MAX) {
        snprintf(out, LEDGER_LABEL_MAX, "%s", backend);
        return;
    }
    digits_of(text_of(backend), LABEL_DIGITS, digits);
    snprintf(out, LEDGER_LABEL_MAX, "%.*s-%s", LABEL_KEPT, backend, digits);
}

// A cut name must not end in what only stands between two others.
static size_t stem_cut(const struct buffer *stem, size_t len)
{
    while (strchr(".-", stem->at[len - 1]))
        len--;
    return len;
}

static void write_prefix(struct ledger *ledger, struct text zone)
{
    AUTO_BUFFER stem = {0};
    char digits[ZONE_DIGITS + 1];
    buffer_printf(&stem, LEDGER_SHARDS "%s", ledger->backend);
    if (stem.len > STEM_OCTETS_MAX) {
        AUTO_BUFFER cut = {0};
        digits_of(text_of(ledger->backend), STEM_DIGITS, digits);
        buffer_printf(&cut, "%.*s-%s", (int)stem_cut(&stem, STEM_OCTETS_MAX - STEM_DIGITS - 1),
                      stem.at, digits);
        buffer_clear(&stem);
        buffer_add_text(&stem, cut.at);
    }
    digits_of(zone, ZONE_DIGITS, digits);
    snprintf(ledger->prefix, sizeof ledger->prefix, "%s-%s-", stem.at, digits);
}

const char *ledger_prefix(const struct ledger *ledger)
{
    return ledger->prefix;
}

uint32_t ledger_name_prefix(struct text name)
{
    uint8_t digest[DIGEST_MAX];
    digest_of(DIGEST_SHA256, name, digest);
    return (uint32_t)digest[0] << 24 | (uint32_t)digest[1] << 16 | (uint32_t)digest[2] << 8;
}

// ---- the hash -----------------------------------------------------------------------------------

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

void ledger_hash(const struct record_set *set, uint8_t out[8])
{
    AUTO_BUFFER lines = {0};
    uint8_t digest[DIGEST_MAX];
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text *texts = arena_new_array(arena, struct text, set->value_count + 1);
    for (size_t i = 0; i < set->value_count; i++)
        texts[i] = record_rdata_make(arena, set, i);
    qsort(texts, set->value_count, sizeof *texts, compare_texts);
    buffer_printf(&lines, "%u\n", set->ttl_s);
    for (size_t i = 0; i < set->value_count; i++)
        buffer_printf(&lines, "%.*s\n", TEXT_ARGS(texts[i]));
    digest_of(DIGEST_SHA256, buffer_text(&lines), digest);
    memcpy(out, digest, 8);
}

// ---- life ---------------------------------------------------------------------------------------

struct wanted_key {
    enum record_type type;
    struct text name;
    struct text set;
};

static uint64_t hash_of_key(const struct wanted_key *key)
{
    uint64_t mixed[] = {hash_octets(key->name.at, key->name.len),
                        hash_octets(key->set.at, key->set.len), key->type};
    return hash_octets(mixed, sizeof mixed);
}

static struct wanted_key key_of(const struct ledger_item *item)
{
    struct ledger_entry entry = ledger_entry_of(item);
    return (struct wanted_key){entry.type, entry.name, entry.set};
}

static bool item_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct ledger *ledger = context;
    const struct wanted_key *key = wanted;
    struct wanted_key is = key_of(&ledger->items[id]);
    return is.type == key->type && text_equal(is.name, key->name) && text_equal(is.set, key->set);
}

static uint64_t item_hash(const void *context, uint32_t id)
{
    const struct ledger *ledger = context;
    struct wanted_key key = key_of(&ledger->items[id]);
    return hash_of_key(&key);
}

static const struct table_ops by_key_ops = {item_matches, item_hash};

struct ledger *ledger_new(const char *backend, struct text zone)
{
    struct ledger *ledger = mem_new_of(struct ledger);
    ledger->backend = mem_copy_text(backend);
    ledger->slab = slab_new();
    ledger->by_key = (struct table){.ops = &by_key_ops, .context = ledger};
    write_prefix(ledger, zone);
    return ledger;
}

struct ledger *ledger_like(const struct ledger *ledger)
{
    struct ledger *other = ledger_new(ledger->backend, TEXT(""));
    memcpy(other->prefix, ledger->prefix, sizeof other->prefix);
    return other;
}

void ledger_swap(struct ledger *a, struct ledger *b)
{
    struct ledger kept = *a;
    *a = *b;
    *b = kept;
    a->by_key.context = a;
    b->by_key.context = b;
}

static size_t octets_of(const struct ledger_item *item)
{
    return (size_t)item->name_len + item->set_len + item->owner_len + item->state_len +
           item->stored_len + 5;
}

void ledger_clear_facts(struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->fact_count; i++) {
        free(ledger->facts[i].fact);
        free(ledger->facts[i].value);
    }
    ledger->fact_count = 0;
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    for (uint32_t id = 0; id < ledger->slots.end; id++)
        if (ledger->items[id].octets)
            slab_give(ledger->items[id].octets, octets_of(&ledger->items[id]));
    slab_free(ledger->slab);
    slots_done(&ledger->slots);
    table_done(&ledger->by_key);
    ledger_clear_facts(ledger);
    ledger_shards_free(ledger);
    free(ledger->facts);
    free(ledger->items);
    free(ledger->backend);
    free(ledger);
}

// ---- entries ------------------------------------------------------------------------------------

static struct text take_text(const char **at, size_t len)
{
    struct text text = {*at, len};
    *at += len + 1;
    return text;
}

struct ledger_entry ledger_entry_of(const struct ledger_item *item)
{
    const char *at = item->octets;
    struct ledger_entry entry = {.type = (enum record_type)item->type, .since_s = item->since_s};
    entry.name = take_text(&at, item->name_len);
    entry.set = take_text(&at, item->set_len);
    entry.owner = take_text(&at, item->owner_len);
    entry.state = take_text(&at, item->state_len);
    entry.stored = take_text(&at, item->stored_len);
    memcpy(entry.hash, item->hash, sizeof entry.hash);
    return entry;
}

static void add_text(char **at, struct text text)
{
    if (text.len)
        memcpy(*at, text.at, text.len);
    (*at)[text.len] = '\0';
    *at += text.len + 1;
}

static struct ledger_item make_item(struct ledger *ledger, const struct ledger_entry *entry)
{
    struct ledger_item item = {
        .since_s = entry->since_s,
        .prefix = ledger_name_prefix(entry->name),
        .stored_len = (uint32_t)entry->stored.len,
        .owner_len = (uint16_t)entry->owner.len,
        .name_len = (uint8_t)entry->name.len,
        .set_len = (uint8_t)entry->set.len,
        .state_len = (uint8_t)entry->state.len,
        .type = (uint8_t)entry->type,
    };
    memcpy(item.hash, entry->hash, sizeof item.hash);
    char *at = item.octets = slab_take(ledger->slab, octets_of(&item));
    add_text(&at, entry->name);
    add_text(&at, entry->set);
    add_text(&at, entry->owner);
    add_text(&at, entry->state);
    add_text(&at, entry->stored);
    return item;
}

static uint32_t find_id(const struct ledger *ledger, enum record_type type, struct text name,
                        struct text set)
{
    const struct wanted_key key = {type, name, set};
    return table_find(&ledger->by_key, hash_of_key(&key), &key);
}

size_t ledger_count(const struct ledger *ledger)
{
    return ledger->by_key.count;
}

bool ledger_find(const struct ledger *ledger, enum record_type type, struct text name,
                 struct text set, struct ledger_entry *out)
{
    uint32_t id = find_id(ledger, type, name, set);
    if (id == TABLE_NONE)
        return false;
    *out = ledger_entry_of(&ledger->items[id]);
    return true;
}

bool ledger_next(const struct ledger *ledger, size_t *cursor, struct ledger_entry *out)
{
    while (*cursor < ledger->slots.end) {
        const struct ledger_item *item = &ledger->items[(*cursor)++];
        if (!item->octets)
            continue;
        *out = ledger_entry_of(item);
        return true;
    }
    return false;
}

static void add_item(struct ledger *ledger, struct ledger_item item)
{
    uint32_t id = slots_take(&ledger->slots);
    mem_reserve(&ledger->items, &ledger->item_capacity, ledger->slots.end);
    ledger->items[id] = item;
    table_add(&ledger->by_key, item_hash(ledger, id), id);
    ledger_shard_count(ledger, &ledger->items[id], true);
}

void ledger_add(struct ledger *ledger, const struct ledger_entry *entry)
{
    add_item(ledger, make_item(ledger, entry));
}

static void remove_item(struct ledger *ledger, uint32_t id)
{
    struct ledger_item *item = &ledger->items[id];
    ledger_shard_count(ledger, item, false);
    table_remove(&ledger->by_key, item_hash(ledger, id), id);
    slab_give(item->octets, octets_of(item));
    *item = (struct ledger_item){0};
    slots_give(&ledger->slots, id);
}

static bool is_same(const struct ledger_entry *a, const struct ledger_entry *b)
{
    return text_equal(a->owner, b->owner) && text_equal(a->stored, b->stored) &&
           text_equal(a->state, b->state) && !memcmp(a->hash, b->hash, sizeof a->hash);
}

bool ledger_put(struct ledger *ledger, const struct ledger_entry *entry)
{
    struct error err;
    struct ledger_entry now;
    must(ledger_check(entry, &err));
    uint32_t id = find_id(ledger, entry->type, entry->name, entry->set);
    if (id != TABLE_NONE) {
        now = ledger_entry_of(&ledger->items[id]);
        if (is_same(&now, entry))
            return false;
    }
    struct ledger_item item = make_item(ledger, entry);
    if (id != TABLE_NONE)
        remove_item(ledger, id);
    uint32_t shard = ledger_shard_for(ledger, item.prefix);
    add_item(ledger, item);
    ledger_shard_touch(ledger, shard);
    return true;
}

bool ledger_drop(struct ledger *ledger, enum record_type type, struct text name, struct text set)
{
    uint32_t id = find_id(ledger, type, name, set);
    if (id == TABLE_NONE)
        return false;
    uint32_t shard = ledger_shard_of(ledger, ledger->items[id].prefix);
    remove_item(ledger, id);
    ledger_shard_touch(ledger, shard);
    return true;
}

// ---- checks -------------------------------------------------------------------------------------

static bool is_graphic(struct text text, const char *refused)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] <= ' ' || text.at[i] > '~' || strchr(refused, text.at[i]))
            return false;
    return true;
}

static bool is_printable(struct text text, char besides)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if ((c < ' ' && text.at[i] != besides && c != '\t') || c == 0x7f)
            return false;
    }
    return utf8_is_valid(text);
}

static bool refuse(struct error *err, const char *what)
{
    return error_set(err, FAULT_SPEC, "LedgerUnreadable", "%s", what);
}

bool ledger_check(const struct ledger_entry *entry, struct error *err)
{
    if (entry->type >= RECORD_TYPES)
        return refuse(err, "its type is not known");
    if (!entry->name.len || entry->name.len > NAME_OCTETS_MAX ||
        !is_graphic(entry->name, "\"\\ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        return refuse(err, "its name is no owner name");
    if (entry->set.len > SET_OCTETS_MAX || !is_printable(entry->set, 0))
        return refuse(err, "its set is no set identifier");
    if (entry->owner.len > OWNER_OCTETS_MAX || !is_printable(entry->owner, 0))
        return refuse(err, "its owner is none");
    if (entry->state.len > STATE_OCTETS_MAX || !is_graphic(entry->state, "\"\\"))
        return refuse(err, "its state is none");
    if (entry->stored.len > LEDGER_STORED_MAX || !is_printable(entry->stored, '\n') ||
        (entry->stored.len && !text_ends(entry->stored, "\n")))
        return refuse(err, "what is stored cannot be kept as lines");
    return true;
}

// ---- facts --------------------------------------------------------------------------------------

bool ledger_fact_check(struct text fact, struct text value, struct error *err)
{
    if (!fact.len || fact.len > FACT_NAME_MAX || !is_graphic(fact, "\"\\"))
        return refuse(err, "a fact in meta has no name that is one");
    if (value.len > LEDGER_FACT_MAX || !is_printable(value, '\n'))
        return refuse(err, "a fact in meta has no text that can be kept");
    return true;
}

static struct ledger_known_fact *find_fact(const struct ledger *ledger, struct text fact)
{
    for (size_t i = 0; i < ledger->fact_count; i++)
        if (text_is(fact, ledger->facts[i].fact))
            return &ledger->facts[i];
    return NULL;
}

const char *ledger_fact(const struct ledger *ledger, const char *fact)
{
    const struct ledger_known_fact *known = find_fact(ledger, text_of(fact));
    return known ? known->value : NULL;
}

void ledger_set_fact(struct ledger *ledger, struct text fact, struct text value)
{
    struct ledger_known_fact *known = find_fact(ledger, fact);
    if (!known) {
        mem_reserve(&ledger->facts, &ledger->fact_capacity, ledger->fact_count + 1);
        known = &ledger->facts[ledger->fact_count++];
        *known = (struct ledger_known_fact){.fact = text_dup(fact)};
    }
    free(known->value);
    known->value = text_dup(value);
}

static void forget_fact(struct ledger *ledger, struct ledger_known_fact *known)
{
    free(known->fact);
    free(known->value);
    *known = ledger->facts[--ledger->fact_count];
}

bool ledger_keep(struct ledger *ledger, const char *fact, const char *value)
{
    struct ledger_known_fact *known = find_fact(ledger, text_of(fact));
    if (known ? value && !strcmp(known->value, value) : !value)
        return false;
    if (value) {
        must(ledger_fact_check(text_of(fact), text_of(value), NULL));
        must(known || ledger->fact_count < LEDGER_FACTS_MAX);
        ledger_set_fact(ledger, text_of(fact), text_of(value));
    } else {
        forget_fact(ledger, known);
    }
    ledger->edition++;
    ledger_shards_touch(ledger);
    return true;
}
