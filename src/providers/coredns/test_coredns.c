#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "providers/coredns/failing.h"
#include "providers/coredns/scrape.h"
#include "providers/provider.h"
#include "providers/sample.h"

// ---- an exchange --------------------------------------------------------------------------------

// Counts up, so that each message id is another one.
static void count_up(struct random *random, void *out, size_t len)
{
    static uint8_t next;
    (void)random;
    memset(out, ++next, len);
}
static struct random counting_random = {count_up};
static const struct moment moment = {.unix_ms = 1, .mono_ms = 1, .random = &counting_random};

struct bench {
    const struct provider *provider;
    void *session;
    struct job *job;
    void *exchange;
    struct ask ask;
};

static struct bench begin(enum job_kind kind, const char *question, const char *address)
{
    struct bench bench = {.provider = provider_find("coredns"),
                          .job = arena_new_of(arena, struct job)};
    const struct session_setup setup = {.config = value_make(arena, VALUE_MAP)};
    struct value *about = value_make(arena, VALUE_MAP);
    if (address)
        value_put_text(arena, about, "address", address);
    *bench.job = (struct job){.kind = kind, .arena = arena, .question = question, .about = about};
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

static void reply_dns(struct bench *bench, const struct dns_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_DNS, .dns = reply});
}

static void reply_http(struct bench *bench, const struct http_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_HTTP, .http = reply});
}

// The answer to the question, as JSON; the exchange is over.
static const char *answer_of(struct bench *bench)
{
    AUTO_BUFFER json = {0};
    assert_int_equal(ask(bench), ASK_DONE);
    assert_true(bench->job->health.is_done);
    value_write_json(&json, bench->job->answer);
    end(bench);
    return arena_copy_text(arena, json.at);
}

static const struct error *error_of(struct bench *bench)
{
    assert_int_equal(ask(bench), ASK_DONE);
    assert_false(bench->job->health.is_done);
    assert_false(bench->job->is_transport_failure);
    assert_null(bench->job->answer);
    end(bench);
    return bench->job->health.error;
}

// ---- config -------------------------------------------------------------------------------------

#define QUESTION "\7version\4bind\0\0\x10\0\3"
enum { QUERY_LEN = 30 };

// As a CoreDNS answers what was asked last, with one TXT record of that text.
static struct text canary_of(const struct bench *bench, const char *text)
{
    AUTO_BUFFER out = {0};
    size_t len = strlen(text);
    buffer_add(&out, bench->ask.dns.octets.at, 2);
    buffer_add(&out, "\x84\0\0\1\0\1\0\0\0\0" QUESTION "\xc0\x0c\0\x10\0\3\0\0\0\0\0", 39);
    buffer_add_char(&out, (char)(len + 1));
    buffer_add_char(&out, (char)len);
    buffer_add(&out, text, len);
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

static void reply_canary(struct bench *bench, const char *text)
{
    reply_dns(bench, &(struct dns_reply){.is_answered = true, .octets = canary_of(bench, text)});
}

static void the_query_goes_to_the_address_and_only_its_answer_is_wanted(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "config", "[FD00::1]:5353");
    assert_int_equal(ask(&bench), ASK_DNS);
    const struct dns_request *dns = &bench.ask.dns;
    assert_string_equal(dns->server.host, "fd00::1");
    assert_int_equal(dns->server.port, 5353);
    assert_false(dns->use_tcp);
    assert_int_equal(dns->timeout_ms, 500);
    assert_int_equal(dns->octets.len, QUERY_LEN);
    assert_memory_equal(dns->octets.at + 2, "\0\0\0\1\0\0\0\0\0\0" QUESTION, QUERY_LEN - 2);
    struct text reply = canary_of(&bench, "signpost-7123ad3aa85b6c10");
    assert_true(dns->is_wanted(dns->context, reply));
    char *other = arena_copy(arena, reply.at, reply.len);
    other[0] ^= 1;
    assert_false(dns->is_wanted(dns->context, (struct text){other, reply.len}));
    end(&bench);
}

