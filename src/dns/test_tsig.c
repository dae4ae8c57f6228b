#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/message.h"
#include "dns/tsig.h"

#define SECRET "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="

enum { NOW_S = 1700000000 };

// Made by dnspython 2.3 with the key signpost.key: a query signed at NOW_S, and its reply signed a
// second later.
static const struct vector {
    enum digest digest;
    const char *algorithm;
    const char *query;
    const char *reply;
} vectors[] = {
    {DIGEST_SHA1, "hmac-sha1",
     "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
     "706f7374036b65790000fa00ff00000000002f09686d61632d736861310000006553f100012c"
     "0014af8b6bdeb70eba157c137659b78901abc98f0a41123400000000",
     "12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c000100"
     "010000012c0004c0000201087369676e706f7374036b65790000fa00ff00000000002f09686d"
     "61632d736861310000006553f101012c0014a93d5269b56868aee98a8a3b43c04a699621f3f9"
     "123400000000"},
    {DIGEST_SHA224, "hmac-sha224",
     "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
     "706f7374036b65790000fa00ff0000000000390b686d61632d7368613232340000006553f100"
     "012c001cb528ac522c8748fcec950d68d39f23ae61f1aefff4a69e5f94188b01123400000000",
     "12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c000100"
     "010000012c0004c0000201087369676e706f7374036b65790000fa00ff0000000000390b686d"
     "61632d7368613232340000006553f101012c001c6813b833ff6e3a5f22915b224efb6cc5e1bf"
     "0f3edb9466e69a1b320b123400000000"},
    {DIGEST_SHA256, "hmac-sha256",
     "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
     "706f7374036b65790000fa00ff00000000003d0b686d61632d7368613235360000006553f100"
     "012c0020ddd78ee67060f557861c4d3a1ec6ea83b70a42fdb35d3c6203538f99382cd5ad1234"
     "00000000",
     "12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c000100"
     "010000012c0004c0000201087369676e706f7374036b65790000fa00ff00000000003d0b686d"
     "61632d7368613235360000006553f101012c002078f36250ff4aa80bcb83225352310eac966d"
     "202ef390d363d5860429c0f803e4123400000000"},
    {DIGEST_SHA384, "hmac-sha384",
     "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
     "706f7374036b65790000fa00ff00000000004d0b686d61632d7368613338340000006553f100"
     "012c00301024d78679ec1e1540d21a462f954056d1c4133e07d2920c49480b116f02c544880b"
     "688b696c075ebed50c6b6968e6d4123400000000",
     "12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c000100"
     "010000012c0004c0000201087369676e706f7374036b65790000fa00ff00000000004d0b686d"
     "61632d7368613338340000006553f101012c00303c10ddc0d5902e7908ff80a8c1de76a6fb12"
     "421940524a0dda20d4dc70b9cf0de1d18f0e88454774ca6bd117cd003e1a123400000000"},
    {DIGEST_SHA512, "hmac-sha512",
     "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
     "706f7374036b65790000fa00ff00000000005d0b686d61632d7368613531320000006553f100"
     "012c004018bafb5fb3b7dfd7863299b78d3797c50b2d84f549bc8e808bb8f357e3dd83a92ba6"
     "40ab7cd7f05f8560eab80fca43daa7f5f4a91195b466f63059fc7d970e3e123400000000",
     "12348500000100010000000103777777076578616d706c6503636f6d0000010001c00c000100"
     "010000012c0004c0000201087369676e706f7374036b65790000fa00ff00000000005d0b686d"
     "61632d7368613531320000006553f101012c004064ca50d70342f4bb0cec1cefc93f18ac0faa"
     "57809014d755103708ad2a6db2e8da1dc8ffc6bb420b2d516f576f446016a653ba3140f0bad3"
     "bcd9add60cfe6134123400000000"},
};

