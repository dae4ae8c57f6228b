#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "providers/provider.h"
#include "providers/webhook/body.h"
#include "providers/webhook/reply.h"
#include "providers/webhook/session.h"
#include "providers/webhook/sign.h"

#define UUID "550e8400-e29b-41d4-a716-446655440000"
#define STAMP "2025-12-30T10:00:00Z"
#define TRACE "0123456789abcdef0123456789abcdef"

enum { NOW_S = 1767088800 }; // STAMP

#define BODY_P1                                                                                    \
    "{\"record\":{\"type\":\"A\",\"domain\":\"example.com\",\"subdomain\":\"www\",\"values\":["    \
    "\"192.168.1.100\",\"192.168.1.101\"],\"ttl\":600},\"operation\":\"upsert\"}"
#define BODY_P2                                                                                    \
    "{\"record\":{\"type\":\"TXT\",\"domain\":\"example.com\",\"subdomain\":\"@\",\"values\":["    \
    "\"v=1; p=\\u003ca\\u0026b\\u003e\"],\"ttl\":300},\"operation\":\"upsert\"}"
#define BODY_P3                                                                                    \
    "{\"record\":{\"type\":\"SRV\",\"domain\":\"example.com\",\"subdomain\":\"_sip._tcp\","        \
    "\"values\":[\"sip.example.com\"],\"ttl\":300,\"metadata\":{\"priority\":10,\"weight\":100,"   \
    "\"port\":5060}},\"operation\":\"upsert\"}"
#define BODY_P4                                                                                    \
    "{\"operations\":[{\"op\":\"upsert\",\"record\":{\"type\":\"A\",\"domain\":\"example.com\","   \
    "\"subdomain\":\"www\",\"values\":[\"192.0.2.1\"],\"ttl\":300}},{\"op\":\"delete\","           \
    "\"record\":{\"type\":\"A\",\"domain\":\"example.com\",\"subdomain\":\"old\"}}]}"

// ---- records ------------------------------------------------------------------------------------