static void an_answer_of_ours_is_an_id_and_any_other_a_text(void **state)
{
    static const struct {
        const char *text;
        const char *answer;
    } rows[] = {
        {"signpost-7123ad3aa85b6c10", "{\"id\":\"7123ad3aa85b6c10\"}"},
        {"CoreDNS-1.14.7", "{\"text\":\"CoreDNS-1.14.7\"}"},
        {"", "{\"text\":\"\"}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
        assert_int_equal(ask(&bench), ASK_DNS);
        reply_canary(&bench, rows[i].text);
        assert_string_equal(answer_of(&bench), rows[i].answer);
    }
}

static void a_refusal_is_an_answer_without_text(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
    assert_int_equal(ask(&bench), ASK_DNS);
    AUTO_BUFFER out = {0};
    buffer_add(&out, bench.ask.dns.octets.at, 2);
    buffer_add(&out, "\x80\5\0\1\0\0\0\0\0\0" QUESTION, QUERY_LEN - 2);
    reply_dns(&bench, &(struct dns_reply){.is_answered = true, .octets = buffer_text(&out)});
    assert_string_equal(answer_of(&bench), "{\"text\":\"\"}");
}

static void silence_is_a_failure_after_the_second_query(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
    assert_int_equal(ask(&bench), ASK_DNS);
    const char *first = arena_copy(arena, bench.ask.dns.octets.at, QUERY_LEN);
    reply_dns(&bench, &(struct dns_reply){.is_timeout = true});
    assert_int_equal(ask(&bench), ASK_DNS);
    assert_memory_not_equal(bench.ask.dns.octets.at, first, 2);
    reply_dns(&bench, &(struct dns_reply){.is_timeout = true});
    const struct error *error = error_of(&bench);
    assert_int_equal(error->fault, FAULT_AGAIN);
    assert_string_equal(error->reason, "ServerUnreachable");
    assert_string_equal(error->text,
                        "192.0.2.1:53 did not say which Corefile it runs: no answer to "
                        "2 queries of 500 ms each");
}

static void the_second_query_can_be_answered(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
    assert_int_equal(ask(&bench), ASK_DNS);
    reply_dns(&bench, &(struct dns_reply){.is_timeout = true});
    assert_int_equal(ask(&bench), ASK_DNS);
    reply_canary(&bench, "signpost-0123456789abcdef");
    assert_string_equal(answer_of(&bench), "{\"id\":\"0123456789abcdef\"}");
}

static void a_closed_port_is_told_as_it_is(void **state)
{
    struct dns_reply refused = {0};
    (void)state;
    error_set(&refused.error, FAULT_AGAIN, "ServerUnreachable", "connection refused");
    struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&bench), ASK_DNS);
        reply_dns(&bench, &refused);
    }
    assert_string_equal(error_of(&bench)->text, "connection refused");
}

static void a_malformed_answer_is_a_failure_that_names_the_server(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "config", "192.0.2.1:53");
    assert_int_equal(ask(&bench), ASK_DNS);
    struct text octets = canary_of(&bench, "signpost-0123456789abcdef");
    octets.len -= 4;
    reply_dns(&bench, &(struct dns_reply){.is_answered = true, .octets = octets});
    const struct error *error = error_of(&bench);
    assert_int_equal(error->fault, FAULT_AGAIN);
    assert_string_equal(error->text, "192.0.2.1:53: the reply is malformed");
}

// ---- metrics ------------------------------------------------------------------------------------

static const char page[] =
    "# HELP coredns_build_info A metric with a constant '1' value.\n"
    "# TYPE coredns_build_info gauge\n"
    "coredns_build_info{goversion=\"go1.26.8\",revision=\"x\",version=\"1.14.7\"} 1\n"
    "coredns_forward_healthcheck_broken_total 4\n"
    "coredns_proxy_healthcheck_failures_total{proxy_name=\"forward\",rcode=\"\","
    "to=\"192.0.2.54:53\"} 7\n"
    "coredns_proxy_healthcheck_failures_total{proxy_name=\"forward\",rcode=\"SERVFAIL\","
    "to=\"192.0.2.53:53\"} 1\n"
    "coredns_proxy_healthcheck_failures_total{proxy_name=\"grpc\",rcode=\"\",to=\"192.0.2.9:53\"} "
    "5\n"
    "coredns_proxy_healthcheck_failures_total{proxy_name=\"forward\",rcode=\"\","
    "to=\"192.0.2.53:53\"} 1e+03\n"
    "coredns_reload_failed_total 2\n"
    "coredns_reload_version_info{hash=\"sha512\",value=\"aa11\"} 1\n"
    "go_goroutines 42\n";

#define PAGE_ANSWER                                                                                \
    "{\"reloadFailures\":2,\"reloadHash\":\"aa11\",\"healthFailures\":{\"192.0.2.53:53\":1001,"    \
    "\"192.0.2.54:53\":7},\"broken\":4}"

