#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "providers/externaldns/scrape.h"
#include "providers/provider.h"

static const struct moment moment = {.unix_ms = 1, .mono_ms = 1};

struct bench {
    const struct provider *provider;
    void *session;
    struct job *job;
    void *exchange;
    struct ask ask;
};

static struct bench begin(enum job_kind kind, const char *address)
{
    struct bench bench = {.provider = provider_find("externaldns"),
                          .job = arena_new_of(arena, struct job)};
    const struct session_setup setup = {.config = value_make(arena, VALUE_MAP)};
    struct value *about = value_make(arena, VALUE_MAP);
    value_put_text(arena, about, "address", address);
    *bench.job = (struct job){.kind = kind, .arena = arena, .question = "metrics", .about = about};
    assert_true(bench.provider->open(&setup, &bench.session, NULL));
    bench.exchange = bench.provider->begin(bench.session, bench.job);
    return bench;
}

static void end(struct bench *bench)
{
    bench->provider->end(bench->exchange);
    bench->provider->close(bench->session);
}

static enum ask_kind ask(struct bench *bench)
{
    bench->ask = (struct ask){0};
    return bench->provider->ask(bench->exchange, &moment, &bench->ask);
}

static void reply(struct bench *bench, const struct http_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_HTTP, .http = reply});
}

static const char *answer_to(const char *page)
{
    AUTO_BUFFER json = {0};
    struct error err;
    struct value *answer = external_dns_scrape_read(arena, text_of(page), &err);
    if (!answer)
        return arena_copy_text(arena, err.text);
    value_write_json(&json, answer);
    return arena_copy_text(arena, json.at);
}

static void its_metrics_are_fetched_from_the_address(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "[FD00::1]:7979");
    assert_int_equal(ask(&bench), ASK_HTTP);
    assert_string_equal(bench.ask.http.url, "http://[fd00::1]:7979/metrics");
    assert_string_equal(bench.ask.http.proxy, "");
    reply(&bench, &(struct http_reply){
                      .status = 200,
                      .body = TEXT("external_dns_controller_last_sync_timestamp_seconds 1e9\n")});
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_true(bench.job->health.is_done);
    assert_int_equal(value_int_at(bench.job->answer, "lastSync", 0), 1000000000);
    end(&bench);
}

static void what_is_no_answer_fails_the_question_alone(void **state)
{
    static const struct {
        struct http_reply reply;
        const char *text;
    } rows[] = {
        {{.status = 404}, "http://10.1.0.7:7979/metrics answered 404"},
        {{.status = 200, .body = {"go_goroutines 7\n", 16}},
         "http://10.1.0.7:7979/metrics: the metrics page is none of an external-dns"},
        {{.status = 200, .body = {"\xff", 1}},
         "http://10.1.0.7:7979/metrics: the metrics page is no UTF-8 text"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin(JOB_QUESTION, "10.1.0.7:7979");
        assert_int_equal(ask(&bench), ASK_HTTP);
        reply(&bench, &rows[i].reply);
        assert_int_equal(ask(&bench), ASK_DONE);
        assert_false(bench.job->health.is_done);
        assert_false(bench.job->is_transport_failure);
        assert_null(bench.job->answer);
        assert_string_equal(bench.job->health.error->text, rows[i].text);
        end(&bench);
    }
}

static void an_address_without_a_port_is_refused(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "10.1.0.7:0");
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_string_equal(bench.job->health.error->text, "question metrics: address: write IP:port");
    end(&bench);
}

static void it_is_always_well_and_takes_no_changes(void **state)
{
    struct change change = {.op = CHANGE_SET};
    struct job job = {.kind = JOB_CHANGES, .changes = &change, .change_count = 1, .arena = arena};
    const struct provider *provider = provider_find("externaldns");
    (void)state;
    struct bench bench = begin(JOB_HEALTH, "10.1.0.7:7979");
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_true(bench.job->health.is_done);
    end(&bench);
    void *exchange = provider->begin(NULL, &job);
    assert_false(change.outcome.is_done);
    assert_int_equal(change.outcome.error->fault, FAULT_SPEC);
    provider->end(exchange);
}

static void samples_become_the_answer(void **state)
{
    (void)state;
    assert_string_equal(
        answer_to("# TYPE external_dns_source_endpoints_total gauge\n"
                  "external_dns_source_endpoints_total 3\n"
                  "external_dns_registry_endpoints_total 5\n"
                  "external_dns_controller_last_sync_timestamp_seconds 1.764380345278e+09\n"
                  "external_dns_source_invalid_endpoints{record_type=\"A\",source_type=\"crd\"} 1\n"
                  "external_dns_source_invalid_endpoints{record_type=\"AAAA\",source_type=\"crd\"} "
                  "2\n"
                  "external_dns_controller_consecutive_soft_errors 4\n"
                  "external_dns_registry_skipped_records_owner_mismatch_per_sync{domain="
                  "\"example.org\",foreign_owner=\"other\",owner=\"mine\",record_type=\"A\"} 2\n"
                  "external_dns_registry_skipped_records_owner_mismatch_per_sync{domain="
                  "\"example.net\",foreign_owner=\"\",owner=\"mine\",record_type=\"A\"} 1\n"),
        "{\"lastSync\":1764380345,\"sourceEndpoints\":3,\"registryEndpoints\":5,"
        "\"invalidEndpoints\":3,\"softErrors\":4,"
        "\"ownerMismatches\":3,\"mismatches\":[{\"domain\":\"example.org\",\"owner\":\"other\"},"
        "{\"domain\":\"example.net\"}]}");
}

static void what_is_absent_or_no_number_counts_as_nothing(void **state)
{
    static const char nothing[] = "{\"sourceEndpoints\":0,\"registryEndpoints\":0,"
                                  "\"invalidEndpoints\":0,\"softErrors\":0,\"ownerMismatches\":0,"
                                  "\"mismatches\":[]}";
    (void)state;
    assert_string_equal(answer_to("external_dns_build_info{version=\"v0.22.0\"} 1\n"), nothing);
    assert_string_equal(answer_to("external_dns_source_endpoints_total NaN\n"
                                  "external_dns_source_invalid_endpoints -7\n"),
                        nothing);
    assert_string_equal(
        answer_to("external_dns_source_endpoints_total +Inf\n"),
        "{\"sourceEndpoints\":9007199254740992,\"registryEndpoints\":0,\"invalidEndpoints\":0,"
        "\"softErrors\":0,\"ownerMismatches\":0,\"mismatches\":[]}");
}

static void an_answer_has_only_the_first_mismatches(void **state)
{
    AUTO_BUFFER page = {0};
    struct error err;
    (void)state;
    for (int i = 0; i < 40; i++)
        buffer_printf(&page,
                      "external_dns_registry_skipped_records_owner_mismatch_per_sync{domain=\"d%d"
                      ".example\",foreign_owner=\"other\"} 1\n",
                      i);
    const struct value *answer = external_dns_scrape_read(arena, buffer_text(&page), &err);
    assert_int_equal(value_int_at(answer, "ownerMismatches", 0), 40);
    assert_int_equal(value_count(value_find(answer, "mismatches")), SCRAPE_MISMATCHES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(its_metrics_are_fetched_from_the_address),
        UNIT(what_is_no_answer_fails_the_question_alone),
        UNIT(an_address_without_a_port_is_refused),
        UNIT(it_is_always_well_and_takes_no_changes),
        UNIT(samples_become_the_answer),
        UNIT(what_is_absent_or_no_number_counts_as_nothing),
        UNIT(an_answer_has_only_the_first_mismatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