static const char badtime_reply[] =
    "12348109000100000000000103777777076578616d706c6503636f6d0000010001087369676e"
    "706f7374036b65790000fa00ff0000000000430b686d61632d7368613235360000006553f100"
    "012c0020837b16121ad453fd1a3a164f10a8c17af9695e6e2009afa50501ea086f5980751234"
    "0012000600006553f4e8";

static const char plain_query[] =
    "12340100000100000000000003777777076578616d706c6503636f6d0000010001";

enum { PLAIN_LEN = sizeof plain_query / 2 };

static void add_hex(struct buffer *out, const char *hex)
{
    uint8_t octets[512];
    size_t len = strlen(hex) / 2;
    assert_true(len <= sizeof octets);
    assert_true(hex_decode(text_of(hex), octets, len));
    buffer_add(out, octets, len);
}

static void check_hex(const struct buffer *octets, const char *wanted)
{
    char hex[1024];
    assert_true(2 * octets->len < sizeof hex);
    hex_encode(octets->at, octets->len, hex);
    assert_string_equal(hex, wanted);
}

static void key_cleanup(struct tsig_key *key)
{
    tsig_key_done(key);
}
#define AUTO_KEY __attribute__((cleanup(key_cleanup))) struct tsig_key

static struct tsig_key key_of(const char *algorithm)
{
    struct tsig_key key;
    struct error err = {0};
    if (!tsig_key_init(&key, TEXT("Signpost.Key"), text_of(algorithm), TEXT(SECRET), &err))
        fail_msg("%s", err.text);
    return key;
}

// All that tsig_verify tells.
struct judged {
    enum tsig_result result;
    size_t stripped_len;
    struct tsig_mac mac;
    unsigned peer_error;
};

// The octets stand alone in memory, so that a sanitizer sees every step beside them.
static struct judged judge(struct text octets, const struct tsig_key *key, int64_t unix_s,
                           const struct tsig_mac *request_mac)
{
    struct judged judged;
    char *exact = test_malloc(octets.len + 1);
    char *start = exact + 1; // no octet behind the last one
    memcpy(start, octets.at, octets.len);
    judged.result = tsig_verify((struct text){start, octets.len}, key, unix_s, request_mac,
                                &judged.stripped_len, &judged.mac, &judged.peer_error);
    test_free(exact);
    return judged;
}

static enum tsig_result result_of(const char *hex, const struct tsig_key *key, int64_t unix_s)
{
    AUTO_BUFFER octets = {0};
    add_hex(&octets, hex);
    return judge(buffer_text(&octets), key, unix_s, NULL).result;
}

static void sign_query(struct buffer *out, const struct tsig_key *key, struct tsig_mac *mac)
{
    buffer_clear(out);
    add_hex(out, plain_query);
    assert_true(tsig_sign(out, key, NOW_S, NULL, mac, NULL));
}

// ---- keys ---------------------------------------------------------------------------------------

static void key_name_goes_to_lower_case_with_final_dot(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    assert_string_equal(key.name, "signpost.key.");
    assert_true(text_is(tsig_key_shown(&key), "signpost.key"));
    assert_int_equal(key.algorithm, DIGEST_SHA256);
    assert_int_equal(secret_len(key.secret), 32);
}

static void algorithms_are_known_with_and_without_dot_in_any_case(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum digest digest;
    } rows[] = {{"hmac-sha1", DIGEST_SHA1},
                {"hmac-sha224.", DIGEST_SHA224},
                {"HMAC-SHA256", DIGEST_SHA256},
                {"Hmac-Sha384.", DIGEST_SHA384},
                {"hmac-sha512", DIGEST_SHA512}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_KEY key = key_of(rows[i].text);
        assert_int_equal(key.algorithm, rows[i].digest);
    }
    assert_string_equal(tsig_algorithm_name(DIGEST_SHA224), "hmac-sha224.");
}

