#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/when.h"
#include "frontends/provider_api/verify.h"
#include "providers/webhook/sign.h"

#define STAMP "2025-12-30T10:00:00Z"
#define UUID "550e8400-e29b-41d4-a716-446655440000"

enum { NOW_S = 1767088800, KEYS = 2 };

struct bench {
    struct hmac_key *keys[KEYS];
    struct verifier verifier;
    struct error err;
    int64_t stamp_s;
    int64_t offset_ms; // the clock has been set ahead by so much
    char signature[SIGNATURE_MAX];
};

static struct hmac_key *key_of(enum digest algorithm, const char *text)
{
    CLEANUP(secret) struct secret *secret = secret_new(text, strlen(text));
    return hmac_key_new(algorithm, secret);
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->keys[0] = key_of(DIGEST_SHA256, "test-secret");
    bench->keys[1] = key_of(DIGEST_SHA256, "second");
    bench->verifier = (struct verifier){.algorithm = DIGEST_SHA256,
                                        .keys = bench->keys,
                                        .key_count = KEYS,
                                        .base_path = "",
                                        .nonces = nonces_new(5)};
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; i < KEYS; i++)
        hmac_key_free(bench->keys[i]);
    nonces_free(bench->verifier.nonces);
    free(bench);
    return 0;
}

// GET /health as the known answer has it.
static struct verify_input health(void)
{
    return (struct verify_input){
        .method = TEXT("GET"),
        .path = "/health",
        .decoded = "/health",
        .timestamp = STAMP,
        .nonce = UUID,
        .signature = "e14122a3a2a097d24dc46cce71a1c675b296a4a800ac6dc6d6bf842a24fcbda5"};
}

static bool verify_at(struct bench *bench, const struct verify_input *input, int64_t now_ms)
{
    bench->err = (struct error){0};
    const struct verify_time now = {now_ms, now_ms - bench->offset_ms};
    return verify_request(&bench->verifier, input, &now, &bench->stamp_s, &bench->err);
}

static void start_at(struct bench *bench, int64_t unix_s)
{
    const struct verify_time now = {1000 * unix_s, 1000 * unix_s};
    verifier_start(&bench->verifier, &now);
}

static bool verify(struct bench *bench, const struct verify_input *input)
{
    return verify_at(bench, input, 1000LL * NOW_S);
}

static void check_refusal(const struct bench *bench, int status, const char *code, const char *text)
{
    assert_int_equal(bench->err.status, status);
    assert_string_equal(bench->err.code, code);
    assert_string_equal(bench->err.text, text);
}

// Signs what stands in the input over `path`.
static void sign_by(struct bench *bench, struct verify_input *input, size_t key, const char *path)
{
    const struct sign_input signed_input = {.method = input->method,
                                            .path = text_of(path),
                                            .timestamp = text_of(input->timestamp),
                                            .nonce = text_of(input->nonce),
                                            .body = input->body};
    sign_request(bench->keys[key], bench->verifier.algorithm, &signed_input, bench->signature);
    input->signature = bench->signature;
}

static void known_answer_is_let_in(void **state)
{
    struct bench *bench = *state;
    const struct verify_input input = health();
    assert_true(verify(bench, &input));
    assert_int_equal(bench->stamp_s, NOW_S);
    assert_int_equal(nonces_count(bench->verifier.nonces), 1);
}

static void each_header_must_be_there_exactly_once(void **state)
{
    struct bench *bench = *state;
    char long_nonce[140];
    memset(long_nonce, 'n', sizeof long_nonce);
    long_nonce[129] = '\0';
    for (size_t i = 0; i < 6; i++) {
        struct verify_input input = health();
        input.timestamp = i == 0 ? NULL : input.timestamp;
        input.nonce = i == 1 ? NULL : i == 2 ? "" : i == 3 ? long_nonce : input.nonce;
        input.signature = i == 4 ? NULL : input.signature;
        input.has_doubles = i == 5;
        if (i == 3)
            sign_by(bench, &input, 0, "/health");
        assert_false(verify(bench, &input));
        check_refusal(bench, 401, "AUTH_FAILED", "missing HMAC headers");
    }
}