static struct record_set set_of(enum record_type type, const char *subdomain, uint32_t ttl_s,
                                const struct text *values, size_t count)
{
    return (struct record_set){.type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = text_of(subdomain),
                               .ttl_s = ttl_s,
                               .values = values,
                               .value_count = count,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static const struct text addresses[] = {{"192.168.1.100", 13}, {"192.168.1.101", 13}};
static const struct text tags[] = {{"v=1; p=<a&b>", 12}};
static const struct text sip[] = {{"sip.example.com", 15}};
static const struct text mail[] = {{"mail.example.com", 16}, {"mx2.example.com", 15}};

static struct record_set www(void)
{
    return set_of(RECORD_A, "www", 600, addresses, 2);
}

static struct record_set srv(void)
{
    struct record_set set = set_of(RECORD_SRV, "_sip._tcp", 300, sip, 1);
    set.priority = 10;
    set.weight = 100;
    set.port = 5060;
    return set;
}

static struct record_set mx(void)
{
    struct record_set set = set_of(RECORD_MX, "@", 300, mail, 2);
    set.priority = 10;
    return set;
}

// ---- bodies -------------------------------------------------------------------------------------

static void check_upsert(struct record_set set, bool is_inline, const char *wanted)
{
    AUTO_BUFFER body = {0};
    body_write_upsert(&body, &set, is_inline);
    assert_string_equal(body.at, wanted);
}

static void upsert_bodies_are_known_octet_for_octet(void **state)
{
    (void)state;
    check_upsert(www(), false, BODY_P1);
    check_upsert(set_of(RECORD_TXT, "@", 300, tags, 1), false, BODY_P2);
    check_upsert(srv(), false, BODY_P3);
}

static void numbers_of_mx_travel_as_metadata_or_inline(void **state)
{
    (void)state;
    check_upsert(mx(), false,
                 "{\"record\":{\"type\":\"MX\",\"domain\":\"example.com\",\"subdomain\":\"@\","
                 "\"values\":[\"mail.example.com\",\"mx2.example.com\"],\"ttl\":300,"
                 "\"metadata\":{\"priority\":10}},\"operation\":\"upsert\"}");
    check_upsert(mx(), true,
                 "{\"record\":{\"type\":\"MX\",\"domain\":\"example.com\",\"subdomain\":\"@\","
                 "\"values\":[\"10 mail.example.com\",\"10 mx2.example.com\"],\"ttl\":300},"
                 "\"operation\":\"upsert\"}");
    check_upsert(srv(), true,
                 "{\"record\":{\"type\":\"SRV\",\"domain\":\"example.com\",\"subdomain\":"
                 "\"_sip._tcp\",\"values\":[\"10 100 5060 sip.example.com\"],\"ttl\":300},"
                 "\"operation\":\"upsert\"}");
    check_upsert(www(), true, BODY_P1);
}

static void strings_are_escaped_as_go_does(void **state)
{
    static const struct {
        struct text raw;
        const char *written;
    } rows[] = {
        {{"", 0}, "\"\""},
        {{"a/b \x7f", 5}, "\"a/b \x7f\""},
        {{"<>&", 3}, "\"\\u003c\\u003e\\u0026\""},
        {{"\"\\", 2}, "\"\\\"\\\\\""},
        {{"\b\f\n\r\t", 5}, "\"\\b\\f\\n\\r\\t\""},
        {{"\0\x01\x0b\x1f", 4}, "\"\\u0000\\u0001\\u000b\\u001f\""},
        {{"\xe2\x80\xa8\xe2\x80\xa9", 6}, "\"\\u2028\\u2029\""},
        {{"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9}, "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {{"a\xff\xc3(", 4}, "\"a\\ufffd\\ufffd(\""},
        {{"\xed\xa0\x80", 3}, "\"\\ufffd\\ufffd\\ufffd\""},
        {{"\xe2\x82", 2}, "\"\\ufffd\\ufffd\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER out = {0};
        body_write_string(&out, rows[i].raw);
        assert_string_equal(out.at, rows[i].written);
    }
}

// ---- signatures ---------------------------------------------------------------------------------

static struct secret *secret_of(const char *text)
{
    return secret_new(text, strlen(text));
}

static void signatures_are_known(void **state)
{
    static const struct {
        const char *method, *path, *nonce, *body;
        enum digest algorithm;
        const char *signature;
    } rows[] = {
        {"POST", "/records", "nonce-123", "{\"test\":\"data\"}", DIGEST_SHA256,
         "30381d86989faa878bf4fa41ee74393eae568d2dca1451e3b1016c06a01fb06b"},
        {"POST", "/records", "nonce-123", "{\"test\":\"data\"}", DIGEST_SHA512,
         "433ddf49cf354353e2039d06c7e9c4d102e9704079ec0125b62ad750964ddc23"
         "0c739413c6ab0d8dfef04cccf8ca476f244fabf05f9f2ab1b7e871520570c602"},
        {"GET", "/health", UUID, NULL, DIGEST_SHA256,
         "e14122a3a2a097d24dc46cce71a1c675b296a4a800ac6dc6d6bf842a24fcbda5"},
        {"DELETE", "/records/A/example.com/www", UUID, NULL, DIGEST_SHA256,
         "563cd195ab9806aace7ad1c4103f5ec18577fd677c0cb2700067f54a13821b41"},
        {"DELETE", "/records/TXT/example.com/@", UUID, "", DIGEST_SHA256,
         "05300c79b8e1ff61434544c4591baa4cad64e167cca800bde366ca8849912f74"},
        {"POST", "/records", UUID, BODY_P1, DIGEST_SHA256,
         "3c27626ebf4018e0190c5f27bc9e697d70a458593083a02f5ddd60001a814863"},
        {"POST", "/records", UUID, BODY_P2, DIGEST_SHA256,
         "715ece3beb4ef3767bb5ed3be3f7eaf6c81b888953f39e78ebe617463740ed82"},
        {"POST", "/records", UUID, BODY_P3, DIGEST_SHA256,
         "f0299aaad7a21e614ffeb93edb31dd33a14228fdc784180d66b5641b9a66fd16"},
        {"POST", "/records/batch", UUID, BODY_P4, DIGEST_SHA256,
         "34d5b9ef5a59164e294f4415b3965567e66178fabdab10644015a8af59045787"},
    };
    (void)state;
    CLEANUP(secret) struct secret *secret = secret_of("test-secret");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[SIGNATURE_MAX];
        CLEANUP(hmac_key) struct hmac_key *key = hmac_key_new(rows[i].algorithm, secret);
        const struct sign_input input = {.method = text_of(rows[i].method),
                                         .path = text_of(rows[i].path),
                                         .timestamp = TEXT(STAMP),
                                         .nonce = text_of(rows[i].nonce),
                                         .body = text_of(rows[i].body)};
        sign_request(key, rows[i].algorithm, &input, out);
        assert_string_equal(out, rows[i].signature);
    }
}

// ---- replies ------------------------------------------------------------------------------------

static struct http_reply reply_of(int status, const char *body)
{
    return (struct http_reply){.status = status, .body = text_of(body)};
}

// Done, and how: '-' failed, 'd' done, 'a' absent, 'u' done but uncertain.
static char kind_of(const struct outcome *outcome)
{
    assert_true(outcome->is_done != (outcome->error != NULL));
    if (!outcome->is_done)
        return '-';
    assert_true(!outcome->is_uncertain || outcome->note);
    return outcome->is_uncertain ? 'u' : outcome->was_absent ? 'a' : 'd';
}

#define SUCCESS "{\"success\":true,\"record\":{\"values\":[\"192.0.2.1\"]}}"
#define FAILURE(code) "{\"success\":false,\"error\":{\"code\":\"" code "\",\"message\":\"why\"}}"

struct reply_row {
    int status;
    const char *body;
    const char *kinds; // of SET, REMOVE, READ
    const char *reason;
    const char *code;
    enum fault fault;
    const char *part;
};

static void check_row(const struct reply_row *row)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct http_reply reply = reply_of(row->status, row->body);
    for (size_t op = 0; op < 3; op++) {
        struct change change = {.op = (enum change_op)op, .set = www()};
        reply_read_change(arena, &reply, &change, NOW_S);
        const struct error *error = change.outcome.error;
        if (kind_of(&change.outcome) != row->kinds[op])
            fail_msg("%d %s: op %zu is '%c'", row->status, row->body, op, kind_of(&change.outcome));
        if (!error)
            continue;
        assert_string_equal(error->reason, row->reason);
        assert_string_equal(error->code, row->code);
        assert_int_equal(error->fault, row->fault);
        assert_int_equal(error->status, row->status);
        if (op == 0 && row->part && !strstr(error->text, row->part))
            fail_msg("'%s' is not in: %s", row->part, error->text);
    }
}

static void every_reply_is_read_by_its_status_first(void **state)
{
    static const struct reply_row rows[] = {
        {200, SUCCESS, "ddd", NULL, NULL, FAULT_NONE, NULL},
        {201, SUCCESS, "ddd", NULL, NULL, FAULT_NONE, NULL},
        {202, SUCCESS, "ddd", NULL, NULL, FAULT_NONE, NULL},
        {200, "", "dd-", "ServerError", "SERVER_ERROR", FAULT_AGAIN, ""},
        {204, NULL, "dd-", "ServerError", "SERVER_ERROR", FAULT_AGAIN, ""},
        {202, " \n", "dd-", "ServerError", "SERVER_ERROR", FAULT_AGAIN, ""},
        {200, "{\"success\":true}", "dd-", "ServerError", "SERVER_ERROR", FAULT_AGAIN, ""},
        {200, FAILURE("INVALID_RECORD"), "---", "ValidationFailed", "INVALID_RECORD", FAULT_SPEC,
         "refused: why"},
        {200, FAILURE("RECORD_NOT_FOUND"), "-aa", "ServerError", "RECORD_NOT_FOUND", FAULT_AGAIN,
         "why"},
        {200, FAILURE("QUOTA_EXCEEDED"), "---", "QuotaExceeded", "QUOTA_EXCEEDED", FAULT_SPEC,
         "why"},
        {200, FAILURE("ODD_ONE"), "---", "ServerError", "ODD_ONE", FAULT_AGAIN, "why"},
        {200, "{\"success\":false}", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "refused"},
        {200, "<html>hello</html>", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN,
         "not of the protocol: <html>hello</html>"},
        {200, "{\"success\":\"yes\"}", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN,
         "\"yes\""},
        {200, "[true]", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "[true]"},
        {203, SUCCESS, "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "HTTP 203"},
        {206, "", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "HTTP 206"},
        {302, "", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "redirects are not followed"},
        {400, FAILURE("INVALID_VALUE"), "---", "ValidationFailed", "INVALID_VALUE", FAULT_SPEC,
         "HTTP 400: why"},
        {400, "bad", "---", "ValidationFailed", "INVALID_RECORD", FAULT_SPEC, "HTTP 400: bad"},
        {400, FAILURE("AUTH_FAILED"), "---", "ValidationFailed", "AUTH_FAILED", FAULT_SPEC, "why"},
        {400, FAILURE("QUOTA_EXCEEDED"), "---", "QuotaExceeded", "QUOTA_EXCEEDED", FAULT_SPEC,
         "why"},
        {401, "denied", "---", "AuthenticationFailed", "AUTH_FAILED", FAULT_AUTH, "denied"},
        {401, FAILURE("TIMESTAMP_STALE"), "---", "AuthenticationFailed", "TIMESTAMP_STALE",
         FAULT_AUTH, "why"},
        {401, FAILURE("INVALID_RECORD"), "---", "AuthenticationFailed", "INVALID_RECORD",
         FAULT_AUTH, "why"},
        {403, "", "---", "AuthenticationFailed", "AUTH_FAILED", FAULT_AUTH, "HTTP 403"},
        {404, FAILURE("RECORD_NOT_FOUND"), "-aa", "ServerError", "RECORD_NOT_FOUND", FAULT_AGAIN,
         "check spec.server"},
        {404, "no such page", "-ua", "ServerError", "SERVER_ERROR", FAULT_AGAIN,
         "check spec.server"},
        {410, "", "-ua", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "check spec.server"},
        {409, FAILURE("OWNED_BY_OTHER"), "-u-", "Conflict", "OWNED_BY_OTHER", FAULT_SPEC, "why"},
        {409, "", "-u-", "Conflict", "CONFLICT", FAULT_SPEC, "HTTP 409"},
        {422, FAILURE("INVALID_VALUE"), "---", "ValidationFailed", "INVALID_VALUE", FAULT_SPEC,
         "why"},
        {422, "", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "HTTP 422"},
        {429, "", "---", "RateLimited", "RATE_LIMITED", FAULT_LIMIT, "HTTP 429"},
        {429, FAILURE("QUOTA_EXCEEDED"), "---", "QuotaExceeded", "QUOTA_EXCEEDED", FAULT_SPEC,
         "why"},
        {500, SUCCESS, "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "HTTP 500"},
        {500, FAILURE("INVALID_RECORD"), "---", "ServerError", "INVALID_RECORD", FAULT_AGAIN,
         "why"},
        {503, "", "---", "ServerError", "SERVER_ERROR", FAULT_AGAIN, "HTTP 503"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_row(&rows[i]);
}

static const struct error *error_of(struct arena *arena, struct http_reply reply)
{
    struct change change = {.op = CHANGE_SET, .set = www()};
    reply_read_change(arena, &reply, &change, NOW_S);
    assert_non_null(change.outcome.error);
    return change.outcome.error;
}

static void failed_transport_is_told_apart_from_a_failed_server(void **state)
{
    static const struct {
        enum http_failure failure;
        const char *reason, *code;
    } rows[] = {
        {HTTP_UNREACHABLE, "ServerUnreachable", "SERVER_UNREACHABLE"},
        {HTTP_TIMEOUT, "ServerUnreachable", "SERVER_UNREACHABLE"},
        {HTTP_TOO_BIG, "ServerError", "SERVER_ERROR"},
    };
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct http_reply reply = {.failure = rows[i].failure};
        error_set(&reply.error, FAULT_AGAIN, "", "could not");
        const struct error *error = error_of(arena, reply);
        assert_string_equal(error->reason, rows[i].reason);
        assert_string_equal(error->code, rows[i].code);
        assert_string_equal(error->text, "could not");
    }
}

static void message_of_the_server_is_cut_and_cleaned(void **state)
{
    char body[4000];
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    snprintf(body, sizeof body,
             "{\"error\":{\"code\":\"A\\u0007B\",\"message\":\"x\\u001by%03000d\"}}", 7);
    const struct error *error = error_of(arena, reply_of(400, body));
    assert_true(strlen(error->text) < 1024);
    assert_non_null(strstr(error->text, "x y000"));
    assert_string_equal(error->code, "A B");
    snprintf(body, sizeof body, "%03000d", 7);
    assert_true(strlen(error_of(arena, reply_of(502, body))->text) < 250);
}

static int64_t retry_of(int status, const char *after)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct http_header header = {"retry-after", after};
    struct http_reply reply = reply_of(status, "");
    reply.headers = &header;
    reply.header_count = 1;
    return error_of(arena, reply)->retry_ms;
}

static void retry_after_is_seconds_or_a_date_and_at_most_an_hour(void **state)
{
    (void)state;
    assert_int_equal(retry_of(429, "7"), 7000);
    assert_int_equal(retry_of(503, " 7 "), 7000);
    assert_int_equal(retry_of(429, "Tue, 30 Dec 2025 10:01:00 GMT"), 60000);
    assert_int_equal(retry_of(429, "Tue, 30 Dec 2025 09:59:00 GMT"), 0);
    assert_int_equal(retry_of(429, "86400"), 3600000);
    assert_int_equal(retry_of(429, "-5"), 0);
    assert_int_equal(retry_of(429, "soon"), 0);
    assert_int_equal(retry_of(429, ""), 0);
    assert_int_equal(retry_of(500, "7"), 0);
}

static const char *stale_text(struct arena *arena, const char *date)
{
    const struct http_header header = {"Date", date};
    struct http_reply reply = reply_of(401, FAILURE("TIMESTAMP_STALE"));
    reply.headers = &header;
    reply.header_count = 1;
    return error_of(arena, reply)->text;
}

static void stale_time_stamp_says_how_far_the_clocks_are_apart(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    assert_non_null(strstr(stale_text(arena, "Tue, 30 Dec 2025 09:53:00 GMT"),
                           "our clock is about 7 min ahead of the server"));
    assert_non_null(strstr(stale_text(arena, "Tue, 30 Dec 2025 10:10:20 GMT"),
                           "our clock is about 10 min behind the server"));
    assert_null(strstr(stale_text(arena, "Tue, 30 Dec 2025 10:00:01 GMT"), "our clock"));
}

static struct record_set read_back(struct arena *arena, struct record_set key, const char *record)
{
    char body[400];
    struct change change = {.op = CHANGE_READ, .set = key};
    snprintf(body, sizeof body, "{\"success\":true,\"record\":%s}", record);
    const struct http_reply reply = reply_of(200, body);
    reply_read_change(arena, &reply, &change, NOW_S);
    assert_true(change.outcome.is_done);
    assert_non_null(change.outcome.found);
    return *change.outcome.found;
}

static void record_of_a_get_is_found(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct record_set found =
        read_back(arena, www(), "{\"values\":[\"192.168.1.101\",\"192.168.1.100\"],\"ttl\":600}");
    struct record_set wanted = www();
    assert_true(record_set_equal(&found, &wanted));
    found = read_back(arena, srv(),
                      "{\"values\":[\"sip.example.com\"],\"ttl\":300,"
                      "\"metadata\":{\"priority\":10,\"weight\":100,\"port\":5060}}");
    wanted = srv();
    assert_true(record_set_equal(&found, &wanted));
    found = read_back(arena, srv(), "{\"values\":[\"10 100 5060 sip.example.com\"],\"ttl\":300}");
    assert_true(record_set_equal(&found, &wanted));
    found = read_back(arena, mx(), "{\"values\":[\"mail.example.com\"]}");
    assert_int_equal(found.ttl_s, 0);
    assert_int_equal(found.priority, -1);
    assert_true(text_is(found.values[0], "mail.example.com"));
    found = read_back(arena, mx(),
                      "{\"values\":[],\"ttl\":99999999999,\"metadata\":"
                      "{\"priority\":70000}}");
    assert_int_equal(found.ttl_s, 0);
    assert_int_equal(found.priority, -1);
}

static void get_without_texts_as_values_is_not_of_the_protocol(void **state)
{
    static const char *const bodies[] = {
        "{\"success\":true,\"record\":{\"values\":[1]}}",
        "{\"success\":true,\"record\":{\"values\":\"192.0.2.1\"}}",
        "{\"success\":true,\"record\":[]}",
    };
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        struct change change = {.op = CHANGE_READ, .set = www()};
        const struct http_reply reply = reply_of(200, bodies[i]);
        reply_read_change(arena, &reply, &change, NOW_S);
        assert_int_equal(kind_of(&change.outcome), '-');
        assert_null(change.outcome.found);
    }
}

// ---- a session and its exchanges ----------------------------------------------------------------

// Every draw differs from the one before.
struct counting_random {
    struct random random;
    uint8_t next;
};

static void count_up(struct random *random, void *out, size_t len)
{
    struct counting_random *counting = (struct counting_random *)random;
    memset(out, ++counting->next, len);
}

struct bench {
    struct arena *arena;
    struct counting_random random;
    struct moment moment;
    void *session;
    struct change change;
    struct job job;
    void *exchange;
    struct ask asked;
};

static const struct value *json(struct bench *bench, const char *text)
{
    struct error err;
    const struct value *value =
        value_read_json(bench->arena, text_of(text), &value_reply_limits, &err);
    if (!value)
        fail_msg("%s", err.text);
    return value;
}

static void open_knowing(struct bench *bench, const char *config, const char *key,
                         const char *previous, const struct value *known)
{
    struct error err;
    CLEANUP(secret) struct secret *secret = key ? secret_of(key) : NULL;
    CLEANUP(secret) struct secret *before = previous ? secret_of(previous) : NULL;
    const struct session_setup setup = {.config = json(bench, config),
                                        .secret = secret,
                                        .previous = before,
                                        .previous_until_ms = 600000,
                                        .known = known};
    if (bench->exchange)
        webhook_provider.end(steal(bench->exchange));
    if (bench->session)
        webhook_provider.close(steal(bench->session));
    if (!webhook_provider.open(&setup, &bench->session, &err))
        fail_msg("%s", err.text);
}

static void open_session(struct bench *bench, const char *config, const char *key,
                         const char *previous)
{
    open_knowing(bench, config, key, previous, NULL);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->arena = arena_new();
    bench->random.random.fill = count_up;
    bench->moment = (struct moment){
        .unix_ms = 1000LL * NOW_S + 999, .mono_ms = 1000, .random = &bench->random.random};
    bench->job = (struct job){
        .arena = bench->arena, .changes = &bench->change, .change_count = 1, .trace = TRACE};
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    if (bench->exchange)
        webhook_provider.end(bench->exchange);
    if (bench->session)
        webhook_provider.close(bench->session);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void begin(struct bench *bench, enum change_op op, struct record_set set)
{
    if (bench->exchange)
        webhook_provider.end(bench->exchange);
    bench->change = (struct change){.op = op, .set = set};
    bench->exchange = webhook_provider.begin(bench->session, &bench->job);
}

static const char *header_of(const struct bench *bench, const char *name)
{
    const struct http_request *request = &bench->asked.http;
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcmp(request->headers[i].name, name))
            return request->headers[i].value;
    return NULL;
}

static void expect_request(struct bench *bench, const char *method, const char *url)
{
    bench->asked = (struct ask){0};
    assert_int_equal(webhook_provider.ask(bench->exchange, &bench->moment, &bench->asked),
                     ASK_HTTP);
    assert_string_equal(bench->asked.http.method, method);
    assert_string_equal(bench->asked.http.url, url);
}

// The request's signature is by `key` over `path`.
static void check_signature(const struct bench *bench, const char *key, const char *path)
{
    char wanted[SIGNATURE_MAX];
    CLEANUP(secret) struct secret *secret = secret_of(key);
    CLEANUP(hmac_key) struct hmac_key *made = hmac_key_new(DIGEST_SHA256, secret);
    const struct sign_input input = {.method = text_of(bench->asked.http.method),
                                     .path = text_of(path),
                                     .timestamp = text_of(header_of(bench, "X-DNS-Timestamp")),
                                     .nonce = text_of(header_of(bench, "X-DNS-Nonce")),
                                     .body = bench->asked.http.body};
    sign_request(made, DIGEST_SHA256, &input, wanted);
    assert_string_equal(header_of(bench, "X-DNS-Signature"), wanted);
}

static void say_with(struct bench *bench, int status, const char *body, const char *name,
                     const char *value)
{
    const struct http_header header = {name, value};
    struct http_reply reply = reply_of(status, body);
    reply.headers = &header;
    reply.header_count = name ? 1 : 0;
    const struct ask_result result = {.kind = ASK_HTTP, .http = &reply};
    webhook_provider.handle_reply(bench->exchange, &bench->moment, &result);
}

static void say(struct bench *bench, int status, const char *body)
{
    say_with(bench, status, body, NULL, NULL);
}

static void expect_done(struct bench *bench)
{
    assert_int_equal(webhook_provider.ask(bench->exchange, &bench->moment, &bench->asked),
                     ASK_DONE);
}

#define PLAIN "{\"server\":\"http://Dns.Example.com/\"}"
#define PREFIXED "{\"server\":\"https://dns.example.com/api/\"}"

static void upsert_is_a_signed_post(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    assert_string_equal(header_of(bench, "X-DNS-Timestamp"), STAMP);
    assert_int_equal(strlen(header_of(bench, "X-DNS-Nonce")), 36);
    assert_int_equal(header_of(bench, "X-DNS-Nonce")[14], '4');
    assert_string_equal(header_of(bench, "Content-Type"), "application/json");
    assert_int_equal(strncmp(header_of(bench, "traceparent"), "00-" TRACE "-", 36), 0);
    assert_int_equal(strlen(header_of(bench, "traceparent")), 55);
    assert_true(text_is(bench->asked.http.body, BODY_P1));
    assert_int_equal(bench->asked.http.timeout_ms, 30000);
    assert_int_equal(bench->asked.http.connect_timeout_ms, 10000);
    check_signature(bench, "test-secret", "/records");
    say(bench, 200, SUCCESS);
    expect_done(bench);
    assert_true(bench->change.outcome.is_done);
}

static void delete_and_get_have_the_key_in_the_path_and_no_body(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "test-secret", NULL);
    begin(bench, CHANGE_REMOVE, set_of(RECORD_TXT, "@", 0, NULL, 0));
    expect_request(bench, "DELETE", "https://dns.example.com/api/records/TXT/example.com/@");
    assert_null(bench->asked.http.body.at);
    assert_null(header_of(bench, "Content-Type"));
    check_signature(bench, "test-secret", "/api/records/TXT/example.com/@");
    begin(bench, CHANGE_READ, www());
    expect_request(bench, "GET", "https://dns.example.com/api/records/A/example.com/www");
    assert_null(bench->asked.http.body.at);
}

static void nothing_is_signed_without_a_key(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, NULL, NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    assert_null(header_of(bench, "X-DNS-Timestamp"));
    assert_null(header_of(bench, "X-DNS-Nonce"));
    assert_null(header_of(bench, "X-DNS-Signature"));
    say(bench, 401, "");
    expect_done(bench);
    assert_string_equal(bench->change.outcome.error->reason, "AuthenticationFailed");
}

static void long_digest_gives_a_long_signature(void **state)
{
    struct bench *bench = *state;
    open_session(bench, "{\"server\":\"http://a\",\"algorithm\":\"SHA512\"}", "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://a/records");
    assert_int_equal(strlen(header_of(bench, "X-DNS-Signature")), 128);
}

static void reused_nonce_is_sent_again_once_with_a_new_one(void **state)
{
    struct bench *bench = *state;
    char first[40];
    open_session(bench, PLAIN, "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    snprintf(first, sizeof first, "%s", header_of(bench, "X-DNS-Nonce"));
    say(bench, 401, FAILURE("NONCE_REUSED"));
    expect_request(bench, "POST", "http://dns.example.com/records");
    assert_string_not_equal(header_of(bench, "X-DNS-Nonce"), first);
    check_signature(bench, "test-secret", "/records");
    say(bench, 401, FAILURE("NONCE_REUSED"));
    expect_done(bench);
    assert_string_equal(bench->change.outcome.error->code, "NONCE_REUSED");
}

static void stale_with_retry_after_waits_once_and_signs_anew(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say_with(bench, 401, FAILURE("TIMESTAMP_STALE"), "Retry-After", "3");
    assert_int_equal(webhook_provider.ask(bench->exchange, &bench->moment, &bench->asked),
                     ASK_WAIT);
    assert_int_equal(bench->asked.wait_ms, 3000);
    bench->moment.unix_ms += 3000;
    webhook_provider.handle_reply(bench->exchange, &bench->moment,
                                  &(struct ask_result){.kind = ASK_WAIT});
    expect_request(bench, "POST", "http://dns.example.com/records");
    assert_string_equal(header_of(bench, "X-DNS-Timestamp"), "2025-12-30T10:00:03Z");
    say_with(bench, 401, FAILURE("TIMESTAMP_STALE"), "Retry-After", "3");
    expect_done(bench);
    assert_string_equal(bench->change.outcome.error->code, "TIMESTAMP_STALE");
    assert_int_equal(bench->change.outcome.error->retry_ms, 3000);
}

static void stale_is_not_waited_out_without_or_beyond_reason(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say(bench, 401, FAILURE("TIMESTAMP_STALE"));
    expect_done(bench);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say_with(bench, 401, FAILURE("TIMESTAMP_STALE"), "Retry-After", "3000");
    expect_done(bench);
    assert_int_equal(bench->change.outcome.error->retry_ms, 3000000);
}

static void previous_key_is_tried_once_while_it_is_good(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, "new", "old");
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    check_signature(bench, "new", "/records");
    say(bench, 401, FAILURE("AUTH_FAILED"));
    expect_request(bench, "POST", "http://dns.example.com/records");
    check_signature(bench, "old", "/records");
    say(bench, 200, SUCCESS);
    expect_done(bench);
    assert_true(bench->change.outcome.is_done);
    assert_string_equal(bench->change.outcome.note, "server still uses the previous secret");
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    check_signature(bench, "new", "/records");
    bench->moment.mono_ms = 600001;
    say(bench, 401, FAILURE("AUTH_FAILED"));
    expect_done(bench);
    assert_string_equal(bench->change.outcome.error->code, "AUTH_FAILED");
}

static void check_learned(const struct bench *bench, const char *wanted)
{
    AUTO_BUFFER text = {0};
    value_write_json(&text, bench->job.learned);
    assert_string_equal(text.at, wanted);
}

static void other_form_of_the_path_is_tried_and_learned(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "test-secret", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "https://dns.example.com/api/records");
    check_signature(bench, "test-secret", "/api/records");
    say(bench, 401, "");
    expect_request(bench, "POST", "https://dns.example.com/api/records");
    check_signature(bench, "test-secret", "/records");
    say(bench, 200, SUCCESS);
    expect_done(bench);
    check_learned(bench, "{\"signedPath\":\"Relative\"}");
}

static void form_that_is_known_is_first_and_the_other_one_still_tried(void **state)
{
    struct bench *bench = *state;
    open_knowing(bench, PREFIXED, "test-secret", NULL,
                 json(bench, "{\"signedPath\":\"Relative\"}"));
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "https://dns.example.com/api/records");
    check_signature(bench, "test-secret", "/records");
    say(bench, 401, "");
    expect_request(bench, "POST", "https://dns.example.com/api/records");
    check_signature(bench, "test-secret", "/api/records");
    say(bench, 401, "");
    expect_done(bench);
    check_learned(bench, "{}");
}

static void only_an_accepted_change_proves_a_form(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *learned;
    } rows[] = {{200, SUCCESS, "{\"signedPath\":\"Full\"}"},
                {204, "", "{\"signedPath\":\"Full\"}"},
                {200, "hello", "{}"},
                {404, "", "{}"},
                {503, "", "{}"}};
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "k", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(bench, CHANGE_REMOVE, www());
        expect_request(bench, "DELETE", "https://dns.example.com/api/records/A/example.com/www");
        say(bench, rows[i].status, rows[i].body);
        expect_done(bench);
        check_learned(bench, rows[i].learned);
    }
    open_session(bench, PLAIN, "k", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say(bench, 200, SUCCESS);
    check_learned(bench, "{}");
}

