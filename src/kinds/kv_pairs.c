#include "kinds/kv_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "kinds/target.h"

enum { SHOWN_MAX = 64 };
#define TTL_KEY "dnsTTL"

// ---- reading ------------------------------------------------------------------------------------

static const struct value *as_map(const struct value *value)
{
    return value && value->type == VALUE_MAP ? value : NULL;
}

static size_t count_pairs(const struct value *kv)
{
    size_t count = 0;
    value_each (map, kv)
        count += value_count(as_map(map));
    return count;
}

static struct kv_set decode_set(struct arena *arena, const struct value *map)
{
    const struct value *kv = value_list_at(map, "kv");
    struct kv_set set = {.metadata = emco_metadata_decode(map)};
    struct kv_pair *pairs = arena_new_array(arena, struct kv_pair, count_pairs(kv) + 1);
    size_t index = 0;
    value_each (entry, kv) {
        value_each (item, as_map(entry))
            pairs[set.count++] =
                (struct kv_pair){.key = item->key, .value = value_text(item), .index = index};
        index++;
    }
    set.pairs = pairs;
    return set;
}

static int compare_names(const void *a, const void *b)
{
    return text_compare(((const struct kv_set *)a)->metadata.name,
                        ((const struct kv_set *)b)->metadata.name);
}

struct kv_sets kv_sets_decode(struct arena *arena, const struct value *list)
{
    struct kv_sets sets = {0};
    struct kv_set *items = arena_new_array(arena, struct kv_set, value_count(list) + 1);
    value_each (map, list)
        items[sets.count++] = decode_set(arena, map);
    qsort(items, sets.count, sizeof *items, compare_names);
    sets.items = items;
    return sets;
}

static struct text find_in_set(const struct kv_set *set, struct text key)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->pairs[i].value.len && text_equal(set->pairs[i].key, key))
            return set->pairs[i].value;
    return (struct text){0};
}

struct text kv_sets_find(const struct kv_sets *sets, struct text key)
{
    struct text found = {0};
    for (size_t i = 0; i < sets->count && !found.at; i++)
        if (!text_is(sets->items[i].metadata.name, KV_RECORD_LIST))
            found = find_in_set(&sets->items[i], key);
    return found;
}

// False: it can be no TTL.
static bool read_ttl(struct text text, int64_t *ttl_s)
{
    return text_to_int64(text, ttl_s) && *ttl_s > 0 && *ttl_s <= INT32_MAX;
}

int64_t kv_sets_ttl(const struct kv_sets *sets)
{
    int64_t ttl_s;
    return read_ttl(kv_sets_find(sets, TEXT(TTL_KEY)), &ttl_s) ? ttl_s : 0;
}

// ---- the list of records ------------------------------------------------------------------------

// "record" or "project/record". False: it is neither, and nothing is written.
static bool read_names(struct text value, struct text own_project, struct kv_record *out)
{
    struct text rest = value;
    struct text project = own_project;
    struct text record;
    text_cut(&rest, '/', &record);
    if (rest.at) {
        project = record;
        record = rest;
    }
    if (!emco_name_is_valid(project) || !emco_name_is_valid(record))
        return false;
    out->project = project;
    out->record = record;
    return true;
}

static struct kv_record read_record(struct arena *arena, const struct kv_pair *pair,
                                    struct text project)
{
    AUTO_BUFFER key = {0};
    text_clean(&key, pair->key, KV_KEY_MAX);
    struct kv_record record = {.where = arena_printf(arena, KV_RECORD_LIST " kv[%zu] %.*s",
                                                     pair->index, TEXT_ARGS(buffer_text(&key)))};
    if (!pair->value.at)
        record.fault = KV_NOT_TEXT;
    else if (!read_names(pair->value, project, &record))
        record.fault = KV_NOT_NAMES;
    return record;
}

static bool has_record(const struct kv_record *records, size_t count,
                       const struct kv_record *wanted)
{
    for (size_t i = 0; i < count && !wanted->fault; i++)
        if (text_equal(records[i].project, wanted->project) &&
            text_equal(records[i].record, wanted->record))
            return true;
    return false;
}

