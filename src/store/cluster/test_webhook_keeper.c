#include "store/cluster/webhook_keeper.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "io/x509.h"
#include "model/virtual_loop.h"
#include "store/cluster/webhook_object.h"

// Two replicas and the two objects that they share. The calls and watches that they would have at
// an API server end here: this file stands in for api.c and watch.c.

enum { REPLICAS = 2, CALLS_MAX = 64, DAY_MS = 86400000, SECRET = 0, CONFIGURATION = 1, KINDS = 2 };
#define CLIENT "\"clientConfig\":{\"service\":{\"name\":\"signpost\",\"namespace\":\"dns\"}}"
#define CONFIG                                                                                     \
    "{\"kind\":\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"signpost\","            \
    "\"resourceVersion\":\"1\",\"uid\":\"u\"},\"webhooks\":[{\"name\":\"a.b.c\"," CLIENT           \
    "},{\"name\":\"d.e.f\"," CLIENT "}]}"

struct watch {
    struct watch_sink sink;
    size_t kind;
    bool is_started;
};

struct api_call {
    api_done *done;
    void *context;
    int status;
    enum fault fault;
    bool is_over;
    struct loop_timer timer;
};

struct replica {
    struct webhook_keeper *keeper;
    char *certificate; // that its frontend serves
    unsigned uses;
};

static struct bench {
    struct loop *loop;
    struct world world;
    struct random random;
    uint8_t drawn;
    struct arena *arena; // of the objects
    struct value *objects[KINDS];
    unsigned version;
    struct watch *watches[REPLICAS * KINDS];
    struct replica replicas[REPLICAS];
    struct api_call calls[CALLS_MAX];
    size_t call_count;
    unsigned conflicts;
    int fault;       // status of the next write; 0: none
    unsigned faults; // how many times
    unsigned notes;
} bench;

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, ++bench.drawn, len);
}

// ---- in the place of watch.c --------------------------------------------------------------------

static void show(const struct watch *watch)
{
    const struct value *tree = bench.objects[watch->kind];
    watch->sink.pass_begin(watch->sink.context, false);
    if (tree)
        watch->sink.object(watch->sink.context, false, tree);
    watch->sink.pass_end(watch->sink.context, true);
    watch->sink.batch_end(watch->sink.context);
}

static void show_later(void *context)
{
    size_t kind = (size_t)(uintptr_t)context;
    for (size_t i = 0; i < COUNT_OF(bench.watches); i++)
        if (bench.watches[i] && bench.watches[i]->is_started && bench.watches[i]->kind == kind)
            show(bench.watches[i]);
}

static void show_soon(size_t kind)
{
    loop_defer(bench.loop, show_later, (void *)(uintptr_t)kind);
}

struct watch *watch_new(const struct watch_options *options, const struct watch_sink *sink)
{
    struct watch *watch = mem_new_of(struct watch);
    watch->sink = *sink;
    watch->kind = options->kind->is_secret ? SECRET : CONFIGURATION;
    for (size_t i = 0; i < COUNT_OF(bench.watches); i++) {
        if (bench.watches[i])
            continue;
        bench.watches[i] = watch;
        return watch;
    }
    fail();
    return watch;
}

void watch_start(struct watch *watch)
{
    watch->is_started = true;
    show_soon(watch->kind);
}

void watch_free(struct watch *watch)
{
    for (size_t i = 0; i < COUNT_OF(bench.watches); i++)
        if (bench.watches[i] == watch)
            bench.watches[i] = NULL;
    free(watch);
}

struct store_check watch_check(struct watch *watch)
{
    return (struct store_check){.name = watch->kind == SECRET ? "s" : "c", .is_ok = true};
}

// ---- in the place of api.c ----------------------------------------------------------------------

void api_path(struct buffer *out, const struct kind *kind, struct text namespace_, struct text name,
              const char *sub)
{
    (void)sub;
    buffer_printf(out, "/%s/%.*s/%.*s", kind->plural, TEXT_ARGS(namespace_), TEXT_ARGS(name));
}

static void replied(void *context)
{
    struct api_call *call = context;
    struct api_reply reply = {.is_ok = call->status < 300, .status = call->status};
    if (!reply.is_ok)
        error_set(&reply.error, call->fault, "", "status %d", call->status);
    call->done(call->context, &reply);
}

static void set_version(struct value *tree)
{
    struct value *metadata = value_find(tree, "metadata");
    value_set(
        metadata, TEXT("resourceVersion"),
        value_make_text(bench.arena, text_of(arena_printf(bench.arena, "%u", ++bench.version))));
}

