#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "engine/engine.h"
#include "engine/inspection.h"
#include "io/disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"

// What frontends show of objects and changes: the states of all keys in order, as their last
// decisions said.

enum { SECOND = 1000 };

static const struct field fields[] = {{.path = "status.conditions", .type = FIELD_ANY}};

static bool is_over(const struct value *object)
{
    return text_is(value_text_at(object, "metadata.labels.n"), "over");
}

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
    .is_over = is_over,
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
    const char *status; // of each decision, in JSON; NULL: none
    struct buffer shown;
} bench;

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    if (bench.status)
        out->status =
            value_read_json(snapshot->arena, text_of(bench.status), &value_reply_limits, NULL);
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
                                                       .controller_count = 1,
                                                       .keeps_states = true});
    if (!engine_start(bench.engine, NULL))
        return -1;
    run(); // until it leads
    return 0;
}

static int close_bench(void **state)
{
    (void)state;
    buffer_done(&bench.shown);
    engine_free(bench.engine);
    store_free(bench.store);
    model_api_free(bench.api);
    model_server_free(bench.server);
    log_free(bench.log);
    loop_free(bench.loop);
    return 0;
}

static void write(const char *namespace_, const char *name, const char *label)
{
    struct error err = {0};
    AUTO_BUFFER yaml = {0};
    buffer_printf(&yaml,
                  "{apiVersion: test.example/v1, kind: Subject, metadata: {namespace: %s, name: %s,"
                  " labels: {n: %s}}}",
                  namespace_, name, label);
    assert_true(model_server_apply_yaml(bench.server, buffer_text(&yaml), &err));
    run();
}

static void show_state(void *context, const struct object_state *state)
{
    static const char *const names[] = {[OBJECT_NOT_READY] = "not ready",
                                        [OBJECT_UNKNOWN] = "unknown",
                                        [OBJECT_READY] = "ready",
                                        [OBJECT_OVER] = "over"};
    (void)context;
    object_write_name(&bench.shown, state->object);
    buffer_printf(&bench.shown, " %s%s %s %s", state->is_going ? "going, " : "",
                  names[state->readiness], state->reason, state->message);
    if (state->since_s)
        buffer_printf(&bench.shown, " %lld", (long long)state->since_s);
    buffer_add_char(&bench.shown, '\n');
}

static void expect(const char *text)
{
    buffer_clear(&bench.shown);
    engine_each_state(bench.engine, show_state, NULL);
    assert_string_equal(buffer_text(&bench.shown).at, text);
}

#define CONDITION(status, reason, message)                                                         \
    "{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status "\",\"reason\":\"" reason          \
    "\",\"message\":\"" message "\",\"lastTransitionTime\":\"1970-01-01T00:00:07Z\"}]}"

// ---- the stories --------------------------------------------------------------------------------

static void each_state_is_what_its_last_decision_said(void **state)
{
    (void)state;
    bench.status = CONDITION("False", "Broken", "mend it");
    write("shop", "one", "a");
    expect("shop/one not ready Broken mend it 7\n");
    bench.status = CONDITION("Unknown", "Asked", "wait");
    write("shop", "one", "b");
    expect("shop/one unknown Asked wait 7\n");
    bench.status = CONDITION("True", "Made", "all is well");
    write("shop", "one", "c");
    expect("shop/one ready Made  7\n");
    bench.status = NULL; // leaves it as it is
    write("shop", "one", "d");
    expect("shop/one ready Made  7\n");
}

static void what_says_nothing_of_itself_is_unknown_and_what_is_over_is_over(void **state)
{
    (void)state;
    bench.status = NULL;
    write("shop", "one", "a");
    expect("shop/one unknown  \n");
    bench.status = "{\"conditions\":[]}";
    write("shop", "one", "b");
    expect("shop/one unknown  \n");
    write("shop", "one", "over");
    expect("shop/one over  \n");
}

static void they_are_in_order_whatever_comes_and_goes(void **state)
{
    static const struct object_ref_key gone = {&subject_kind, {"shop", 4}, {"m", 1}};
    (void)state;
    bench.status = CONDITION("True", "Made", "");
    write("shop", "m", "a");
    write("web", "a", "a");
    expect("shop/m ready Made  7\nweb/a ready Made  7\n");
    write("shop", "z", "a");
    write("shop", "a", "a");
    write("art", "x", "a");
    expect("art/x ready Made  7\nshop/a ready Made  7\nshop/m ready Made  7\n"
           "shop/z ready Made  7\nweb/a ready Made  7\n");
    assert_true(model_server_delete(bench.server, &gone));
    run();
    write("zoo", "m", "a"); // has the key of the one that is gone
    expect("art/x ready Made  7\nshop/a ready Made  7\nshop/z ready Made  7\n"
           "web/a ready Made  7\nzoo/m ready Made  7\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_state_is_what_its_last_decision_said, open_bench,
                                        close_bench),
        cmocka_unit_test_setup_teardown(
            what_says_nothing_of_itself_is_unknown_and_what_is_over_is_over, open_bench,
            close_bench),
        cmocka_unit_test_setup_teardown(they_are_in_order_whatever_comes_and_goes, open_bench,
                                        close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
