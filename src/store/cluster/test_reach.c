#include "store/cluster/reach.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/cluster/test_server.h"

static const struct kind thing = {
    .group = "test.example.org", .version = "v1", .plural = "things", .is_namespaced = true};
static const struct kind place = {.group = "test.example.org", .version = "v1", .plural = "places"};
static const char *const wider[] = {"v1beta1", NULL};
static const struct kind foreign = {.group = "other.example.org",
                                    .version = "v1",
                                    .other_versions = wider,
                                    .plural = "others",
                                    .is_namespaced = true,
                                    .is_foreign = true};
static const struct kind *const all[] = {&thing, &place, &foreign};

struct answer {
    const char *path; // the request's begins so
    struct test_reply reply;
};

struct bench {
    struct loop *loop;
    struct world world;
    struct api api;
    struct reach *reach;
    const struct answer *answers; // the first that fits; none: an empty list
    size_t failures;              // so many replies are 500
    unsigned done_count;
    bool is_ok;
    struct error error;
};

static void serve(void *context, const struct api_call *call, struct test_reply *reply)
{
    struct bench *bench = context;
    *reply = (struct test_reply){.status = 200};
    for (const struct answer *at = bench->answers; at && at->path; at++)
        if (!strncmp(call->path, at->path, strlen(at->path))) {
            *reply = at->reply;
            break;
        }
    if (bench->failures && bench->failures--)
        *reply = (struct test_reply){.status = 500};
    if (reply->status == 200)
        buffer_add_text(&reply->body, "{\"items\":[]}");
}

static void done(void *context, const struct error *err)
{
    struct bench *bench = context;
    bench->done_count++;
    bench->is_ok = !err;
    if (err)
        bench->error = *err;
}

static int setup(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->loop = virtual_loop_new(0);
    bench->world = (struct world){.loop = bench->loop};
    bench->api = (struct api){.loop = bench->loop, .serve = serve, .context = bench};
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    reach_free(bench->reach);
    test_api_done(&bench->api);
    loop_free(bench->loop);
    free(bench);
    return 0;
}

static void ask(struct bench *bench, const char *const *namespaces, const char *fallback,
                const struct answer *answers)
{
    bench->answers = answers;
    bench->reach = reach_new(&(struct reach_options){
        .world = &bench->world,
        .api = &bench->api,
        .kinds = all,
        .kind_count = COUNT_OF(all),
        .namespaces = namespaces,
        .fallback = fallback,
        .timeout_ms = 30 * 1000,
        .done = done,
        .context = bench,
    });
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + 60 * 1000);
    assert_int_equal(bench->done_count, 1);
}

#define FORBIDDEN                                                                                  \
    {                                                                                              \
        .status = 403,                                                                             \
        .text = "a right is missing (RBAC): things is forbidden: User \"jane\" cannot list it"     \
    }
#define THINGS "/apis/test.example.org/v1/things"
#define PLACES "/apis/test.example.org/v1/places"
#define OTHERS "/apis/other.example.org/v1/others"

static void check_refusals(const struct bench *bench, const char *wanted)
{
    AUTO_BUFFER out = {0};
    reach_write_refusals(bench->reach, &out, NULL, NULL);
    assert_string_equal(buffer_text(&out).at, wanted);
}

static void what_may_be_read_is_asked_for_once_each(void **state)
{
    struct bench *bench = *state;
    ask(bench, NULL, "shop", NULL);
    assert_true(bench->is_ok);
    assert_int_equal(bench->api.count, 3);
    assert_int_equal(reach_state(bench->reach, &thing), REACH_READABLE);
    assert_null(reach_namespaces(bench->reach));
    check_refusals(bench, "");
}

static void a_right_that_is_missing_is_that_of_who_asks(void **state)
{
    struct bench *bench = *state;
    static const char *const shop[] = {"shop", "blog", NULL};
    static const struct answer answers[] = {
        {PLACES, FORBIDDEN},
        {"/apis/test.example.org/v1/namespaces/blog/things", {.status = 403}},
        {0}};
    ask(bench, shop, NULL, answers);
    assert_true(bench->is_ok);
    assert_int_equal(bench->api.count, 5);
    assert_int_equal(reach_state(bench->reach, &place), REACH_FORBIDDEN);
    assert_int_equal(reach_state(bench->reach, &thing), REACH_FORBIDDEN);
    check_refusals(bench, "you may not list things in namespace blog\n"
                          "User \"jane\" may not list places at cluster scope\n");
}