static void a_metrics_page_is_fetched_without_a_proxy_and_read(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, "metrics", "[fd00::1]:9153");
    assert_int_equal(ask(&bench), ASK_HTTP);
    assert_string_equal(bench.ask.http.method, "GET");
    assert_string_equal(bench.ask.http.url, "http://[fd00::1]:9153/metrics");
    assert_string_equal(bench.ask.http.proxy, "");
    assert_int_equal(bench.ask.http.max_body_octets, 1 << 20);
    reply_http(&bench, &(struct http_reply){.status = 200, .body = text_of(page)});
    assert_string_equal(answer_of(&bench),
                        "{\"reloadFailures\":2,\"reloadHash\":\"aa11\",\"failing\":[]}");
}

static const char *note(struct failing *failing, const char *server, const char *upstream,
                        int64_t count, int64_t mono_ms)
{
    AUTO_BUFFER json = {0};
    struct value *counts = value_make(arena, VALUE_MAP);
    value_set(counts, text_of(upstream), value_make_int(arena, count));
    value_write_json(&json, failing_note(failing, arena, text_of(server), counts, mono_ms));
    return arena_copy_text(arena, json.at);
}

static void an_upstream_fails_for_five_minutes_from_when_its_number_grew(void **state)
{
    (void)state;
    struct failing *failing = failing_new();
    static const char up[] = "192.0.2.53:53";
    assert_string_equal(note(failing, "a", up, 7, 1000), "[]");
    assert_string_equal(note(failing, "a", up, 7, 2000), "[]");
    assert_string_equal(note(failing, "a", up, 8, 3000), "[\"192.0.2.53:53\"]");
    assert_string_equal(note(failing, "a", up, 8, 3000 + FAILING_FOR_MS - 1),
                        "[\"192.0.2.53:53\"]");
    assert_string_equal(note(failing, "a", up, 8, 3000 + FAILING_FOR_MS), "[]");
    failing_free(failing);
}

static void each_server_counts_for_itself_and_may_begin_anew(void **state)
{
    (void)state;
    struct failing *failing = failing_new();
    assert_string_equal(note(failing, "a", "u", 7, 1000), "[]");
    assert_string_equal(note(failing, "b", "u", 9, 1000), "[]");
    assert_string_equal(note(failing, "b", "u", 9, 2000), "[]");
    assert_string_equal(note(failing, "a", "u", 0, 2000), "[]");
    assert_string_equal(note(failing, "a", "u", 1, 3000), "[\"u\"]");
    assert_string_equal(note(failing, "a", "new", 1, 3000), "[\"new\"]");
    failing_free(failing);
}

static void what_is_remembered_is_limited(void **state)
{
    (void)state;
    struct failing *failing = failing_new();
    const int servers = FAILING_MAX - 100;
    for (int i = 0; i < servers; i++)
        assert_string_equal(note(failing, arena_printf(arena, "s%d", i), "u", 1, 1000), "[]");
    const char *last = arena_printf(arena, "s%d", servers - 1);
    assert_string_equal(note(failing, last, "u", 2, 2000), "[\"u\"]");
    assert_string_equal(note(failing, "s0", "u", 2, 2000), "[]"); // as if it were seen first
    failing_free(failing);
}

// ---- corefile -----------------------------------------------------------------------------------

static struct bench begin_file(const char *path, const char *text)
{
    struct bench bench = {.provider = provider_find("coredns"),
                          .job = arena_new_of(arena, struct job)};
    const struct session_setup setup = {0};
    struct value *about = value_make(arena, VALUE_MAP);
    if (path)
        value_put_text(arena, about, "path", path);
    if (text)
        value_put_text(arena, about, "text", text);
    *bench.job =
        (struct job){.kind = JOB_QUESTION, .arena = arena, .question = "corefile", .about = about};
    assert_true(bench.provider->open(&setup, &bench.session, NULL));
    bench.exchange = bench.provider->begin(bench.session, bench.job);
    return bench;
}

static void reply_file(struct bench *bench, const struct file_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_FILE, .file = reply});
}

