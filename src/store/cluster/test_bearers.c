#include "store/cluster/bearers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"
#include "io/random.h"
#include "store/cluster/test_server.h"

enum { ANSWERS_MAX = 128, NONE = -1 };

// The API server knows "good" and "poor"; only the first one's account may.
struct bench {
    struct loop *loop;
    struct world world;
    struct random random;
    struct api api;
    struct bearers *bearers;
    int status;   // of all replies; 0: 201
    bool is_poor; // "good" may not, either
    size_t token_reviews;
    size_t access_reviews;
    char access[1024]; // the last one's body
    int answers[ANSWERS_MAX];
};

static void serve_token(struct bench *bench, const char *body, struct test_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = value_read_json(arena, text_of(body), &value_reply_limits, NULL);
    struct text token = value_text_at(tree, "spec.token");
    bool is_known = text_is(token, "good") || text_is(token, "poor");
    bench->token_reviews++;
    assert_true(text_is(value_text_at(tree, "kind"), "TokenReview"));
    buffer_printf(&reply->body,
                  "{\"status\":{\"authenticated\":%s,\"user\":{\"username\":\"%.*s\","
                  "\"uid\":\"u1\",\"groups\":[\"a\",\"b\"],"
                  "\"extra\":{\"scopes\":[\"x\"]}}}}",
                  is_known ? "true" : "false", TEXT_ARGS(token));
}

static void serve_access(struct bench *bench, const char *body, struct test_reply *reply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = value_read_json(arena, text_of(body), &value_reply_limits, NULL);
    bool is_allowed = text_is(value_text_at(tree, "spec.user"), "good") && !bench->is_poor;
    bench->access_reviews++;
    snprintf(bench->access, sizeof bench->access, "%s", body);
    buffer_printf(&reply->body, "{\"status\":{\"allowed\":%s}}", is_allowed ? "true" : "false");
}

static void serve(void *context, const struct api_call *call, struct test_reply *reply)
{
    struct bench *bench = context;
    reply->status = bench->status ? bench->status : 201;
    if (!strcmp(call->path, "/apis/authentication.k8s.io/v1/tokenreviews"))
        serve_token(bench, call->body, reply);
    else if (!strcmp(call->path, "/apis/authorization.k8s.io/v1/subjectaccessreviews"))
        serve_access(bench, call->body, reply);
    else
        fail_msg("%s", call->path);
}

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 7, len);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->loop = virtual_loop_new(0);
    bench->random.fill = fill;
    bench->world = (struct world){.loop = bench->loop, .random = &bench->random};
    bench->api = (struct api){.loop = bench->loop, .serve = serve, .context = bench};
    bench->bearers = bearers_new(&bench->world, &bench->api, "/metrics");
    for (size_t i = 0; i < ANSWERS_MAX; i++)
        bench->answers[i] = NONE;
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    bearers_free(bench->bearers);
    test_api_done(&bench->api);
    size_t timers = virtual_loop_timer_count(bench->loop);
    loop_free(bench->loop);
    free(bench);
    return timers ? -1 : 0;
}

static void judged(void *asker, enum bearer_result result)
{
    int *answer = asker;
    assert_int_equal(*answer, NONE);
    *answer = (int)result;
}

static void ask_from(struct bench *bench, uint8_t source, size_t asker, const char *token)
{
    const struct bearer bearer = {.token = text_of(token),
                                  .source = {[10] = 0xff, 0xff, 192, 0, 2, source}};
    bench->answers[asker] = NONE;
    bearers_ask(bench->bearers, &bearer, judged, &bench->answers[asker]);
}

static void ask(struct bench *bench, size_t asker, const char *token)
{
    ask_from(bench, (uint8_t)(1 + asker), asker, token);
}

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static int result_of(struct bench *bench, const char *token)
{
    ask_from(bench, 1, 0, token);
    pass(bench, 500); // two a second for one source
    return bench->answers[0];
}

static void who_may_is_allowed_and_others_are_told_apart(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(result_of(bench, "good"), BEARER_ALLOWED);
    assert_int_equal(result_of(bench, "poor"), BEARER_FORBIDDEN);
    assert_int_equal(result_of(bench, "strange"), BEARER_UNKNOWN);
    assert_int_equal(result_of(bench, ""), BEARER_UNKNOWN);
    assert_int_equal(bench->token_reviews, 3);
    assert_int_equal(bench->access_reviews, 2);
}

static void all_that_is_known_of_the_user_decides(void **state)
{
    struct bench *bench = *state;
    result_of(bench, "good");
    assert_string_equal(bench->access,
                        "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
                        "\"SubjectAccessReview\",\"spec\":{\"user\":\"good\",\"uid\":\"u1\","
                        "\"groups\":[\"a\",\"b\"],\"extra\":{\"scopes\":[\"x\"]},"
                        "\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}}");
}

