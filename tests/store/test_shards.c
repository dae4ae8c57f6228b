#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/faulty_disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "rig.h"

// Pages of ledgers, in both stores alike.

#define LABEL "pihole-a"
#define PREFIX "signpost-ledger-pihole-a-cdb4ee2a-"

enum { START_MS = 20000 };

struct bench {
    struct rig *rig;             // a folder, or
    struct loop *loop;           // a cluster
    struct model_server *server; //
    struct model_api *api;
    struct random random;
    struct world world;
    struct store *store;
    struct buffer read; // what was read: "name version text\n"
    char version[64];   // of the last put
    struct error error;
    bool is_answered;
    bool is_ok;
};

static struct loop *loop_of(const struct bench *bench)
{
    return bench->rig ? bench->rig->loop : bench->loop;
}

static void run(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(loop_of(bench), loop_mono_ms(loop_of(bench)) + ms);
}

// ---- the stores ---------------------------------------------------------------------------------

static int make_folder(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->rig = rig_new();
    rig_open(bench->rig);
    bench->store = bench->rig->store;
    *state = bench;
    return 0;
}

static const struct kind note_kind = {
    .group = "test.example.org",
    .version = "v1",
    .name = "Note",
    .plural = "notes",
    .singular = "note",
    .is_namespaced = true,
};
static const struct store_kind kinds[] = {{.kind = &note_kind}};

static void start_cluster(struct bench *bench)
{
    bench->world = (struct world){
        .loop = bench->loop, .http = model_api_http(bench->api), .random = &bench->random};
    bench->store = model_cluster_new(&bench->world, kinds, 1, "owner", NULL);
    assert_true(store_start(bench->store, &model_deaf_sink, NULL));
    run(bench, START_MS);
}

static int make_cluster(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->random.fill = model_fill_even;
    bench->loop = virtual_loop_new(1767225600000);
    bench->server = model_server_new(bench->loop, kinds, 1);
    bench->api = model_api_new(bench->server, MODEL_CLUSTER_URL, NULL);
    model_cluster_prepare(bench->server);
    start_cluster(bench);
    *state = bench;
    return 0;
}

static int clear(void **state)
{
    struct bench *bench = *state;
    if (bench->rig) {
        rig_free(bench->rig);
    } else {
        store_free(bench->store);
        model_api_free(bench->api);
        model_server_free(bench->server);
        loop_free(bench->loop);
    }
    buffer_done(&bench->read);
    free(bench);
    return 0;
}

// ---- operations ---------------------------------------------------------------------------------

static void answered(void *context, const struct store_reply *reply)
{
    struct bench *bench = context;
    bench->is_answered = true;
    bench->is_ok = reply->is_ok;
    bench->error = reply->error;
    snprintf(bench->version, sizeof bench->version, "%s", reply->version ? reply->version : "");
    buffer_clear(&bench->read);
    for (size_t i = 0; i < reply->shard_count; i++) {
        const struct store_shard *shard = &reply->shards[i];
        buffer_printf(&bench->read, "%.*s %.*s %zu %.*s\n", TEXT_ARGS(shard->name),
                      TEXT_ARGS(shard->version), shard->text.len,
                      shard->text.len < 100 ? (int)shard->text.len : 0, shard->text.at);
    }
}

static bool wait(struct bench *bench)
{
    assert_false(bench->is_answered);
    for (int i = 0; i < 1000 && !bench->is_answered; i++)
        run(bench, 1);
    assert_true(bench->is_answered);
    return bench->is_ok;
}

static bool put(struct bench *bench, const char *label, const char *name, const char *version,
                struct text text)
{
    const struct store_shard_put shard = {label, name, version, text};
    bench->is_answered = false;
    store_put_shard(bench->store, &shard, answered, bench);
    return wait(bench);
}

static bool drop(struct bench *bench, const char *name, const char *version)
{
    bench->is_answered = false;
    store_drop_shard(bench->store, name, version, answered, bench);
    return wait(bench);
}

static const char *read_all(struct bench *bench)
{
    bench->is_answered = false;
    store_read_shards(bench->store, LABEL, PREFIX, answered, bench);
    assert_true(wait(bench));
    return bench->read.len ? bench->read.at : "";
}

static void expect_race(const struct bench *bench, int status)
{
    assert_int_equal(bench->error.fault, FAULT_RACE);
    assert_int_equal(bench->error.status, status);
}