static void paths_and_keys_are_tried_together(void **state)
{
    static const struct {
        const char *key, *path;
    } tries[] = {
        {"new", "/api/records"}, {"new", "/records"}, {"old", "/api/records"}, {"old", "/records"}};
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "new", "old");
    begin(bench, CHANGE_SET, www());
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        expect_request(bench, "POST", "https://dns.example.com/api/records");
        check_signature(bench, tries[i].key, tries[i].path);
        say(bench, 401, "");
    }
    expect_done(bench);
}

static void fixed_form_of_the_path_is_not_left(void **state)
{
    struct bench *bench = *state;
    open_session(bench, "{\"server\":\"http://a/api\",\"signedPath\":\"Relative\"}", "k", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://a/api/records");
    check_signature(bench, "k", "/records");
    say(bench, 401, "");
    expect_done(bench);
}

static void failed_transport_marks_the_job(void **state)
{
    struct bench *bench = *state;
    struct http_reply reply = {.failure = HTTP_TIMEOUT};
    const struct ask_result result = {.kind = ASK_HTTP, .http = &reply};
    open_session(bench, PLAIN, "k", NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    webhook_provider.handle_reply(bench->exchange, &bench->moment, &result);
    expect_done(bench);
    assert_true(bench->job.is_transport_failure);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say(bench, 503, "");
    assert_false(bench->job.is_transport_failure);
}

static void refused_numbers_suggest_inline(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PLAIN, "k", NULL);
    begin(bench, CHANGE_SET, mx());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say(bench, 401, "");
    assert_non_null(strstr(bench->change.outcome.error->text, "spec.metadataStyle to Inline"));
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://dns.example.com/records");
    say(bench, 401, "");
    assert_null(strstr(bench->change.outcome.error->text, "Inline"));
}

// ---- health -------------------------------------------------------------------------------------

static void ask_health(struct bench *bench, int status, const char *body)
{
    if (bench->exchange)
        webhook_provider.end(bench->exchange);
    bench->job.kind = JOB_HEALTH;
    bench->exchange = webhook_provider.begin(bench->session, &bench->job);
    bench->asked = (struct ask){0};
    assert_int_equal(webhook_provider.ask(bench->exchange, &bench->moment, &bench->asked),
                     ASK_HTTP);
    say(bench, status, body);
    expect_done(bench);
    webhook_provider.end(steal(bench->exchange));
    bench->job.kind = JOB_CHANGES;
}

static void health_is_read_from_status_and_body(void **state)
{
    static const struct {
        int status;
        const char *body;
        const char *reason; // NULL: healthy
        const char *part;
    } rows[] = {
        {200, "{\"status\":\"healthy\"}", NULL, NULL},
        {200, "{\"status\":\"Healthy\"}", NULL, NULL},
        {200, "{\"status\":\"degraded\",\"message\":\"disk\"}", "ServerUnhealthy",
         "the server says it is degraded: disk"},
        {503, "{\"status\":\"unhealthy\"}", "ServerUnhealthy", "the server says it is unhealthy"},
        {503, "", "ServerUnhealthy", "the server says it is unhealthy"},
        {200, "ok", "ServerError", "not of the protocol: ok"},
        {200, "{\"status\":7}", "ServerError", "not of the protocol"},
        {401, "", "AuthenticationFailed", "HTTP 401"},
        {404, "", "ServerError", "check spec.server"},
        {500, "", "ServerError", "HTTP 500"},
        {301, "", "ServerError", "redirects"},
    };
    struct bench *bench = *state;
    open_session(bench, PLAIN, "k", NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask_health(bench, rows[i].status, rows[i].body);
        const struct outcome *health = &bench->job.health;
        assert_int_equal(health->is_done, rows[i].reason == NULL);
        if (!rows[i].reason)
            continue;
        assert_string_equal(health->error->reason, rows[i].reason);
        if (!strstr(health->error->text, rows[i].part))
            fail_msg("'%s' is not in: %s", rows[i].part, health->error->text);
    }
}

static void health_is_asked_at_its_path_and_answered_whole(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "k", NULL);
    ask_health(bench, 200, "{\"status\":\"healthy\",\"capabilities\":{\"get\":true}}");
    assert_true(value_bool_at(bench->job.answer, "capabilities.get", false));
    check_learned(bench, "{\"capabilities\":{\"get\":true}}");
    ask_health(bench, 503, "{\"status\":\"unhealthy\"}");
    check_learned(bench, "{}");
    ask_health(bench, 200, "{\"status\":\"healthy\"}");
    check_learned(bench, "{\"capabilities\":null}");
}

