#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/value.h"
#include "dns/ledger.h"

// ---- a store of pages ---------------------------------------------------------------------------

enum { SHARDS_MAX = 256 };

struct document {
    char *name; // NULL: free
    char *version;
    char *json;
};
struct documents {
    struct document items[SHARDS_MAX];
    unsigned versions;
    size_t puts;
    int left; // operations until it fails; below 0: it never does
};

static struct document *shards_find(struct documents *documents, const char *name)
{
    for (size_t i = 0; i < SHARDS_MAX; i++)
        if (documents->items[i].name && !strcmp(documents->items[i].name, name))
            return &documents->items[i];
    return NULL;
}

static void shard_clear(struct document *document)
{
    free(document->name);
    free(document->version);
    free(document->json);
    *document = (struct document){0};
}

static void shards_done(struct documents *documents)
{
    for (size_t i = 0; i < SHARDS_MAX; i++)
        shard_clear(&documents->items[i]);
}

static struct document *shards_add(struct documents *documents, const char *name)
{
    struct document *document = documents->items;
    while (document->name)
        assert_true(++document < documents->items + SHARDS_MAX);
    document->name = mem_copy_text(name);
    return document;
}

static const char *shards_put(struct documents *documents, const struct ledger_task *task,
                              const char *json)
{
    char version[16];
    struct document *document = shards_find(documents, task->name);
    assert_true(document ? task->version && !strcmp(document->version, task->version)
                         : !task->version);
    if (!document)
        document = shards_add(documents, task->name);
    snprintf(version, sizeof version, "v%u", ++documents->versions);
    free(document->version);
    free(document->json);
    document->version = mem_copy_text(version);
    document->json = mem_copy_text(json);
    documents->puts++;
    return document->version;
}

static void shards_set(struct documents *documents, const char *name, const char *json)
{
    struct document *document = shards_find(documents, name);
    const struct ledger_task task = {.version = document ? document->version : NULL};
    struct ledger_task named = task;
    snprintf(named.name, sizeof named.name, "%s", name);
    shards_put(documents, &named, json);
}

static size_t shards_count(const struct documents *documents)
{
    size_t count = 0;
    for (size_t i = 0; i < SHARDS_MAX; i++)
        count += documents->items[i].name != NULL;
    return count;
}

static bool is_failing(struct documents *documents)
{
    return documents->left >= 0 && documents->left-- == 0;
}

// As a keeper does. False: it broke off.
static bool store_all(struct ledger *ledger, struct documents *documents)
{
    struct ledger_task task;
    while (ledger_is_due(ledger)) {
        while (ledger_next_put(ledger, &task)) {
            AUTO_BUFFER json = {0};
            if (is_failing(documents))
                return false;
            ledger_write_shard(ledger, task.shard, &json);
            ledger_was_put(ledger, task.shard, shards_put(documents, &task, json.at));
        }
        while (ledger_next_drop(ledger, &task)) {
            struct document *document = shards_find(documents, task.name);
            if (is_failing(documents))
                return false;
            assert_non_null(document);
            assert_string_equal(document->version, task.version);
            shard_clear(document);
            ledger_was_dropped(ledger, task.shard);
        }
    }
    return true;
}

static bool load(struct ledger *ledger, const struct documents *documents, struct error *err)
{
    struct ledger_shard_text list[SHARDS_MAX];
    size_t count = 0;
    for (size_t i = SHARDS_MAX; i-- > 0;)
        if (documents->items[i].name)
            list[count++] = (struct ledger_shard_text){text_of(documents->items[i].name),
                                                       text_of(documents->items[i].version),
                                                       text_of(documents->items[i].json)};
    return ledger_read(ledger, list, count, err);
}

// ---- the bench ----------------------------------------------------------------------------------

#define BACKEND "pihole-upstairs"
#define PREFIX "signpost-ledger-pihole-upstairs-cdb4ee2a-"

static struct ledger *new_ledger(void)
{
    return ledger_new(BACKEND, TEXT("."));
}

