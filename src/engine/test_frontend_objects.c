#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "engine/engine.h"
#include "io/disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"

// Single objects that a frontend writes: answered when the store has them and the cache shows them.

enum { SECOND = 1000, DEADLINE_MS = 5 * SECOND };

static const struct field fields[] = {{.path = "spec", .type = FIELD_MAP},
                                      {.path = "spec.text", .type = FIELD_TEXT}};
static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .pack_spec = labels_pack,
    .keeps_labels = true,
};
static const struct object_ref_key one = {&subject_kind, {"shop", 4}, {"one", 3}};

static struct {
    struct loop *loop;
    struct random random;
    struct world world;
    struct store_kind kind;
    struct model_server *server;
    struct model_api *api;
    struct log *log;
    struct store *store;
    struct engine *engine;
    struct arena *arena;
    unsigned answers;
    bool is_ok;
    bool was_shown; // engine_find_object() had the object when the answer came
    struct error error;
} bench;

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)snapshot;
    (void)model;
    (void)out;
}

static const struct controller controller = {
    .name = "made-up", .kind = &subject_kind, .decide = decide};
static const struct controller *const all[] = {&controller};

static void drop_line(void *context, struct text line)
{
    (void)context;
    (void)line;
}

static int64_t log_now_ms(void *context)
{
    (void)context;
    return loop_unix_ms(bench.loop);
}

static void run(void)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + 20 * SECOND);
}

static int open_bench(void **state)
{
    (void)state;
    memset(&bench, 0, sizeof bench);
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1767225600000);
    bench.random.fill = model_fill_even;
    bench.world =
        (struct world){.loop = bench.loop, .random = &bench.random, .disk = disk_system()};
    bench.kind = (struct store_kind){.kind = &subject_kind};
    bench.server = model_server_new(bench.loop, &bench.kind, 1);
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, NULL);
    bench.world.http = model_api_http(bench.api);
    model_cluster_prepare(bench.server);
    bench.log = log_new(&(struct log_sink){.write = drop_line, .now_ms = log_now_ms}, LOG_TEXTUAL,
                        LOG_INFO);
    bench.store = model_cluster_new(&bench.world, &bench.kind, 1, "objects", NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .log = bench.log,
                                                       .store = bench.store,
                                                       .controllers = all,
                                                       .controller_count = 1});
    if (!engine_start(bench.engine, NULL))
        return -1;
    run();
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    engine_free(bench.engine);
    store_free(bench.store);
    model_api_free(bench.api);
    model_server_free(bench.server);
    log_free(bench.log);
    loop_free(bench.loop);
    arena_free(bench.arena);
    return 0;
}

static void answered(void *context, const struct engine_write_result *result)
{
    (void)context;
    bench.answers++;
    bench.is_ok = result->is_ok;
    bench.error = result->error;
    bench.was_shown = engine_find_object(bench.engine, &one) != NULL;
}

static void write_object(const char *json, const struct object *seen)
{
    const struct engine_object_write wanted = {
        .key = one,
        .tree =
            json ? value_read_json(bench.arena, text_of(json), &value_reply_limits, NULL) : NULL,
        .seen = seen,
        .deadline_ms = DEADLINE_MS};
    unsigned before = bench.answers;
    engine_write_object(bench.engine, &wanted, answered, NULL);
    assert_int_equal(bench.answers, before);
}

static void write_and_run(const char *json, const struct object *seen)
{
    unsigned before = bench.answers;
    write_object(json, seen);
    run();
    assert_int_equal(bench.answers, before + 1);
}

static void create_one(void)
{
    write_and_run("{\"metadata\":{\"labels\":{\"a\":\"1\"}},\"spec\":{\"text\":\"first\"}}", NULL);
    assert_true(bench.is_ok);
}

static void dry_run(const char *json, const struct object *seen)
{
    const struct engine_object_write wanted = {
        .key = one,
        .tree = value_read_json(bench.arena, text_of(json), &value_reply_limits, NULL),
        .seen = seen,
        .is_dry_run = true,
        .deadline_ms = DEADLINE_MS};
    unsigned before = bench.answers;
    engine_write_object(bench.engine, &wanted, answered, NULL);
    run();
    assert_int_equal(bench.answers, before + 1);
}

// Whoever hears of a failure writes something else at once.
static void answered_and_writes(void *context, const struct engine_write_result *result)
{
    const struct engine_object_write other = {
        .key = {&subject_kind, {"shop", 4}, {"two", 3}},
        .tree = value_read_json(bench.arena, TEXT("{\"spec\":{\"text\":\"two\"}}"),
                                &value_reply_limits, NULL),
        .deadline_ms = DEADLINE_MS};
    assert_false(result->is_ok);
    engine_write_object(bench.engine, &other, answered, context);
}

// ---- the stories --------------------------------------------------------------------------------