static int create(struct value *body)
{
    if (bench.objects[SECRET])
        return 409;
    bench.objects[SECRET] = body;
    return 201;
}

static int merge(struct value *body)
{
    struct text seen = value_text_at(body, "metadata.resourceVersion");
    struct value *old = bench.objects[SECRET];
    if (!old)
        return 404;
    if (!text_equal(seen, value_text_at(old, "metadata.resourceVersion")))
        return 409;
    bench.objects[SECRET] = value_copy(bench.arena, value_merge_patch(bench.arena, old, body));
    return 200;
}

// "/webhooks/0/clientConfig/caBundle" in the form of value_at.
static const char *dotted(const char *pointer)
{
    char *rest;
    must(!strncmp(pointer, "/webhooks/", 10));
    unsigned long at = strtoul(pointer + 10, &rest, 10);
    rest = arena_copy_text(bench.arena, rest + 1);
    for (char *slash = strchr(rest, '/'); slash; slash = strchr(slash, '/'))
        *slash = '.';
    return arena_printf(bench.arena, "webhooks[%lu].%s", at, rest);
}

static int patch(const struct value *body)
{
    struct value *tree = value_copy(bench.arena, bench.objects[CONFIGURATION]);
    value_each (operation, body) {
        const char *path = dotted(value_text_at(operation, "path").at);
        struct value *value = value_find(operation, "value");
        if (text_is(value_text_at(operation, "op"), "test")) {
            if (!text_equal(value_text(value_at(tree, path, NULL)), value_text(value)))
                return 422;
            continue;
        }
        char *parent = arena_copy_text(bench.arena, path);
        *strrchr(parent, '.') = '\0';
        value_set(value_at(tree, parent, NULL), TEXT("caBundle"), value_copy(bench.arena, value));
    }
    bench.objects[CONFIGURATION] = tree;
    return 200;
}

static int act(const struct api_request *request, struct value *body)
{
    if (bench.faults) {
        bench.faults--;
        return bench.fault;
    }
    if (!strcmp(request->method, "POST"))
        return create(body);
    return strstr(request->content_type, "json-patch") ? patch(body) : merge(body);
}

// As api.c has it.
static enum fault fault_of(const struct api_request *request, int status)
{
    bool is_post = !strcmp(request->method, "POST");
    if (status == 409 || (status == 404 && !is_post))
        return FAULT_RACE;
    if (status == 422 && !is_post && strstr(request->content_type, "json-patch"))
        return FAULT_RACE;
    return status < 500 ? FAULT_SPEC : FAULT_AGAIN;
}

struct api_call *api_send(struct api *api, const struct api_request *request, api_done *done,
                          void *context)
{
    (void)api;
    struct error err;
    must(bench.call_count < CALLS_MAX);
    struct api_call *call = &bench.calls[bench.call_count++];
    struct value *body = value_read_json(bench.arena, request->body, &value_manifest_limits, &err);
    assert_non_null(strstr(request->path, "fieldManager=signpost"));
    assert_non_null(body);
    *call = (struct api_call){.done = done, .context = context, .status = act(request, body)};
    call->fault = fault_of(request, call->status);
    bench.conflicts += call->status == 409 || call->status == 422;
    if (call->status < 300) {
        size_t kind = strstr(request->path, "/secrets/") ? SECRET : CONFIGURATION;
        set_version(bench.objects[kind]);
        show_soon(kind);
    }
    call->timer = (struct loop_timer){.call = replied, .context = call};
    loop_timer_set(bench.loop, &call->timer, 3);
    return call;
}

void api_cancel(struct api *api, struct api_call *call)
{
    (void)api;
    loop_timer_cancel(bench.loop, &call->timer);
}

// ---- the replicas -------------------------------------------------------------------------------

static bool use(void *context, struct text certificate_pem, const struct secret *key_pem,
                struct error *err)
{
    struct replica *replica = context;
    assert_true(x509_check_key(certificate_pem, key_pem, err));
    free(replica->certificate);
    replica->certificate = mem_copy_text(certificate_pem.at);
    replica->uses++;
    return true;
}

static void note(void *context, const struct kube_event *reported)
{
    (void)context;
    assert_string_equal(reported->reason, "CABundleRepaired");
    assert_true(text_is(object_name(reported->regarding), "signpost"));
    bench.notes++;
}

