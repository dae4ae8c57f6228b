#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/test_bench.h"

#include "base/test_arena.h"
#include "controllers/intent/edge_cluster.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/secret/secret_kind.h"

enum { NOW_S = 1767088800 };
#define REMOTE "'kubeconfigSecret':{'namespace':'clusters','name':'edge'}"
#define BACKEND "edge-cluster-vendor.one"

static struct bench {
    const char *spec;
    const char *status;
    const char *secret; // the Secret's stringData; NULL: there is none
    bool is_unsynced;
    const char *unreadable;
    const struct backend_view *backend;
    struct decision decision;
    const struct object *objects[64];
    size_t object_count;
} bench;

static const struct object *make_object(const struct kind *kind, const char *json)
{
    const struct object *object = object_new(kind, NULL, quote(arena, json));
    must(bench.object_count < COUNT_OF(bench.objects));
    bench.objects[bench.object_count++] = object;
    return object;
}

static int open_bench(void **state)
{
    bench = (struct bench){.spec = REMOTE, .secret = "'kubeconfig':'s3cret'"};
    return set_up(state);
}

static void drop_decision(void)
{
    for (size_t i = 0; i < bench.decision.backend_count; i++)
        secret_unref(bench.decision.backends[i].secret);
    bench.decision = (struct decision){0};
}

static int close_bench(void **state)
{
    drop_decision();
    while (bench.object_count)
        object_unref(bench.objects[--bench.object_count]);
    return tear_down(state);
}

static const struct decision *decide(void)
{
    drop_decision();
    const struct object *subject = make_object(
        &edgecluster_kind,
        arena_printf(arena,
                     "{'metadata':{'name':'vendor.one','generation':2,'creationTimestamp':"
                     "'2025-12-30T09:00:00Z'},'spec':{'provider':'vendor','cluster':'one',%s},"
                     "'status':{%s}}",
                     bench.spec, bench.status ? bench.status : ""));
    struct strings wants = {.arena = arena};
    edge_cluster_controller.inputs[0].lookup_keys(subject, &wants);
    const struct object *secrets[1];
    struct input_objects input = {
        .objects = secrets, .is_synced = !bench.is_unsynced, .unreadable = bench.unreadable};
    if (bench.secret && wants.count) {
        assert_string_equal(wants.items[0], "clusters/edge");
        secrets[input.count++] = make_object(
            &secret_kind, arena_printf(arena,
                                       "{'metadata':{'name':'edge','namespace':'clusters'},"
                                       "'stringData':{%s}}",
                                       bench.secret));
    }
    const struct snapshot snapshot = {
        .arena = arena,
        .name = TEXT("vendor.one"),
        .subject = subject,
        .inputs = &input,
        .backends = &bench.backend,
        .backend_count = 1,
        .now_ms = NOW_S * 1000LL,
    };
    edge_cluster_controller.decide(&snapshot, NULL, &bench.decision);
    assert_null(strstr(json_of(arena, bench.decision.status), "s3cret"));
    return &bench.decision;
}

static const char *reachable(const struct decision *decision)
{
    return condition_of(arena, decision->status, "Reachable");
}

static const char *why(const struct decision *decision)
{
    return message_of(arena, decision->status, "Reachable");
}

// ---- the backend --------------------------------------------------------------------------------

static void a_cluster_with_a_kubeconfig_gets_a_backend_and_is_asked_for_its_health(void **state)
{
    (void)state;
    const struct decision *decision = decide();
    assert_int_equal(decision->backend_count, 1);
    assert_string_equal(decision->backends[0].name, BACKEND);
    assert_string_equal(decision->backends[0].provider, "kubernetes");
    assert_int_equal(decision->backends[0].fault.fault, FAULT_NONE);
    assert_true(text_is(secret_expose(decision->backends[0].secret), "s3cret"));
    assert_int_equal(decision->question_count, 1);
    assert_string_equal(decision->questions[0].backend, BACKEND);
    assert_string_equal(decision->questions[0].name, "health");
    assert_int_equal(decision->questions[0].good_for_ms, 60000);
    uint64_t epoch = decision->questions[0].epoch;
    bench.secret = "'kubeconfig':'another'";
    assert_int_not_equal(decide()->questions[0].epoch, epoch);
}

static void our_own_cluster_and_one_without_a_kubeconfig_have_none(void **state)
{
    static const char *const specs[] = {"'local':true", "'local':false", "'local':true," REMOTE};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        bench.spec = specs[i];
        const struct decision *decision = decide();
        assert_int_equal(decision->backend_count, 0);
        assert_int_equal(decision->question_count, 0);
        assert_null(decision->status);
    }
}

static void a_cluster_that_is_read_no_more_loses_its_condition(void **state)
{
    (void)state;
    bench.spec = "'local':true";
    bench.status = "'conditions':[{'type':'Reachable','status':'True','reason':'Reachable'}]";
    assert_string_equal(json_of(arena, decide()->status),
                        "{\"observedGeneration\":2,\"version\":null,\"conditions\":[]}");
}

// ---- the Secret ---------------------------------------------------------------------------------