static void refuse_key(const char *name, const char *algorithm, const char *secret,
                       const char *wanted)
{
    struct tsig_key key = {.name = "untouched"};
    struct error err = {0};
    assert_false(tsig_key_init(&key, text_of(name), text_of(algorithm), text_of(secret), &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    if (!strstr(err.text, wanted))
        fail_msg("'%s' does not say '%s'", err.text, wanted);
    assert_null(strstr(err.text, "c2VjcmV0"));
    assert_string_equal(key.name, "untouched");
}

static void md5_and_unknown_algorithms_are_refused_by_name(void **state)
{
    (void)state;
    refuse_key("k", "hmac-md5", SECRET, "TSIG key k: TSIG algorithm hmac-md5 is refused");
    refuse_key("k", "HMAC-MD5.SIG-ALG.REG.INT.", SECRET, "hmac-md5 is refused");
    refuse_key("k", "sha256", SECRET, "unknown TSIG algorithm 'sha256': use hmac-sha256");
    refuse_key("k", "", SECRET, "unknown TSIG algorithm ''");
    refuse_key("k", "hmac-sha256..", SECRET, "unknown TSIG algorithm");
}

static void bad_key_names_are_refused(void **state)
{
    (void)state;
    refuse_key("", "hmac-sha256", SECRET, "TSIG key name: it is empty");
    refuse_key("a b", "hmac-sha256", SECRET, "TSIG key name: label 'a b' contains a blank");
    refuse_key(".", "hmac-sha256", SECRET, "TSIG key name: ");
}

static void bad_secrets_are_refused_and_not_shown(void **state)
{
    (void)state;
    static char large[2732 + 1];
    memset(large, 'A', sizeof large - 1);
    refuse_key("k", "hmac-sha256", "c2VjcmV0!", "TSIG secret is not base64 of 1 to 1024 octets");
    refuse_key("k", "hmac-sha256", "", "TSIG secret is not base64");
    refuse_key("k", "hmac-sha256", " \n", "TSIG secret is not base64");
    refuse_key("k", "hmac-sha256", large, "TSIG secret is not base64");
}

static void blanks_around_a_secret_are_trimmed(void **state)
{
    (void)state;
    AUTO_KEY key;
    assert_true(
        tsig_key_init(&key, TEXT("k."), TEXT("hmac-sha256"), TEXT(" \t" SECRET "\r\n"), NULL));
    assert_int_equal(secret_len(key.secret), 32);
}

// ---- known answers ------------------------------------------------------------------------------

static void signatures_are_those_of_dnspython(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_KEY key = key_of(vectors[i].algorithm);
        AUTO_BUFFER out = {0};
        struct tsig_mac mac;
        sign_query(&out, &key, &mac);
        check_hex(&out, vectors[i].query);
        assert_int_equal(mac.len, digest_len(vectors[i].digest));
    }
}

static void replies_of_dnspython_verify_with_the_mac_of_the_request(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_KEY key = key_of(vectors[i].algorithm);
        AUTO_BUFFER out = {0};
        AUTO_BUFFER reply = {0};
        struct tsig_mac mac;
        sign_query(&out, &key, &mac);
        add_hex(&reply, vectors[i].reply);
        struct judged judged = judge(buffer_text(&reply), &key, NOW_S, &mac);
        assert_int_equal(judged.result, TSIG_GOOD);
        assert_int_equal(judged.mac.len, mac.len);
        assert_int_equal(judged.peer_error, 0);
        assert_int_equal(judge(buffer_text(&reply), &key, NOW_S, NULL).result, TSIG_BADSIG);
        mac.octets[mac.len - 1] ^= 1;
        assert_int_equal(judge(buffer_text(&reply), &key, NOW_S, &mac).result, TSIG_BADSIG);
    }
}

static void reply_signed_by_us_is_that_of_dnspython(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    AUTO_BUFFER reply = {0};
    struct tsig_mac mac, reply_mac;
    sign_query(&out, &key, &mac);
    add_hex(&reply, "12348500000100010000000003777777076578616d706c6503636f6d0000010001"
                    "c00c000100010000012c0004c0000201");
    assert_true(tsig_sign(&reply, &key, NOW_S + 1, &mac, &reply_mac, NULL));
    check_hex(&reply, vectors[2].reply);
}