static void start(size_t at, bool is_leading)
{
    static const char *const hosts[] = {"signpost.dns.svc", "127.0.0.1"};
    struct replica *replica = &bench.replicas[at];
    replica->keeper =
        webhook_keeper_new(&(struct webhook_keeper_options){.world = &bench.world,
                                                            .namespace_ = "dns",
                                                            .secret = "signpost-webhook-cert",
                                                            .configuration = "signpost",
                                                            .hosts = hosts,
                                                            .host_count = COUNT_OF(hosts),
                                                            .use = use,
                                                            .note = note,
                                                            .context = replica});
    webhook_keeper_set_leading(replica->keeper, is_leading);
    webhook_keeper_start(replica->keeper);
}

static void stop(size_t at)
{
    webhook_keeper_free(bench.replicas[at].keeper);
    free(bench.replicas[at].certificate);
    bench.replicas[at] = (struct replica){0};
}

static void run(int64_t ms)
{
    virtual_loop_run_until(bench.loop, loop_mono_ms(bench.loop) + ms);
}

static struct text bundle(void)
{
    static const char *const names[] = {"signpost.dns.svc"};
    const struct webhook_hosts hosts = {names, COUNT_OF(names)};
    struct webhook_bundle out;
    webhook_bundle_read(bench.arena, bench.objects[CONFIGURATION], &hosts, &out);
    assert_true(out.is_there && !out.is_mixed);
    return out.pem;
}

static bool is_trusted(size_t at)
{
    struct error err;
    const char *certificate = bench.replicas[at].certificate;
    return certificate && x509_check_signer(text_of(certificate), bundle(), &err);
}

static void ask_rotation(const char *value)
{
    struct value *body = value_make(bench.arena, VALUE_MAP);
    struct value *metadata = value_make(bench.arena, VALUE_MAP);
    struct value *annotations = value_make(bench.arena, VALUE_MAP);
    value_set(annotations, TEXT("dns.homelab.mortenolsen.pro/rotate-ca"),
              value_make_text(bench.arena, text_of(value)));
    value_set(metadata, TEXT("annotations"), annotations);
    value_set(body, TEXT("metadata"), metadata);
    bench.objects[SECRET] =
        value_copy(bench.arena, value_merge_patch(bench.arena, bench.objects[SECRET], body));
    set_version(bench.objects[SECRET]);
    show_soon(SECRET);
}

static bool is_rotating(void)
{
    return value_at(bench.objects[SECRET], "data[ca-next.crt]", NULL) != NULL;
}

static int set_up(void **state)
{
    (void)state;
    struct error err;
    bench = (struct bench){.loop = virtual_loop_new(1767225600000LL), .arena = arena_new()};
    bench.random.fill = fill;
    bench.version = 1;
    bench.world = (struct world){.loop = bench.loop, .random = &bench.random};
    bench.objects[CONFIGURATION] =
        value_read_json(bench.arena, TEXT(CONFIG), &value_manifest_limits, &err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < REPLICAS; i++)
        stop(i);
    for (size_t i = 0; i < bench.call_count; i++)
        loop_timer_cancel(bench.loop, &bench.calls[i].timer);
    assert_int_equal(virtual_loop_timer_count(bench.loop), 0);
    loop_free(bench.loop);
    arena_free(bench.arena);
    return 0;
}

// ---- tests --------------------------------------------------------------------------------------

static void the_leader_makes_what_all_replicas_serve(void **state)
{
    (void)state;
    start(0, true);
    start(1, false);
    run(1000);
    assert_int_equal(bench.call_count, 2); // Secret and configuration; then nothing is left
    assert_true(is_trusted(0) && is_trusted(1));
    assert_string_equal(bench.replicas[0].certificate, bench.replicas[1].certificate);
    assert_int_equal(bench.notes, 0);
}

static void a_standby_writes_nothing_until_it_leads(void **state)
{
    (void)state;
    struct store_check checks[3];
    start(1, false);
    run(DAY_MS);
    assert_int_equal(bench.call_count, 0);
    assert_int_equal(webhook_keeper_checks(bench.replicas[1].keeper, checks, 3), 3);
    assert_false(checks[0].is_ok);
    webhook_keeper_set_leading(bench.replicas[1].keeper, true);
    run(1000);
    assert_true(is_trusted(1));
    webhook_keeper_checks(bench.replicas[1].keeper, checks, 3);
    assert_true(checks[0].is_ok);
}

static void two_that_lead_at_once_end_with_one_secret(void **state)
{
    (void)state;
    start(0, true);
    start(1, true);
    run(20000);
    assert_true(bench.conflicts > 0);
    assert_true(is_trusted(0) && is_trusted(1));
    size_t calls = bench.call_count;
    run(DAY_MS);
    assert_int_equal(bench.call_count, calls);
}