static void health_that_refuses_one_form_tells_which_to_try_first(void **state)
{
    struct bench *bench = *state;
    open_session(bench, PREFIXED, "k", NULL);
    bench->job.kind = JOB_HEALTH;
    bench->exchange = webhook_provider.begin(bench->session, &bench->job);
    expect_request(bench, "GET", "https://dns.example.com/api/health");
    check_signature(bench, "k", "/api/health");
    say(bench, 401, "");
    expect_request(bench, "GET", "https://dns.example.com/api/health");
    check_signature(bench, "k", "/health");
    say(bench, 200, "{\"status\":\"healthy\",\"capabilities\":{}}");
    expect_done(bench);
    check_learned(bench, "{\"triedPath\":\"Relative\",\"capabilities\":{}}");
    bench->job.kind = JOB_CHANGES;
    open_knowing(bench, PREFIXED, "k", NULL, bench->job.learned);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "https://dns.example.com/api/records");
    check_signature(bench, "k", "/records");
}

static void server_without_metadata_gets_numbers_inline(void **state)
{
    uint8_t before[FINGERPRINT_OCTETS], after[FINGERPRINT_OCTETS];
    struct bench *bench = *state;
    const struct record_set set = mx();
    open_session(bench, PLAIN, "k", NULL);
    webhook_provider.fingerprint(bench->session, &set, before);
    ask_health(bench, 200, "{\"status\":\"healthy\",\"capabilities\":{\"metadata\":false}}");
    open_knowing(bench, PLAIN, "k", NULL, bench->job.learned);
    webhook_provider.fingerprint(bench->session, &set, after);
    assert_memory_not_equal(before, after, 8);
    begin(bench, CHANGE_SET, mx());
    expect_request(bench, "POST", "http://dns.example.com/records");
    assert_non_null(strstr(bench->asked.http.body.at, "\"10 mail.example.com\""));
    assert_null(strstr(bench->asked.http.body.at, "metadata"));
    ask_health(bench, 200, "{\"status\":\"healthy\",\"capabilities\":{}}");
    open_knowing(bench, PLAIN, "k", NULL, bench->job.learned);
    webhook_provider.fingerprint(bench->session, &set, after);
    assert_memory_equal(before, after, 8);
}

