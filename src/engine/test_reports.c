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
#include "model/tap_store.h"
#include "model/virtual_loop.h"

// What decisions report that write no status: the same events and lines are not written twice in a
// row.

enum { SECOND = 1000 };

static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .is_foreign = true,
    .has_status = true,
    .pack_spec = labels_pack,
    .keeps_labels = true,
};

static struct {
    struct loop *loop;
    struct random random;
    struct world world;
    struct store_kind kinds[1];
    struct model_server *server;
    struct model_api *api;
    struct log *log;
    struct store *store;
    struct engine *engine;
    struct arena *arena;
    struct decision_event event; // of the next decision
    int64_t number;              // in its line
    enum log_level level;
    unsigned decisions;
    unsigned events;
    unsigned lines;
} bench;

// ---- the controller -----------------------------------------------------------------------------

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    struct log_attr *attrs = arena_new_array(snapshot->arena, struct log_attr, 2);
    attrs[0] = LOG_INT("number", bench.number);
    attrs[1] = LOG_END;
    bench.decisions++;
    decision_add_event(out, bench.event.is_warning, bench.event.reason, bench.event.text);
    out->lines[out->line_count++] = (struct decision_line){bench.level, "counted", attrs};
}

static const struct controller controller = {
    .name = "made-up", .kind = &subject_kind, .decide = decide};
static const struct controller *const all[] = {&controller};

// ---- the process --------------------------------------------------------------------------------

static void count_line(void *context, struct text line)
{
    (void)context;
    bench.lines += strstr(line.at, "counted") != NULL;
}

static int64_t log_now_ms(void *context)
{
    (void)context;
    return loop_unix_ms(bench.loop);
}

static void count_event(void *context, const struct kube_event *event)
{
    (void)context;
    (void)event;
    bench.events++;
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
    bench.kinds[0] = (struct store_kind){.kind = &subject_kind};
    bench.server = model_server_new(bench.loop, bench.kinds, 1);
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, NULL);
    bench.world.http = model_api_http(bench.api);
    model_cluster_prepare(bench.server);
    bench.log = log_new(&(struct log_sink){.write = count_line, .now_ms = log_now_ms}, LOG_TEXTUAL,
                        LOG_INFO);
    bench.store = tap_store_new(model_cluster_new(&bench.world, bench.kinds, 1, "reports", NULL),
                                count_event, NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .log = bench.log,
                                                       .store = bench.store,
                                                       .controllers = all,
                                                       .controller_count = 1});
    bench.event = (struct decision_event){.reason = "Counted", .text = "it was counted"};
    bench.level = LOG_INFO;
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
    arena_free(bench.arena);
    return 0;
}

// Another label each time, so that the subject is decided anew.
static void expect_after_a_decision(unsigned events, unsigned lines)
{
    struct error err = {0};
    unsigned decisions = bench.decisions;
    const char *yaml = arena_printf(bench.arena,
                                    "{apiVersion: test.example/v1, kind: Subject, metadata: "
                                    "{namespace: shop, name: one, labels: {n: n%u}}}",
                                    decisions);
    assert_true(model_server_apply_yaml(bench.server, text_of(yaml), &err));
    run();
    assert_int_equal(bench.decisions, decisions + 1);
    assert_int_equal(bench.events, events);
    assert_int_equal(bench.lines, lines);
}

// ---- the stories --------------------------------------------------------------------------------

static void the_same_report_is_not_written_twice(void **state)
{
    (void)state;
    expect_after_a_decision(1, 1);
    expect_after_a_decision(1, 1);
    bench.event.text = "it was counted again";
    expect_after_a_decision(2, 2);
    expect_after_a_decision(2, 2);
}

static void whatever_differs_makes_it_another_report(void **state)
{
    (void)state;
    expect_after_a_decision(1, 1);
    bench.number = 2;
    expect_after_a_decision(2, 2);
    bench.level = LOG_WARN;
    expect_after_a_decision(3, 3);
    bench.event.reason = "CountedTwice";
    expect_after_a_decision(4, 4);
    bench.event.is_warning = true;
    expect_after_a_decision(5, 5);
    expect_after_a_decision(5, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_report_is_not_written_twice, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(whatever_differs_makes_it_another_report, open_bench,
                                        close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
