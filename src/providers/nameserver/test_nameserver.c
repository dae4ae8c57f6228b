#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "dns/message.h"
#include "io/random.h"
#include "providers/provider.h"

static void fill_with_ones(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 1, len);
}
static struct random ones = {fill_with_ones};
static const struct moment moment = {.unix_ms = 1, .mono_ms = 1, .random = &ones};

static const struct value *read_about(const char *json)
{
    struct error err;
    char *copy = arena_copy_text(arena, json);
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    return value_read_json(arena, text_of(copy), &value_own_limits, &err);
}

struct bench {
    const struct provider *provider;
    void *session;
    struct job *job;
    void *exchange;
    struct ask ask;
};

static struct bench begin(enum job_kind kind, const char *about)
{
    struct bench bench = {.provider = provider_find("nameserver"),
                          .job = arena_new_of(arena, struct job)};
    const struct session_setup setup = {.config = value_make(arena, VALUE_MAP)};
    *bench.job = (struct job){
        .kind = kind, .arena = arena, .question = "answers", .about = read_about(about)};
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

static void reply(struct bench *bench, const struct dns_reply *reply)
{
    bench->provider->handle_reply(bench->exchange, &moment,
                                  &(struct ask_result){.kind = ASK_DNS, .dns = reply});
}

static void put_u16(struct buffer *out, unsigned number)
{
    const char octets[] = {(char)(number >> 8), (char)number};
    buffer_add(out, octets, sizeof octets);
}

static void add_address(struct buffer *out, unsigned last)
{
    put_u16(out, 0xc00c); // the question's name
    put_u16(out, 1);
    put_u16(out, 1);
    put_u16(out, 0);
    put_u16(out, 300);
    put_u16(out, 4);
    put_u16(out, 0xc633);
    put_u16(out, 0x6400 + last);
}

// The query with other flags and the addresses 198.51.100.1 to .count.
static struct text answer_of(const struct bench *bench, unsigned flags, unsigned count)
{
    AUTO_BUFFER out = {0};
    struct text query = bench->ask.dns.octets;
    buffer_add(&out, query.at, 2);
    put_u16(&out, flags);
    put_u16(&out, 1);
    put_u16(&out, count);
    buffer_add(&out, query.at + 8, query.len - 8);
    for (unsigned i = 1; i <= count; i++)
        add_address(&out, i);
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

static const char *answer_in(const struct bench *bench)
{
    AUTO_BUFFER json = {0};
    if (!bench->job->answer)
        return bench->job->health.error->text;
    value_write_json(&json, bench->job->answer);
    return arena_copy_text(arena, json.at);
}

static const char *asked_name(const struct bench *bench)
{
    struct message message;
    struct error err;
    assert_true(message_read(arena, bench->ask.dns.octets, &message, &err));
    return arena_copy(arena, message.question_name.at, message.question_name.len);
}

#define WEB "{'address':'192.0.2.53:53','name':'web.example.org','type':'A'}"
enum { AUTHORITATIVE = 0x8400, TRUNCATED = 0x8600, RECURSIVE = 0x8080, NXDOMAIN = 0x8403 };

static void values_of_the_record_set_are_the_answer(void **state)
{
    static const struct {
        unsigned flags;
        unsigned count;
        const char *answer;
    } rows[] = {
        {AUTHORITATIVE, 2,
         "{\"rcode\":\"NOERROR\",\"authoritative\":true,"
         "\"values\":[\"198.51.100.1\",\"198.51.100.2\"]}"},
        {RECURSIVE, 1,
         "{\"rcode\":\"NOERROR\",\"authoritative\":false,\"values\":[\"198.51.100.1\"]}"},
        {NXDOMAIN, 0, "{\"rcode\":\"NXDOMAIN\",\"authoritative\":true,\"values\":[]}"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin(JOB_QUESTION, WEB);
        assert_int_equal(ask(&bench), ASK_DNS);
        assert_string_equal(bench.ask.dns.server.host, "192.0.2.53");
        assert_false(bench.ask.dns.octets.at[2] & 1); // no recursion is asked for
        struct text octets = answer_of(&bench, rows[i].flags, rows[i].count);
        assert_true(bench.ask.dns.is_wanted(bench.ask.dns.context, octets));
        reply(&bench, &(struct dns_reply){.is_answered = true, .octets = octets});
        assert_int_equal(ask(&bench), ASK_DONE);
        assert_true(bench.job->health.is_done);
        assert_string_equal(answer_in(&bench), rows[i].answer);
        end(&bench);
    }
}

static void a_host_name_in_place_of_the_record_set_is_told(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, WEB);
    AUTO_BUFFER out = {0};
    assert_int_equal(ask(&bench), ASK_DNS);
    struct text octets = answer_of(&bench, AUTHORITATIVE, 0);
    buffer_add(&out, octets.at, octets.len);
    out.at[7] = 1;         // one answer:
    put_u16(&out, 0xc00c); // the question's name
    put_u16(&out, 5);      // CNAME
    put_u16(&out, 1);
    put_u16(&out, 0);
    put_u16(&out, 300);
    put_u16(&out, 5);
    buffer_add(&out, "\2lb\xc0\x10", 5); // lb.example.org
    reply(&bench, &(struct dns_reply){.is_answered = true, .octets = buffer_text(&out)});
    assert_string_equal(answer_in(&bench), "{\"rcode\":\"NOERROR\",\"authoritative\":true,"
                                           "\"values\":[],\"alias\":\"lb.example.org\"}");
    end(&bench);
}

static void an_answer_that_was_cut_is_fetched_over_tcp(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, WEB);
    assert_int_equal(ask(&bench), ASK_DNS);
    assert_false(bench.ask.dns.use_tcp);
    reply(&bench,
          &(struct dns_reply){.is_answered = true, .octets = answer_of(&bench, TRUNCATED, 1)});
    assert_int_equal(ask(&bench), ASK_DNS);
    assert_true(bench.ask.dns.use_tcp);
    reply(&bench,
          &(struct dns_reply){.is_answered = true, .octets = answer_of(&bench, AUTHORITATIVE, 2)});
    assert_int_equal(value_count(value_find(bench.job->answer, "values")), 2);
    end(&bench);
}

static void for_a_wildcard_a_name_below_it_is_asked_for(void **state)
{
    (void)state;
    struct bench bench =
        begin(JOB_QUESTION, "{'address':'[2001:db8::53]:53','name':'*.example.org','type':'A'}");
    assert_int_equal(ask(&bench), ASK_DNS);
    const char *name = asked_name(&bench);
    assert_null(strchr(name, '*'));
    assert_int_equal(strlen(name), strlen(".example.org") + 16);
    reply(&bench,
          &(struct dns_reply){.is_answered = true, .octets = answer_of(&bench, AUTHORITATIVE, 1)});
    assert_int_equal(value_count(value_find(bench.job->answer, "values")), 1);
    end(&bench);
}

static void what_is_no_answer_to_the_query_is_passed_over(void **state)
{
    (void)state;
    struct bench bench = begin(JOB_QUESTION, WEB);
    assert_int_equal(ask(&bench), ASK_DNS);
    struct text octets = answer_of(&bench, AUTHORITATIVE, 1);
    char *other = arena_copy(arena, octets.at, octets.len);
    other[13] ^= 1; // the first letter of the name
    assert_false(bench.ask.dns.is_wanted(bench.ask.dns.context, (struct text){other, octets.len}));
    assert_false(bench.ask.dns.is_wanted(bench.ask.dns.context, bench.ask.dns.octets));
    assert_false(bench.ask.dns.is_wanted(bench.ask.dns.context, TEXT("x")));
    end(&bench);
}

static void a_silent_server_fails_the_question_alone(void **state)
{
    struct dns_reply silence = {.is_timeout = true};
    (void)state;
    error_set(&silence.error, FAULT_AGAIN, "", "no answer within 2 s");
    struct bench bench = begin(JOB_QUESTION, WEB);
    assert_int_equal(ask(&bench), ASK_DNS);
    reply(&bench, &silence);
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_false(bench.job->health.is_done);
    assert_false(bench.job->is_transport_failure);
    assert_string_equal(answer_in(&bench), "192.0.2.53:53: no answer within 2 s");
    end(&bench);
}

static void a_question_that_says_too_little_is_refused(void **state)
{
    static const struct {
        const char *about;
        const char *text;
    } rows[] = {
        {"{'address':'192.0.2.53:0','name':'a.example','type':'A'}",
         "question answers: address: write IP:port"},
        {"{'address':'192.0.2.53:53','type':'A'}", "question answers: name: name a record set"},
        {"{'address':'192.0.2.53:53','name':'a.example','type':'X'}",
         "question answers: type: write A, AAAA, CNAME, ..."},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bench bench = begin(JOB_QUESTION, rows[i].about);
        assert_int_equal(ask(&bench), ASK_DONE);
        assert_string_equal(answer_in(&bench), rows[i].text);
        end(&bench);
    }
}

static void it_is_always_well_and_takes_no_changes(void **state)
{
    struct change change = {.op = CHANGE_SET};
    struct job job = {.kind = JOB_CHANGES, .changes = &change, .change_count = 1, .arena = arena};
    const struct provider *provider = provider_find("nameserver");
    (void)state;
    struct bench bench = begin(JOB_HEALTH, "{}");
    assert_int_equal(ask(&bench), ASK_DONE);
    assert_true(bench.job->health.is_done);
    end(&bench);
    void *exchange = provider->begin(NULL, &job);
    assert_int_equal(change.outcome.error->fault, FAULT_SPEC);
    provider->end(exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(values_of_the_record_set_are_the_answer),
        UNIT(a_host_name_in_place_of_the_record_set_is_told),
        UNIT(an_answer_that_was_cut_is_fetched_over_tcp),
        UNIT(for_a_wildcard_a_name_below_it_is_asked_for),
        UNIT(what_is_no_answer_to_the_query_is_passed_over),
        UNIT(a_silent_server_fails_the_question_alone),
        UNIT(a_question_that_says_too_little_is_refused),
        UNIT(it_is_always_well_and_takes_no_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