static void configured_inline_stays(void **state)
{
    struct bench *bench = *state;
    open_knowing(bench, "{\"server\":\"http://a\",\"metadataStyle\":\"Inline\"}", "k", NULL,
                 json(bench, "{\"capabilities\":{\"metadata\":true}}"));
    begin(bench, CHANGE_SET, mx());
    expect_request(bench, "POST", "http://a/records");
    assert_non_null(strstr(bench->asked.http.body.at, "\"10 mail.example.com\""));
}

// ---- configuration and fingerprints -------------------------------------------------------------

static void fingerprint_takes_values_as_a_set(void **state)
{
    static const struct text orders[][2] = {{{"2001:db8::1", 11}, {"2001:db8::2", 11}},
                                            {{"2001:db8::2", 11}, {"2001:DB8:0::1", 13}},
                                            {{"2001:db8::2", 11}, {"2001:db8::3", 11}}};
    struct bench *bench = *state;
    uint8_t prints[COUNT_OF(orders)][FINGERPRINT_OCTETS];
    struct record_set set = www();
    open_session(bench, PLAIN, "k", NULL);
    set.type = RECORD_AAAA;
    for (size_t i = 0; i < COUNT_OF(orders); i++) {
        set.values = orders[i];
        set.value_count = 2;
        webhook_provider.fingerprint(bench->session, &set, prints[i]);
    }
    assert_memory_equal(prints[0], prints[1], FINGERPRINT_OCTETS);
    assert_memory_not_equal(prints[0], prints[2], FINGERPRINT_OCTETS);
}