static void an_answer_is_good_for_a_minute(void **state)
{
    struct bench *bench = *state;
    result_of(bench, "good");
    result_of(bench, "strange");
    pass(bench, 59000);
    ask(bench, 1, "good");
    ask(bench, 2, "strange");
    assert_int_equal(bench->answers[1], BEARER_ALLOWED);
    assert_int_equal(bench->answers[2], BEARER_UNKNOWN);
    assert_int_equal(bench->api.count, 3);
    pass(bench, 1000);
    assert_int_equal(result_of(bench, "good"), BEARER_ALLOWED);
    assert_int_equal(bench->api.count, 5);
}

static void who_asks_at_the_same_time_gets_one_answer(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; i < 5; i++)
        ask(bench, i, "good");
    pass(bench, 100);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(bench->answers[i], BEARER_ALLOWED);
    assert_int_equal(bench->api.count, 2);
}

static void without_the_api_server_nobody_is_let_in_and_nothing_is_kept(void **state)
{
    struct bench *bench = *state;
    bench->status = 503;
    assert_int_equal(result_of(bench, "good"), BEARER_UNSURE);
    bench->status = 0;
    assert_int_equal(result_of(bench, "good"), BEARER_ALLOWED);
}

static void strangers_hold_eight_questions_at_most(void **state)
{
    struct bench *bench = *state;
    char token[16];
    for (size_t i = 0; i < 10; i++) {
        snprintf(token, sizeof token, "strange%zu", i);
        ask(bench, i, token);
    }
    assert_int_equal(bench->api.count, 8);
    assert_int_equal(bench->answers[8], BEARER_UNSURE);
    assert_int_equal(bench->answers[9], BEARER_UNSURE);
}

static void the_oldest_of_64_makes_room(void **state)
{
    struct bench *bench = *state;
    char token[16];
    for (size_t i = 0; i < 64; i++) {
        snprintf(token, sizeof token, "strange%zu", i);
        ask(bench, i, token);
        pass(bench, 100);
    }
    ask(bench, 0, "strange0");
    assert_int_equal(bench->api.count, 64);
    ask(bench, 64, "one more");
    pass(bench, 100);
    ask(bench, 1, "strange0");
    assert_int_equal(bench->api.count, 64 + 1 + 1);
}

static void one_source_asks_of_two_at_a_time_and_two_a_second(void **state)
{
    struct bench *bench = *state;
    char token[24];
    for (size_t i = 0; i < 4; i++) {
        snprintf(token, sizeof token, "strange%zu", i);
        ask_from(bench, 1, i, token);
    }
    assert_int_equal(bench->api.count, 2);
    ask_from(bench, 2, 4, "good");
    pass(bench, 100);
    assert_int_equal(bench->answers[4], BEARER_ALLOWED);
    size_t count = bench->token_reviews;
    for (size_t i = 0; i < 1000; i++) {
        snprintf(token, sizeof token, "stranger%zu", i);
        ask_from(bench, 1, 0, token);
        pass(bench, 10);
    }
    assert_in_range(bench->token_reviews - count, 10, 30);
}

// One that was allowed once is asked about again, and is not forgotten, whatever strangers do.
static void a_known_token_waits_for_no_stranger(void **state)
{
    struct bench *bench = *state;
    char token[24];
    ask_from(bench, 1, 0, "good");
    pass(bench, 100);
    for (size_t i = 0; i < 200; i++) {
        snprintf(token, sizeof token, "strange%zu", i);
        ask_from(bench, (uint8_t)(2 + i), 1, token);
        pass(bench, 400);
    }
    for (size_t i = 0; i < 100; i++) {
        snprintf(token, sizeof token, "more%zu", i);
        ask_from(bench, (uint8_t)(2 + i), 2 + i, token);
    }
    ask_from(bench, 1, 0, "good"); // from where strangers come, too
    pass(bench, 100);
    assert_int_equal(bench->answers[0], BEARER_ALLOWED);
}

static void a_known_token_that_is_refused_is_a_stranger(void **state)
{
    struct bench *bench = *state;
    result_of(bench, "good");
    bench->is_poor = true;
    pass(bench, 61000);
    assert_int_equal(result_of(bench, "good"), BEARER_FORBIDDEN);
    pass(bench, 61000);
    for (size_t i = 1; i <= 8; i++) {
        char token[16];
        snprintf(token, sizeof token, "strange%zu", i);
        ask(bench, i, token);
    }
    ask_from(bench, 1, 0, "good");
    assert_int_equal(bench->answers[0], BEARER_UNSURE);
}

static void who_went_away_is_not_called(void **state)
{
    struct bench *bench = *state;
    ask(bench, 0, "good");
    ask(bench, 1, "good");
    bearers_forget(bench->bearers, &bench->answers[0]);
    pass(bench, 100);
    assert_int_equal(bench->answers[0], NONE);
    assert_int_equal(bench->answers[1], BEARER_ALLOWED);
}