// ---- round trips --------------------------------------------------------------------------------

static void what_was_signed_verifies(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        AUTO_KEY key = key_of(vectors[i].algorithm);
        AUTO_BUFFER out = {0};
        struct tsig_mac mac;
        sign_query(&out, &key, &mac);
        struct judged judged = judge(buffer_text(&out), &key, NOW_S, NULL);
        assert_int_equal(judged.result, TSIG_GOOD);
        assert_int_equal(judged.stripped_len, PLAIN_LEN);
        assert_int_equal(judged.mac.len, mac.len);
        assert_memory_equal(judged.mac.octets, mac.octets, mac.len);
    }
}

static void signed_update_still_reads(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_KEY key = key_of("hmac-sha512");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    struct message message;
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    assert_true(update_delete_set(update, TEXT("www.example.com"), RECORD_A, NULL));
    assert_true(update_write(&out, update, 7, NULL));
    assert_true(tsig_sign(&out, &key, NOW_S, NULL, &mac, NULL));
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_GOOD);
    assert_true(message_read(arena, buffer_text(&out), &message, NULL));
    assert_int_equal(message.id, 7);
}

static void changed_id_of_a_forwarder_does_not_break_the_mac(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    out.at[0] ^= 0x55;
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_GOOD);
}

static void any_changed_bit_is_noticed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    for (size_t i = 2 * 8; i < out.len * 8; i++) { // behind the id, which a forwarder may change
        out.at[i / 8] ^= (char)(1 << i % 8);
        bool is_case = judge(buffer_text(&out), &key, NOW_S, NULL).result == TSIG_GOOD;
        // Names of key and algorithm count in lower case.
        if (is_case && (i % 8 != 5 || i / 8 < PLAIN_LEN))
            fail_msg("bit %zu of octet %zu makes no difference", i % 8, i / 8);
        out.at[i / 8] ^= (char)(1 << i % 8);
    }
}

static void time_counts_within_300_seconds(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    static const struct {
        int64_t distance_s;
        enum tsig_result result;
    } rows[] = {{0, TSIG_GOOD},         {300, TSIG_GOOD},     {-300, TSIG_GOOD},
                {301, TSIG_BADTIME},    {-301, TSIG_BADTIME}, {-NOW_S, TSIG_BADTIME},
                {1 << 30, TSIG_BADTIME}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct judged judged = judge(buffer_text(&out), &key, NOW_S + rows[i].distance_s, NULL);
        assert_int_equal(judged.result, rows[i].result);
        assert_int_equal(judged.stripped_len, PLAIN_LEN);
    }
}

static void mac_is_checked_before_the_time(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    out.at[20] ^= 1;
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S + 1000, NULL).result, TSIG_BADSIG);
}

static void other_secret_is_a_bad_signature(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256"), other;
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    assert_true(
        tsig_key_init(&other, TEXT("signpost.key"), TEXT("hmac-sha256"), TEXT("AAAA"), NULL));
    assert_int_equal(judge(buffer_text(&out), &other, NOW_S, NULL).result, TSIG_BADSIG);
    tsig_key_done(&other);
}

static void other_name_or_algorithm_is_a_bad_key(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256"), other, longer = key_of("hmac-sha512");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    assert_true(
        tsig_key_init(&other, TEXT("signpost.kex"), TEXT("hmac-sha256"), TEXT(SECRET), NULL));
    struct judged judged = judge(buffer_text(&out), &other, NOW_S, NULL);
    assert_int_equal(judged.result, TSIG_BADKEY);
    assert_int_equal(judged.stripped_len, PLAIN_LEN);
    assert_int_equal(judge(buffer_text(&out), &longer, NOW_S, NULL).result, TSIG_BADKEY);
    tsig_key_done(&other);
}