// ---- what they promise --------------------------------------------------------------------------

static void shards_are_read_as_they_were_written(void **state)
{
    struct bench *bench = *state;
    char expected[256];
    assert_string_equal(read_all(bench), "");
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("{\"v\":1}\n")));
    char version[64];
    snprintf(version, sizeof version, "%s", bench->version);
    assert_true(*version);
    assert_true(put(bench, LABEL, "signpost-ledger-pihole-a-00000000-x", NULL, TEXT("other")));
    assert_true(put(bench, "pihole-b", "signpost-ledger-pihole-b-cdb4ee2a-x", NULL, TEXT("more")));
    snprintf(expected, sizeof expected, PREFIX "x %s 8 {\"v\":1}\n\n", version);
    assert_string_equal(read_all(bench), expected);
    assert_true(put(bench, LABEL, PREFIX "x", version, TEXT("new")));
    assert_string_not_equal(bench->version, version);
    snprintf(expected, sizeof expected, PREFIX "x %s 3 new\n", bench->version);
    assert_string_equal(read_all(bench), expected);
}

static void a_shard_is_only_put_over_the_state_that_was_seen(void **state)
{
    struct bench *bench = *state;
    char first[64];
    assert_false(put(bench, LABEL, PREFIX "x", "7", TEXT("none is there")));
    expect_race(bench, 404);
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    snprintf(first, sizeof first, "%s", bench->version);
    assert_false(put(bench, LABEL, PREFIX "x", NULL, TEXT("two")));
    expect_race(bench, 409);
    assert_true(put(bench, LABEL, PREFIX "x", first, TEXT("two")));
    assert_false(put(bench, LABEL, PREFIX "x", first, TEXT("three")));
    expect_race(bench, 409);
    assert_non_null(strstr(bench->error.text, PREFIX "x"));
    assert_non_null(strstr(read_all(bench), " two\n"));
}

static void a_shard_is_only_dropped_in_the_state_that_was_seen(void **state)
{
    struct bench *bench = *state;
    char first[64], second[64];
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    snprintf(first, sizeof first, "%s", bench->version);
    assert_true(put(bench, LABEL, PREFIX "x", first, TEXT("two")));
    snprintf(second, sizeof second, "%s", bench->version);
    assert_false(drop(bench, PREFIX "x", first));
    expect_race(bench, 409);
    assert_true(drop(bench, PREFIX "x", second));
    assert_string_equal(read_all(bench), "");
    assert_true(drop(bench, PREFIX "x", second));
}

static void many_large_shards_are_read_whole(void **state)
{
    struct bench *bench = *state;
    enum { SHARDS = 20, OCTETS = 700 * 1024 };
    char *text = mem_new(1, OCTETS);
    memset(text, '"', OCTETS);
    for (int i = 0; i < SHARDS; i++) {
        char name[80];
        snprintf(name, sizeof name, PREFIX "%d", i);
        assert_true(put(bench, LABEL, name, NULL, (struct text){text, OCTETS}));
    }
    const char *all = read_all(bench);
    size_t count = 0;
    for (const char *at = all; (at = strstr(at, " 716800 ")); at++)
        count++;
    assert_int_equal(count, SHARDS);
    free(text);
}

// ---- in a folder --------------------------------------------------------------------------------

static void shards_are_files_of_that_name(void **state)
{
    struct bench *bench = *state;
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    assert_string_equal(rig_read(bench->rig, ".signpost/ledger/" PREFIX "x"), "one");
    assert_true(drop(bench, PREFIX "x", bench->version));
    assert_false(rig_has(bench->rig, ".signpost/ledger/" PREFIX "x"));
}

static void a_shard_that_was_edited_by_hand_is_another_state(void **state)
{
    struct bench *bench = *state;
    char first[64];
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    snprintf(first, sizeof first, "%s", bench->version);
    rig_write(bench->rig, ".signpost/ledger/" PREFIX "x", "edited");
    assert_false(put(bench, LABEL, PREFIX "x", first, TEXT("two")));
    expect_race(bench, 409);
    assert_false(drop(bench, PREFIX "x", first));
    assert_string_equal(rig_read(bench->rig, ".signpost/ledger/" PREFIX "x"), "edited");
}