static void a_created_object_is_shown_when_it_is_answered(void **state)
{
    (void)state;
    create_one();
    assert_true(bench.was_shown);
}

static void a_taken_name_is_a_race(void **state)
{
    (void)state;
    create_one();
    write_and_run("{\"spec\":{\"text\":\"second\"}}", NULL);
    assert_false(bench.is_ok);
    assert_int_equal(bench.error.fault, FAULT_RACE);
    assert_int_equal(bench.error.status, 409);
}

static void a_change_of_an_older_state_is_a_race(void **state)
{
    (void)state;
    create_one();
    const struct object *old = object_ref(engine_find_object(bench.engine, &one));
    write_and_run("{\"metadata\":{\"labels\":{\"a\":\"2\"}}}", old);
    assert_true(bench.is_ok);
    assert_false(
        text_equal(object_version(engine_find_object(bench.engine, &one)), object_version(old)));
    write_and_run("{\"metadata\":{\"labels\":{\"a\":\"3\"}}}", old);
    assert_false(bench.is_ok);
    assert_int_equal(bench.error.fault, FAULT_RACE);
    object_unref(old);
}

static void a_change_that_changes_nothing_is_answered_too(void **state)
{
    (void)state;
    create_one();
    write_and_run("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
                  engine_find_object(bench.engine, &one));
    assert_true(bench.is_ok);
}

static void a_removed_object_is_gone_when_it_is_answered(void **state)
{
    (void)state;
    create_one();
    write_and_run(NULL, engine_find_object(bench.engine, &one));
    assert_true(bench.is_ok);
    assert_false(bench.was_shown);
}

static void of_two_changes_of_one_state_the_first_one_counts(void **state)
{
    (void)state;
    create_one();
    const struct object *seen = object_ref(engine_find_object(bench.engine, &one));
    write_object("{\"metadata\":{\"labels\":{\"a\":\"2\"}}}", seen);
    write_object("{\"metadata\":{\"labels\":{\"a\":\"3\"}}}", seen);
    run();
    assert_int_equal(bench.answers, 3);
    assert_false(bench.is_ok);
    assert_int_equal(bench.error.fault, FAULT_RACE);
    assert_true(labels_match("a=2", object_spec(engine_find_object(bench.engine, &one))));
    object_unref(seen);
}

static void a_replica_that_does_not_lead_writes_too(void **state)
{
    (void)state;
    model_cluster_take_lease(bench.server);
    run();
    run();
    assert_false(engine_is_leading(bench.engine));
    create_one();
    assert_true(bench.was_shown);
}

static void a_dry_run_stores_nothing(void **state)
{
    (void)state;
    dry_run("{\"spec\":{\"text\":\"first\"}}", NULL);
    assert_true(bench.is_ok);
    assert_false(bench.was_shown);
    create_one();
    const struct object *seen = object_ref(engine_find_object(bench.engine, &one));
    dry_run("{\"metadata\":{\"labels\":{\"a\":\"2\"}}}", seen);
    assert_true(bench.is_ok);
    assert_ptr_equal(engine_find_object(bench.engine, &one), seen);
    dry_run("{\"spec\":{\"text\":\"first\"}}", NULL);
    assert_false(bench.is_ok);
    assert_int_equal(bench.error.status, 409);
    object_unref(seen);
}

static void what_failed_is_not_sent_again_by_a_write_of_the_one_who_hears_it(void **state)
{
    (void)state;
    create_one();
    unsigned before = bench.answers;
    const struct engine_object_write wanted = {
        .key = one,
        .tree = value_read_json(bench.arena, TEXT("{\"spec\":{\"text\":\"second\"}}"),
                                &value_reply_limits, NULL),
        .deadline_ms = DEADLINE_MS};
    engine_write_object(bench.engine, &wanted, answered_and_writes, NULL);
    run();
    assert_int_equal(bench.answers, before + 1);
    assert_true(bench.is_ok);
}

static void who_goes_hears_nothing_more(void **state)
{
    (void)state;
    write_object("{\"spec\":{\"text\":\"first\"}}", NULL);
    engine_free(bench.engine);
    bench.engine = NULL;
    assert_int_equal(bench.answers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define STORY(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)
        STORY(a_created_object_is_shown_when_it_is_answered),
        STORY(a_taken_name_is_a_race),
        STORY(a_change_of_an_older_state_is_a_race),
        STORY(a_change_that_changes_nothing_is_answered_too),
        STORY(a_removed_object_is_gone_when_it_is_answered),
        STORY(of_two_changes_of_one_state_the_first_one_counts),
        STORY(a_replica_that_does_not_lead_writes_too),
        STORY(a_dry_run_stores_nothing),
        STORY(what_failed_is_not_sent_again_by_a_write_of_the_one_who_hears_it),
        STORY(who_goes_hears_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