static void a_namespace_that_may_not_be_read_keeps_no_other_out(void **state)
{
    struct bench *bench = *state;
    static const char *const both[] = {"shop", "blog", NULL};
    static const struct answer answers[] = {
        {"/apis/test.example.org/v1/namespaces/blog/things", FORBIDDEN}, {0}};
    ask(bench, both, NULL, answers);
    reach_skip_unreadable(bench->reach);
    assert_int_equal(reach_state(bench->reach, &thing), REACH_READABLE);
    assert_string_equal(reach_namespaces(bench->reach)[0], "shop");
    assert_null(reach_namespaces(bench->reach)[1]);
    check_refusals(bench, "User \"jane\" may not list things in namespace blog\n");
}

static void where_not_all_may_be_read_the_fallback_is(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {{THINGS, FORBIDDEN}, {OTHERS, FORBIDDEN}, {0}};
    AUTO_BUFFER narrowing = {0};
    ask(bench, NULL, "shop", answers);
    assert_true(bench->is_ok);
    assert_true(reach_is_narrowed(bench->reach));
    assert_string_equal(reach_namespaces(bench->reach)[0], "shop");
    assert_int_equal(reach_state(bench->reach, &thing), REACH_READABLE);
    reach_write_narrowing(bench->reach, &narrowing);
    assert_string_equal(narrowing.at, "User \"jane\" may not list things, others at cluster "
                                      "scope\n");
    check_refusals(bench, "");
}

static void a_fallback_with_nothing_of_ours_is_none(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {
        {THINGS, FORBIDDEN}, {"/apis/test.example.org/v1/namespaces/shop/things", FORBIDDEN}, {0}};
    ask(bench, NULL, "shop", answers);
    assert_true(bench->is_ok);
    assert_false(reach_is_narrowed(bench->reach));
    assert_null(reach_namespaces(bench->reach));
    assert_int_equal(reach_state(bench->reach, &place), REACH_READABLE);
    check_refusals(bench, "User \"jane\" may not list things at cluster scope\n");
}

static void a_kind_is_missing_when_no_version_of_it_is_there(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {
        {THINGS, {.status = 404}}, {OTHERS, {.status = 404}}, {0}};
    ask(bench, NULL, NULL, answers);
    assert_int_equal(reach_state(bench->reach, &thing), REACH_MISSING);
    assert_int_equal(reach_state(bench->reach, &foreign), REACH_READABLE);
}

static void a_server_that_refuses_the_credential_is_told_at_once(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {{THINGS, {.status = 401}}, {0}};
    ask(bench, NULL, NULL, answers);
    assert_false(bench->is_ok);
    assert_string_equal(bench->error.text, "blamed: no luck: 401");
}

static void who_sends_no_credential_is_told_so(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {
        {PLACES, {.status = 403, .text = "User \"system:anonymous\" cannot list"}}, {0}};
    ask(bench, NULL, "shop", answers);
    assert_false(bench->is_ok);
    assert_non_null(strstr(bench->error.text, "blamed: no credential was sent"));
}

static void a_server_that_fails_is_asked_again_and_given_up(void **state)
{
    struct bench *bench = *state;
    bench->failures = 4;
    ask(bench, NULL, NULL, NULL);
    assert_true(bench->is_ok);
    reach_free(bench->reach);
    bench->reach = NULL;
    bench->done_count = 0;
    bench->failures = SIZE_MAX;
    ask(bench, NULL, NULL, NULL);
    assert_false(bench->is_ok);
    assert_string_equal(bench->error.text, "blamed: no luck: 500");
}

static void a_server_that_says_nothing_ends_with_the_time(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {{THINGS, {.status = 429, .retry_ms = 20 * 1000}}, {0}};
    ask(bench, NULL, NULL, answers);
    assert_false(bench->is_ok);
    assert_string_equal(bench->error.text, "blamed: no luck: 429");
}

static void what_is_no_list_is_no_api_server(void **state)
{
    struct bench *bench = *state;
    static const struct answer answers[] = {{THINGS, {.status = 204}}, {0}};
    ask(bench, NULL, NULL, answers);
    assert_false(bench->is_ok);
    assert_non_null(strstr(bench->error.text, "no API server"));
}

#define UNIT(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_may_be_read_is_asked_for_once_each),
        UNIT(a_right_that_is_missing_is_that_of_who_asks),
        UNIT(a_namespace_that_may_not_be_read_keeps_no_other_out),
        UNIT(where_not_all_may_be_read_the_fallback_is),
        UNIT(a_fallback_with_nothing_of_ours_is_none),
        UNIT(a_kind_is_missing_when_no_version_of_it_is_there),
        UNIT(a_server_that_refuses_the_credential_is_told_at_once),
        UNIT(who_sends_no_credential_is_told_so),
        UNIT(a_server_that_fails_is_asked_again_and_given_up),
        UNIT(a_server_that_says_nothing_ends_with_the_time),
        UNIT(what_is_no_list_is_no_api_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
