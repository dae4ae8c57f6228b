#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "engine/engine.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/kinds.h"
#include "kinds/namespace/namespace_kind.h"
#include "model/engine_inside.h"
#include "model/model_backend.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"

// All controllers and all providers on the virtual clock. The ledger is watched while it talks:
// one line for each job, "shop=2 a.shop=2" or "-a.shop" for what goes.

#define LEDGER "http://ledger.census.example"
#define DNS "http://dns.test"
#define SERIES "{\"series\":\"A\"}"

enum { START_UNIX_S = 1767225600, SECOND = 1000, HOUR = 3600 * SECOND, KINDS_MAX = 64 };
enum { PROVIDERS_MAX = 16, CONTROLLERS_MAX = 16 };

static struct {
    struct loop *loop;
    struct model_backend *backend;
    struct model_webhook *ledger;
    struct model_server *server;
    struct model_api *api;
    struct store_kind kinds[KINDS_MAX];
    struct provider spy;
    const struct provider *providers[PROVIDERS_MAX];
    const void *settings[CONTROLLERS_MAX];
    struct random random;
    struct world world;
    struct store *store;
    struct engine *engine;
    struct buffer log;
    struct arena *arena;
} bench;

// ---- the ledger, watched ------------------------------------------------------------------------

struct watched {
    void *exchange;
    struct job *job;
};

static const struct provider *ledger(void)
{
    return provider_find("abacus");
}

static void *spy_begin(void *session, struct job *job)
{
    struct watched *watched = mem_new_of(struct watched);
    *watched = (struct watched){ledger()->begin(session, job), job};
    return watched;
}

static void log_job(const struct job *job)
{
    for (size_t i = 0; i < job->change_count; i++) {
        const struct change *change = &job->changes[i];
        if (!change->outcome.is_done)
            return;
        buffer_printf(&bench.log, "%s%s%.*s", i ? " " : "", change->op == CHANGE_SET ? "" : "-",
                      TEXT_ARGS(change->set.subdomain));
        if (change->op == CHANGE_SET)
            buffer_printf(&bench.log, "=%.*s", TEXT_ARGS(change->set.values[0]));
    }
    if (job->change_count)
        buffer_add_char(&bench.log, '\n');
}

static enum ask_kind spy_ask(void *at, const struct moment *moment, struct ask *out)
{
    const struct watched *watched = at;
    enum ask_kind kind = ledger()->ask(watched->exchange, moment, out);
    if (kind == ASK_DONE)
        log_job(watched->job);
    return kind;
}

static void spy_handle_reply(void *at, const struct moment *moment, const struct ask_result *result)
{
    const struct watched *watched = at;
    ledger()->handle_reply(watched->exchange, moment, result);
}

static void spy_end(void *at)
{
    struct watched *watched = at;
    ledger()->end(watched->exchange);
    free(watched);
}

static void watch_ledger(void)
{
    must(provider_count <= PROVIDERS_MAX);
    bench.spy = *ledger();
    bench.spy.begin = spy_begin;
    bench.spy.ask = spy_ask;
    bench.spy.handle_reply = spy_handle_reply;
    bench.spy.end = spy_end;
    for (size_t i = 0; i < provider_count; i++)
        bench.providers[i] = providers[i] == ledger() ? &bench.spy : providers[i];
}

// ---- the process --------------------------------------------------------------------------------

static void fill_zero(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 7, len);
}

static const char *finalizer_of(const struct kind *kind)
{
    for (size_t i = 0; i < controller_count; i++)
        if (controllers[i]->kind == kind && controllers[i]->finalizer)
            return controllers[i]->finalizer;
    return NULL;
}

static void run(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

static void start(void)
{
    must(controller_count <= CONTROLLERS_MAX);
    bench.store = model_cluster_new(&bench.world, bench.kinds, kind_count, "census", NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .store = bench.store,
                                                       .controllers = controllers,
                                                       .settings = bench.settings,
                                                       .controller_count = controller_count,
                                                       .providers = bench.providers,
                                                       .provider_count = provider_count});
    must(engine_start(bench.engine, NULL));
    run(5 * SECOND);
}

static void crash(void)
{
    engine_free(bench.engine);
    store_free(bench.store);
    bench.engine = NULL;
    bench.store = NULL;
    model_cluster_free_lease(bench.server);
}

