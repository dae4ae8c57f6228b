#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/memory.h"
#include "engine/ledgers.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"

#define BACKEND "pihole-a"
#define PREFIX "signpost-ledger-pihole-a-cdb4ee2a-"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static const struct kind note_kind = {
    .group = "test.example.org",
    .version = "v1",
    .name = "Note",
    .plural = "notes",
    .singular = "note",
    .is_namespaced = true,
};
static const struct store_kind kinds[] = {{.kind = &note_kind}};

struct bench {
    struct loop *loop;
    struct random random;
    struct world world;
    struct model_server *server;
    struct model_api *api;
    struct store *store;
    struct arena *arena;
    struct ledger_calls calls;
    struct ledger_keeper *keeper;
    unsigned changes; // told
    unsigned stored;
    unsigned lost;
};

// ---- bench --------------------------------------------------------------------------------------

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static void changed(void *context)
{
    struct bench *bench = context;
    bench->changes++;
}

static void make_keeper(struct bench *bench)
{
    const struct ledger_setup setup = {.calls = &bench->calls,
                                       .loop = bench->loop,
                                       .store = bench->store,
                                       .backend = BACKEND,
                                       .zone = ".",
                                       .changed = changed,
                                       .context = bench};
    bench->keeper = ledger_keeper_new(&setup);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->random.fill = model_fill_even;
    bench->arena = arena_new();
    bench->loop = virtual_loop_new(1767225600000);
    bench->server = model_server_new(bench->loop, kinds, 1);
    bench->api = model_api_new(bench->server, MODEL_CLUSTER_URL, NULL);
    bench->world = (struct world){
        .loop = bench->loop, .http = model_api_http(bench->api), .random = &bench->random};
    model_cluster_prepare(bench->server);
    model_server_set_delays(bench->server, 2, 5);
    bench->store = model_cluster_new(&bench->world, kinds, 1, "owner", NULL);
    assert_true(store_start(bench->store, &model_deaf_sink, NULL));
    pass(bench, 20 * SECOND);
    make_keeper(bench);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    ledger_keeper_free(bench->keeper);
    ledger_calls_free(&bench->calls);
    store_free(bench->store);
    model_api_free(bench->api);
    model_server_free(bench->server);
    loop_free(bench->loop);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

// Until it is read.
static void open_keeper(struct bench *bench)
{
    ledger_keeper_open(bench->keeper);
    assert_false(ledger_keeper_is_read(bench->keeper));
    for (int i = 0; i < 10 && !ledger_keeper_is_read(bench->keeper); i++)
        pass(bench, i * i * SECOND + 100);
    assert_true(ledger_keeper_is_read(bench->keeper));
    assert_null(ledger_keeper_why_degraded(bench->keeper));
}

// As after a restart.
static void open_anew(struct bench *bench)
{
    ledger_keeper_free(bench->keeper);
    make_keeper(bench);
    open_keeper(bench);
}

static void on_stored(void *context, bool is_stored)
{
    struct bench *bench = context;
    bench->stored += is_stored;
    bench->lost += !is_stored;
}

static struct record_set set_of(struct bench *bench, const char *name, const char *target)
{
    struct text *value = arena_new_of(bench->arena, struct text);
    *value = text_of(arena_copy_text(bench->arena, target));
    return (struct record_set){.type = RECORD_CNAME,
                               .domain = text_of(arena_copy_text(bench->arena, name)),
                               .subdomain = TEXT("@"),
                               .values = value,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static struct text line_of(struct bench *bench, const char *name, const char *target)
{
    return text_of(arena_printf(bench->arena, "%s,%s\n", name, target));
}

static void expect(struct bench *bench, const char *name, const char *target)
{
    struct record_set set = set_of(bench, name, target);
    ledger_keeper_expect(bench->keeper, &set, line_of(bench, name, target), NULL);
}

static void settle(struct bench *bench, const char *name, const char *target)
{
    struct record_set set = set_of(bench, name, target);
    ledger_keeper_settle(bench->keeper, &set, line_of(bench, name, target), NULL);
}

static void drop(struct bench *bench, const char *name)
{
    struct record_set set = set_of(bench, name, "");
    ledger_keeper_drop(bench->keeper, &set);
}

// True when there was something to store.
static bool flush(struct bench *bench)
{
    unsigned stored = bench->stored;
    if (!ledger_keeper_flush(bench->keeper, on_stored, bench))
        return false;
    assert_int_equal(bench->stored, stored);
    pass(bench, SECOND);
    assert_int_equal(bench->stored, stored + 1);
    return true;
}

static void expect_lines(struct bench *bench, const char *name, const char *lines)
{
    struct ledger_view view = ledger_keeper_view(bench->keeper);
    const char *stored = view.find(view.context, RECORD_CNAME, text_of(name));
    if (lines)
        assert_string_equal(stored, lines);
    else
        assert_null(stored);
}

static size_t writes(const struct bench *bench)
{
    return model_api_calls(bench->api, "create", "configmaps") +
           model_api_calls(bench->api, "patch", "configmaps") +
           model_api_calls(bench->api, "delete", "configmaps");
}

static const char *shard_text(struct bench *bench, const char *name)
{
    const struct object_ref_key key = {&model_config_map_kind, TEXT("signpost"), text_of(name)};
    const struct value *tree = model_server_find(bench->server, bench->arena, &key);
    struct text text = value_text_at(tree, "data[ledger.json]");
    return arena_copy(bench->arena, text.at ? text.at : "", text.len);
}

// Somebody edits a page by hand.
static void write_shard(struct bench *bench, const char *name, const char *text)
{
    struct error err;
    AUTO_BUFFER quoted = {0};
    value_write_yaml_text(&quoted, text_of(text));
    const char *yaml = arena_printf(
        bench->arena,
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: signpost, labels: "
        "{dns.homelab.mortenolsen.pro/backend: " BACKEND "}}, data: {ledger.json: %s}}",
        name, quoted.at);
    if (!model_server_apply_yaml(bench->server, text_of(yaml), &err))
        fail_msg("%s", err.text);
}

#define EMPTY "{\"v\":1,\"meta\":{},\"entries\":[]}"
#define ONE(name)                                                                                  \
    "{\"v\":1,\"meta\":{},\"entries\":[{\"name\":\"" name "\",\"type\":\"CNAME\",\"set\":\"\","    \
    "\"owner\":\"\",\"hash\":\"0000000000000000\",\"state\":\"Written\","                          \
    "\"since\":\"2026-01-01T00:00:00Z\",\"stored\":\"" name ",a\"}]}"

// ---- storing ------------------------------------------------------------------------------------

static void what_was_stored_is_there_after_a_restart(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    assert_int_equal(bench->changes, 1);
    expect(bench, "www.lan", "a.lan");
    ledger_keeper_view(bench->keeper).keep(bench->keeper, "first-sync", "today");
    assert_true(flush(bench));
    assert_true(ledger_keeper_is_idle(bench->keeper));
    open_anew(bench);
    expect_lines(bench, "www.lan", "www.lan,a.lan\n");
    expect_lines(bench, "api.lan", NULL);
    struct ledger_view view = ledger_keeper_view(bench->keeper);
    assert_string_equal(view.recall(view.context, "first-sync"), "today");
    assert_null(view.recall(view.context, "tls-key"));
    assert_int_equal(ledger_keeper_count(bench->keeper), 1);
}

static void changes_that_come_together_are_one_write(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    for (int i = 0; i < 100; i++)
        expect(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
    assert_true(flush(bench));
    assert_int_equal(writes(bench), 1);
    for (int i = 0; i < 100; i++)
        settle(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
    drop(bench, "n7.lan");
    assert_true(flush(bench));
    assert_int_equal(writes(bench), 2);
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 99);
}

static void what_is_known_already_needs_no_write(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "www.lan", "a.lan");
    settle(bench, "www.lan", "a.lan");
    assert_true(flush(bench));
    size_t before = writes(bench);
    expect(bench, "www.lan", "a.lan");
    settle(bench, "www.lan", "a.lan");
    drop(bench, "other.lan");
    assert_false(flush(bench));
    assert_int_equal(writes(bench), before);
}

static void old_and_new_stand_together_until_it_is_written(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "www.lan", "a.lan");
    settle(bench, "www.lan", "a.lan");
    expect(bench, "www.lan", "b.lan");
    assert_true(flush(bench));
    assert_non_null(strstr(shard_text(bench, PREFIX "x"), "[\"www.lan,a.lan\",\"www.lan,b.lan\"]"));
    assert_non_null(strstr(shard_text(bench, PREFIX "x"), "\"state\":\"Pending\""));
    settle(bench, "www.lan", "b.lan");
    assert_true(flush(bench));
    assert_non_null(strstr(shard_text(bench, PREFIX "x"), "\"stored\":\"www.lan,b.lan\""));
    assert_non_null(strstr(shard_text(bench, PREFIX "x"), "\"state\":\"Written\""));
}

static void on_two_stored(void *context, bool is_stored)
{
    assert_non_null(strstr(shard_text(context, PREFIX "x"), "two.lan"));
    on_stored(context, is_stored);
}

static void who_comes_while_a_write_is_under_way_waits_for_the_next(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "one.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    expect(bench, "two.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_two_stored, bench));
    expect(bench, "two.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_two_stored, bench));
    pass(bench, SECOND);
    assert_int_equal(bench->stored, 3);
    assert_int_equal(writes(bench), 2);
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 2);
}