static void a_file_is_replaced_only_if_it_differs(void **state)
{
    (void)state;
    static const struct {
        const char *there;  // NULL: no file
        const char *wanted; // NULL: it is only read
        const char *answer;
    } rows[] = {{NULL, "new", "{\"text\":\"new\",\"written\":true}"},
                {"old", "new", "{\"text\":\"new\",\"written\":true}"},
                {"new", "new", "{\"text\":\"new\",\"written\":false}"},
                {"old", NULL, "{\"text\":\"old\",\"written\":false}"},
                {NULL, NULL, "{\"text\":\"\",\"written\":false}"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin_file("/etc/Corefile", rows[i].wanted);
        assert_int_equal(ask(&bench), ASK_FILE);
        assert_false(bench.ask.file.is_replaced);
        reply_file(&bench, &(struct file_reply){.is_done = rows[i].there != NULL,
                                                .is_absent = !rows[i].there,
                                                .content = text_of(rows[i].there)});
        if (strstr(rows[i].answer, "true")) {
            assert_int_equal(ask(&bench), ASK_FILE);
            assert_true(bench.ask.file.is_replaced);
            assert_true(text_is(bench.ask.file.content, "new"));
            reply_file(&bench, &(struct file_reply){.is_done = true});
        }
        assert_string_equal(answer_of(&bench), rows[i].answer);
    }
}

static void a_file_that_cannot_be_had_is_a_failure(void **state)
{
    (void)state;
    struct bench bench = begin_file("/etc/Corefile", "new");
    assert_int_equal(ask(&bench), ASK_FILE);
    reply_file(&bench, &(struct file_reply){.error = {.fault = FAULT_AGAIN, .text = "full"}});
    assert_string_equal(error_of(&bench)->text, "full");
    bench = begin_file(NULL, NULL);
    assert_string_equal(error_of(&bench)->text, "question corefile: path: name a file");
}

static void another_status_or_page_is_a_failure(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *text;
    } rows[] = {
        {404, page, "http://192.0.2.1:9153/metrics answered 404"},
        {200, "", "http://192.0.2.1:9153/metrics: the metrics page is none of a CoreDNS"},
        {200, "<html>\n", "http://192.0.2.1:9153/metrics: the metrics page is none of a CoreDNS"},
        {200, "go_goroutines 42\n",
         "http://192.0.2.1:9153/metrics: the metrics page is none of a CoreDNS"},
        {200, "coredns_x{y=\"\xff\"} 1\n",
         "http://192.0.2.1:9153/metrics: the metrics page is no UTF-8 text"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin(JOB_QUESTION, "metrics", "192.0.2.1:9153");
        assert_int_equal(ask(&bench), ASK_HTTP);
        reply_http(&bench,
                   &(struct http_reply){.status = rows[i].status, .body = text_of(rows[i].body)});
        const struct error *error = error_of(&bench);
        assert_string_equal(error->text, rows[i].text);
        assert_int_equal(error->fault, FAULT_AGAIN);
        assert_int_equal(error->status, rows[i].status == 200 ? 0 : rows[i].status);
    }
}

static void a_server_that_cannot_be_reached_fails_its_question_alone(void **state)
{
    struct http_reply reply = {.failure = HTTP_UNREACHABLE};
    (void)state;
    error_set(&reply.error, FAULT_AGAIN, "ServerUnreachable", "no route");
    struct bench bench = begin(JOB_QUESTION, "metrics", "192.0.2.1:9153");
    assert_int_equal(ask(&bench), ASK_HTTP);
    reply_http(&bench, &reply);
    assert_string_equal(error_of(&bench)->text, "no route");
}

static const char *scrape(const char *text)
{
    AUTO_BUFFER json = {0};
    struct error err;
    const struct value *value = scrape_read(arena, text_of(text), &err);
    if (!value)
        return NULL;
    value_write_json(&json, value);
    return arena_copy_text(arena, json.at);
}

static void older_names_count_where_there_is_no_newer_one(void **state)
{
    (void)state;
    assert_string_equal(scrape("coredns_forward_healthcheck_failure_count_total{to=\"a\"} 3\n"
                               "coredns_forward_healthcheck_broken_count_total 2\n"),
                        "{\"healthFailures\":{\"a\":3},\"broken\":2}");
    assert_string_equal(scrape("coredns_forward_healthcheck_failures_total{to=\"a\"} 3\n"
                               "coredns_proxy_healthcheck_failures_total{proxy_name=\"forward\","
                               "to=\"b\"} 4\n"
                               "coredns_forward_healthcheck_failures_total{to=\"c\"} 5\n"
                               "coredns_forward_healthcheck_broken_total 7\n"
                               "coredns_forward_healthcheck_broken_count_total 2\n"),
                        "{\"healthFailures\":{\"b\":4},\"broken\":7}");
}

static void what_is_not_there_is_absent_and_what_never_failed_is_left_out(void **state)
{
    (void)state;
    assert_string_equal(scrape("coredns_panics_total 0\n"), "{\"healthFailures\":{}}");
    assert_string_equal(scrape("coredns_reload_failed_total 0\n"
                               "coredns_forward_healthcheck_broken_total 0\n"
                               "coredns_forward_healthcheck_failures_total{to=\"a\"} 0\n"
                               "coredns_reload_version_info{hash=\"sha512\",value=\"old\"} 0\n"
                               "coredns_reload_version_info{hash=\"md5\",value=\"m\"} 1\n"),
                        "{\"reloadFailures\":0,\"healthFailures\":{},\"broken\":0}");
}

static void numbers_that_count_nothing_are_passed_over(void **state)
{
    static const char *const numbers[] = {"NaN", "+Inf", "-1", "1e300"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_string_equal(
            scrape(arena_printf(arena, "coredns_reload_failed_total %s\n", numbers[i])),
            "{\"healthFailures\":{}}");
}

static void sums_end_where_numbers_cannot_be_told_apart(void **state)
{
    (void)state;
    assert_string_equal(
        scrape("coredns_forward_healthcheck_failures_total{to=\"a\",rcode=\"x\"} 9e15\n"
               "coredns_forward_healthcheck_failures_total{to=\"a\",rcode=\"y\"} 9e15\n"),
        "{\"healthFailures\":{\"a\":9007199254740992}}");
}

static void texts_that_are_no_words_are_passed_over(void **state)
{
    (void)state;
    assert_string_equal(scrape("coredns_forward_healthcheck_failures_total{to=\"a\\nb\"} 1\n"
                               "coredns_forward_healthcheck_failures_total{to=\"a b\"} 1\n"
                               "coredns_forward_healthcheck_failures_total{to=\"\"} 1\n"
                               "coredns_forward_healthcheck_failures_total{to=\"\xc3\xbc\"} 1\n"
                               "coredns_reload_version_info{hash=\"sha512\",value=\"\x7f\"} 1\n"),
                        "{\"healthFailures\":{}}");
}

static void texts_that_are_too_long_are_passed_over(void **state)
{
    char *text = arena_new_array(arena, char, 1000);
    (void)state;
    memset(text, 'x', 999);
    assert_string_equal(
        scrape(arena_printf(arena,
                            "coredns_forward_healthcheck_failures_total{to=\"%s\"} 1\n"
                            "coredns_reload_version_info{hash=\"sha512\",value=\"%s\"} 1\n",
                            text, text)),
        "{\"healthFailures\":{}}");
}

static void servers_are_limited_in_number(void **state)
{
    AUTO_BUFFER text = {0};
    struct error err;
    (void)state;
    for (int i = SCRAPE_SERVERS_MAX; i >= 0; i--)
        buffer_printf(&text, "coredns_forward_healthcheck_failures_total{to=\"%05d\"} 1\n", i);
    const struct value *failures =
        value_find(scrape_read(arena, buffer_text(&text), &err), "healthFailures");
    assert_int_equal(value_count(failures), SCRAPE_SERVERS_MAX);
    assert_true(text_is(failures->first->key, "00000"));
    assert_true(text_is(failures->last->key, "00999"));
}

// ---- samples ------------------------------------------------------------------------------------

static void samples_have_labels_without_their_escapes_and_times_are_passed_over(void **state)
{
    struct sample sample;
    (void)state;
    struct text rest = TEXT("# TYPE a counter\n\n  a:b_1 { x = \"\\\"1\\\\\\n\" , y=\"\", } "
                            "\t-2.5e-1 1767225600000\r\nlast 3");
    assert_true(sample_next(&rest, &sample));
    assert_true(text_is(sample.name, "a:b_1"));
    assert_int_equal(sample.label_count, 2);
    assert_true(text_is(sample_label(arena, &sample, "x"), "\"1\\\n"));
    assert_non_null(sample_label(arena, &sample, "y").at);
    assert_null(sample_label(arena, &sample, "z").at);
    assert_true(sample.value < -0.24 && sample.value > -0.26);
    assert_true(sample_next(&rest, &sample));
    assert_true(text_is(sample.name, "last"));
    assert_int_equal(sample.label_count, 0);
    assert_false(sample_next(&rest, &sample));
}

static void malformed_lines_are_passed_over(void **state)
{
    static const char *const lines[] = {
        "a",
        "a{",
        "a{}",
        "a{x} 1",
        "a{x=1} 1",
        "a{x=\"1} 1",
        "a{x=\"\\\"} 1",
        "a{x=\"1\"y=\"2\"} 1",
        "a 1x",
        "{x=\"1\"} 1",
        "a{=\"1\"} 1",
        "a{,} 1",
        "a 1111111111111111111111111111111111111111111111111111111111111111",
    };
    struct sample sample;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        struct text rest = text_of(arena_printf(arena, "%s\nb 1\n", lines[i]));
        assert_true(sample_next(&rest, &sample));
        assert_true(text_is(sample.name, "b"));
        assert_false(sample_next(&rest, &sample));
    }
}

static void a_sample_with_too_many_labels_is_passed_over(void **state)
{
    AUTO_BUFFER line = {0};
    struct sample sample;
    (void)state;
    buffer_add_text(&line, "a{");
    for (int i = 0; i <= SAMPLE_LABELS_MAX; i++)
        buffer_printf(&line, "x%d=\"\",", i);
    buffer_add_text(&line, "} 1\n");
    struct text rest = buffer_text(&line);
    assert_false(sample_next(&rest, &sample));
}

// ---- what else may be asked ---------------------------------------------------------------------

static void health_needs_no_exchange(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_HEALTH, NULL, NULL);
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_true(bench.job->health.is_done);
    end(&bench);
}