const struct kv_record *kv_record_list(struct arena *arena, const struct kv_sets *sets,
                                       struct text project, size_t *count)
{
    const struct kv_set *list = NULL;
    for (size_t i = 0; i < sets->count && !list; i++)
        if (text_is(sets->items[i].metadata.name, KV_RECORD_LIST))
            list = &sets->items[i];
    size_t most = list ? list->count : 0;
    struct kv_record *records = arena_new_array(arena, struct kv_record, most + 1);
    *count = 0;
    for (size_t i = 0; i < most; i++) {
        struct kv_record record = read_record(arena, &list->pairs[i], project);
        if (!has_record(records, *count, &record))
            records[(*count)++] = record;
    }
    return records;
}

// ---- rules --------------------------------------------------------------------------------------

static const char *pair_path(struct arena *arena, size_t set, size_t entry, struct text key)
{
    AUTO_BUFFER path = {0};
    buffer_printf(&path, "spec.kvPairs[%zu].kv[%zu]", set, entry);
    finding_path_add(&path, key);
    return arena_copy(arena, buffer_text(&path).at, path.len);
}

static void check_record(struct text value, const char *path, struct findings *findings)
{
    static const struct text some_project = {"project", sizeof "project" - 1};
    struct kv_record record;
    if (!read_names(value, some_project, &record))
        findings_add_at(findings, FINDING_WARNING, path,
                        "lists no record: write its name, or its project, / and its name");
}

static const char *shown(struct arena *arena, struct text text)
{
    AUTO_BUFFER clean = {0};
    text_clean(&clean, text, SHOWN_MAX);
    return arena_copy(arena, buffer_text(&clean).at, clean.len);
}

static void check_addresses(struct text value, const char *path, struct findings *findings)
{
    struct text piece;
    while (text_cut(&value, ',', &piece)) {
        struct text read;
        struct text target = text_trim(piece);
        target.len -= text_ends(target, ".");
        const char *why = target.len ? target_read(findings->arena, TEXT(""), target, &read) : NULL;
        if (why)
            findings_add_at(findings, FINDING_WARNING, path,
                            "\"%s\" %s, so that no name can lead there: write an address of "
                            "the cluster, or its host name",
                            shown(findings->arena, target), why);
    }
}

// "dnsPublicAddress" is of all services, "dnsPublicAddress.web" of one.
static bool holds_addresses(struct text key)
{
    struct text word;
    text_cut(&key, '.', &word);
    return text_is(word, "dnsPublicAddress") || text_is(word, "dnsLocalAddress") ||
           (text_is(word, "istioIngressGatewayAddress") && !key.at);
}

static void check_known(struct text key, struct text value, const char *path,
                        struct findings *findings)
{
    int64_t ttl_s;
    if (holds_addresses(key))
        check_addresses(value, path, findings);
    else if (text_is(key, TTL_KEY) && value.len && !read_ttl(value, &ttl_s))
        findings_add_at(findings, FINDING_WARNING, path,
                        "\"%s\" is no TTL and does not count: write 1 to %d seconds",
                        shown(findings->arena, value), INT32_MAX);
}

static void check_pair(const struct value *item, bool lists_records, const char *path,
                       struct findings *findings)
{
    struct text value = value_text(item);
    if (!item->key.len || item->key.len > KV_KEY_MAX)
        findings_add_at(findings, FINDING_ERROR, path, "a key must have 1 to %d octets, has %zu",
                        KV_KEY_MAX, item->key.len);
    if (lists_records && value.at && value.len <= KV_VALUE_MAX)
        check_record(value, path, findings);
    else if (!lists_records && value.len <= KV_VALUE_MAX)
        check_known(item->key, value, path, findings);
}

static void check_set(const struct value *map, size_t set, struct findings *findings)
{
    const struct value *kv = value_list_at(map, "kv");
    bool lists_records = text_is(value_text_at(map, "name"), KV_RECORD_LIST);
    size_t pairs = count_pairs(kv);
    size_t entry = 0;
    if (pairs > KV_PAIRS_MAX)
        findings_add_at(findings, FINDING_ERROR,
                        arena_printf(findings->arena, "spec.kvPairs[%zu].kv", set),
                        "must have at most %d pairs, has %zu", KV_PAIRS_MAX, pairs);
    value_each (pair_map, kv) {
        value_each (item, as_map(pair_map))
            check_pair(item, lists_records, pair_path(findings->arena, set, entry, item->key),
                       findings);
        entry++;
    }
}

void kv_pairs_check(const struct value *object, struct findings *findings)
{
    size_t set = 0;
    value_each (map, value_list_at(object, "spec.kvPairs"))
        check_set(map, set++, findings);
}