static struct ledger_entry entry_of(const char *name, const char *stored)
{
    return (struct ledger_entry){
        .type = RECORD_CNAME,
        .name = text_of(name),
        .set = TEXT(""),
        .owner = TEXT("ingress/shop/web"),
        .stored = text_of(stored),
        .state = TEXT("Pending"),
        .hash = {0xc4, 0x8d, 0x5c, 0xb9, 0x96, 0xfa, 0xc1, 0x99},
        .since_s = 1767225600,
    };
}

static void put(struct ledger *ledger, const char *name, const char *stored)
{
    struct ledger_entry entry = entry_of(name, stored);
    ledger_put(ledger, &entry);
}

static const char *stored_of(const struct ledger *ledger, const char *name)
{
    struct ledger_entry entry;
    if (!ledger_find(ledger, RECORD_CNAME, text_of(name), TEXT(""), &entry))
        return NULL;
    return entry.stored.at;
}

static void expect_shard(struct documents *documents, const char *name, const char *json)
{
    const struct document *document = shards_find(documents, name);
    assert_non_null(document);
    assert_string_equal(document->json, json);
}

#define ENTRY(name, stored)                                                                        \
    "{\"name\":\"" name "\",\"type\":\"CNAME\",\"set\":\"\",\"owner\":\"ingress/shop/web\","       \
    "\"hash\":\"c48d5cb996fac199\",\"state\":\"Pending\",\"since\":\"2026-01-01T00:00:00Z\""       \
    ",\"stored\":" stored "}"
#define SHARD(meta, entries) "{\"v\":1,\"meta\":" meta ",\"entries\":[" entries "]}\n"

static void expect_refused(const char *json, const char *text)
{
    struct error err = {0};
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    put(ledger, "kept.example", "kept.example,a\n");
    shards_set(&documents, PREFIX "x", json);
    assert_false(load(ledger, &documents, &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.reason, "LedgerUnreadable");
    assert_non_null(strstr(err.text, PREFIX "x: "));
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.text);
    assert_int_equal(ledger_count(ledger), 1);
    shards_done(&documents);
}

// ---- hash and names -----------------------------------------------------------------------------

static void expect_hash(const struct record_set *set, const char *hex)
{
    uint8_t hash[8];
    char text[17];
    ledger_hash(set, hash);
    hex_encode(hash, sizeof hash, text);
    assert_string_equal(text, hex);
}

static void hash_is_of_ttl_and_sorted_values(void **state)
{
    (void)state;
    struct text values[] = {TEXT("192.0.2.11"), TEXT("192.0.2.10")};
    struct record_set set = {.type = RECORD_A,
                             .domain = TEXT("example.com"),
                             .subdomain = TEXT("www"),
                             .ttl_s = 300,
                             .values = values,
                             .value_count = 2,
                             .priority = -1,
                             .weight = -1,
                             .port = -1};
    expect_hash(&set, "c48d5cb996fac199");
}

static void expect_hash_of(const struct record_set *set, const char *lines)
{
    uint8_t digest[DIGEST_MAX];
    char hex[17];
    digest_of(DIGEST_SHA256, text_of(lines), digest);
    hex_encode(digest, 8, hex);
    expect_hash(set, hex);
}

static void hash_is_of_canonical_rdata(void **state)
{
    (void)state;
    struct text host[] = {TEXT("Mail.Example.com")};
    struct text address[] = {TEXT("2001:DB8:0::1")};
    struct text string[] = {TEXT("say \"hi\"; \\o/")};
    struct record_set set = {.type = RECORD_MX,
                             .ttl_s = 60,
                             .values = host,
                             .value_count = 1,
                             .priority = 10,
                             .weight = -1,
                             .port = -1};
    expect_hash_of(&set, "60\n10 mail.example.com.\n");
    set.type = RECORD_SRV;
    set.weight = 5;
    set.port = 5060;
    expect_hash_of(&set, "60\n10 5 5060 mail.example.com.\n");
    set = (struct record_set){.type = RECORD_AAAA,
                              .values = address,
                              .value_count = 1,
                              .priority = -1,
                              .weight = -1,
                              .port = -1};
    expect_hash_of(&set, "0\n2001:db8::1\n");
    set.type = RECORD_TXT;
    set.values = string;
    expect_hash_of(&set, "0\n\"say \\\"hi\\\"; \\\\o/\"\n");
}