static void questions_without_a_whole_address_are_refused(void **state)
{
    static const char *const addresses[] = {NULL,         "",    "192.0.2.1",
                                            "coredns:53", ":53", "192.0.2.1:0"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        struct bench bench = begin(JOB_QUESTION, "config", addresses[i]);
        const struct error *error = error_of(&bench);
        assert_int_equal(error->fault, FAULT_SPEC);
        assert_true(text_starts(text_of(error->text), "question config: address: "));
    }
}

static void changes_are_refused(void **state)
{
    struct change changes[2] = {{.op = CHANGE_SET}, {.op = CHANGE_READ}};
    (void)state;
    struct job job = {.arena = arena, .changes = changes, .change_count = 2};
    struct ask nothing;
    const struct provider *provider = provider_find("coredns");
    void *exchange = provider->begin(NULL, &job);
    assert_int_equal(provider->ask(exchange, &moment, &nothing), ASK_DONE);
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        assert_false(changes[i].outcome.is_done);
        assert_string_equal(changes[i].outcome.error->text,
                            "a CoreDNS takes no records: it can only be asked");
    }
    provider->end(exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_query_goes_to_the_address_and_only_its_answer_is_wanted),
        UNIT(an_answer_of_ours_is_an_id_and_any_other_a_text),
        UNIT(a_refusal_is_an_answer_without_text),
        UNIT(silence_is_a_failure_after_the_second_query),
        UNIT(the_second_query_can_be_answered),
        UNIT(a_closed_port_is_told_as_it_is),
        UNIT(a_malformed_answer_is_a_failure_that_names_the_server),
        UNIT(a_metrics_page_is_fetched_without_a_proxy_and_read),
        UNIT(another_status_or_page_is_a_failure),
        UNIT(a_server_that_cannot_be_reached_fails_its_question_alone),
        UNIT(older_names_count_where_there_is_no_newer_one),
        UNIT(what_is_not_there_is_absent_and_what_never_failed_is_left_out),
        UNIT(numbers_that_count_nothing_are_passed_over),
        UNIT(sums_end_where_numbers_cannot_be_told_apart),
        UNIT(texts_that_are_no_words_are_passed_over),
        UNIT(texts_that_are_too_long_are_passed_over),
        UNIT(servers_are_limited_in_number),
        UNIT(samples_have_labels_without_their_escapes_and_times_are_passed_over),
        UNIT(malformed_lines_are_passed_over),
        UNIT(a_sample_with_too_many_labels_is_passed_over),
        UNIT(an_upstream_fails_for_five_minutes_from_when_its_number_grew),
        UNIT(each_server_counts_for_itself_and_may_begin_anew),
        UNIT(what_is_remembered_is_limited),
        UNIT(a_file_is_replaced_only_if_it_differs),
        UNIT(a_file_that_cannot_be_had_is_a_failure),
        UNIT(health_needs_no_exchange),
        UNIT(questions_without_a_whole_address_are_refused),
        UNIT(changes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