static void time_beyond_48_bits_is_not_signed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    add_hex(&out, plain_query);
    assert_false(tsig_sign(&out, &key, -1, NULL, &mac, NULL));
    assert_false(tsig_sign(&out, &key, INT64_C(1) << 48, NULL, &mac, NULL));
    check_hex(&out, plain_query);
    assert_true(tsig_sign(&out, &key, (INT64_C(1) << 48) - 1, NULL, &mac, NULL));
    assert_int_equal(judge(buffer_text(&out), &key, (INT64_C(1) << 48) - 1, NULL).result,
                     TSIG_GOOD);
}

static void full_message_has_no_room_for_a_signature(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    struct error err;
    char *octets = calloc(65535, 1);
    buffer_add(&out, octets, 65500);
    assert_false(tsig_sign(&out, &key, NOW_S, NULL, &mac, &err));
    assert_string_equal(err.text, "DNS message has no room for a TSIG record");
    assert_int_equal(out.len, 65500);
    assert_int_equal(out.at[11], 0);
    free(octets);
}

// ---- refusals of the peer -----------------------------------------------------------------------

static void signed_badtime_reply_is_told_apart(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    AUTO_BUFFER reply = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    add_hex(&reply, badtime_reply);
    struct judged judged = judge(buffer_text(&reply), &key, NOW_S, &mac);
    assert_int_equal(judged.result, TSIG_REFUSED_BY_PEER);
    assert_int_equal(judged.peer_error, 18);
    reply.at[reply.len - 1] ^= 1;
    assert_int_equal(judge(buffer_text(&reply), &key, NOW_S, &mac).result, TSIG_BADSIG);
}

#define NOTAUTH_REPLY                                                                              \
    "123481090001000000000001"                                                                     \
    "03777777076578616d706c6503636f6d0000010001"
#define KEY_NAME "085369676e706f7374034b657900"
#define TSIG_HEAD KEY_NAME "00fa00ff00000000"
#define SHA256 "0b686d61632d73686132353600"

static void unsigned_badkey_reply_is_told_apart(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    AUTO_BUFFER reply = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    add_hex(&reply, NOTAUTH_REPLY TSIG_HEAD "001d" SHA256 "00006553f100"
                                            "012c"
                                            "0000"
                                            "1234"
                                            "0011"
                                            "0000");
    struct judged judged = judge(buffer_text(&reply), &key, NOW_S, &mac);
    assert_int_equal(judged.result, TSIG_REFUSED_BY_PEER);
    assert_int_equal(judged.peer_error, 17);
    assert_string_equal(tsig_error_name(judged.peer_error), "BADKEY");
    assert_int_equal(judge(buffer_text(&reply), &key, NOW_S, NULL).result, TSIG_MALFORMED);
}

static void unsigned_reply_without_error_is_no_answer(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    AUTO_BUFFER reply = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    add_hex(&reply, NOTAUTH_REPLY TSIG_HEAD "001d" SHA256 "00006553f100"
                                            "012c"
                                            "0000"
                                            "1234"
                                            "0000"
                                            "0000");
    assert_int_equal(judge(buffer_text(&reply), &key, NOW_S, &mac).result, TSIG_MALFORMED);
}

// ---- foreign octets -----------------------------------------------------------------------------

static void message_without_tsig_is_told_apart(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    add_hex(&out, plain_query);
    struct judged judged = judge(buffer_text(&out), &key, NOW_S, NULL);
    assert_int_equal(judged.result, TSIG_ABSENT);
    assert_int_equal(judged.stripped_len, PLAIN_LEN);
    assert_int_equal(judged.mac.len, 0);
}

static void truncated_macs_are_refused(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    static const struct {
        size_t len;
        enum tsig_result result;
    } rows[] = {{31, TSIG_BADSIG}, {16, TSIG_BADSIG}, {15, TSIG_MALFORMED}, {0, TSIG_MALFORMED}};
    size_t mac_at = out.len - 6 - 32;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER cut = {0};
        size_t gone = 32 - rows[i].len;
        buffer_add(&cut, out.at, mac_at + rows[i].len);
        buffer_add(&cut, out.at + out.len - 6, 6);
        cut.at[mac_at - 1] = (char)rows[i].len;
        cut.at[PLAIN_LEN + 14 + 9] = (char)(0x3d - gone);
        assert_int_equal(judge(buffer_text(&cut), &key, NOW_S, NULL).result, rows[i].result);
    }
}