static int set_up(void **state)
{
    (void)state;
    must(kind_count <= KINDS_MAX);
    bench.arena = arena_new();
    bench.loop = virtual_loop_new(1000LL * START_UNIX_S);
    bench.backend = model_backend_new(bench.loop);
    model_backend_add(bench.backend, DNS);
    bench.ledger = model_backend_add(bench.backend, LEDGER);
    model_webhook_add_rule(bench.ledger, &(struct webhook_rule){.contains = "/series",
                                                                .behaviour = WEBHOOK_ANSWERS,
                                                                .status = 200,
                                                                .body = SERIES});
    for (size_t i = 0; i < kind_count; i++)
        bench.kinds[i] = (struct store_kind){.kind = kinds[i], .finalizer = finalizer_of(kinds[i])};
    bench.server = model_server_new(bench.loop, bench.kinds, kind_count);
    bench.random.fill = fill_zero;
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, model_backend_http(bench.backend));
    bench.world = (struct world){
        .loop = bench.loop, .http = model_api_http(bench.api), .random = &bench.random};
    watch_ledger();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crash();
    model_api_free(bench.api);
    model_server_free(bench.server);
    model_backend_free(bench.backend);
    loop_free(bench.loop);
    buffer_done(&bench.log);
    bench.log = (struct buffer){0};
    arena_free(bench.arena);
    return 0;
}

// ---- what people do -----------------------------------------------------------------------------

static void apply(const char *yaml)
{
    struct error err = {0};
    if (!model_server_apply_yaml(bench.server, text_of(yaml), &err))
        fail_msg("%s", err.text);
}

static void add_namespace(const char *name, const char *labels)
{
    apply(arena_printf(bench.arena,
                       "{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}",
                       name, labels));
}

static void add_record(const char *namespace_, const char *name, const char *type)
{
    apply(arena_printf(bench.arena,
                       "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSRecord,\n"
                       "metadata: {namespace: %s, name: %s}, spec: {type: %s, domain: "
                       "example.com,\nsubdomain: %s, values: ['192.0.2.1'], dnsClassRef: {name: "
                       "home}}}",
                       namespace_, name, type, name));
}

static void add_class(void)
{
    apply("{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass,\n"
          "metadata: {name: home}, spec: {server: '" DNS "'}}");
}

static void drop_record(const char *namespace_, const char *name)
{
    assert_true(model_server_delete(
        bench.server,
        &(struct object_ref_key){&dnsrecord_kind, text_of(namespace_), text_of(name)}));
}

static void drop_namespace(const char *name)
{
    assert_true(model_server_delete(
        bench.server, &(struct object_ref_key){&namespace_kind, TEXT(""), text_of(name)}));
}

// What the ledger was told since the last look.
static const char *reported(void)
{
    const char *copy = arena_copy_text(bench.arena, bench.log.len ? bench.log.at : "");
    buffer_clear(&bench.log);
    return copy;
}

#define AFTER(ms, expected)                                                                        \
    do {                                                                                           \
        run(ms);                                                                                   \
        assert_string_equal(reported(), expected);                                                 \
    } while (0)

// ---- tests --------------------------------------------------------------------------------------

static void counts_follow_records_that_come_and_go(void **state)
{
    (void)state;
    add_class();
    add_namespace("shop", "");
    add_record("shop", "web", "A");
    add_record("shop", "mail", "A");
    start();
    assert_string_equal(reported(), "shop=2 a.shop=2\n");
    add_record("shop", "note", "TXT");
    AFTER(SECOND, "shop=3 txt.shop=1\n");
    drop_record("shop", "mail");
    AFTER(SECOND, "shop=2 a.shop=1\n");
    drop_record("shop", "note");
    AFTER(SECOND, "shop=1 -txt.shop\n");
    add_record("shop", "note", "TXT");
    AFTER(SECOND, "shop=2 txt.shop=1\n");
    AFTER(HOUR, "");
}

static void a_changed_type_moves_a_record_between_counts(void **state)
{
    (void)state;
    add_namespace("shop", "");
    add_record("shop", "web", "A");
    start();
    assert_string_equal(reported(), "shop=1 a.shop=1\n");
    add_record("shop", "web", "TXT");
    AFTER(SECOND, "-a.shop txt.shop=1\n");
}