static void shards_are_named_by_backend_zone_and_bits(void **state)
{
    (void)state;
    struct ledger_task task;
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    assert_string_equal(ledger_prefix(ledger), PREFIX);
    put(ledger, "a.example", "");
    assert_true(ledger_next_put(ledger, &task));
    assert_string_equal(task.name, PREFIX "x");
    assert_null(task.version);
}

static void long_names_are_cut_and_hashed(void **state)
{
    (void)state;
    char backend[260];
    char label[LEDGER_LABEL_MAX];
    memset(backend, 'a', sizeof backend);
    memcpy(backend, "class-", 6);
    backend[sizeof backend - 1] = '\0';
    backend[136 - 16] = '.';
    CLEANUP(ledger) struct ledger *ledger = ledger_new(backend, TEXT("example.com"));
    backend[200] = 'b';
    CLEANUP(ledger) struct ledger *other = ledger_new(backend, TEXT("example.com"));
    assert_true(strlen(ledger_prefix(ledger)) + LEDGER_BITS_MAX <= 180);
    assert_string_not_equal(ledger_prefix(ledger), ledger_prefix(other));
    assert_memory_equal(ledger_prefix(ledger), ledger_prefix(other), 100);
    assert_null(strstr(ledger_prefix(ledger), ".-"));
    ledger_label_write("a-very-long-zone-name-for-the-customer-portal-example-org.team-platform-"
                       "services",
                       label);
    assert_string_equal(label, "a-very-long-zone-name-for-the-customer-portal-exampl-64eb6cb0b8");
    ledger_label_write(BACKEND, label);
    assert_string_equal(label, BACKEND);
}

// ---- pages --------------------------------------------------------------------------------------

static void a_shard_reads_back_as_it_was_written(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    put(ledger, "www.home.lan", "www.home.lan,a.home.lan\n");
    put(ledger, "api.home.lan", "api.home.lan,a.home.lan\napi.home.lan,b.home.lan\n");
    ledger_keep(ledger, "first-sync", "2026-01-01T00:00:00Z");
    assert_true(store_all(ledger, &documents));
    expect_shard(&documents, PREFIX "x",
                 SHARD("{\"edition\":\"1\",\"first-sync\":\"2026-01-01T00:00:00Z\"}",
                       "\n" ENTRY("api.home.lan", "[\"api.home.lan,a.home.lan\","
                                                  "\"api.home.lan,b.home.lan\"]") ",\n" //
                       ENTRY("www.home.lan", "\"www.home.lan,a.home.lan\"")));
    CLEANUP(ledger) struct ledger *again = new_ledger();
    assert_true(load(again, &documents, NULL));
    assert_int_equal(ledger_count(again), 2);
    assert_string_equal(stored_of(again, "www.home.lan"), "www.home.lan,a.home.lan\n");
    assert_string_equal(stored_of(again, "api.home.lan"),
                        "api.home.lan,a.home.lan\napi.home.lan,b.home.lan\n");
    assert_string_equal(ledger_fact(again, "first-sync"), "2026-01-01T00:00:00Z");
    assert_false(ledger_is_due(again));
    shards_done(&documents);
}

static void what_changes_nothing_is_not_written(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    struct ledger_entry entry = entry_of("www.home.lan", "www.home.lan,a\n");
    ledger_put(ledger, &entry);
    ledger_keep(ledger, "key", "sha256//abc");
    assert_true(store_all(ledger, &documents));
    entry.since_s += 100;
    ledger_put(ledger, &entry);
    ledger_keep(ledger, "key", "sha256//abc");
    ledger_keep(ledger, "other", NULL);
    ledger_drop(ledger, RECORD_A, TEXT("www.home.lan"), TEXT(""));
    assert_false(ledger_is_due(ledger));
    entry.state = TEXT("Written");
    ledger_put(ledger, &entry);
    assert_true(ledger_is_due(ledger));
    shards_done(&documents);
}