static void two_tsig_records_are_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    assert_true(tsig_sign(&out, &key, NOW_S, NULL, &mac, NULL));
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_MALFORMED);
}

static void tsig_before_another_record_is_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    add_hex(&out, "0000290200000000000000");
    out.at[11]++;
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_MALFORMED);
}

static void tsig_outside_the_additional_section_is_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    for (size_t i = 7; i <= 9; i += 2) {
        AUTO_BUFFER out = {0};
        struct tsig_mac mac;
        sign_query(&out, &key, &mac);
        out.at[11]--;
        out.at[i]++;
        assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_MALFORMED);
    }
}

static void octets_behind_the_tsig_are_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    buffer_add_char(&out, 0);
    assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result, TSIG_MALFORMED);
}

#define QUERY_HEAD                                                                                 \
    "123401000001000000000001"                                                                     \
    "03777777076578616d706c6503636f6d0000010001"
#define MAC_32 "ddd78ee67060f557861c4d3a1ec6ea83b70a42fdb35d3c6203538f99382cd5ad"
#define FIELDS                                                                                     \
    "00006553f100"                                                                                 \
    "012c"                                                                                         \
    "0020" MAC_32 "1234"                                                                           \
    "0000"                                                                                         \
    "0000"

static void fields_out_of_shape_are_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    static const char *const rows[] = {
        QUERY_HEAD KEY_NAME "00fa000100000000"
                            "003d" SHA256 FIELDS, // class IN
        QUERY_HEAD KEY_NAME "00fa00ff00000001"
                            "003d" SHA256 FIELDS,       // a TTL
        QUERY_HEAD TSIG_HEAD "003e" SHA256 FIELDS "00", // longer than its fields
        QUERY_HEAD TSIG_HEAD "003b" SHA256 "00006553f100"
                             "012c"
                             "0020" MAC_32 "1234"
                             "0000",
        QUERY_HEAD TSIG_HEAD "0032"
                             "c021" FIELDS, // compressed algorithm
        QUERY_HEAD TSIG_HEAD "0000",        // empty
        QUERY_HEAD TSIG_HEAD "000d" SHA256, // algorithm alone
        QUERY_HEAD TSIG_HEAD "003d" SHA256 "00006553f100"
                             "012c"
                             "ffff" MAC_32 "1234"
                             "00000000",
        QUERY_HEAD TSIG_HEAD "003d" SHA256 "00006553f100"
                             "012c"
                             "0020" MAC_32 "1234"
                             "0000"
                             "0001",
        QUERY_HEAD "c02100fa00ff00000000"
                   "003d" SHA256 FIELDS, // owner points at itself
    };
    assert_int_equal(result_of(QUERY_HEAD TSIG_HEAD "003d" SHA256 FIELDS, &key, NOW_S), TSIG_GOOD);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        enum tsig_result result = result_of(rows[i], &key, NOW_S);
        if (result != TSIG_MALFORMED)
            fail_msg("row %zu: result %d", i, result);
    }
}

static void mac_longer_than_the_digest_is_malformed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    add_hex(&out, QUERY_HEAD TSIG_HEAD "005e" SHA256 "00006553f100"
                                       "012c"
                                       "0041" MAC_32 MAC_32 "ff"
                                       "1234"
                                       "0000"
                                       "0000");
    struct judged judged = judge(buffer_text(&out), &key, NOW_S, NULL);
    assert_int_equal(judged.result, TSIG_MALFORMED);
    assert_int_equal(judged.mac.len, 0);
}

