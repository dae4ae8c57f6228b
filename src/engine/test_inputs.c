#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "base/must.h"
#include "engine/engine.h"
#include "io/disk.h"
#include "io/test_folder.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "store/cache.h"
#include "store/folder/folder.h"

// Inputs by label and by name, of a made-up controller, on both stores. What the one subject sees
// is written down at each decision: "web: a b; db: c".

enum { SECOND = 1000, KINDS = 2, INPUTS_MAX = 3 };

static const struct kind subject_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Subject",
    .plural = "subjects",
    .singular = "subject",
    .is_namespaced = true,
    .is_foreign = true,
    .pack_spec = labels_pack,
    .keeps_labels = true,
};
static const struct kind target_kind = {
    .group = "test.example",
    .version = "v1",
    .name = "Target",
    .plural = "targets",
    .singular = "target",
    .is_namespaced = true,
    .is_foreign = true,
    .pack_spec = labels_pack,
    .keeps_labels = true,
};

static struct {
    bool is_cluster;
    struct arena *arena;
    struct loop *loop;
    struct random random;
    struct world world;
    struct store_kind kinds[KINDS];
    struct model_server *server;
    struct model_api *api;
    char folder[TEST_FOLDER_MAX];
    struct store *store;
    struct engine *engine;
    struct buffer seen; // by the last decision
    unsigned decisions;
} bench;

// ---- the controller -----------------------------------------------------------------------------

static struct input inputs[INPUTS_MAX];
static struct controller controller;
static const struct controller *const all[] = {&controller};

static void want_fixed(const struct object *subject, struct strings *out)
{
    (void)subject;
    strings_add(out, "shop/fixed");
}

static void want_namesake(const struct object *subject, struct strings *out)
{
    strings_add(out, "shop/%.*s", TEXT_ARGS(object_name(subject)));
    want_fixed(subject, out);
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    (void)model;
    (void)out;
    bench.decisions++;
    buffer_clear(&bench.seen);
    for (size_t i = 0; i < controller.input_count; i++) {
        const struct input_objects *input = &snapshot->inputs[i];
        const char *sign = input->is_synced ? ":" : "?";
        buffer_printf(&bench.seen, "%s%zu%s", i ? "; " : "", i, input->is_missing ? "-" : sign);
        for (size_t j = 0; j < input->count; j++)
            buffer_printf(&bench.seen, " %.*s", TEXT_ARGS(object_name(input->objects[j])));
    }
}

// ---- both stores --------------------------------------------------------------------------------

static void run(void)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + 20 * SECOND);
}

static void put(const char *kind, const char *name, const char *labels)
{
    struct error err = {0};
    struct text yaml = text_of(arena_printf(bench.arena,
                                            "{apiVersion: test.example/v1, kind: %s, metadata: "
                                            "{namespace: shop, name: %s, labels: {%s}}}",
                                            kind, name, labels));
    const char *path = arena_printf(bench.arena, "%s/%s.yaml", bench.folder, name);
    bool is_ok = bench.is_cluster ? model_server_apply_yaml(bench.server, yaml, &err)
                                  : disk_replace(disk_system(), path, yaml, 0600, false, &err);
    if (!is_ok)
        fail_msg("%s", err.text);
}

static void drop(const char *name)
{
    const struct object_ref_key key = {&target_kind, TEXT("shop"), text_of(name)};
    const char *path = arena_printf(bench.arena, "%s/%s.yaml", bench.folder, name);
    assert_true(bench.is_cluster ? model_server_delete(bench.server, &key)
                                 : disk_remove(disk_system(), path, NULL));
}

static struct store *open_store(void)
{
    if (bench.is_cluster)
        return model_cluster_new(&bench.world, bench.kinds, KINDS, "inputs", NULL);
    return folder_new(
        &bench.world,
        &(struct folder_options){.dir = bench.folder, .kinds = bench.kinds, .kind_count = KINDS},
        NULL, NULL);
}

static void open_place(bool is_cluster)
{
    bench.is_cluster = is_cluster;
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1767225600000);
    bench.random.fill = model_fill_even;
    bench.world =
        (struct world){.loop = bench.loop, .random = &bench.random, .disk = disk_system()};
    bench.kinds[0] = (struct store_kind){.kind = &subject_kind};
    bench.kinds[1] = (struct store_kind){.kind = &target_kind};
    test_folder_make(bench.folder);
    if (!is_cluster)
        return;
    bench.server = model_server_new(bench.loop, bench.kinds, KINDS);
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, NULL);
    bench.world.http = model_api_http(bench.api);
    model_cluster_prepare(bench.server);
}

