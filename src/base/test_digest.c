#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct vector {
    enum digest digest;
    const char *hex;
};

static void check_hex(const struct vector *vector, const uint8_t *octets)
{
    char hex[2 * DIGEST_MAX + 1];
    hex_encode(octets, digest_len(vector->digest), hex);
    assert_string_equal(hex, vector->hex);
}

static void digests_match_the_standard(void **state)
{
    (void)state;
    static const struct vector rows[] = {
        {DIGEST_SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {DIGEST_SHA224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
        {DIGEST_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {DIGEST_SHA384, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1"
                        "e7cc2358baeca134c825a7"},
        {DIGEST_SHA512, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a27"
                        "4fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t out[DIGEST_MAX];
        digest_of(rows[i].digest, TEXT("abc"), out);
        check_hex(&rows[i], out);
        struct digest_state *pieces = digest_begin(rows[i].digest);
        digest_add(pieces, "a", 1);
        digest_add(pieces, NULL, 0);
        digest_add(pieces, "bc", 2);
        memset(out, 0, sizeof out);
        digest_end(pieces, out);
        check_hex(&rows[i], out);
    }
}

static void a_copied_digest_goes_on_by_itself(void **state)
{
    (void)state;
    static const struct vector abc = {
        DIGEST_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"};
    uint8_t out[DIGEST_MAX];
    struct digest_state *front = digest_begin(DIGEST_SHA256);
    digest_add(front, "a", 1);
    for (int i = 0; i < 2; i++) {
        struct digest_state *copy = digest_copy(front);
        digest_add(copy, "bc", 2);
        digest_end(copy, out);
        check_hex(&abc, out);
    }
    digest_free(front);
    digest_free(NULL);
}

static void hmac_matches_rfc_4231(void **state)
{
    (void)state;
    static const struct vector rows[] = {
        {DIGEST_SHA1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"},
        {DIGEST_SHA224, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"},
        {DIGEST_SHA256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {DIGEST_SHA384, "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e"
                        "69e2c78b3239ecfab21649"},
        {DIGEST_SHA512, "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c0"
                        "5a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"}};
    static const struct text pieces[] = {{"what do ya ", 11}, {NULL, 0}, {"want for nothing?", 17}};
    CLEANUP(secret) struct secret *secret = secret_new("Jefe", 4);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t out[DIGEST_MAX] = {0};
        hmac(rows[i].digest, secret, pieces, COUNT_OF(pieces), out);
        check_hex(&rows[i], out);
    }
}

static void one_hmac_key_serves_many_messages(void **state)
{
    (void)state;
    static const struct text first = {"abc", 3};
    CLEANUP(secret) struct secret *secret = secret_new("Jefe", 4);
    CLEANUP(hmac_key) struct hmac_key *key = hmac_key_new(DIGEST_SHA256, secret);
    for (int i = 0; i < 3; i++) {
        struct text message = i == 1 ? TEXT("other") : first;
        uint8_t with_key[DIGEST_MAX] = {0};
        uint8_t at_once[DIGEST_MAX] = {0};
        hmac_with(key, &message, 1, with_key);
        hmac(DIGEST_SHA256, secret, &message, 1, at_once);
        assert_memory_equal(with_key, at_once, sizeof at_once);
    }
    hmac_key_free(NULL);
}

static void empty_and_long_hmac_keys_work(void **state)
{
    (void)state;
    static const struct vector empty_row = {
        DIGEST_SHA256, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"};
    static const struct vector long_row = {
        DIGEST_SHA256, "ce632aa86d6a3fd3c79f06217c0a506599d055cd38eb385b16a2939f2488f686"};
    char octets[200];
    memset(octets, 'k', sizeof octets);
    CLEANUP(secret) struct secret *empty = secret_new("", 0);
    CLEANUP(secret) struct secret *wide = secret_new(octets, sizeof octets);
    struct text message = TEXT("abc");
    uint8_t out[DIGEST_MAX];
    hmac(DIGEST_SHA256, empty, NULL, 0, out);
    check_hex(&empty_row, out);
    hmac(DIGEST_SHA256, wide, &message, 1, out);
    check_hex(&long_row, out);
}

static void digest_of_nothing_is_defined(void **state)
{
    (void)state;
    static const struct vector row = {
        DIGEST_SHA256, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"};
    uint8_t out[DIGEST_MAX];
    digest_of(DIGEST_SHA256, text_of(NULL), out);
    check_hex(&row, out);
}

static void hex_goes_both_ways(void **state)
{
    (void)state;
    char hex[9];
    uint8_t octets[4] = {9, 9, 9, 9};
    hex_encode("\x00\x1f\xab\xff", 4, hex);
    assert_string_equal(hex, "001fabff");
    assert_true(hex_decode(TEXT("001FAbff"), octets, 4));
    assert_memory_equal(octets, "\x00\x1f\xab\xff", 4);
}

static void wrong_hex_is_refused_untouched(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",           "0",        "001fabf", "001fabff0",
                                        "001fabff00", "001fabfg", "001fab f"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        uint8_t octets[4] = {1, 2, 3, 4};
        assert_false(hex_decode(text_of(wrong[i]), octets, 4));
        assert_memory_equal(octets, "\1\2\3\4", 4);
    }
}

static void base64_goes_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *plain;
        const char *coded;
    } rows[] = {{"", ""},
                {"f", "Zg=="},
                {"fo", "Zm8="},
                {"foo", "Zm9v"},
                {"foob", "Zm9vYg=="},
                {"fooba", "Zm9vYmE="},
                {"foobar", "Zm9vYmFy"},
                {"\xfb\xff\xbf", "+/+/"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER coded = {0};
        AUTO_BUFFER plain = {0};
        base64_encode(&coded, rows[i].plain, strlen(rows[i].plain));
        assert_true(text_is(buffer_text(&coded), rows[i].coded));
        assert_true(base64_decode(&plain, text_of(rows[i].coded), NULL));
        assert_true(text_is(buffer_text(&plain), rows[i].plain));
    }
}

static void base64_skips_blanks_and_appends(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "x");
    assert_true(base64_decode(&out, TEXT(" Zm9v\r\n\tYg = =\n"), NULL));
    assert_string_equal(out.at, "xfoob");
}

static void wrong_base64_is_refused_without_showing_it(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "Z",    "Zg",    "Zg=",   "Zm8",  "====", "Z===",    "Zg==Zg==",
        "Zg=v", "Zg===", "Zm9v=", "Zm9-", "Zm9_", "Zm9\x01", "Zm9\xc3"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        struct error err = {0};
        AUTO_BUFFER out = {0};
        buffer_add_text(&out, "x");
        assert_false(base64_decode(&out, text_of(wrong[i]), &err));
        assert_string_equal(out.at, "x");
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_non_null(strstr(err.text, "base64"));
        assert_null(strstr(err.text, wrong[i]));
    }
}

static void octets_are_compared_whole(void **state)
{
    (void)state;
    assert_true(octets_equal("abc", "abd", 2));
    assert_false(octets_equal("abc", "abd", 3));
    assert_true(octets_equal(NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_match_the_standard),
        cmocka_unit_test(a_copied_digest_goes_on_by_itself),
        cmocka_unit_test(digest_of_nothing_is_defined),
        cmocka_unit_test(hmac_matches_rfc_4231),
        cmocka_unit_test(one_hmac_key_serves_many_messages),
        cmocka_unit_test(empty_and_long_hmac_keys_work),
        cmocka_unit_test(hex_goes_both_ways),
        cmocka_unit_test(wrong_hex_is_refused_untouched),
        cmocka_unit_test(base64_goes_both_ways),
        cmocka_unit_test(base64_skips_blanks_and_appends),
        cmocka_unit_test(wrong_base64_is_refused_without_showing_it),
        cmocka_unit_test(octets_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