static void a_shard_that_could_not_be_read_back_is_not_written(void **state)
{
    struct bench *bench = *state;
    char *text = mem_new(1, STORE_SHARD_OCTETS_MAX + 1);
    assert_false(
        put(bench, LABEL, PREFIX "x", NULL, (struct text){text, STORE_SHARD_OCTETS_MAX + 1}));
    assert_int_equal(bench->error.fault, FAULT_SPEC);
    assert_true(put(bench, LABEL, PREFIX "x", NULL, (struct text){text, STORE_SHARD_OCTETS_MAX}));
    assert_non_null(strstr(read_all(bench), " 1048576 "));
    free(text);
}

static void what_cannot_be_read_is_no_absence(void **state)
{
    struct bench *bench = *state;
    rig_write(bench->rig, ".signpost/ledger/" PREFIX "x/inside", "a folder in its place");
    bench->is_answered = false;
    store_read_shards(bench->store, LABEL, PREFIX, answered, bench);
    assert_false(wait(bench));
    assert_false(put(bench, LABEL, PREFIX "x", NULL, TEXT("two")));
}

// ---- in a cluster -------------------------------------------------------------------------------

static void shards_are_labelled_config_maps_of_our_namespace(void **state)
{
    struct bench *bench = *state;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct object_ref_key key = {&model_config_map_kind, TEXT("signpost"), TEXT(PREFIX "x")};
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    const struct value *tree = model_server_find(bench->server, arena, &key);
    assert_true(text_is(value_text_at(tree, "data[ledger.json]"), "one"));
    assert_true(text_is(value_text_at(tree, "metadata.labels[dns.homelab.mortenolsen.pro/backend]"),
                        LABEL));
}

static void a_standby_reads_shards_and_writes_none(void **state)
{
    struct bench *bench = *state;
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    model_cluster_take_lease(bench->server);
    run(bench, START_MS);
    assert_non_null(strstr(read_all(bench), " one\n"));
    assert_false(put(bench, LABEL, PREFIX "0", NULL, TEXT("two")));
    assert_string_equal(bench->error.reason, "Standby");
}

static void a_shard_that_cannot_be_written_is_told_by_the_check(void **state)
{
    struct bench *bench = *state;
    assert_true(put(bench, LABEL, PREFIX "x", NULL, TEXT("one")));
    faulty_disk_fill(bench->rig->disk, true);
    assert_false(put(bench, LABEL, PREFIX "x", bench->version, TEXT("two")));
    assert_string_equal(rig_check(bench->rig, "store"), bench->error.text);
    faulty_disk_fill(bench->rig->disk, false);
    run(bench, 2000);
    assert_string_equal(rig_check(bench->rig, "store"), "ok");
}

static void a_right_that_is_missing_is_told(void **state)
{
    struct bench *bench = *state;
    model_api_deny(bench->api, "list", "configmaps");
    bench->is_answered = false;
    store_read_shards(bench->store, LABEL, PREFIX, answered, bench);
    assert_false(wait(bench));
    assert_int_equal(bench->error.fault, FAULT_AUTH);
    assert_non_null(strstr(bench->error.text, "ConfigMaps " PREFIX "*: "));
}

int main(void)
{
#define FOLDER(name)                                                                               \
    {                                                                                              \
#name " (folder)", name, make_folder, clear, NULL                                          \
    }
#define CLUSTER(name)                                                                              \
    {                                                                                              \
#name " (cluster)", name, make_cluster, clear, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        FOLDER(shards_are_read_as_they_were_written),
        CLUSTER(shards_are_read_as_they_were_written),
        FOLDER(a_shard_is_only_put_over_the_state_that_was_seen),
        CLUSTER(a_shard_is_only_put_over_the_state_that_was_seen),
        FOLDER(a_shard_is_only_dropped_in_the_state_that_was_seen),
        CLUSTER(a_shard_is_only_dropped_in_the_state_that_was_seen),
        FOLDER(many_large_shards_are_read_whole),
        CLUSTER(many_large_shards_are_read_whole),
        FOLDER(shards_are_files_of_that_name),
        FOLDER(a_shard_that_was_edited_by_hand_is_another_state),
        FOLDER(a_shard_that_could_not_be_read_back_is_not_written),
        FOLDER(what_cannot_be_read_is_no_absence),
        FOLDER(a_shard_that_cannot_be_written_is_told_by_the_check),
        CLUSTER(shards_are_labelled_config_maps_of_our_namespace),
        CLUSTER(a_standby_reads_shards_and_writes_none),
        CLUSTER(a_right_that_is_missing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