static void nonce_of_128_octets_is_let_in(void **state)
{
    struct bench *bench = *state;
    char nonce[129];
    memset(nonce, 'n', sizeof nonce);
    nonce[128] = '\0';
    struct verify_input input = health();
    input.nonce = nonce;
    sign_by(bench, &input, 0, "/health");
    assert_true(verify(bench, &input));
}

static void stamp_must_lie_within_300_seconds(void **state)
{
    static const struct {
        int64_t offset_ms;
        bool is_fresh;
    } rows[] = {{299999, true}, {300000, false}, {-299999, true}, {-300000, false}};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct verify_input input = health();
        char nonce[8];
        snprintf(nonce, sizeof nonce, "n%zu", i);
        input.nonce = nonce;
        sign_by(bench, &input, 0, "/health");
        bool is_in = verify_at(bench, &input, 1000LL * NOW_S + rows[i].offset_ms);
        assert_int_equal(is_in, rows[i].is_fresh);
        if (!is_in)
            check_refusal(bench, 401, "TIMESTAMP_STALE", "timestamp is stale");
        assert_int_equal(bench->err.retry_ms, 0);
    }
}

static void fractions_and_offsets_of_rfc_3339_are_understood(void **state)
{
    static const char *const stamps[] = {"2025-12-30T10:00:00.250Z", "2025-12-30T11:30:00+01:30",
                                         "2025-12-30T05:00:00-05:00"};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(stamps); i++) {
        struct verify_input input = health();
        input.timestamp = stamps[i];
        input.nonce = stamps[i];
        sign_by(bench, &input, 0, "/health");
        assert_true(verify(bench, &input));
        assert_int_equal(bench->stamp_s, NOW_S);
    }
}

static void unreadable_stamps_are_stale(void **state)
{
    static const char *const stamps[] = {"", "1767088800", "2025-12-30 10:00:00", "now",
                                         "2025-13-30T10:00:00Z"};
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(stamps); i++) {
        struct verify_input input = health();
        input.timestamp = stamps[i];
        sign_by(bench, &input, 0, "/health");
        assert_false(verify(bench, &input));
        check_refusal(bench, 401, "TIMESTAMP_STALE", "timestamp is stale");
    }
}

static void any_changed_octet_breaks_the_signature(void **state)
{
    struct bench *bench = *state;
    struct verify_input inputs[6];
    for (size_t i = 0; i < COUNT_OF(inputs); i++)
        inputs[i] = health();
    inputs[0].method = TEXT("POST");
    inputs[1].path = inputs[1].decoded = "/healtH";
    inputs[2].timestamp = "2025-12-30T10:00:01Z";
    inputs[3].nonce = "550e8400-e29b-41d4-a716-446655440001";
    inputs[4].body = TEXT(" ");
    inputs[5].signature = "e14122a3a2a097d24dc46cce71a1c675b296a4a800ac6dc6d6bf842a24fcbda";
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        assert_false(verify(bench, &inputs[i]));
        check_refusal(bench, 401, "AUTH_FAILED", "signature verification failed");
    }
    assert_int_equal(nonces_count(bench->verifier.nonces), 0);
}

static void signature_is_lower_case_only(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    input.signature = "E14122A3A2A097D24DC46CCE71A1C675B296A4A800AC6DC6D6BF842A24FCBDA5";
    assert_false(verify(bench, &input));
    check_refusal(bench, 401, "AUTH_FAILED", "signature verification failed");
}

static void forgery_burns_no_nonce(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    input.signature = "0000000000000000000000000000000000000000000000000000000000000000";
    assert_false(verify(bench, &input));
    input = health();
    assert_true(verify(bench, &input));
}

static void replay_is_refused(void **state)
{
    struct bench *bench = *state;
    const struct verify_input input = health();
    assert_true(verify(bench, &input));
    assert_false(verify_at(bench, &input, 1000LL * NOW_S + 299999));
    check_refusal(bench, 401, "NONCE_REUSED", "nonce has been reused");
}

