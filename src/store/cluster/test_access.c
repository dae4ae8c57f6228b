#include "store/cluster/access.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"
#include "store/cluster/test_server.h"

enum { ASKED_MAX = 64, CHECKS_MAX = 8 };

static const struct kube_right rights[] = {
    {.group = "test.example.org",
     .resource = "things/status",
     .verbs = (const char *const[]){"patch", NULL},
     .scope = RIGHT_OBJECTS,
     .why = "Status."},
    {.group = "coordination.k8s.io",
     .resource = "leases",
     .verbs = (const char *const[]){"get", "update", NULL},
     .scope = RIGHT_LEASE,
     .names = (const char *const[]){"signpost", NULL},
     .why = "Lease."},
    {.group = "events.k8s.io",
     .resource = "events",
     .verbs = (const char *const[]){"create", NULL},
     .scope = RIGHT_EVENTS,
     .why = "Events."},
    {.group = "",
     .resource = "namespaces",
     .verbs = (const char *const[]){"list", NULL},
     .scope = RIGHT_CLUSTER,
     .why = "Labels."},
    {0},
};

struct bench {
    struct loop *loop;
    struct world world;
    struct api api;
    struct log *log;
    struct access *access;
    char asked[ASKED_MAX][160]; // the attributes
    size_t count;
    const char *refused[4]; // parts of attributes
    int status;
    int64_t retry_ms;
    bool is_nobody; // there is no credential to ask with
    bool is_mute;   // answers hold no result
    char lines[8192];
};

static bool is_refused(const struct bench *bench, const char *attributes)
{
    for (size_t i = 0; i < COUNT_OF(bench->refused); i++)
        if (bench->refused[i] && strstr(attributes, bench->refused[i]))
            return true;
    return false;
}