static void reply_of_256_long_values_is_read(void **state)
{
    enum { VALUES = 256, OCTETS = 4096 };
    struct bench *bench = *state;
    AUTO_BUFFER body = {0};
    open_session(bench, PLAIN, "k", NULL);
    begin(bench, CHANGE_READ, www());
    expect_request(bench, "GET", "http://dns.example.com/records/A/example.com/www");
    assert_int_equal(bench->asked.http.max_body_octets, 4 << 20);
    buffer_add_text(&body, "{\"success\":true,\"record\":{\"values\":[");
    for (int i = 0; i < VALUES; i++)
        buffer_printf(&body, "%s\"%0*d\"", i ? "," : "", OCTETS, i);
    buffer_add_text(&body, "]}}");
    say(bench, 200, body.at);
    expect_done(bench);
    assert_true(bench->change.outcome.is_done);
    assert_int_equal(bench->change.outcome.found->value_count, VALUES);
}

static void fingerprint_is_of_body_and_server(void **state)
{
    struct bench *bench = *state;
    struct record_set set = www();
    uint8_t first[FINGERPRINT_OCTETS], other_server[FINGERPRINT_OCTETS],
        other_body[FINGERPRINT_OCTETS], other_key[FINGERPRINT_OCTETS], full[DIGEST_MAX];
    open_session(bench, PLAIN, "k", NULL);
    webhook_provider.fingerprint(bench->session, &set, first);
    digest_of(DIGEST_SHA256, TEXT(BODY_P1 "\nhttp://dns.example.com"), full);
    assert_memory_equal(first, full, 8);
    set.ttl_s++;
    webhook_provider.fingerprint(bench->session, &set, other_body);
    set.ttl_s--;
    webhook_provider.close(steal(bench->session));
    open_session(bench, "{\"server\":\"HTTP://dns.example.com:80\"}", "another", NULL);
    webhook_provider.fingerprint(bench->session, &set, other_key);
    webhook_provider.close(steal(bench->session));
    open_session(bench, PREFIXED, "k", NULL);
    webhook_provider.fingerprint(bench->session, &set, other_server);
    assert_memory_equal(first, other_key, 8);
    assert_memory_not_equal(first, other_body, 8);
    assert_memory_not_equal(first, other_server, 8);
}