static void full_nonce_store_is_a_limit(void **state)
{
    struct bench *bench = *state;
    for (size_t i = 0; i < 6; i++) {
        char nonce[8];
        struct verify_input input = health();
        snprintf(nonce, sizeof nonce, "n%zu", i);
        input.nonce = nonce;
        sign_by(bench, &input, 0, "/health");
        assert_int_equal(verify(bench, &input), i < 5);
    }
    assert_int_equal(bench->err.status, 429);
    assert_string_equal(bench->err.code, "RATE_LIMITED");
    assert_string_equal(bench->err.reason, "RateLimited");
    assert_int_equal(bench->err.fault, FAULT_LIMIT);
    assert_true(bench->err.retry_ms > 0);
}

static void every_key_is_accepted_and_none_means_nobody(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    sign_by(bench, &input, 1, "/health");
    bench->verifier.key_count = 1;
    assert_false(verify(bench, &input));
    bench->verifier.key_count = 0;
    assert_false(verify(bench, &input));
    bench->verifier.key_count = 2;
    assert_true(verify(bench, &input));
}

static void long_digest_is_verified(void **state)
{
    struct bench *bench = *state;
    hmac_key_free(bench->keys[0]);
    bench->keys[0] = key_of(DIGEST_SHA512, "test-secret");
    bench->verifier.algorithm = DIGEST_SHA512;
    bench->verifier.key_count = 1;
    const struct verify_input input = {
        .method = TEXT("POST"),
        .path = "/records",
        .decoded = "/records",
        .timestamp = STAMP,
        .nonce = "nonce-123",
        .signature = "433ddf49cf354353e2039d06c7e9c4d102e9704079ec0125b62ad750964ddc23"
                     "0c739413c6ab0d8dfef04cccf8ca476f244fabf05f9f2ab1b7e871520570c602",
        .body = TEXT("{\"test\":\"data\"}")};
    assert_true(verify(bench, &input));
}

static void path_is_signed_with_or_without_base_encoded_or_not(void **state)
{
    static const struct {
        const char *signed_path;
        bool is_good;
    } rows[] = {
        {"/api/records/A/example.com/%40", true},  {"/api/records/A/example.com/@", true},
        {"/records/A/example.com/%40", true},      {"/records/A/example.com/@", true},
        {"/other/records/A/example.com/@", false},
    };
    struct bench *bench = *state;
    bench->verifier.base_path = "/api";
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char nonce[8];
        struct verify_input input = health();
        snprintf(nonce, sizeof nonce, "n%zu", i);
        input.nonce = nonce;
        input.path = "/api/records/A/example.com/%40";
        input.decoded = "/api/records/A/example.com/@";
        sign_by(bench, &input, 0, rows[i].signed_path);
        assert_int_equal(verify(bench, &input), rows[i].is_good);
    }
}

static void stripped_prefix_is_put_back_for_the_signature(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    bench->verifier.base_path = "/api";
    sign_by(bench, &input, 0, "/api/health");
    assert_true(verify(bench, &input));
}

static void prefix_ends_at_a_slash(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    bench->verifier.base_path = "/api";
    input.path = input.decoded = "/apixy/health";
    sign_by(bench, &input, 0, "xy/health");
    assert_false(verify(bench, &input));
}

static void stamps_before_the_start_are_told_when_to_come_back(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    start_at(bench, NOW_S + 4);
    assert_false(verify_at(bench, &input, 1000LL * (NOW_S + 5)));
    check_refusal(bench, 401, "TIMESTAMP_STALE", "timestamp is stale");
    assert_int_equal(bench->err.retry_ms, 5000);
}

static void second_of_the_start_is_let_in(void **state)
{
    struct bench *bench = *state;
    const struct verify_input input = health();
    start_at(bench, NOW_S);
    assert_true(verify(bench, &input));
}