static void ten_thousand_names_are_kept_in_shards(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    for (int i = 0; i < 10000; i++)
        expect(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, MINUTE);
    assert_int_equal(bench->stored, 1);
    size_t before = writes(bench);
    assert_in_range(before, 20, 64);
    drop(bench, "n5000.lan");
    assert_true(flush(bench));
    assert_int_equal(writes(bench), before + 1);
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 9999);
}

static void a_shard_that_grows_too_large_is_replaced(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    for (int i = 0; i < 520; i++) {
        expect(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
        if (i == 500)
            assert_true(flush(bench));
    }
    assert_true(flush(bench));
    assert_string_equal(shard_text(bench, PREFIX "x"), "");
    assert_string_not_equal(shard_text(bench, PREFIX "0"), "");
    assert_string_not_equal(shard_text(bench, PREFIX "1"), "");
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 520);
}

// ---- others and faults --------------------------------------------------------------------------

static void who_wrote_in_between_is_heard(void **state)
{
    struct bench *bench = *state;
    write_shard(bench, PREFIX "x", ONE("old.lan"));
    open_keeper(bench);
    expect_lines(bench, "old.lan", "old.lan,a\n");
    write_shard(bench, PREFIX "x", ONE("by-hand.lan"));
    expect(bench, "www.lan", "a.lan");
    assert_true(flush(bench));
    assert_null(ledger_keeper_why_degraded(bench->keeper));
    expect_lines(bench, "old.lan", NULL);
    expect_lines(bench, "by-hand.lan", "by-hand.lan,a\n");
    expect_lines(bench, "www.lan", "www.lan,a.lan\n");
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 2);
}