static void a_rotation_never_leaves_a_frontend_that_is_not_trusted(void **state)
{
    (void)state;
    start(0, true);
    start(1, false);
    run(1000);
    const char *before = arena_copy_text(bench.arena, bench.replicas[1].certificate);
    ask_rotation("now");
    for (int i = 0; i < 120; i++) {
        run(1000);
        assert_true(is_trusted(0) && is_trusted(1));
    }
    assert_true(is_rotating());
    assert_string_not_equal(bench.replicas[1].certificate, before);
    for (int i = 0; i < 24 * 9; i++) {
        run(3600000);
        assert_true(is_trusted(0) && is_trusted(1));
    }
    assert_false(is_rotating());
    assert_int_equal(bench.notes, 0);
}

static void another_leader_ends_a_rotation_that_was_begun(void **state)
{
    (void)state;
    start(0, true);
    run(1000);
    ask_rotation("now");
    run(10000);
    stop(0);
    start(1, true);
    run(30000);
    const char *before = arena_copy_text(bench.arena, bench.replicas[1].certificate);
    run(60000);
    assert_string_not_equal(bench.replicas[1].certificate, before);
    stop(1);
    start(0, true);
    run(9LL * DAY_MS);
    assert_false(is_rotating());
    assert_true(is_trusted(0));
}

static void a_secret_of_somebody_else_stays_as_it_is(void **state)
{
    (void)state;
    struct store_check checks[3];
    bench.objects[SECRET] = value_read_json(
        bench.arena,
        TEXT("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"signpost-webhook-cert\","
             "\"resourceVersion\":\"1\",\"uid\":\"s\"},\"data\":{\"tls.crt\":\"AAAA\"}}"),
        &value_manifest_limits, NULL);
    start(0, true);
    run(DAY_MS);
    assert_int_equal(bench.call_count, 0);
    webhook_keeper_checks(bench.replicas[0].keeper, checks, 3);
    assert_false(checks[0].is_ok);
    assert_non_null(strstr(checks[0].text, "somebody else's"));
}

static void failures_rest_longer_each_time(void **state)
{
    (void)state;
    bench.fault = 500;
    bench.faults = 1000;
    start(0, true);
    run(60000);
    assert_true(bench.call_count >= 4 && bench.call_count <= 10);
    bench.faults = 0;
    run(70000);
    assert_true(is_trusted(0));
}

static void a_secret_that_the_server_refuses_is_told_and_rests_longer_each_time(void **state)
{
    (void)state;
    struct store_check check;
    bench.fault = 422;
    bench.faults = 1000;
    start(0, true);
    run(60000);
    assert_true(bench.call_count >= 4 && bench.call_count <= 10);
    webhook_keeper_checks(bench.replicas[0].keeper, &check, 1);
    assert_string_equal(check.text, "status 422");
    bench.faults = 0;
    run(70000);
    assert_true(is_trusted(0));
}

static void a_bundle_that_was_changed_is_put_right_and_told(void **state)
{
    (void)state;
    start(0, true);
    run(1000);
    struct value *webhook =
        value_at(bench.objects[CONFIGURATION], "webhooks[1].clientConfig", NULL);
    value_set(webhook, TEXT("caBundle"), value_make_text(bench.arena, TEXT("Y2E=")));
    show_soon(CONFIGURATION);
    run(1000);
    assert_true(is_trusted(0));
    assert_int_equal(bench.notes, 1);
}

static void a_secret_that_was_deleted_is_made_again(void **state)
{
    (void)state;
    start(0, true);
    start(1, false);
    run(1000);
    bench.objects[SECRET] = NULL;
    show_soon(SECRET);
    run(10000);
    assert_non_null(bench.objects[SECRET]);
    assert_true(is_trusted(0) && is_trusted(1));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_leader_makes_what_all_replicas_serve),
        TEST(a_standby_writes_nothing_until_it_leads),
        TEST(two_that_lead_at_once_end_with_one_secret),
        TEST(a_rotation_never_leaves_a_frontend_that_is_not_trusted),
        TEST(another_leader_ends_a_rotation_that_was_begun),
        TEST(a_secret_of_somebody_else_stays_as_it_is),
        TEST(failures_rest_longer_each_time),
        TEST(a_secret_that_the_server_refuses_is_told_and_rests_longer_each_time),
        TEST(a_bundle_that_was_changed_is_put_right_and_told),
        TEST(a_secret_that_was_deleted_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