static void no_other_octet_is_read_than_the_message_has(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    sign_query(&out, &key, &mac);
    for (size_t len = 0; len < out.len; len++) {
        struct text cut = {out.at, len};
        assert_int_equal(judge(cut, &key, NOW_S, NULL).result, TSIG_MALFORMED);
    }
    struct judged judged = {0};
    assert_int_equal(tsig_verify((struct text){0}, &key, NOW_S, NULL, &judged.stripped_len,
                                 &judged.mac, &judged.peer_error),
                     TSIG_MALFORMED);
}

static void octets_at_random_never_verify(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    uint32_t seed = 1;
    for (size_t round = 0; round < 20000; round++) {
        sign_query(&out, &key, &mac);
        for (size_t i = 0; i < 3; i++) {
            seed = seed * 1664525 + 1013904223;
            out.at[12 + seed / 65536 % (out.len - 12)] ^= (char)(seed >> 8 & 0xdf);
            out.at[PLAIN_LEN + seed / 4096 % (out.len - PLAIN_LEN)] ^= (char)(1 << seed % 5);
        }
        AUTO_BUFFER whole = {0};
        sign_query(&whole, &key, &mac);
        bool is_same = memcmp(whole.at, out.at, out.len) == 0;
        assert_int_equal(judge(buffer_text(&out), &key, NOW_S, NULL).result == TSIG_GOOD, is_same);
    }
}

static void errors_have_their_iana_names(void **state)
{
    (void)state;
    assert_string_equal(tsig_error_name(16), "BADSIG");
    assert_string_equal(tsig_error_name(18), "BADTIME");
    assert_string_equal(tsig_error_name(22), "BADTRUNC");
    assert_string_equal(tsig_error_name(99), "unknown TSIG error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_name_goes_to_lower_case_with_final_dot),
        cmocka_unit_test(algorithms_are_known_with_and_without_dot_in_any_case),
        cmocka_unit_test(md5_and_unknown_algorithms_are_refused_by_name),
        cmocka_unit_test(bad_key_names_are_refused),
        cmocka_unit_test(bad_secrets_are_refused_and_not_shown),
        cmocka_unit_test(blanks_around_a_secret_are_trimmed),
        cmocka_unit_test(signatures_are_those_of_dnspython),
        cmocka_unit_test(replies_of_dnspython_verify_with_the_mac_of_the_request),
        cmocka_unit_test(reply_signed_by_us_is_that_of_dnspython),
        cmocka_unit_test(what_was_signed_verifies),
        cmocka_unit_test(signed_update_still_reads),
        cmocka_unit_test(changed_id_of_a_forwarder_does_not_break_the_mac),
        cmocka_unit_test(any_changed_bit_is_noticed),
        cmocka_unit_test(time_counts_within_300_seconds),
        cmocka_unit_test(mac_is_checked_before_the_time),
        cmocka_unit_test(other_secret_is_a_bad_signature),
        cmocka_unit_test(other_name_or_algorithm_is_a_bad_key),
        cmocka_unit_test(time_beyond_48_bits_is_not_signed),
        cmocka_unit_test(full_message_has_no_room_for_a_signature),
        cmocka_unit_test(signed_badtime_reply_is_told_apart),
        cmocka_unit_test(unsigned_badkey_reply_is_told_apart),
        cmocka_unit_test(unsigned_reply_without_error_is_no_answer),
        cmocka_unit_test(message_without_tsig_is_told_apart),
        cmocka_unit_test(truncated_macs_are_refused),
        cmocka_unit_test(two_tsig_records_are_malformed),
        cmocka_unit_test(tsig_before_another_record_is_malformed),
        cmocka_unit_test(tsig_outside_the_additional_section_is_malformed),
        cmocka_unit_test(octets_behind_the_tsig_are_malformed),
        cmocka_unit_test(fields_out_of_shape_are_malformed),
        cmocka_unit_test(mac_longer_than_the_digest_is_malformed),
        cmocka_unit_test(no_other_octet_is_read_than_the_message_has),
        cmocka_unit_test(octets_at_random_never_verify),
        cmocka_unit_test(errors_have_their_iana_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
