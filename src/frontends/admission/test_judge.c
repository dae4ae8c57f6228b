#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "controllers/dnsclass/dnsclass_controller.h"
#include "controllers/dnsrecord/dnsrecord_controller.h"
#include "engine/engine.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/secret/secret_kind.h"
#include "model/engine_inside.h"
#include "model/model_backend.h"
#include "model/model_cluster.h"
#include "model/tap_store.h"
#include "model/virtual_loop.h"

// What an engine that has a class and a record says of objects that are about to be written.

#define GROUP "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\n"
#define CLASS(name)                                                                                \
    GROUP "kind: DNSClass\nmetadata: {name: " name "}\n"                                           \
          "spec: {server: 'http://dns.test', hmacAuth: {secret: abc}}\n"
#define RECORD(namespace_, name, class_name, spec)                                                 \
    GROUP "kind: DNSRecord\nmetadata: {name: " name ", namespace: " namespace_ "}\n"               \
          "spec: {domain: example.com, dnsClassRef: {name: " class_name "}, " spec "}\n"
#define WWW "type: A, subdomain: www, values: [192.0.2.1]"

static struct bench {
    struct loop *loop;
    struct model_backend *backend;
    struct world world;
    struct model_server *server;
    struct model_api *api;
    struct store *store;
    struct engine *engine;
    struct arena *arena;
    struct dnsrecord_settings record_settings;
    struct random random;
    uint8_t drawn;
} bench;

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, ++bench.drawn, len);
}

static void apply(const char *yaml)
{
    struct error err;
    if (!model_server_apply_yaml(bench.server, text_of(yaml), &err))
        fail_msg("%s", err.text);
}