static void a_ledger_that_was_deleted_begins_anew(void **state)
{
    struct bench *bench = *state;
    const struct object_ref_key key = {&model_config_map_kind, TEXT("signpost"), TEXT(PREFIX "x")};
    write_shard(bench, PREFIX "x", ONE("old.lan"));
    open_keeper(bench);
    assert_true(model_server_delete(bench->server, &key));
    expect(bench, "www.lan", "a.lan");
    assert_true(flush(bench));
    expect_lines(bench, "old.lan", NULL);
    expect_lines(bench, "www.lan", "www.lan,a.lan\n");
}

static void what_cannot_be_understood_is_never_written_over(void **state)
{
    struct bench *bench = *state;
    write_shard(bench, PREFIX "x", "{\"v\":2}");
    ledger_keeper_open(bench->keeper);
    pass(bench, 5 * MINUTE);
    assert_false(ledger_keeper_is_read(bench->keeper));
    const struct error *why = ledger_keeper_why_degraded(bench->keeper);
    assert_non_null(why);
    assert_string_equal(why->reason, "LedgerUnreadable");
    assert_non_null(strstr(why->text, PREFIX "x: its form is of version 2"));
    assert_int_equal(bench->changes, 1);
    assert_int_equal(writes(bench), 0);
    write_shard(bench, PREFIX "x", ONE("old.lan"));
    pass(bench, 2 * MINUTE);
    assert_true(ledger_keeper_is_read(bench->keeper));
    assert_null(ledger_keeper_why_degraded(bench->keeper));
    assert_int_equal(bench->changes, 2);
    expect_lines(bench, "old.lan", "old.lan,a\n");
}