static void ask_about(struct bench *bench, size_t asker, const char *token, const char *verb,
                      const char *name)
{
    const struct bearer bearer = {.token = text_of(token),
                                  .source = {[10] = 0xff, 0xff, 192, 0, 2, 1},
                                  .access = {.verb = verb,
                                             .group = "g",
                                             .resource = "things",
                                             .namespace_ = TEXT("shop"),
                                             .name = text_of(name)}};
    bench->answers[asker] = NONE;
    bearers_ask(bench->bearers, &bearer, judged, &bench->answers[asker]);
}

static void each_access_to_an_object_is_asked_about_by_itself(void **state)
{
    struct bench *bench = *state;
    ask_about(bench, 0, "good", "get", "a");
    pass(bench, 100);
    assert_int_equal(bench->answers[0], BEARER_ALLOWED);
    assert_non_null(strstr(bench->access, "\"resourceAttributes\":{\"verb\":\"get\",\"group\":"
                                          "\"g\",\"resource\":\"things\",\"namespace\":\"shop\","
                                          "\"name\":\"a\"}}}"));
    bench->is_poor = true;
    ask_about(bench, 1, "good", "get", "a");
    assert_int_equal(bench->answers[1], BEARER_ALLOWED);
    ask_about(bench, 2, "good", "update", "a");
    pass(bench, 100);
    assert_int_equal(bench->answers[2], BEARER_FORBIDDEN);
    pass(bench, 10000);
    ask_about(bench, 3, "good", "get", "a");
    pass(bench, 100);
    assert_int_equal(bench->answers[3], BEARER_FORBIDDEN);
}

static void an_answer_about_an_object_is_good_for_ten_seconds(void **state)
{
    static const char *const tokens[] = {"good", "poor", "strange"};
    static const int results[] = {BEARER_ALLOWED, BEARER_FORBIDDEN, BEARER_UNKNOWN};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        ask_about(bench, i, tokens[i], "get", "a");
        pass(bench, 100);
    }
    for (size_t request = 0; request < 90 * COUNT_OF(tokens); request++) {
        size_t i = request % COUNT_OF(tokens);
        ask_about(bench, i, tokens[i], "get", "a");
        assert_int_equal(bench->answers[i], results[i]);
        pass(bench, i ? 0 : 100);
    }
    assert_int_equal(bench->token_reviews, 3);
    assert_int_equal(bench->access_reviews, 2);
    pass(bench, 1000);
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        ask_about(bench, i, tokens[i], "get", "a");
        pass(bench, 100);
        assert_int_equal(bench->answers[i], results[i]);
    }
    assert_int_equal(bench->token_reviews, 6);
    assert_int_equal(bench->access_reviews, 4);
}

static void who_was_refused_an_object_is_asked_about_again(void **state)
{
    struct bench *bench = *state;
    bench->is_poor = true;
    ask_about(bench, 0, "good", "get", "a");
    pass(bench, 100);
    bench->is_poor = false;
    ask_about(bench, 1, "good", "get", "a");
    assert_int_equal(bench->answers[1], BEARER_FORBIDDEN);
    pass(bench, 10000);
    ask_about(bench, 2, "good", "get", "a");
    pass(bench, 100);
    assert_int_equal(bench->answers[2], BEARER_ALLOWED);
}

static void whose_token_is_known_may_ask_for_much_at_once(void **state)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
    struct bench *bench = *state;
    ask_about(bench, 0, "good", "get", "");
    pass(bench, 100);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        ask_about(bench, 1 + i, "good", "delete", names[i]);
    pass(bench, 100);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        assert_int_equal(bench->answers[1 + i], BEARER_ALLOWED);
}

static void nobody_is_called_behind_the_end(void **state)
{
    struct bench *bench = *state;
    ask(bench, 0, "good");
    bearers_free(bench->bearers);
    bench->bearers = NULL;
    pass(bench, 100);
    assert_int_equal(bench->answers[0], NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_may_is_allowed_and_others_are_told_apart),
        TEST(all_that_is_known_of_the_user_decides),
        TEST(an_answer_is_good_for_a_minute),
        TEST(who_asks_at_the_same_time_gets_one_answer),
        TEST(without_the_api_server_nobody_is_let_in_and_nothing_is_kept),
        TEST(strangers_hold_eight_questions_at_most),
        TEST(the_oldest_of_64_makes_room),
        TEST(one_source_asks_of_two_at_a_time_and_two_a_second),
        TEST(a_known_token_waits_for_no_stranger),
        TEST(a_known_token_that_is_refused_is_a_stranger),
        TEST(who_went_away_is_not_called),
        TEST(each_access_to_an_object_is_asked_about_by_itself),
        TEST(an_answer_about_an_object_is_good_for_ten_seconds),
        TEST(who_was_refused_an_object_is_asked_about_again),
        TEST(whose_token_is_known_may_ask_for_much_at_once),
        TEST(nobody_is_called_behind_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