static void an_entry_is_found_by_type_name_and_set(void **state)
{
    (void)state;
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    struct ledger_entry entry = entry_of("www.home.lan", "one\n");
    struct ledger_entry found;
    ledger_put(ledger, &entry);
    entry.type = RECORD_A;
    entry.stored = TEXT("two\n");
    ledger_put(ledger, &entry);
    entry.set = TEXT("eu");
    entry.stored = TEXT("three\n");
    ledger_put(ledger, &entry);
    assert_int_equal(ledger_count(ledger), 3);
    assert_true(ledger_find(ledger, RECORD_A, TEXT("www.home.lan"), TEXT(""), &found));
    assert_string_equal(found.stored.at, "two\n");
    ledger_drop(ledger, RECORD_A, TEXT("www.home.lan"), TEXT(""));
    assert_false(ledger_find(ledger, RECORD_A, TEXT("www.home.lan"), TEXT(""), &found));
    assert_true(ledger_find(ledger, RECORD_A, TEXT("www.home.lan"), TEXT("eu"), &found));
    assert_true(text_is(found.owner, "ingress/shop/web"));
    assert_string_equal(stored_of(ledger, "www.home.lan"), "one\n");
}

static void shards_of_others_are_left_alone(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    shards_set(&documents, PREFIX "backup", "none of ours");
    shards_set(&documents, "signpost-ledger-pihole-upstairs-00000000-x", "none of ours");
    shards_set(&documents, PREFIX "x", SHARD("{}", ENTRY("a.example", "\"a.example,b\"")));
    assert_true(load(ledger, &documents, NULL));
    assert_int_equal(ledger_count(ledger), 1);
    shards_done(&documents);
}

static void what_is_not_understood_is_refused(void **state)
{
    (void)state;
    expect_refused("", "");
    expect_refused("{\"v\":1", "");
    expect_refused("[]", "it is no ledger");
    expect_refused("{\"v\":2,\"meta\":{},\"entries\":[]}", "of version 2");
    expect_refused("{\"v\":1,\"meta\":{},\"entries\":[],\"more\":1}", "members");
    expect_refused("{\"v\":1,\"meta\":{}}", "entries is no list");
    expect_refused("{\"v\":1,\"meta\":[],\"entries\":[]}", "meta is no map");
    expect_refused(SHARD("{\"a\":1}", ""), "is no text");
    expect_refused(SHARD("{\"edition\":\"-1\"}", ""), "meta.edition");
    expect_refused(SHARD("{}", "7"), "entries[0]: ");
    expect_refused(SHARD("{}", ENTRY("A.example", "\"x\"")), "name");
    expect_refused(SHARD("{}", ENTRY("", "\"x\"")), "name");
    expect_refused(SHARD("{}", ENTRY("a.example", "7")), "stored");
    expect_refused(SHARD("{}", ENTRY("a.example", "\"a\\nb\"")), "stored");
    expect_refused(SHARD("{}", ENTRY("a.example", "\"a\\u0000b\"")), "stored");
    expect_refused(SHARD("{}", ENTRY("a.example", "\"x\",\"more\":1")), "members");
    expect_refused(SHARD("{}", ENTRY("a.example", "\"x\"") "," ENTRY("a.example", "\"y\"")),
                   "entries[1]: it stands there twice");
}

static void an_entry_of_another_shard_is_refused(void **state)
{
    (void)state;
    struct error err;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    size_t refused = 0;
    for (int bit = 0; bit < 2; bit++) {
        shards_set(&documents, bit ? PREFIX "1" : PREFIX "0",
                   SHARD("{}", ENTRY("a.example", "\"a.example,b\"")));
        refused += !load(ledger, &documents, &err);
        shard_clear(shards_find(&documents, bit ? PREFIX "1" : PREFIX "0"));
    }
    assert_int_equal(refused, 1);
    shards_done(&documents);
}