static void wait_ms(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

static const struct store_kind kinds[] = {
    {.kind = &dnsclass_kind},
    {.kind = &dnsrecord_kind, .finalizer = DNSRECORD_FINALIZER},
    {.kind = &secret_kind},
    {.kind = &namespace_kind}};

static void open_engine(void)
{
    static const struct controller *const run[] = {&dnsclass_controller, &dnsrecord_controller};
    const void *const settings[] = {&dnsclass_defaults, &bench.record_settings};
    struct error err;
    struct store *store = model_cluster_new(&bench.world, kinds, COUNT_OF(kinds), "judge", NULL);
    bench.store = tap_store_new(store, NULL, NULL);
    bench.engine = engine_new(&(struct engine_options){.world = &bench.world,
                                                       .store = bench.store,
                                                       .controllers = run,
                                                       .settings = settings,
                                                       .controller_count = COUNT_OF(run),
                                                       .providers = providers,
                                                       .provider_count = provider_count});
    must(engine_start(bench.engine, &err));
}

static int set_up(void **state)
{
    (void)state;
    bench = (struct bench){.loop = virtual_loop_new(1767225600000LL), .arena = arena_new()};
    bench.backend = model_backend_new(bench.loop);
    bench.random.fill = fill;
    bench.record_settings = dnsrecord_defaults;
    struct model_webhook *home = model_backend_add(bench.backend, "http://dns.test");
    model_webhook_set_keys(home, &(const char *){"abc"}, 1);
    bench.server = model_server_new(bench.loop, kinds, COUNT_OF(kinds));
    bench.api = model_api_new(bench.server, MODEL_CLUSTER_URL, model_backend_http(bench.backend));
    bench.world = (struct world){
        .loop = bench.loop, .http = model_api_http(bench.api), .random = &bench.random};
    apply(CLASS("home"));
    apply(RECORD("shop", "web", "home", WWW));
    open_engine();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    engine_free(bench.engine);
    store_free(bench.store);
    model_api_free(bench.api);
    model_server_free(bench.server);
    http_free(model_backend_http(bench.backend));
    model_backend_free(bench.backend);
    loop_free(bench.loop);
    arena_free(bench.arena);
    return 0;
}

static const char *said_as(const struct kind *kind, const char *yaml, enum finding_level level)
{
    struct error err;
    bool has;
    struct value *tree;
    struct findings findings = {.arena = bench.arena};
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(text_of(yaml), &value_manifest_limits);
    must(yaml_reader_next(reader, bench.arena, &tree, &has, &err));
    engine_admit(bench.engine, kind, tree, level, &findings);
    const char *joined = findings_join(&findings, level);
    return joined ? joined : "";
}

static const char *said(const char *yaml)
{
    return said_as(&dnsrecord_kind, yaml, FINDING_WARNING);
}

static void a_class_that_is_missing_is_told(void **state)
{
    (void)state;
    wait_ms(1000);
    assert_string_equal(said(RECORD("shop", "new", "away", WWW)),
                        "DNSClass away does not exist: create it or change "
                        "spec.dnsClassRef.name");
}

static void a_free_name_of_a_known_class_is_no_news(void **state)
{
    (void)state;
    wait_ms(1000);
    assert_string_equal(
        said(RECORD("shop", "new", "home", "type: A, subdomain: new, values: [192.0.2.1]")), "");
    assert_string_equal(
        said(RECORD("shop", "new", "home", "type: TXT, subdomain: www, values: [x]")), "");
}

static void a_name_that_another_holds_is_told_with_its_holder(void **state)
{
    (void)state;
    wait_ms(1000);
    const char *text = "www.example.com A is held by shop/web";
    assert_string_equal(said(RECORD("shop", "new", "home", WWW)), text);
    assert_string_equal(said(RECORD("other", "web", "home", WWW)), text);
    assert_string_equal(said_as(&dnsrecord_kind, RECORD("shop", "new", "home", WWW), FINDING_ERROR),
                        text);
    assert_string_equal(
        said(RECORD("shop", "new", "home", "type: CNAME, subdomain: www, values: [a.example]")),
        "www.example.com CNAME is held by shop/web");
}

static void a_holder_in_another_namespace_stays_unnamed_where_names_are_off(void **state)
{
    (void)state;
    bench.record_settings.conflict_names = false;
    wait_ms(1000);
    assert_null(strstr(said(RECORD("other", "new", "home", WWW)), "shop"));
    assert_non_null(strstr(said(RECORD("other", "new", "home", WWW)), "www.example.com A is held"));
}

static void an_object_does_not_compete_with_itself(void **state)
{
    (void)state;
    wait_ms(1000);
    assert_string_equal(said(RECORD("shop", "web", "home", WWW)), "");
    assert_string_equal(
        said(RECORD("shop", "web", "home", "type: CNAME, subdomain: www, values: [a.example]")),
        "");
}

#define SEALED(name)                                                                               \
    GROUP "kind: DNSClass\nmetadata: {name: " name "}\n"                                           \
          "spec: {server: 'http://dns.test', hmacAuth: {secretRef: {name: key, namespace: dns, "   \
          "key: token}}}\n"

// Secrets are held by name, for those who want them.
static void a_secret_that_nobody_looked_for_is_not_said_to_be_missing(void **state)
{
    (void)state;
    wait_ms(1000);
    assert_string_equal(said_as(&dnsclass_kind, SEALED("new"), FINDING_ERROR), "");
}

static void a_secret_that_is_missing_is_told(void **state)
{
    (void)state;
    apply(SEALED("old"));
    wait_ms(1000);
    assert_string_equal(said_as(&dnsclass_kind, SEALED("new"), FINDING_WARNING),
                        "Secret dns/key does not exist: create it");
}

static void a_record_whose_class_has_no_secret_is_told(void **state)
{
    (void)state;
    apply(SEALED("old"));
    wait_ms(1000);
    assert_string_equal(
        said_as(&dnsrecord_kind,
                RECORD("shop", "new", "old", "type: A, subdomain: new, values: [192.0.2.1]"),
                FINDING_ERROR),
        "DNSClass old can't be used: Secret dns/key does not exist: create it");
}

static void nothing_is_told_before_all_is_synced_or_of_strange_kinds(void **state)
{
    (void)state;
    assert_string_equal(said(RECORD("shop", "new", "away", WWW)), "");
    wait_ms(1000);
    tap_store_set_synced(bench.store, &dnsclass_kind, false);
    assert_string_equal(said(RECORD("shop", "new", "away", WWW)), "");
    assert_string_equal(said_as(&namespace_kind,
                                "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n",
                                FINDING_WARNING),
                        "");
}

static void asking_leaves_no_trace(void **state)
{
    (void)state;
    wait_ms(5000);
    size_t items = engine_items(bench.engine);
    size_t requests = model_backend_request_count(bench.backend);
    uint64_t writes = model_server_writes(bench.server);
    for (int i = 0; i < 50; i++) {
        said(RECORD("shop", "new", "home", WWW));
        said(RECORD("shop", "web", "away", WWW));
    }
    wait_ms(5000);
    assert_int_equal(engine_items(bench.engine), items);
    assert_int_equal(model_backend_request_count(bench.backend), requests);
    assert_int_equal(model_server_writes(bench.server), writes);
}

static void a_resource_version_of_any_length_is_taken(void **state)
{
    (void)state;
    char *yaml = arena_copy_text(bench.arena, RECORD("shop", "new", "away", WWW));
    const char *long_one = arena_printf(bench.arena, "resourceVersion: '%0300d', name: new", 1);
    char *at = strstr(yaml, "name: new");
    wait_ms(1000);
    assert_string_equal(said(arena_printf(bench.arena, "%.*s%s%s", (int)(at - yaml), yaml, long_one,
                                          at + strlen("name: new"))),
                        "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_class_that_is_missing_is_told),
        TEST(a_free_name_of_a_known_class_is_no_news),
        TEST(a_name_that_another_holds_is_told_with_its_holder),
        TEST(a_holder_in_another_namespace_stays_unnamed_where_names_are_off),
        TEST(an_object_does_not_compete_with_itself),
        TEST(a_secret_that_nobody_looked_for_is_not_said_to_be_missing),
        TEST(a_secret_that_is_missing_is_told),
        TEST(a_record_whose_class_has_no_secret_is_told),
        TEST(nothing_is_told_before_all_is_synced_or_of_strange_kinds),
        TEST(asking_leaves_no_trace),
        TEST(a_resource_version_of_any_length_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