static void start(size_t input_count)
{
    controller = (struct controller){.name = "made-up",
                                     .kind = &subject_kind,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .decide = decide};
    for (size_t i = 0; i < KINDS; i++)
        controllers_describe(all, 1, &bench.kinds[i]);
    bench.store = open_store();
    assert_non_null(bench.store);
    bench.engine = engine_new(&(struct engine_options){
        .world = &bench.world, .store = bench.store, .controllers = all, .controller_count = 1});
    assert_true(engine_start(bench.engine, NULL));
    run();
}

static void close_place(void)
{
    engine_free(bench.engine);
    store_free(bench.store);
    if (bench.is_cluster) {
        model_api_free(bench.api);
        model_server_free(bench.server);
    }
    loop_free(bench.loop);
    test_folder_remove(bench.folder);
    buffer_done(&bench.seen);
    arena_free(bench.arena);
    memset(&bench, 0, sizeof bench);
}

static void assert_seen(const char *text)
{
    run();
    assert_string_equal(buffer_text(&bench.seen).at, text);
}

static size_t cached(void)
{
    return cache_count(bench.store->cache, &target_kind);
}

static void on_both(void (*story)(void))
{
    for (int i = 0; i < 2; i++) {
        open_place(i == 0);
        memset(inputs, 0, sizeof inputs);
        story();
        close_place();
    }
}

// ---- tests --------------------------------------------------------------------------------------

static void follow_one_selector(void)
{
    inputs[0] = (struct input){.kind = &target_kind, .labels = "team=web"};
    put("Subject", "subject", "");
    put("Target", "a", "team: web");
    put("Target", "b", "team: db");
    start(1);
    assert_seen("0: a");
    assert_int_equal(cached(), 1);
    put("Target", "b", "team: web");
    assert_seen("0: a b");
    put("Target", "a", "team: db");
    assert_seen("0: b");
    assert_int_equal(cached(), 1);
    drop("b");
    assert_seen("0:");
    unsigned decisions = bench.decisions;
    put("Target", "c", "team: db");
    drop("a");
    run();
    assert_int_equal(bench.decisions, decisions);
    assert_int_equal(cached(), 0);
}

static void an_input_sees_what_its_selector_matches_and_no_more_is_cached(void **state)
{
    (void)state;
    on_both(follow_one_selector);
}

static void follow_two_selectors(void)
{
    inputs[0] = (struct input){.kind = &target_kind, .labels = "team=web"};
    inputs[1] = (struct input){.kind = &target_kind, .labels = "critical"};
    put("Subject", "subject", "");
    put("Target", "a", "team: web");
    put("Target", "b", "critical: ''");
    put("Target", "c", "team: web, critical: ''");
    put("Target", "d", "team: db");
    start(2);
    assert_seen("0: a c; 1: b c");
    assert_int_equal(cached(), 3);
    put("Target", "c", "team: web");
    assert_seen("0: a c; 1: b");
    put("Target", "c", "team: db");
    assert_seen("0: a; 1: b");
    assert_int_equal(cached(), 2);
    put("Target", "d", "critical: ''");
    assert_seen("0: a; 1: b d");
}

static void two_selectors_of_a_kind_are_told_apart(void **state)
{
    (void)state;
    on_both(follow_two_selectors);
}

static void follow_names_beside_a_selector(void)
{
    inputs[0] =
        (struct input){.kind = &target_kind, .lookup_keys = want_namesake, .is_named = true};
    inputs[1] = (struct input){.kind = &target_kind, .labels = "team=web"};
    put("Subject", "subject", "");
    put("Target", "fixed", "team: db");
    put("Target", "a", "team: web");
    start(2);
    assert_seen("0: fixed; 1: a");
    put("Target", "fixed", "team: web");
    assert_seen("0: fixed; 1: a fixed");
    drop("fixed");
    assert_seen("0:; 1: a");
}

static void names_and_a_selector_of_one_kind_go_together(void **state)
{
    (void)state;
    on_both(follow_names_beside_a_selector);
}