static void serve(void *context, const struct api_call *call, struct test_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER attributes = {0};
    struct bench *bench = context;
    const struct value *body =
        value_read_json(arena, text_of(call->body), &value_reply_limits, NULL);
    assert_string_equal(call->path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    assert_true(text_is(value_text_at(body, "kind"), "SelfSubjectAccessReview"));
    value_write_json(&attributes, value_at(body, "spec.resourceAttributes", NULL));
    assert_true(bench->count < ASKED_MAX);
    snprintf(bench->asked[bench->count++], sizeof bench->asked[0], "%s", attributes.at);
    reply->status = bench->status ? bench->status : 201;
    reply->retry_ms = bench->retry_ms;
    if (bench->is_nobody)
        *reply = (struct test_reply){.fault = FAULT_AUTH};
    if (bench->is_mute)
        buffer_add_text(&reply->body, "{}");
    else
        buffer_printf(&reply->body, "{\"status\":{\"allowed\":%s}}",
                      is_refused(bench, attributes.at) ? "false" : "true");
}

static void on_line(void *context, struct text line)
{
    struct bench *bench = context;
    size_t used = strlen(bench->lines);
    snprintf(bench->lines + used, sizeof bench->lines - used, "%.*s", TEXT_ARGS(line));
}

static int64_t log_now(void *context)
{
    (void)context;
    return 0;
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    const struct log_sink sink = {on_line, log_now, bench};
    bench->loop = virtual_loop_new(0);
    bench->world = (struct world){.loop = bench->loop};
    bench->api = (struct api){.loop = bench->loop, .serve = serve, .context = bench};
    bench->log = log_new(&sink, LOG_TEXTUAL, LOG_INFO);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    access_free(bench->access);
    test_api_done(&bench->api);
    size_t timers = virtual_loop_timer_count(bench->loop);
    loop_free(bench->loop);
    log_free(bench->log);
    free(bench);
    return timers ? -1 : 0;
}

static const struct kube_right dispensable[] = {
    {.group = "test.example.org",
     .resource = "routes",
     .verbs = (const char *const[]){"get", "list", "watch", "patch", NULL},
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .why = "Routes."},
    {0},
};

static void begin_with(struct bench *bench, const struct kube_right *wanted,
                       const char *const *namespaces)
{
    const struct access_options options = {
        .world = &bench->world,
        .log = bench->log,
        .api = &bench->api,
        .rights = wanted,
        .own_namespace = "dns",
        .lease_namespace = "leases",
        .namespaces = namespaces,
    };
    bench->access = access_new(&options);
    access_start(bench->access);
}

static void begin(struct bench *bench, const char *const *namespaces)
{
    begin_with(bench, rights, namespaces);
}

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static size_t checks_of(struct bench *bench, struct store_check *out)
{
    return access_checks(bench->access, out, CHECKS_MAX);
}

static void each_verb_is_asked_for_where_it_is_needed(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    begin(bench, NULL);
    pass(bench, 100);
    assert_int_equal(bench->count, 5);
    assert_string_equal(bench->asked[0], "{\"group\":\"test.example.org\",\"resource\":\"things\","
                                         "\"subresource\":\"status\",\"verb\":\"patch\"}");
    assert_string_equal(bench->asked[2],
                        "{\"group\":\"coordination.k8s.io\",\"resource\":\"leases\","
                        "\"verb\":\"update\",\"namespace\":\"leases\",\"name\":\"signpost\"}");
    assert_string_equal(bench->asked[4], "{\"resource\":\"namespaces\",\"verb\":\"list\"}");
    assert_int_equal(checks_of(bench, checks), 0);
    assert_string_equal(bench->lines, "");
    pass(bench, 600000);
    assert_int_equal(bench->count, 5);
}

static void watched_namespaces_are_asked_for_one_by_one(void **state)
{
    struct bench *bench = *state;
    begin(bench, (const char *const[]){"a", "b", NULL});
    pass(bench, 100);
    assert_int_equal(bench->count, 2 + 2 + 3 + 1);
    assert_non_null(strstr(bench->asked[1], "\"namespace\":\"b\""));
    assert_non_null(strstr(bench->asked[6], "\"namespace\":\"default\""));
}

static void a_missing_verb_is_one_line_with_the_rule_to_add(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "things";
    bench->refused[1] = "\"update\"";
    begin(bench, (const char *const[]){"a", "b", NULL});
    pass(bench, 100);
    assert_int_equal(checks_of(bench, checks), 2);
    assert_string_equal(checks[0].name, "may-patch-things-status.test.example.org");
    assert_string_equal(checks[0].text,
                        "forbidden: cannot patch things/status.test.example.org in namespace a; "
                        "add the rule {apiGroups: [\"test.example.org\"], resources: "
                        "[\"things/status\"], verbs: [\"patch\"]}");
    assert_string_equal(checks[1].text,
                        "forbidden: cannot update leases.coordination.k8s.io signpost in namespace "
                        "leases; add the rule {apiGroups: [\"coordination.k8s.io\"], resources: "
                        "[\"leases\"], resourceNames: [\"signpost\"], verbs: [\"update\"]}");
    assert_false(checks[0].is_ok || checks[0].is_advice || checks[1].is_advice);
    const char *first = strstr(bench->lines, "a right is missing");
    assert_non_null(first);
    const char *second = strstr(first + 1, "a right is missing");
    assert_non_null(second);
    assert_null(strstr(second + 1, "a right is missing"));
}

static void a_missing_right_to_note_events_is_advice(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "events";
    begin(bench, NULL);
    pass(bench, 100);
    assert_int_equal(checks_of(bench, checks), 1);
    assert_true(checks[0].is_advice);
    assert_non_null(strstr(checks[0].text, "at cluster scope"));
}

static void what_is_dispensable_and_cannot_be_read_is_told_by_whoever_watches_it(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "routes";
    begin_with(bench, dispensable, NULL);
    pass(bench, 100);
    assert_int_equal(checks_of(bench, checks), 4);
    assert_true(checks[0].is_advice && checks[3].is_advice);
    assert_string_equal(bench->lines, "");
}

static void what_is_dispensable_and_can_be_read_is_told_like_the_rest(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "\"patch\"";
    begin_with(bench, dispensable, NULL);
    pass(bench, 100);
    assert_int_equal(checks_of(bench, checks), 1);
    assert_true(checks[0].is_advice);
    assert_non_null(strstr(bench->lines, "cannot patch routes.test.example.org"));
}

static void a_right_that_is_given_later_is_noticed(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "leases";
    begin(bench, NULL);
    pass(bench, 100);
    assert_int_equal(checks_of(bench, checks), 2);
    bench->refused[0] = NULL;
    pass(bench, 61000);
    assert_int_equal(bench->count, 5 + 2);
    assert_int_equal(checks_of(bench, checks), 0);
    assert_non_null(strstr(bench->lines, "a right was given"));
}

static void a_server_in_trouble_is_asked_again(void **state)
{
    struct bench *bench = *state;
    bench->status = 500;
    begin(bench, NULL);
    pass(bench, 15000);
    assert_int_equal(bench->count, 2);
    bench->status = 0;
    pass(bench, 15000);
    assert_int_equal(bench->count, 7);
}

static void an_answer_without_result_allows(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->is_mute = true;
    begin(bench, NULL);
    pass(bench, 100);
    assert_int_equal(bench->count, 5);
    assert_true(access_is_over(bench->access));
    assert_int_equal(checks_of(bench, checks), 0);
}

static void without_a_credential_it_is_asked_again(void **state)
{
    struct bench *bench = *state;
    bench->is_nobody = true;
    begin(bench, NULL);
    pass(bench, 5000);
    assert_true(access_is_over(bench->access));
    assert_non_null(access_fault(bench->access));
    bench->is_nobody = false;
    pass(bench, 61000);
    assert_int_equal(bench->count, 1 + 5);
    assert_null(access_fault(bench->access));
}

static void a_right_that_is_given_is_noticed_though_questions_were_refused(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->refused[0] = "leases";
    begin(bench, NULL);
    pass(bench, 100);
    bench->status = 403;
    pass(bench, 180000);
    assert_int_equal(checks_of(bench, checks), 2);
    bench->status = 0;
    bench->refused[0] = NULL;
    pass(bench, 61000);
    assert_int_equal(checks_of(bench, checks), 0);
}

static void a_server_that_answers_no_such_question_allows_all(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    bench->status = 404;
    begin(bench, NULL);
    pass(bench, 600000);
    assert_int_equal(bench->count, 1);
    assert_int_equal(checks_of(bench, checks), 0);
    assert_non_null(strstr(bench->lines, "rights cannot be checked"));
}

static const struct kube_right kept[] = {
    {.group = "test.example.org",
     .resource = "things",
     .verbs = (const char *const[]){"list", "create", NULL},
     .scope = RIGHT_OBJECTS,
     .why = "Things."},
    {.group = "test.example.org",
     .resource = "things/status",
     .verbs = (const char *const[]){"patch", NULL},
     .scope = RIGHT_OBJECTS,
     .why = "Status."},
    {0},
};

#define THINGS "/apis/test.example.org/v1/namespaces/a/things"

static void a_right_that_is_taken_away_is_found_by_the_request_that_is_refused(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    begin_with(bench, kept, NULL);
    pass(bench, 60000);
    assert_int_equal(bench->count, 3);
    bench->refused[0] = "\"create\"";
    access_doubt(bench->access, "POST", THINGS);
    pass(bench, 2000);
    assert_int_equal(bench->count, 4);
    assert_int_equal(checks_of(bench, checks), 0);
    pass(bench, 10000);
    assert_int_equal(bench->count, 5);
    assert_int_equal(checks_of(bench, checks), 1);
    assert_string_equal(checks[0].name, "may-create-things.test.example.org");
    assert_non_null(strstr(bench->lines, "cannot create things.test.example.org"));
    bench->refused[0] = NULL;
    pass(bench, 61000);
    assert_int_equal(checks_of(bench, checks), 0);
    assert_int_equal(bench->count, 6);
}

static void a_server_that_starts_and_knows_no_roles_yet_is_not_believed(void **state)
{
    struct bench *bench = *state;
    struct store_check checks[CHECKS_MAX];
    begin_with(bench, kept, NULL);
    pass(bench, 60000);
    bench->refused[0] = "things";
    access_doubt(bench->access, "POST", THINGS);
    access_doubt(bench->access, "GET", THINGS);
    pass(bench, 5000);
    bench->refused[0] = NULL;
    pass(bench, 10000);
    assert_int_equal(bench->count, 7);
    assert_int_equal(checks_of(bench, checks), 0);
    assert_string_equal(bench->lines, "");
}

static void a_refused_request_doubts_the_rights_that_it_needs_alone(void **state)
{
    static const struct {
        const char *method;
        const char *path;
        size_t count;
    } rows[] = {
        {"GET", "/apis/test.example.org/v1/things?watch=1", 1},
        {"PATCH", THINGS "/x?fieldManager=signpost", 1},
        {"PATCH", THINGS "/x/status?fieldManager=signpost", 2},
        {"POST", "/apis/other.example.org/v1/namespaces/a/things", 0},
        {"POST", "/apis/test.example.org/v1/namespaces/a/others", 0},
    };
    struct bench *bench = *state;
    begin_with(bench, kept, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        pass(bench, 60000);
        bench->count = 0;
        access_doubt(bench->access, rows[i].method, rows[i].path);
        pass(bench, 60000);
        assert_int_equal(bench->count, rows[i].count);
    }
}

static void requests_that_are_refused_in_one_namespace_doubt_the_rights_there(void **state)
{
    struct bench *bench = *state;
    begin_with(bench, kept, (const char *const[]){"a", "b", NULL});
    pass(bench, 60000);
    bench->count = 0;
    access_doubt(bench->access, "POST", THINGS);
    pass(bench, 60000);
    assert_int_equal(bench->count, 1);
    assert_non_null(strstr(bench->asked[0], "\"namespace\":\"a\""));
}

static void however_many_requests_are_refused_the_rights_are_asked_for_now_and_then(void **state)
{
    struct bench *bench = *state;
    begin_with(bench, kept, NULL);
    pass(bench, 60000);
    bench->count = 0;
    for (int i = 0; i < 600; i++) {
        access_doubt(bench->access, "POST", THINGS);
        pass(bench, 100);
    }
    assert_in_range(bench->count, 5, 7);
}

static void a_doubt_does_not_hurry_a_server_that_asked_for_patience(void **state)
{
    struct bench *bench = *state;
    begin_with(bench, kept, NULL);
    pass(bench, 60000);
    bench->status = 429;
    bench->retry_ms = 30000;
    bench->count = 0;
    access_doubt(bench->access, "POST", THINGS);
    pass(bench, 5000);
    access_doubt(bench->access, "GET", THINGS);
    pass(bench, 20000);
    assert_int_equal(bench->count, 1);
    bench->status = 0;
    pass(bench, 20000);
    assert_int_equal(bench->count, 3);
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(each_verb_is_asked_for_where_it_is_needed),
        UNIT(watched_namespaces_are_asked_for_one_by_one),
        UNIT(a_missing_verb_is_one_line_with_the_rule_to_add),
        UNIT(a_missing_right_to_note_events_is_advice),
        UNIT(what_is_dispensable_and_cannot_be_read_is_told_by_whoever_watches_it),
        UNIT(what_is_dispensable_and_can_be_read_is_told_like_the_rest),
        UNIT(a_right_that_is_given_later_is_noticed),
        UNIT(a_server_in_trouble_is_asked_again),
        UNIT(an_answer_without_result_allows),
        UNIT(without_a_credential_it_is_asked_again),
        UNIT(a_right_that_is_given_is_noticed_though_questions_were_refused),
        UNIT(a_server_that_answers_no_such_question_allows_all),
        UNIT(a_right_that_is_taken_away_is_found_by_the_request_that_is_refused),
        UNIT(a_server_that_starts_and_knows_no_roles_yet_is_not_believed),
        UNIT(a_refused_request_doubts_the_rights_that_it_needs_alone),
        UNIT(requests_that_are_refused_in_one_namespace_doubt_the_rights_there),
        UNIT(however_many_requests_are_refused_the_rights_are_asked_for_now_and_then),
        UNIT(a_doubt_does_not_hurry_a_server_that_asked_for_patience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
