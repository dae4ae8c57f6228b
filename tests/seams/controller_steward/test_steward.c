#include "controllers/steward/steward_controller.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "engine/engine.h"
#include "kinds/estate/estate_kind.h"
#include "kinds/kinds.h"
#include "kinds/steward/steward_kind.h"
#include "model/model_backend.h"
#include "model/model_cluster.h"
#include "model/model_local.h"
#include "model/tap_store.h"
#include "model/virtual_loop.h"
#include "store/cache.h"

// All kinds and all providers on the virtual clock, and this controller; its book is a file of a
// virtual machine.

#define BOOK "/estate/book"
#define KEEPER BOOK ".keeper"

enum { START_UNIX_S = 1767225600, SECOND = 1000, MINUTE = 60 * SECOND, KINDS_MAX = 64 };
enum { HOUSES = 200 };

static const struct controller *const all[] = {&steward_controller};

static struct {
    struct loop *loop;
    struct model_local *machine;
    struct model_backend *network;
    struct model_server *server;
    struct model_api *api;
    struct store_kind kinds[KINDS_MAX];
    struct steward_settings settings;
    struct random random;
    struct world world;
    struct store *store;
    struct engine *engine;
    struct arena *arena;
    struct buffer events; // "the notice ann-count is up\n..."
} bench;

// ---- the process --------------------------------------------------------------------------------

static void run(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

static void add_event(void *context, const struct kube_event *event)
{
    (void)context;
    if (!strcmp(event->reason, "NoticePutUp"))
        buffer_printf(&bench.events, "%s\n", event->text);
}

static void start(void)
{
    static const void *const settings[] = {&bench.settings};
    bench.store = tap_store_new(
        model_cluster_new(&bench.world, bench.kinds, kind_count, "steward", NULL), add_event, NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .store = bench.store,
                                                       .controllers = all,
                                                       .settings = settings,
                                                       .controller_count = 1,
                                                       .providers = providers,
                                                       .provider_count = provider_count});
    must(engine_start(bench.engine, NULL));
    run(5 * SECOND);
}

static void stop(void)
{
    engine_free(bench.engine);
    store_free(bench.store);
    bench.engine = NULL;
    bench.store = NULL;
}

static int set_up(void **state)
{
    static const char *const wings[] = {"east", "west", NULL};
    (void)state;
    must(kind_count <= KINDS_MAX);
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1000LL * START_UNIX_S);
    bench.machine = model_local_new(bench.loop);
    model_local_add(bench.machine, &(struct model_program){.command = KEEPER " reload"});
    for (size_t i = 0; i < kind_count; i++) {
        bench.kinds[i] = (struct store_kind){.kind = kinds[i]};
        controllers_describe(all, 1, &bench.kinds[i]);
    }
    bench.network = model_backend_new(bench.loop);
    bench.server = model_server_new(bench.loop, bench.kinds, kind_count);
    bench.random.fill = model_fill_even;
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, model_backend_http(bench.network));
    model_cluster_prepare(bench.server);
    bench.world = (struct world){.loop = bench.loop,
                                 .http = model_api_http(bench.api),
                                 .local = model_local_own(bench.machine),
                                 .random = &bench.random};
    bench.settings = (struct steward_settings){.book = BOOK,
                                               .greeting = "Hail",
                                               .gate = "192.0.2.1:80",
                                               .wings = wings,
                                               .rules = {"rules", TEXT("No noise.\nNo dogs.\n")}};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stop();
    model_api_free(bench.api);
    model_server_free(bench.server);
    model_local_free(bench.machine);
    model_backend_free(bench.network);
    loop_free(bench.loop);
    arena_free(bench.arena);
    buffer_done(&bench.events);
    return 0;
}

// ---- what people do -----------------------------------------------------------------------------

static void apply(const char *kind, const char *name, const char *labels, const char *spec)
{
    struct error err = {0};
    const char *yaml = arena_printf(bench.arena,
                                    "{apiVersion: estate.example/v1, kind: %s, metadata: {name: %s,"
                                    " labels: {%s}}, spec: {%s}}",
                                    kind, name, labels, spec);
    if (!model_server_apply_yaml(bench.server, text_of(yaml), &err))
        fail_msg("%s", err.text);
}

