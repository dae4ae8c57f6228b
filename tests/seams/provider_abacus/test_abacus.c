#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/value.h"
#include "providers/provider.h"

#define URL "http://abacus.test"

struct bench {
    void *session;
    struct arena *arena;
    struct http_reply reply; // to whoever asks for the series
    size_t exchanges;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->arena = arena_new();
    struct value *config = value_make(bench->arena, VALUE_MAP);
    value_set(config, TEXT("server"), value_make_text(bench->arena, TEXT(URL)));
    const struct session_setup setup = {.config = config};
    bench->reply = (struct http_reply){.status = 200, .body = TEXT("{\"series\":\"A\"}")};
    *state = bench;
    return provider_find("abacus")->open(&setup, &bench->session, NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    provider_find("abacus")->close(bench->session);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void run(struct bench *bench, struct job *job)
{
    const struct provider *abacus = provider_find("abacus");
    const struct moment moment = {0};
    struct ask ask = {0};
    job->arena = bench->arena;
    void *exchange = abacus->begin(bench->session, job);
    while (abacus->ask(exchange, &moment, &ask) != ASK_DONE) {
        assert_string_equal(ask.http.method, "GET");
        assert_string_equal(ask.http.url, URL "/series");
        bench->exchanges++;
        abacus->handle_reply(exchange, &moment,
                             &(struct ask_result){.kind = ASK_HTTP, .http = &bench->reply});
    }
    abacus->end(exchange);
}

static const char *lines(struct bench *bench)
{
    struct job job = {.kind = JOB_HEALTH};
    run(bench, &job);
    assert_true(job.health.is_done);
    struct text found = value_text_at(job.answer, "lines");
    return arena_copy(bench->arena, found.at, found.len);
}

static const struct text one[] = {{"1", 1}};
static const struct text two[] = {{"say \"two\"", 9}, {"2", 1}};

static struct record_set www(void)
{
    return (struct record_set){.type = RECORD_TXT,
                               .domain = TEXT("example.com"),
                               .subdomain = TEXT("www"),
                               .ttl_s = 300,
                               .values = one,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static void each_change_is_a_line(void **state)
{
    struct bench *bench = *state;
    struct change changes[3] = {{.op = CHANGE_SET, .set = www()},
                                {.op = CHANGE_SET, .set = www()},
                                {.op = CHANGE_REMOVE, .set = www()}};
    changes[1].set.subdomain = TEXT("@");
    changes[1].set.values = two;
    changes[1].set.value_count = 2;
    struct job job = {.changes = changes, .change_count = 3};
    run(bench, &job);
    for (size_t i = 0; i < 3; i++)
        assert_true(changes[i].outcome.is_done);
    assert_string_equal(lines(bench), "A1 set TXT www.example.com 300 \"1\"\n"
                                      "A2 set TXT example.com 300 \"say \\\"two\\\"\" \"2\"\n"
                                      "A3 remove TXT www.example.com\n");
}

static void the_series_is_fetched_once(void **state)
{
    struct bench *bench = *state;
    struct change change = {.op = CHANGE_SET, .set = www()};
    struct job job = {.changes = &change, .change_count = 1};
    run(bench, &job);
    lines(bench);
    run(bench, &job);
    assert_int_equal(bench->exchanges, 1);
}

static void without_a_series_nothing_is_written(void **state)
{
    static const struct {
        struct http_reply reply;
        bool is_transport_failure;
    } rows[] = {
        {{.failure = HTTP_UNREACHABLE, .error = {.fault = FAULT_AGAIN, .text = "refused"}}, true},
        {{.status = 500, .body = {"{\"series\":\"A\"}", 14}}, false},
        {{.status = 200, .body = {"{\"series\":\"\"}", 13}}, false},
        {{.status = 200, .body = {"{\"series\":\"seventeen-letters\"}", 30}}, false},
        {{.status = 200, .body = {"nonsense", 8}}, false},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct change change = {.op = CHANGE_SET, .set = www()};
        struct job job = {.changes = &change, .change_count = 1};
        bench->reply = rows[i].reply;
        run(bench, &job);
        assert_false(change.outcome.is_done);
        assert_int_equal(change.outcome.error->fault, FAULT_AGAIN);
        assert_int_equal(job.is_transport_failure, rows[i].is_transport_failure);
    }
    bench->reply = (struct http_reply){.status = 200, .body = TEXT("{\"series\":\"B\"}")};
    assert_string_equal(lines(bench), "");
}

static void reading_is_refused(void **state)
{
    struct bench *bench = *state;
    struct change change = {.op = CHANGE_READ, .set = www()};
    struct job job = {.changes = &change, .change_count = 1};
    run(bench, &job);
    assert_int_equal(change.outcome.error->fault, FAULT_SPEC);
    assert_string_equal(lines(bench), "");
}

static void the_oldest_lines_go_first(void **state)
{
    struct bench *bench = *state;
    struct change change = {.op = CHANGE_SET, .set = www()};
    struct job job = {.changes = &change, .change_count = 1};
    for (size_t i = 0; i < 3000; i++)
        run(bench, &job);
    const char *found = lines(bench);
    assert_in_range(strlen(found), 65000, 65536);
    assert_memory_not_equal(found, "A1 ", 3);
    assert_memory_equal(found, "A1", 2);
    assert_non_null(strstr(found, "\nA3000 set TXT www.example.com 300 \"1\"\n"));
}

static void the_fingerprint_has_content_and_series(void **state)
{
    struct bench *bench = *state;
    uint8_t unlearned[FINGERPRINT_OCTETS], learned[FINGERPRINT_OCTETS], same[FINGERPRINT_OCTETS],
        other[FINGERPRINT_OCTETS];
    struct record_set set = www();
    provider_find("abacus")->fingerprint(bench->session, &set, unlearned);
    lines(bench);
    provider_find("abacus")->fingerprint(bench->session, &set, learned);
    provider_find("abacus")->fingerprint(bench->session, &set, same);
    set.ttl_s = 60;
    provider_find("abacus")->fingerprint(bench->session, &set, other);
    assert_memory_not_equal(unlearned, learned, 8);
    assert_memory_equal(learned, same, 8);
    assert_memory_not_equal(learned, other, 8);
}

static void a_abacus_without_server_is_refused(void **state)
{
    (void)state;
    struct error err;
    void *session = NULL;
    const struct session_setup setup = {0};
    assert_false(provider_find("abacus")->open(&setup, &session, &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.reason, "InvalidConfiguration");
}

static void a_job_has_eight_changes_at_most(void **state)
{
    (void)state;
    assert_int_equal(provider_find("abacus")->max_changes, 8);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_change_is_a_line),
        TEST(the_series_is_fetched_once),
        TEST(without_a_series_nothing_is_written),
        TEST(reading_is_refused),
        TEST(the_oldest_lines_go_first),
        TEST(the_fingerprint_has_content_and_series),
        cmocka_unit_test(a_abacus_without_server_is_refused),
        cmocka_unit_test(a_job_has_eight_changes_at_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