static void follow_names(void)
{
    inputs[0] =
        (struct input){.kind = &target_kind, .lookup_keys = want_namesake, .is_named = true};
    put("Subject", "subject", "");
    put("Target", "fixed", "");
    put("Target", "other", "");
    start(1);
    assert_seen("0: fixed");
    assert_int_equal(cached(), bench.is_cluster ? 1 : 2);
    drop("fixed");
    assert_seen("0:");
}

static void an_input_by_name_holds_that_object_alone(void **state)
{
    (void)state;
    on_both(follow_names);
}

// A kind that is missing is looked for every half minute.
static void set_installed(bool is_installed)
{
    model_api_set_installed(bench.api, "targets", is_installed);
    for (unsigned i = 0; i < 4; i++)
        run();
}

static void an_optional_kind_may_come_and_go(void **state)
{
    (void)state;
    open_place(true);
    memset(inputs, 0, sizeof inputs);
    inputs[0] = (struct input){.kind = &target_kind, .labels = "team=web", .is_optional = true};
    bench.kinds[1].is_dispensable = true;
    model_api_set_installed(bench.api, "targets", false);
    put("Subject", "subject", "");
    start(1);
    assert_seen("0-");
    unsigned decisions = bench.decisions;
    set_installed(false);
    assert_int_equal(bench.decisions, decisions);
    set_installed(true);
    assert_seen("0:");
    put("Target", "a", "team: web");
    assert_seen("0: a");
    set_installed(false);
    assert_seen("0-");
    set_installed(true);
    assert_seen("0: a");
    close_place();
}

static void a_right_to_an_optional_kind_may_come_later(void **state)
{
    (void)state;
    open_place(true);
    memset(inputs, 0, sizeof inputs);
    inputs[0] = (struct input){.kind = &target_kind, .is_optional = true};
    bench.kinds[1].is_dispensable = true;
    model_api_deny(bench.api, NULL, "targets");
    put("Subject", "subject", "");
    start(1);
    assert_seen("0?");
    model_api_allow_all(bench.api);
    for (unsigned i = 0; i < 4; i++)
        run();
    assert_seen("0:");
    close_place();
}

static void only_what_is_not_optional_is_needed(void **state)
{
    (void)state;
    inputs[0] = (struct input){.kind = &target_kind, .is_optional = true};
    inputs[1] = (struct input){.kind = &target_kind};
    controller = (struct controller){.kind = &subject_kind, .inputs = inputs, .input_count = 1};
    assert_true(controller_needs(&controller, &subject_kind));
    assert_true(controller_reads(&controller, &target_kind));
    assert_false(controller_needs(&controller, &target_kind));
    controller.input_count = 2;
    assert_true(controller_needs(&controller, &target_kind));
}

static void a_kind_that_is_read_whole_is_neither_selected_nor_named(void **state)
{
    (void)state;
    struct store_kind row = {.kind = &target_kind};
    inputs[0] = (struct input){.kind = &target_kind, .labels = "team=web"};
    inputs[1] = (struct input){.kind = &target_kind, .lookup_keys = want_fixed};
    controller = (struct controller){.kind = &subject_kind, .inputs = inputs, .input_count = 2};
    controllers_describe(all, 1, &row);
    assert_null(row.selectors[0]);
    assert_false(row.is_by_name);
    controller.input_count = 1;
    controllers_describe(all, 1, &row);
    assert_string_equal(row.selectors[0], "team=web");
    assert_null(row.selectors[1]);
    struct store_kind own = {.kind = &subject_kind};
    inputs[0].kind = &subject_kind;
    controllers_describe(all, 1, &own);
    assert_null(own.selectors[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_input_sees_what_its_selector_matches_and_no_more_is_cached),
        cmocka_unit_test(two_selectors_of_a_kind_are_told_apart),
        cmocka_unit_test(names_and_a_selector_of_one_kind_go_together),
        cmocka_unit_test(an_input_by_name_holds_that_object_alone),
        cmocka_unit_test(a_kind_that_is_read_whole_is_neither_selected_nor_named),
        cmocka_unit_test(an_optional_kind_may_come_and_go),
        cmocka_unit_test(a_right_to_an_optional_kind_may_come_later),
        cmocka_unit_test(only_what_is_not_optional_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