static void add_steward(void)
{
    apply("Steward", "ann", "", "motto: nothing is lost");
    run(SECOND);
}

static void expect_book(const char *lines)
{
    const char *found = model_local_content(bench.machine, BOOK);
    assert_string_equal(found ? found : "", lines);
}

static const char *book(const char *count)
{
    return arena_printf(bench.arena,
                        "TXT motto.ann.estate.example 300 \"Hail: nothing is lost\"\n"
                        "TXT gate.ann.estate.example 300 \"192.0.2.1:80\"\n"
                        "TXT east.ann.estate.example 300 \"No noise.\"\n"
                        "TXT west.ann.estate.example 300 \"No noise.\"\n"
                        "TXT houses.ann.estate.example 300 \"%s\"\n",
                        count);
}

// Whatever the order of the lines.
static void expect_count(const char *count)
{
    const char *found = model_local_content(bench.machine, BOOK);
    const char *line =
        arena_printf(bench.arena, "TXT houses.ann.estate.example 300 \"%s\"\n", count);
    assert_non_null(found);
    assert_non_null(strstr(found, line));
}

static const struct value *status(void)
{
    const struct object_ref_key key = {&steward_kind, TEXT(""), TEXT("ann")};
    const struct value *tree = model_server_find(bench.server, bench.arena, &key);
    return value_find(tree, "status");
}

static const char *status_text(void)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, status());
    return arena_copy(bench.arena, json.at, json.len);
}

static struct object_ref_key notice_key(const char *name)
{
    return (struct object_ref_key){&notice_kind, TEXT("estate"), text_of(name)};
}

static const struct value *notice(const char *name)
{
    const struct object_ref_key key = notice_key(name);
    return model_server_find(bench.server, bench.arena, &key);
}

static void expect_notice(const char *name, const char *data)
{
    AUTO_BUFFER json = {0};
    const struct value *found = value_find(notice(name), "data");
    if (found)
        value_write_json(&json, found);
    assert_string_equal(json.len ? json.at : "", data);
}

// Whatever came first.
static void expect_event(const char *text, size_t count)
{
    size_t found = 0;
    const char *line = arena_printf(bench.arena, "%s\n", text);
    for (const char *at = bench.events.len ? bench.events.at : ""; (at = strstr(at, line)); at++)
        found++;
    assert_int_equal(found, count);
}

// ---- tests --------------------------------------------------------------------------------------

static void only_what_has_the_label_is_seen_and_kept(void **state)
{
    (void)state;
    start();
    add_steward();
    apply("House", "hall", "estate.example/steward: ann", "address: 192.0.2.7");
    apply("House", "hut", "", "address: 192.0.2.8");
    apply("Guest", "bob", "estate.example/steward: ann", "");
    apply("Guest", "eve", "", "");
    apply("Notice", "own", "estate.example/steward: other", "");
    run(MINUTE);
    expect_book(book("1 1"));
    assert_int_equal(value_int_at(status(), "houses", -1), 1);
    assert_int_equal(cache_count(bench.store->cache, &house_kind), 1);
    assert_int_equal(cache_count(bench.store->cache, &guest_kind), 1);
    assert_int_equal(cache_count(bench.store->cache, &notice_kind), 2); // its own
}

static void a_house_that_gets_the_label_comes_and_one_that_loses_it_goes(void **state)
{
    (void)state;
    start();
    add_steward();
    apply("House", "hut", "", "");
    run(MINUTE);
    expect_count("0 0");
    apply("House", "hut", "estate.example/steward: ann", "");
    run(MINUTE);
    expect_count("1 0");
    apply("House", "hut", "", "");
    run(MINUTE);
    expect_count("0 0");
}