static void one_that_breaks_later_stops_the_writes(void **state)
{
    struct bench *bench = *state;
    write_shard(bench, PREFIX "x", EMPTY);
    open_keeper(bench);
    write_shard(bench, PREFIX "x", "broken");
    expect(bench, "www.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, 5 * MINUTE);
    assert_int_equal(bench->stored, 0);
    assert_string_equal(shard_text(bench, PREFIX "x"), "broken");
    assert_string_equal(ledger_keeper_why_degraded(bench->keeper)->reason, "LedgerUnreadable");
    write_shard(bench, PREFIX "x", EMPTY);
    pass(bench, 2 * MINUTE);
    assert_int_equal(bench->stored, 1);
    assert_null(ledger_keeper_why_degraded(bench->keeper));
}

static void a_right_that_is_missing_is_told_until_it_is_there(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    model_api_deny(bench->api, "create", "configmaps");
    expect(bench, "www.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, 5 * MINUTE);
    assert_int_equal(bench->stored, 0);
    assert_false(ledger_keeper_is_idle(bench->keeper));
    assert_string_equal(ledger_keeper_why_degraded(bench->keeper)->reason, "LedgerNotStored");
    model_api_allow_all(bench->api);
    pass(bench, 2 * MINUTE);
    assert_int_equal(bench->stored, 1);
    assert_null(ledger_keeper_why_degraded(bench->keeper));
    assert_true(ledger_keeper_is_idle(bench->keeper));
}

static void a_server_that_comes_back_gets_what_waited(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "www.lan", "a.lan");
    model_api_set_down(bench->api, true);
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, 5 * SECOND);
    assert_int_equal(bench->stored, 0);
    model_api_set_down(bench->api, false);
    pass(bench, MINUTE);
    assert_int_equal(bench->stored, 1);
}

// Five hundred entries stand there; a hundred more split their shard while one call fails.
static void grow_with_fault(struct bench *bench, enum model_fault fault, unsigned skip)
{
    unsigned stored = bench->stored;
    for (int i = 500; i < 600; i++)
        expect(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
    model_server_fault(bench->server, MODEL_ANY_WRITE, skip, fault);
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, 5 * MINUTE);
    assert_int_equal(bench->stored, stored + 1);
    assert_null(ledger_keeper_why_degraded(bench->keeper));
    assert_string_equal(shard_text(bench, PREFIX "x"), "");
    open_anew(bench);
    assert_int_equal(ledger_keeper_count(bench->keeper), 600);
}

static void shrink(struct bench *bench)
{
    static const char *const shards[] = {PREFIX "x", PREFIX "0", PREFIX "1"};
    for (size_t i = 0; i < COUNT_OF(shards); i++) {
        const struct object_ref_key key = {&model_config_map_kind, TEXT("signpost"),
                                           text_of(shards[i])};
        model_server_delete(bench->server, &key);
    }
    open_anew(bench);
    for (int i = 0; i < 500; i++)
        expect(bench, arena_printf(bench->arena, "n%d.lan", i), "a.lan");
    assert_true(flush(bench));
}