static void unusable_configuration_is_refused(void **state)
{
    static const struct {
        const char *config, *key, *part;
    } rows[] = {
        {"{}", "k", "spec.server: "},
        {"{\"server\":\"ftp://a\"}", "k", "spec.server: "},
        {"{\"server\":\"http://user@a\"}", "k", "spec.server: "},
        {"{\"server\":\"http://a?b\"}", "k", "spec.server: "},
        {"{\"server\":\"https://a\",\"caBundle\":\"%\"}", "k", "spec.tls.caBundle: "},
        {"{\"server\":\"https://a\",\"caBundle\":\"AAAA\"}", "k", "no PEM certificate"},
        {"{\"server\":\"https://a\"}", "", "empty"},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        CLEANUP(secret) struct secret *secret = secret_of(rows[i].key);
        const struct session_setup setup = {.config = json(bench, rows[i].config),
                                            .secret = secret};
        assert_false(webhook_provider.open(&setup, &bench->session, &err));
        assert_null(bench->session);
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_string_equal(err.reason, "InvalidConfiguration");
        if (!strstr(err.text, rows[i].part))
            fail_msg("'%s' is not in: %s", rows[i].part, err.text);
    }
}

static int64_t timeout_of(struct bench *bench, const char *config)
{
    open_session(bench, config, NULL, NULL);
    begin(bench, CHANGE_SET, www());
    expect_request(bench, "POST", "http://a/records");
    webhook_provider.end(steal(bench->exchange));
    webhook_provider.close(steal(bench->session));
    assert_true(bench->asked.http.connect_timeout_ms <= bench->asked.http.timeout_ms);
    return bench->asked.http.timeout_ms;
}