static void start_counts_for_300_seconds_only(void **state)
{
    struct bench *bench = *state;
    struct verify_input input = health();
    char stamp[WHEN_TEXT_MAX];
    start_at(bench, NOW_S);
    when_write(NOW_S - 1, stamp);
    input.timestamp = stamp;
    sign_by(bench, &input, 0, "/health");
    assert_false(verify_at(bench, &input, 1000LL * (NOW_S + 298)));
    assert_int_equal(bench->err.retry_ms, 2000);
    assert_false(verify_at(bench, &input, 1000LL * (NOW_S + 299)));
    assert_int_equal(bench->err.retry_ms, 0); // stale by itself
}

static void without_a_start_old_stamps_are_fine(void **state)
{
    struct bench *bench = *state;
    const struct verify_input input = health();
    bench->verifier.start_s = 0;
    assert_true(verify_at(bench, &input, 1000LL * (NOW_S + 200)));
}

static void start_counts_as_long_whatever_the_clock_does(void **state)
{
    enum { YEAR_S = 365 * 86400 };
    struct bench *bench = *state;
    const struct verify_input input = health();
    start_at(bench, NOW_S + YEAR_S); // of a clock that is a year ahead, and is put right
    bench->offset_ms = -1000LL * (YEAR_S + 200);
    assert_false(verify_at(bench, &input, 1000LL * NOW_S));
    assert_int_equal(bench->err.retry_ms, 100000);
    bench->offset_ms -= 100000;
    assert_true(verify_at(bench, &input, 1000LL * NOW_S));
}

static void clock_that_jumps_ahead_and_back_lets_no_stamp_before_the_start_in(void **state)
{
    struct bench *bench = *state;
    const struct verify_input input = health();
    start_at(bench, NOW_S + 1);
    bench->offset_ms = -400000;
    assert_false(verify_at(bench, &input, 1000LL * (NOW_S + 2)));
    check_refusal(bench, 401, "TIMESTAMP_STALE", "timestamp is stale");
}

static void replay_is_refused_when_the_clock_jumps_ahead_and_back(void **state)
{
    struct bench *bench = *state;
    struct verify_input later = health();
    char stamp[WHEN_TEXT_MAX];
    const struct verify_input input = health();
    when_write(NOW_S + 400, stamp);
    later.timestamp = stamp;
    later.nonce = "later";
    sign_by(bench, &later, 0, "/health");
    assert_true(verify(bench, &input));
    assert_true(verify_at(bench, &later, 1000LL * (NOW_S + 400)));
    assert_false(verify_at(bench, &input, 1000LL * (NOW_S + 10)));
    check_refusal(bench, 401, "TIMESTAMP_STALE", "timestamp is stale");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(known_answer_is_let_in),
        TEST(each_header_must_be_there_exactly_once),
        TEST(nonce_of_128_octets_is_let_in),
        TEST(stamp_must_lie_within_300_seconds),
        TEST(fractions_and_offsets_of_rfc_3339_are_understood),
        TEST(unreadable_stamps_are_stale),
        TEST(any_changed_octet_breaks_the_signature),
        TEST(signature_is_lower_case_only),
        TEST(forgery_burns_no_nonce),
        TEST(replay_is_refused),
        TEST(full_nonce_store_is_a_limit),
        TEST(every_key_is_accepted_and_none_means_nobody),
        TEST(long_digest_is_verified),
        TEST(path_is_signed_with_or_without_base_encoded_or_not),
        TEST(stripped_prefix_is_put_back_for_the_signature),
        TEST(prefix_ends_at_a_slash),
        TEST(stamps_before_the_start_are_told_when_to_come_back),
        TEST(second_of_the_start_is_let_in),
        TEST(start_counts_for_300_seconds_only),
        TEST(start_counts_as_long_whatever_the_clock_does),
        TEST(clock_that_jumps_ahead_and_back_lets_no_stamp_before_the_start_in),
        TEST(replay_is_refused_when_the_clock_jumps_ahead_and_back),
        TEST(without_a_start_old_stamps_are_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