static void whatever_call_fails_all_is_stored_in_the_end(void **state)
{
    struct bench *bench = *state;
    static const enum model_fault faults[] = {
        MODEL_FAILS,  MODEL_LOSES,       MODEL_CONFLICT,     MODEL_LIMIT,    MODEL_UNREACHABLE,
        MODEL_SILENT, MODEL_UNAVAILABLE, MODEL_UNAUTHORIZED, MODEL_FORBIDDEN};
    open_keeper(bench);
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        for (unsigned skip = 0; skip < 3; skip++) {
            shrink(bench);
            grow_with_fault(bench, faults[i], skip);
        }
}

// ---- at random ----------------------------------------------------------------------------------

enum { NAMES = 1500, ROUNDS = 60 };

// What stands in the ledger, by name: which targets.
struct wanted {
    bool has[3];
};

static uint64_t draw(uint64_t *seed)
{
    return *seed = hash_octets(seed, sizeof *seed);
}

static void change_at_random(struct bench *bench, struct wanted *wanted, uint64_t chance)
{
    static const char *const targets[] = {"a.lan", "b.lan", "c.lan"};
    size_t at = chance % NAMES;
    size_t target = chance >> 20 & 1 ? 0 : 1 + (chance >> 21 & 1);
    const char *name = arena_printf(bench->arena, "n%zu.lan", at);
    unsigned what = chance >> 32 & 7;
    if (what == 0) {
        wanted[at] = (struct wanted){{false}};
        drop(bench, name);
    } else if (what < 4) {
        wanted[at] = (struct wanted){{false}};
        wanted[at].has[target] = true;
        settle(bench, name, targets[target]);
    } else {
        wanted[at].has[target] = true;
        expect(bench, name, targets[target]);
    }
}

static void compare_all(struct bench *bench, const struct wanted *wanted)
{
    static const char *const targets[] = {"a.lan", "b.lan", "c.lan"};
    struct ledger_view view = ledger_keeper_view(bench->keeper);
    for (size_t at = 0; at < NAMES; at++) {
        const char *name = arena_printf(bench->arena, "n%zu.lan", at);
        const char *lines = view.find(view.context, RECORD_CNAME, text_of(name));
        for (size_t i = 0; i < 3; i++) {
            struct text line = line_of(bench, name, targets[i]);
            bool has_line = lines && strstr(lines, line.at);
            assert_int_equal(has_line, wanted[at].has[i]);
        }
    }
}

static void fail_at_random(struct bench *bench, uint64_t chance)
{
    static const enum model_fault faults[] = {MODEL_FAILS, MODEL_LOSES,       MODEL_CONFLICT,
                                              MODEL_LIMIT, MODEL_UNREACHABLE, MODEL_UNAVAILABLE};
    enum model_fault fault = faults[chance % COUNT_OF(faults)];
    if (chance >> 8 & 1)
        model_server_fault(bench->server, MODEL_ANY_WRITE, chance >> 16 & 7, fault);
    if (chance >> 9 & 1)
        model_server_fault(bench->server, MODEL_LIST, chance >> 20 & 1, MODEL_FAILS);
}