static void the_latest_facts_count_and_reach_all_shards(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    shards_set(&documents, PREFIX "0", SHARD("{\"edition\":\"4\",\"key\":\"old\"}", ""));
    shards_set(&documents, PREFIX "1", SHARD("{\"edition\":\"5\",\"key\":\"new\"}", ""));
    assert_true(load(ledger, &documents, NULL));
    assert_string_equal(ledger_fact(ledger, "key"), "new");
    assert_true(store_all(ledger, &documents));
    expect_shard(&documents, PREFIX "0",
                 "{\"v\":1,\"meta\":{\"edition\":\"5\",\"key\":\"new\"},"
                 "\"entries\":[]}\n");
    ledger_keep(ledger, "key", NULL);
    assert_true(store_all(ledger, &documents));
    expect_shard(&documents, PREFIX "1", "{\"v\":1,\"meta\":{\"edition\":\"6\"},\"entries\":[]}\n");
    shards_done(&documents);
}

// ---- splits -------------------------------------------------------------------------------------

static void put_many(struct ledger *ledger, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        char name[32], stored[64];
        snprintf(name, sizeof name, "n%zu.example", i);
        snprintf(stored, sizeof stored, "%s,target\n", name);
        put(ledger, name, stored);
    }
}

static void a_shard_that_is_too_large_gives_way_to_two(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    put_many(ledger, 0, LEDGER_ENTRIES_MAX);
    assert_true(store_all(ledger, &documents));
    assert_int_equal(shards_count(&documents), 1);
    put_many(ledger, LEDGER_ENTRIES_MAX, 1);
    assert_true(store_all(ledger, &documents));
    assert_int_equal(shards_count(&documents), 2);
    assert_non_null(shards_find(&documents, PREFIX "0"));
    assert_non_null(shards_find(&documents, PREFIX "1"));
    assert_int_equal(documents.puts, 3);
    put(ledger, "n0.example", "n0.example,other\n");
    assert_true(store_all(ledger, &documents));
    assert_int_equal(documents.puts, 4);
    shards_done(&documents);
}

static void expect_small_shards(char fill)
{
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    char *stored = mem_new(1, 60002);
    memset(stored, fill, 60000);
    stored[60000] = '\n';
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%d.example", i);
        put(ledger, name, stored);
    }
    assert_true(store_all(ledger, &documents));
    for (size_t i = 0; i < SHARDS_MAX; i++)
        assert_true(!documents.items[i].name || strlen(documents.items[i].json) < 700 * 1024);
    free(stored);
    shards_done(&documents);
}

static void large_entries_split_a_shard_too(void **state)
{
    (void)state;
    expect_small_shards('a');
    expect_small_shards('"');
    expect_small_shards('\t');
}

static size_t count_loaded(const struct documents *documents)
{
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    assert_true(load(ledger, documents, NULL));
    return ledger_count(ledger);
}

static void nothing_is_lost_wherever_a_split_breaks_off(void **state)
{
    (void)state;
    bool is_done = false;
    for (int steps = 0; !is_done; steps++) {
        struct documents documents = {.left = -1};
        CLEANUP(ledger) struct ledger *ledger = new_ledger();
        put_many(ledger, 0, 500);
        assert_true(store_all(ledger, &documents));
        put_many(ledger, 500, 1600);
        documents.left = steps;
        is_done = store_all(ledger, &documents);
        documents.left = -1;
        assert_true(count_loaded(&documents) >= 500);
        CLEANUP(ledger) struct ledger *next = new_ledger();
        assert_true(load(next, &documents, NULL));
        put_many(next, 0, 2100);
        assert_true(store_all(next, &documents));
        assert_int_equal(count_loaded(&documents), 2100);
        assert_null(shards_find(&documents, PREFIX "x"));
        shards_done(&documents);
    }
}