static void timeout_stays_within_1_and_300_seconds(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(timeout_of(bench, "{\"server\":\"http://a\",\"timeoutSeconds\":1}"), 1000);
    assert_int_equal(timeout_of(bench, "{\"server\":\"http://a\",\"timeoutSeconds\":301}"), 300000);
    assert_int_equal(timeout_of(bench, "{\"server\":\"http://a\",\"timeoutSeconds\":0}"), 30000);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(upsert_bodies_are_known_octet_for_octet),
        cmocka_unit_test(numbers_of_mx_travel_as_metadata_or_inline),
        cmocka_unit_test(strings_are_escaped_as_go_does),
        cmocka_unit_test(signatures_are_known),
        cmocka_unit_test(every_reply_is_read_by_its_status_first),
        cmocka_unit_test(failed_transport_is_told_apart_from_a_failed_server),
        cmocka_unit_test(message_of_the_server_is_cut_and_cleaned),
        cmocka_unit_test(retry_after_is_seconds_or_a_date_and_at_most_an_hour),
        cmocka_unit_test(stale_time_stamp_says_how_far_the_clocks_are_apart),
        cmocka_unit_test(record_of_a_get_is_found),
        cmocka_unit_test(get_without_texts_as_values_is_not_of_the_protocol),
        TEST(upsert_is_a_signed_post),
        TEST(delete_and_get_have_the_key_in_the_path_and_no_body),
        TEST(nothing_is_signed_without_a_key),
        TEST(long_digest_gives_a_long_signature),
        TEST(reused_nonce_is_sent_again_once_with_a_new_one),
        TEST(stale_with_retry_after_waits_once_and_signs_anew),
        TEST(stale_is_not_waited_out_without_or_beyond_reason),
        TEST(previous_key_is_tried_once_while_it_is_good),
        TEST(other_form_of_the_path_is_tried_and_learned),
        TEST(form_that_is_known_is_first_and_the_other_one_still_tried),
        TEST(only_an_accepted_change_proves_a_form),
        TEST(health_that_refuses_one_form_tells_which_to_try_first),
        TEST(paths_and_keys_are_tried_together),
        TEST(fixed_form_of_the_path_is_not_left),
        TEST(failed_transport_marks_the_job),
        TEST(refused_numbers_suggest_inline),
        TEST(health_is_read_from_status_and_body),
        TEST(health_is_asked_at_its_path_and_answered_whole),
        TEST(server_without_metadata_gets_numbers_inline),
        TEST(configured_inline_stays),
        TEST(fingerprint_takes_values_as_a_set),
        TEST(reply_of_256_long_values_is_read),
        TEST(fingerprint_is_of_body_and_server),
        TEST(unusable_configuration_is_refused),
        TEST(timeout_stays_within_1_and_300_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
