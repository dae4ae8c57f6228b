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

// When the status of a decision is written: only if it differs from the one that is stored.

enum { SECOND = 1000 };

static const struct field fields[] = {{.path = "status.config", .type = FIELD_ANY},
                                      {.path = "status.gone", .type = FIELD_ANY}};
static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .has_status = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .pack_spec = labels_pack,
    .keeps_labels = true,
};

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
    const char *status; // of each decision, in JSON
    unsigned decisions;
    bool shows_all; // the last one was to list all
} bench;

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct error err;
    (void)model;
    bench.decisions++;
    bench.shows_all = snapshot->shows_all;
    out->status =
        value_read_json(snapshot->arena, text_of(bench.status), &value_reply_limits, &err);
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
    bench.store = model_cluster_new(&bench.world, &bench.kind, 1, "status", NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .log = bench.log,
                                                       .store = bench.store,
                                                       .controllers = all,
                                                       .controller_count = 1});
    if (!engine_start(bench.engine, NULL))
        return -1;
    run(); // until it leads
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
    return 0;
}

static const struct object_ref_key key = {&subject_kind, {"shop", 4}, {"one", 3}};

// With another label the subject is decided anew.
static void expect_writes(const char *label, size_t writes)
{
    struct error err = {0};
    AUTO_BUFFER yaml = {0};
    unsigned decisions = bench.decisions;
    buffer_printf(&yaml,
                  "{apiVersion: test.example/v1, kind: Subject, metadata: {namespace: shop, name: "
                  "one, labels: {n: %s}}}",
                  label);
    assert_true(model_server_apply_yaml(bench.server, buffer_text(&yaml), &err));
    run();
    assert_true(bench.decisions > decisions);
    assert_int_equal(model_server_written(bench.server, &key), writes);
}

// ---- the stories --------------------------------------------------------------------------------

static void the_same_status_is_written_once(void **state)
{
    (void)state;
    bench.status = "{\"config\":{\"id\":\"a\"}}";
    expect_writes("first", 1);
    expect_writes("second", 1);
    bench.status = "{\"config\":{\"id\":\"b\"}}";
    expect_writes("third", 2);
}

static void fields_that_are_gone_make_no_other_status(void **state)
{
    (void)state;
    bench.status = "{\"config\":{\"id\":\"a\",\"old\":null,\"of\":{\"old\":null}},\"gone\":null}";
    expect_writes("first", 1);
    expect_writes("second", 1);
    bench.status = "{\"config\":{\"id\":null,\"of\":{\"old\":null}},\"gone\":null}";
    expect_writes("third", 2);
    expect_writes("fourth", 2);
}

static void a_status_that_is_only_asked_for_is_not_written(void **state)
{
    static const struct object_ref_key other = {&subject_kind, {"shop", 4}, {"two", 3}};
    (void)state;
    bench.status = "{\"config\":{\"id\":\"a\"}}";
    expect_writes("first", 1);
    assert_false(bench.shows_all);
    bench.status = "{\"config\":{\"id\":\"b\"}}";
    const struct value *status = engine_decide_status(bench.engine, &key);
    assert_true(bench.shows_all);
    assert_true(text_is(value_text_at(status, "config.id"), "b"));
    run();
    assert_int_equal(model_server_written(bench.server, &key), 1);
    assert_null(engine_decide_status(bench.engine, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_status_is_written_once, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(fields_that_are_gone_make_no_other_status, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(a_status_that_is_only_asked_for_is_not_written, open_bench,
                                        close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