static void a_parent_that_was_left_behind_does_not_count(void **state)
{
    (void)state;
    struct documents documents = {.left = -1};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    shards_set(&documents, PREFIX "x", SHARD("{}", ENTRY("a.example", "\"old\"")));
    shards_set(&documents, PREFIX "00", SHARD("{}", ""));
    shards_set(&documents, PREFIX "01", SHARD("{}", ""));
    shards_set(&documents, PREFIX "1", SHARD("{}", ""));
    assert_true(load(ledger, &documents, NULL));
    assert_int_equal(ledger_count(ledger), 0);
    assert_true(ledger_is_due(ledger));
    assert_true(store_all(ledger, &documents));
    assert_int_equal(shards_count(&documents), 3);
    shards_done(&documents);
}

static void ten_thousand_entries_survive_any_changes(void **state)
{
    (void)state;
    enum { NAMES = 10000 };
    struct documents documents = {.left = -1};
    uint64_t seed = 7;
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    bool *is_there = mem_new_array(bool, NAMES);
    size_t count = 0;
    put_many(ledger, 0, NAMES);
    for (size_t i = 0; i < NAMES; i++)
        is_there[i] = true;
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 1000; i++) {
            char name[32];
            seed = hash_octets(&seed, sizeof seed);
            size_t at = seed % NAMES;
            snprintf(name, sizeof name, "n%zu.example", at);
            is_there[at] = seed >> 32 & 1;
            if (is_there[at])
                put_many(ledger, at, 1);
            else
                ledger_drop(ledger, RECORD_CNAME, text_of(name), TEXT(""));
        }
        assert_true(store_all(ledger, &documents));
    }
    CLEANUP(ledger) struct ledger *again = new_ledger();
    assert_true(load(again, &documents, NULL));
    for (size_t i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%zu.example", i);
        assert_int_equal(stored_of(again, name) != NULL, is_there[i]);
        count += is_there[i];
    }
    assert_int_equal(ledger_count(again), count);
    assert_int_equal(ledger_count(ledger), count);
    free(is_there);
    shards_done(&documents);
}

static void a_shard_under_way_that_is_split_is_dropped_afterwards(void **state)
{
    (void)state;
    struct ledger_task task;
    struct documents documents = {.left = -1};
    AUTO_BUFFER json = {0};
    CLEANUP(ledger) struct ledger *ledger = new_ledger();
    put_many(ledger, 0, 500);
    assert_true(ledger_next_put(ledger, &task));
    ledger_write_shard(ledger, task.shard, &json);
    put_many(ledger, 500, 100);
    ledger_was_put(ledger, task.shard, shards_put(&documents, &task, json.at));
    assert_int_equal(count_loaded(&documents), 500);
    assert_true(store_all(ledger, &documents));
    assert_int_equal(count_loaded(&documents), 600);
    assert_null(shards_find(&documents, PREFIX "x"));
    shards_done(&documents);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(hash_is_of_ttl_and_sorted_values),
        cmocka_unit_test(hash_is_of_canonical_rdata),
        cmocka_unit_test(shards_are_named_by_backend_zone_and_bits),
        cmocka_unit_test(long_names_are_cut_and_hashed),
        cmocka_unit_test(a_shard_reads_back_as_it_was_written),
        cmocka_unit_test(what_changes_nothing_is_not_written),
        cmocka_unit_test(an_entry_is_found_by_type_name_and_set),
        cmocka_unit_test(shards_of_others_are_left_alone),
        cmocka_unit_test(what_is_not_understood_is_refused),
        cmocka_unit_test(an_entry_of_another_shard_is_refused),
        cmocka_unit_test(the_latest_facts_count_and_reach_all_shards),
        cmocka_unit_test(a_shard_that_is_too_large_gives_way_to_two),
        cmocka_unit_test(large_entries_split_a_shard_too),
        cmocka_unit_test(nothing_is_lost_wherever_a_split_breaks_off),
        cmocka_unit_test(a_parent_that_was_left_behind_does_not_count),
        cmocka_unit_test(ten_thousand_entries_survive_any_changes),
        cmocka_unit_test(a_shard_under_way_that_is_split_is_dropped_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