static void a_secret_that_cannot_be_used_is_told(void **state)
{
    static const struct {
        const char *secret;
        const char *unreadable;
        const char *condition;
        const char *text;
    } rows[] = {
        {NULL, NULL, "False/SecretNotFound", "Secret clusters/edge does not exist: create it"},
        {"'other':'x'", NULL, "False/SecretKeyMissing",
         "Secret clusters/edge has no key kubeconfig: add it"},
        {NULL, "no right", "False/Forbidden", "Secret clusters/edge cannot be read: no right"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bench.secret = rows[i].secret;
        bench.unreadable = rows[i].unreadable;
        const struct decision *decision = decide();
        assert_string_equal(reachable(decision), rows[i].condition);
        assert_string_equal(why(decision), rows[i].text);
        assert_int_equal(decision->question_count, 0);
        assert_int_equal(decision->backends[0].fault.fault, FAULT_WAIT);
        assert_non_null(event_of(decision, "ClusterUnreachable"));
    }
}

static void a_secret_that_has_not_been_read_yet_is_waited_for(void **state)
{
    (void)state;
    bench.secret = NULL;
    bench.is_unsynced = true;
    assert_null(decide()->status);
}

static void another_key_may_have_the_kubeconfig(void **state)
{
    (void)state;
    bench.spec = "'kubeconfigSecret':{'namespace':'clusters','name':'edge','key':'config'}";
    bench.secret = "'config':'s3cret'";
    assert_int_equal(decide()->question_count, 1);
}

// ---- what the server says -----------------------------------------------------------------------

static void a_server_that_answers_is_reachable(void **state)
{
    (void)state;
    const struct backend_view backend = {.name = BACKEND,
                                         .is_open = true,
                                         .answered_s = NOW_S,
                                         .is_answer_ok = true,
                                         .answer = quote(arena, "{'version':'v1.33.1'}")};
    bench.backend = &backend;
    const struct decision *decision = decide();
    assert_string_equal(reachable(decision), "True/Reachable");
    assert_true(text_is(value_text_at(decision->status, "version"), "v1.33.1"));
    assert_non_null(event_of(decision, "ClusterReachable"));
}

static void a_failure_is_told_with_its_reason_and_once(void **state)
{
    static const struct {
        enum fault fault;
        const char *reason;
        const char *condition;
    } rows[] = {
        {FAULT_AGAIN, "ServerUnreachable", "False/ServerUnreachable"},
        {FAULT_AUTH, "AuthenticationFailed", "False/AuthenticationFailed"},
        {FAULT_AUTH, "Forbidden", "False/Forbidden"},
        {FAULT_LIMIT, "RateLimited", "False/RateLimited"},
        {FAULT_AGAIN, "Unheard", "False/ServerError"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct backend_view backend = {.name = BACKEND, .is_open = true, .answered_s = NOW_S};
        error_set(&backend.answer_error, rows[i].fault, rows[i].reason, "that is why");
        bench.backend = &backend;
        bench.status = NULL;
        const struct decision *decision = decide();
        assert_string_equal(reachable(decision), rows[i].condition);
        assert_string_equal(why(decision), "that is why");
        assert_non_null(event_of(decision, "ClusterUnreachable"));
        bench.status = arena_printf(
            arena, "'conditions':[{'type':'Reachable','status':'False','reason':'%s'}]",
            strchr(rows[i].condition, '/') + 1);
        assert_null(event_of(decide(), "ClusterUnreachable"));
    }
}

static void a_kubeconfig_that_the_provider_refuses_is_told(void **state)
{
    (void)state;
    struct backend_view backend = {.name = BACKEND};
    error_set(&backend.fault, FAULT_SPEC, "InvalidConfiguration", "kubeconfig: no map");
    bench.backend = &backend;
    assert_string_equal(reachable(decide()), "False/InvalidConfiguration");
}

static void after_a_restart_the_condition_stays_until_there_is_an_answer(void **state)
{
    (void)state;
    const struct backend_view backend = {.name = BACKEND, .is_open = true};
    bench.backend = &backend;
    assert_string_equal(reachable(decide()), "Unknown/HealthCheckPending");
    bench.status = "'conditions':[{'type':'Reachable','status':'True','reason':'Reachable'}]";
    assert_null(decide()->status);
}

static void of_a_cluster_that_is_gone_nothing_is_left(void **state)
{
    (void)state;
    const struct snapshot snapshot = {.arena = arena};
    edge_cluster_controller.decide(&snapshot, NULL, &bench.decision);
    assert_int_equal(bench.decision.backend_count, 0);
    assert_null(bench.decision.status);
}

#define BENCH(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BENCH(a_cluster_with_a_kubeconfig_gets_a_backend_and_is_asked_for_its_health),
        BENCH(our_own_cluster_and_one_without_a_kubeconfig_have_none),
        BENCH(a_cluster_that_is_read_no_more_loses_its_condition),
        BENCH(a_secret_that_cannot_be_used_is_told),
        BENCH(a_secret_that_has_not_been_read_yet_is_waited_for),
        BENCH(another_key_may_have_the_kubeconfig),
        BENCH(a_server_that_answers_is_reachable),
        BENCH(a_failure_is_told_with_its_reason_and_once),
        BENCH(a_kubeconfig_that_the_provider_refuses_is_told),
        BENCH(after_a_restart_the_condition_stays_until_there_is_an_answer),
        BENCH(of_a_cluster_that_is_gone_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