static void settings_of_each_type_reach_the_book(void **state)
{
    (void)state;
    bench.settings.gate = NULL;
    bench.settings.wings = NULL;
    bench.settings.greeting = NULL;
    start();
    add_steward();
    run(MINUTE);
    expect_book("TXT houses.ann.estate.example 300 \"0 0\"\n"
                "TXT motto.ann.estate.example 300 \": nothing is lost\"\n");
    bench.settings.book = NULL;
    stop();
    model_local_put(bench.machine, BOOK, NULL);
    start();
    run(MINUTE);
    expect_book("");
}

static void a_program_that_fails_is_run_again(void **state)
{
    (void)state;
    model_local_add(bench.machine,
                    &(struct model_program){.command = KEEPER, .exit_code = 1, .errors = "no"});
    start();
    add_steward();
    run(MINUTE);
    const char *log = model_local_log(bench.machine);
    assert_non_null(strstr(strstr(log, "run " KEEPER " reload") + 1, "run " KEEPER " reload"));
    model_local_add(bench.machine, &(struct model_program){.command = KEEPER});
    run(10 * MINUTE);
    size_t settled = strlen(model_local_log(bench.machine));
    run(10 * MINUTE);
    assert_int_equal(strlen(model_local_log(bench.machine)), settled);
}

static void a_file_that_cannot_be_written_is_tried_again(void **state)
{
    (void)state;
    model_local_fail(bench.machine, BOOK, EACCES);
    start();
    add_steward();
    run(MINUTE);
    expect_book("");
    model_local_fail(bench.machine, BOOK, 0);
    run(10 * MINUTE);
    assert_non_null(strstr(model_local_content(bench.machine, BOOK), "houses.ann"));
}

static void a_program_that_runs_is_killed_when_another_process_leads(void **state)
{
    (void)state;
    model_local_add(bench.machine, &(struct model_program){.command = KEEPER, .takes_ms = 4900});
    start();
    run(MINUTE);
    apply("Steward", "ann", "", "");
    run(SECOND);
    model_api_set_down(bench.api, true);
    run(MINUTE);
    assert_int_equal(model_local_killed(bench.machine), 0);
    size_t asked = strlen(model_local_log(bench.machine));
    run(10 * MINUTE);
    assert_int_equal(strlen(model_local_log(bench.machine)), asked);
}

static size_t asked(void)
{
    size_t count = 0;
    for (size_t i = 0; i < model_backend_request_count(bench.network); i++)
        count += !strcmp(model_backend_request(bench.network, i)->path, "/rooms");
    return count;
}

static void each_of_two_hundred_houses_is_asked_and_asked_again_when_its_answer_is_old(void **state)
{
    (void)state;
    struct model_webhook *houses[HOUSES];
    for (size_t i = 0; i < HOUSES; i++) {
        const char *address = arena_printf(bench.arena, "house-%zu.estate.example", i);
        const char *url = arena_printf(bench.arena, "http://%s", address);
        houses[i] = model_backend_add(bench.network, url);
        model_webhook_add_rule(houses[i], &(struct webhook_rule){.contains = "/rooms",
                                                                 .behaviour = WEBHOOK_ANSWERS,
                                                                 .status = 200,
                                                                 .body = "{\"rooms\":3}"});
        apply("House", arena_printf(bench.arena, "house-%zu", i), "estate.example/steward: ann",
              arena_printf(bench.arena, "address: %s", address));
    }
    start();
    add_steward();
    run(MINUTE);
    assert_int_equal(asked(), HOUSES);
    assert_int_equal(value_int_at(status(), "rooms", -1), 3 * HOUSES);
    assert_non_null(strstr(status_text(), "AllIn"));
    model_webhook_clear_rules(houses[7]);
    model_webhook_add_rule(houses[7], &(struct webhook_rule){.behaviour = WEBHOOK_DOWN});
    run(10 * MINUTE);
    assert_true(asked() >= 2 * HOUSES);
    assert_int_equal(value_int_at(status(), "rooms", -1), 3 * HOUSES - 3);
    assert_non_null(strstr(status_text(), "SomeSilent"));
}

static void what_a_steward_had_goes_with_it(void **state)
{
    (void)state;
    start();
    add_steward();
    run(MINUTE);
    const struct object_ref_key key = {&steward_kind, TEXT(""), TEXT("ann")};
    assert_true(model_server_delete(bench.server, &key));
    run(MINUTE);
    expect_book("");
}