static void whatever_comes_between_what_was_stored_is_there(void **state)
{
    struct bench *bench = *state;
    struct wanted *wanted = mem_new_array(struct wanted, NAMES);
    uint64_t seed = 3;
    open_keeper(bench);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned stored = bench->stored;
        for (size_t i = draw(&seed) % 60; i-- > 0;)
            change_at_random(bench, wanted, draw(&seed));
        fail_at_random(bench, draw(&seed));
        bool is_waiting = ledger_keeper_flush(bench->keeper, on_stored, bench);
        pass(bench, (int64_t)(draw(&seed) % 3));
        change_at_random(bench, wanted, draw(&seed));
        ledger_keeper_flush(bench->keeper, NULL, NULL);
        pass(bench, 5 * MINUTE);
        assert_int_equal(bench->stored, stored + is_waiting);
        assert_true(ledger_keeper_is_idle(bench->keeper));
        compare_all(bench, wanted);
        if (draw(&seed) & 1)
            open_anew(bench);
        assert_true(ledger_keeper_is_read(bench->keeper));
        compare_all(bench, wanted);
        arena_reset(bench->arena);
    }
    free(wanted);
}

// ---- leading ------------------------------------------------------------------------------------

static void who_leads_no_more_forgets_what_was_not_stored(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "www.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    ledger_keeper_close(bench->keeper);
    assert_int_equal(bench->lost, 1);
    assert_false(ledger_keeper_is_read(bench->keeper));
    settle(bench, "www.lan", "a.lan");
    assert_false(ledger_keeper_flush(bench->keeper, on_stored, bench));
    pass(bench, SECOND);
    write_shard(bench, PREFIX "1", EMPTY);
    write_shard(bench, PREFIX "0", EMPTY);
    ledger_keeper_open(bench->keeper);
    assert_false(ledger_keeper_is_read(bench->keeper));
    pass(bench, SECOND);
    assert_true(ledger_keeper_is_read(bench->keeper));
    expect_lines(bench, "www.lan", NULL);
    assert_int_equal(bench->stored, 0);
}

static void calls_under_way_outlive_their_keeper(void **state)
{
    struct bench *bench = *state;
    open_keeper(bench);
    expect(bench, "www.lan", "a.lan");
    assert_true(ledger_keeper_flush(bench->keeper, on_stored, bench));
    ledger_keeper_free(bench->keeper);
    make_keeper(bench);
    pass(bench, SECOND);
    assert_int_equal(bench->stored + bench->lost, 0);
    open_keeper(bench);
    expect_lines(bench, "www.lan", "www.lan,a.lan\n");
    ledger_keeper_close(bench->keeper);
    ledger_keeper_open(bench->keeper); // a call is left for the tear-down
}

static void take_name(void *context, enum record_type type, struct text name, const char *stored)
{
    assert_int_equal(type, RECORD_CNAME);
    buffer_printf(context, "%.*s %s", TEXT_ARGS(name), stored);
}

static void all_entries_can_be_looked_through(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER names = {0};
    open_keeper(bench);
    expect(bench, "one.lan", "a.lan");
    expect(bench, "two.lan", "a.lan");
    drop(bench, "one.lan");
    ledger_keeper_each(bench->keeper, take_name, &names);
    assert_string_equal(names.at, "two.lan two.lan,a.lan\n");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(what_was_stored_is_there_after_a_restart),
        CASE(changes_that_come_together_are_one_write),
        CASE(what_is_known_already_needs_no_write),
        CASE(old_and_new_stand_together_until_it_is_written),
        CASE(who_comes_while_a_write_is_under_way_waits_for_the_next),
        CASE(ten_thousand_names_are_kept_in_shards),
        CASE(a_shard_that_grows_too_large_is_replaced),
        CASE(who_wrote_in_between_is_heard),
        CASE(a_ledger_that_was_deleted_begins_anew),
        CASE(what_cannot_be_understood_is_never_written_over),
        CASE(one_that_breaks_later_stops_the_writes),
        CASE(a_right_that_is_missing_is_told_until_it_is_there),
        CASE(a_server_that_comes_back_gets_what_waited),
        CASE(whatever_call_fails_all_is_stored_in_the_end),
        CASE(whatever_comes_between_what_was_stored_is_there),
        CASE(who_leads_no_more_forgets_what_was_not_stored),
        CASE(calls_under_way_outlive_their_keeper),
        CASE(all_entries_can_be_looked_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
