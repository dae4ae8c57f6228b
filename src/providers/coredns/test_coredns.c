#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "dns/corefile/canary.h"
#include "providers/provider.h"

extern const struct provider coredns_provider;

struct bench {
    void *session;
    void *exchange;
    struct job job;
    struct ask asked;
};

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 0x12, len);
}

static struct random fixed = {fill};
static const struct moment moment = {.random = &fixed};

static void begin(struct bench *bench, const char *question, const char *key, const char *text)
{
    const struct session_setup setup = {0};
    struct value *about = value_make(arena, VALUE_MAP);
    value_put_text(arena, about, key, text);
    *bench = (struct bench){
        .job = {.kind = JOB_QUESTION, .arena = arena, .question = question, .about = about}};
    assert_true(coredns_provider.open(&setup, &bench->session, NULL));
    bench->exchange = coredns_provider.begin(bench->session, &bench->job);
}

static enum ask_kind ask(struct bench *bench)
{
    return coredns_provider.ask(bench->exchange, &moment, &bench->asked);
}

static void end(struct bench *bench)
{
    assert_int_equal(ask(bench), ASK_DONE);
    coredns_provider.end(bench->exchange);
    coredns_provider.close(bench->session);
}

static void reply_dns(struct bench *bench, const struct dns_reply *reply)
{
    const struct ask_result result = {.kind = ASK_DNS, .dns = reply};
    coredns_provider.handle_reply(bench->exchange, &moment, &result);
}

static void reply_file(struct bench *bench, const struct file_reply *reply)
{
    const struct ask_result result = {.kind = ASK_FILE, .file = reply};
    coredns_provider.handle_reply(bench->exchange, &moment, &result);
}

// The answer to the query with the id 0x1212: one TXT record.
static struct text answer_of(const char *text)
{
    AUTO_BUFFER out = {0};
    canary_query(&out, 0x1212);
    out.at[2] = (char)0x84;
    out.at[7] = 1;
    buffer_add(&out, "\xc0\x0c\0\x10\0\x03\0\0\0\0\0", 11);
    buffer_add_char(&out, (char)(strlen(text) + 1));
    buffer_add_char(&out, (char)strlen(text));
    buffer_add_text(&out, text);
    return (struct text){arena_copy(arena, out.at, out.len), out.len};
}

static const struct dns_reply silence = {.is_timeout = true,
                                         .error = {.fault = FAULT_AGAIN, .text = "no answer"}};

static void a_config_id_is_the_answer(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, "config", "address", "192.0.2.7");
    assert_int_equal(ask(&bench), ASK_DNS);
    assert_string_equal(bench.asked.dns.server.host, "192.0.2.7");
    assert_int_equal(bench.asked.dns.server.port, 53);
    assert_int_equal(bench.asked.dns.octets.len, 30);
    const struct dns_reply reply = {.is_answered = true,
                                    .octets = answer_of("signpost-0123456789abcdef")};
    assert_true(bench.asked.dns.is_wanted(bench.asked.dns.context, reply.octets));
    reply_dns(&bench, &reply);
    end(&bench);
    assert_true(bench.job.health.is_done);
    assert_true(text_is(value_text_at(bench.job.answer, "id"), "0123456789abcdef"));
}

static void another_answer_has_no_id(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, "config", "address", "[2001:db8::1]:5353");
    assert_int_equal(ask(&bench), ASK_DNS);
    assert_int_equal(bench.asked.dns.server.port, 5353);
    const struct dns_reply reply = {.is_answered = true, .octets = answer_of("CoreDNS-1.11")};
    reply_dns(&bench, &reply);
    end(&bench);
    assert_false(value_text_at(bench.job.answer, "id").at != NULL);
    assert_true(text_is(value_text_at(bench.job.answer, "text"), "CoreDNS-1.11"));
}

static void silence_is_asked_twice_and_fails(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, "config", "address", "192.0.2.7:54");
    assert_int_equal(ask(&bench), ASK_DNS);
    reply_dns(&bench, &silence);
    assert_int_equal(ask(&bench), ASK_DNS);
    reply_dns(&bench, &silence);
    end(&bench);
    assert_false(bench.job.health.is_done);
    assert_string_equal(bench.job.health.error->text, "no answer");
    assert_false(bench.job.is_transport_failure);
}

static void an_address_that_is_none_fails(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, "config", "address", "dns.example");
    end(&bench);
    assert_false(bench.job.health.is_done);
}

static void a_file_is_replaced_only_if_it_differs(void **state)
{
    struct bench bench;
    (void)state;
    static const struct {
        bool is_absent;
        const char *there;
        bool is_written;
    } rows[] = {{true, NULL, true}, {false, "old", true}, {false, "new", false}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(&bench, "corefile", "path", "/etc/Corefile");
        value_put_text(arena, (struct value *)(uintptr_t)bench.job.about, "text", "new");
        coredns_provider.end(bench.exchange);
        bench.exchange = coredns_provider.begin(bench.session, &bench.job);
        assert_int_equal(ask(&bench), ASK_FILE);
        assert_false(bench.asked.file.is_replaced);
        reply_file(&bench, &(struct file_reply){.is_done = !rows[i].is_absent,
                                                .is_absent = rows[i].is_absent,
                                                .content = text_of(rows[i].there)});
        if (rows[i].is_written) {
            assert_int_equal(ask(&bench), ASK_FILE);
            assert_true(bench.asked.file.is_replaced);
            assert_true(text_is(bench.asked.file.content, "new"));
            reply_file(&bench, &(struct file_reply){.is_done = true});
        }
        end(&bench);
        assert_int_equal(value_bool_at(bench.job.answer, "written", false), rows[i].is_written);
        assert_true(text_is(value_text_at(bench.job.answer, "text"), "new"));
    }
}

static void a_file_that_cannot_be_written_fails(void **state)
{
    struct bench bench;
    (void)state;
    begin(&bench, "corefile", "path", "/etc/Corefile");
    assert_int_equal(ask(&bench), ASK_FILE);
    reply_file(&bench, &(struct file_reply){.error = {.fault = FAULT_AGAIN, .text = "full"}});
    end(&bench);
    assert_string_equal(bench.job.health.error->text, "full");
}

static void record_sets_are_refused(void **state)
{
    struct change change = {.op = CHANGE_SET};
    struct job job = {.kind = JOB_CHANGES, .arena = arena, .changes = &change, .change_count = 1};
    struct ask asked;
    (void)state;
    void *exchange = coredns_provider.begin(NULL, &job);
    assert_int_equal(coredns_provider.ask(exchange, &moment, &asked), ASK_DONE);
    coredns_provider.end(exchange);
    assert_string_equal(change.outcome.error->reason, INVALID_CONFIGURATION);
}

static void it_is_always_well(void **state)
{
    struct job job = {.kind = JOB_HEALTH, .arena = arena};
    struct ask asked;
    (void)state;
    void *exchange = coredns_provider.begin(NULL, &job);
    assert_int_equal(coredns_provider.ask(exchange, &moment, &asked), ASK_DONE);
    coredns_provider.end(exchange);
    assert_true(job.health.is_done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_config_id_is_the_answer),
        UNIT(another_answer_has_no_id),
        UNIT(silence_is_asked_twice_and_fails),
        UNIT(an_address_that_is_none_fails),
        UNIT(a_file_is_replaced_only_if_it_differs),
        UNIT(a_file_that_cannot_be_written_fails),
        UNIT(record_sets_are_refused),
        UNIT(it_is_always_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