static void namespaces_count_their_own(void **state)
{
    (void)state;
    add_namespace("shop", "");
    add_namespace("shop-2", "");
    add_record("shop", "web", "A");
    add_record("shop-2", "web", "A");
    add_record("shop-2", "mail", "MX");
    start();
    const char *lines = reported(); // of two ledgers: whichever answers first
    assert_non_null(strstr(lines, "shop=1 a.shop=1\n"));
    assert_non_null(strstr(lines, "shop-2=2 a.shop-2=1 mx.shop-2=1\n"));
    add_record("shop-2", "more", "A");
    AFTER(SECOND, "shop-2=3 a.shop-2=2\n");
    add_record("elsewhere", "web", "A");
    AFTER(SECOND, "");
    add_namespace("elsewhere", "");
    AFTER(5 * SECOND, "elsewhere=1 a.elsewhere=1\n");
}

static void a_label_narrows_the_count(void **state)
{
    (void)state;
    add_namespace("shop", "census.example/counts: web");
    add_record("shop", "web-1", "A");
    add_record("shop", "web-2", "A");
    add_record("shop", "website", "A");
    add_record("shop", "mail-1", "MX");
    start();
    assert_string_equal(reported(), "shop=2 a.shop=2\n");
    add_record("shop", "mail-2", "MX");
    AFTER(SECOND, "");
    add_namespace("shop", "census.example/counts: mail");
    AFTER(SECOND, "-a.shop mx.shop=2\n");
    add_record("shop", "web-3", "A");
    AFTER(SECOND, "");
    add_namespace("shop", "");
    AFTER(SECOND, "shop=6 a.shop=4\n");
}

static void nine_names_go_as_eight_and_one(void **state)
{
    static const char *const types[] = {"A", "AAAA", "CNAME", "TXT", "MX", "SRV", "NS", "PTR"};
    (void)state;
    add_namespace("shop", "");
    for (size_t i = 0; i < COUNT_OF(types); i++)
        add_record("shop", arena_printf(bench.arena, "r%zu", i), types[i]);
    start();
    assert_string_equal(reported(), "shop=8 a.shop=1 aaaa.shop=1 cname.shop=1 txt.shop=1 mx.shop=1 "
                                    "srv.shop=1 ns.shop=1\nptr.shop=1\n");
}

static void a_namespace_that_goes_takes_its_names_along(void **state)
{
    (void)state;
    add_namespace("shop", "");
    add_record("shop", "web", "A");
    start();
    assert_string_equal(reported(), "shop=1 a.shop=1\n");
    drop_namespace("shop");
    AFTER(HOUR, "-a.shop -shop\n");
    assert_true(engine_is_idle(bench.engine));
    add_namespace("shop", "");
    AFTER(5 * SECOND, "shop=1 a.shop=1\n");
}

static void a_namespace_that_comes_back_at_once_keeps_its_names(void **state)
{
    (void)state;
    add_namespace("shop", "");
    add_record("shop", "web", "A");
    start();
    reported();
    drop_namespace("shop");
    add_namespace("shop", "");
    AFTER(HOUR, "");
}

static void a_restart_states_each_name_once(void **state)
{
    (void)state;
    add_class();
    add_namespace("shop", "");
    add_record("shop", "web", "A");
    start();
    reported();
    crash();
    start();
    assert_string_equal(reported(), "shop=1 a.shop=1\n");
    AFTER(HOUR, "");
}

static void names_wait_for_the_series(void **state)
{
    (void)state;
    model_webhook_clear_rules(bench.ledger);
    model_webhook_add_rule(bench.ledger, &(struct webhook_rule){.behaviour = WEBHOOK_DOWN});
    add_namespace("shop", "");
    start();
    AFTER(HOUR, "");
    model_webhook_clear_rules(bench.ledger);
    model_webhook_add_rule(
        bench.ledger,
        &(struct webhook_rule){.behaviour = WEBHOOK_ANSWERS, .status = 200, .body = SERIES});
    AFTER(HOUR, "shop=0\n");
}

static void a_series_that_comes_late_sends_no_name_twice(void **state)
{
    (void)state;
    model_webhook_set_delay(bench.ledger, 3 * SECOND);
    add_namespace("shop", "");
    start();
    AFTER(HOUR, "shop=0\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_follow_records_that_come_and_go),
        TEST(a_changed_type_moves_a_record_between_counts),
        TEST(namespaces_count_their_own),
        TEST(a_label_narrows_the_count),
        TEST(nine_names_go_as_eight_and_one),
        TEST(a_namespace_that_goes_takes_its_names_along),
        TEST(a_namespace_that_comes_back_at_once_keeps_its_names),
        TEST(a_restart_states_each_name_once),
        TEST(names_wait_for_the_series),
        TEST(a_series_that_comes_late_sends_no_name_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