static void two_notices_are_kept_true_each_with_its_event(void **state)
{
    (void)state;
    start();
    add_steward();
    run(MINUTE);
    expect_notice("ann-count", "{\"houses\":\"0\",\"guests\":\"0\"}");
    expect_notice("ann-rules", "{\"motto\":\"nothing is lost\",\"gate\":\"192.0.2.1:80\"}");
    expect_event("the notice ann-count is up", 1);
    expect_event("the notice ann-rules is up", 1);
    apply("House", "hall", "estate.example/steward: ann", "address: 192.0.2.7");
    const struct object_ref_key rules = notice_key("ann-rules");
    assert_true(model_server_edit(bench.server, &rules, "data.motto", "all is lost"));
    run(MINUTE);
    expect_notice("ann-count", "{\"houses\":\"1\",\"guests\":\"0\"}");
    expect_notice("ann-rules", "{\"motto\":\"nothing is lost\",\"gate\":\"192.0.2.1:80\"}");
    expect_event("the notice ann-count changed", 1);
    expect_event("the notice ann-rules changed", 1);
    assert_true(model_server_delete(bench.server, &rules));
    run(MINUTE);
    expect_event("the notice ann-rules is up", 2);
    uint64_t writes = model_server_writes(bench.server);
    run(9 * MINUTE);
    assert_int_equal(model_server_writes(bench.server), writes);
}

static void a_text_that_a_notice_has_no_more_goes_and_that_of_others_stays(void **state)
{
    (void)state;
    start();
    add_steward();
    run(MINUTE);
    const struct object_ref_key rules = notice_key("ann-rules");
    assert_true(model_server_edit(bench.server, &rules, "data.theirs", "no cats"));
    stop();
    bench.settings.gate = NULL;
    start();
    run(MINUTE);
    expect_notice("ann-rules", "{\"motto\":\"nothing is lost\",\"theirs\":\"no cats\"}");
    expect_event("the notice ann-rules changed", 1);
    uint64_t writes = model_server_writes(bench.server);
    run(9 * MINUTE);
    assert_int_equal(model_server_writes(bench.server), writes);
}

static void a_notice_whose_name_is_taken_stays_and_stops_no_other(void **state)
{
    (void)state;
    start();
    const char *theirs = "{apiVersion: estate.example/v1, kind: Notice, metadata: {name: ann-count,"
                         " namespace: estate}, data: {houses: many}}";
    assert_true(model_server_apply_yaml(bench.server, text_of(theirs), NULL));
    add_steward();
    run(MINUTE);
    expect_notice("ann-count", "{\"houses\":\"many\"}");
    expect_notice("ann-rules", "{\"motto\":\"nothing is lost\",\"gate\":\"192.0.2.1:80\"}");
    expect_event("the notice ann-count is up", 0);
    assert_non_null(strstr(status_text(), "NoticeTaken"));
    assert_non_null(strstr(status_text(), "is somebody else's and stays as it is: remove it"));
    expect_event("the notice ann-rules is up", 1);
    const struct object_ref_key key = notice_key("ann-count");
    assert_true(model_server_delete(bench.server, &key));
    run(MINUTE);
    expect_event("the notice ann-count is up", 1);
    assert_null(strstr(status_text(), "NoticeTaken"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_has_the_label_is_seen_and_kept),
        TEST(a_house_that_gets_the_label_comes_and_one_that_loses_it_goes),
        TEST(settings_of_each_type_reach_the_book),
        TEST(a_program_that_fails_is_run_again),
        TEST(a_file_that_cannot_be_written_is_tried_again),
        TEST(a_program_that_runs_is_killed_when_another_process_leads),
        TEST(each_of_two_hundred_houses_is_asked_and_asked_again_when_its_answer_is_old),
        TEST(what_a_steward_had_goes_with_it),
        TEST(two_notices_are_kept_true_each_with_its_event),
        TEST(a_text_that_a_notice_has_no_more_goes_and_that_of_others_stays),
        TEST(a_notice_whose_name_is_taken_stays_and_stops_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
