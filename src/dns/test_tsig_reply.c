#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/tsig.h"
#include "dns/wire.h"

// The server's side of TSIG, and replies of several messages.

enum { NOW_S = 1700000000, OTHER_S = 1000 };

// Made by dnspython 2.3 with the key signpost.key: a request signed at NOW_S; its reply of four
// messages, the first signed a second later, and so on, the third not at all.
static const char request[] =
    "123400000001000000000001076578616d706c6503636f6d0000fc0001087369676e706f7374036b65790000fa00"
    "ff00000000003d0b686d61632d7368613235360000006553f100012c0020a3a25a3a5cf8e222d0d338e76337e47e"
    "1a42baf84f1ab30ebbb5b7ff5d035095123400000000";
static const char *const replies[] = {
    "1234840000000001000000010477777731076578616d706c6503636f6d00000100010000012c0004c00002010873"
    "69676e706f7374036b65790000fa00ff00000000003d0b686d61632d7368613235360000006553f101012c0020f2"
    "7af4c34e65d1f4352d5b9819408c1ea378cb4029ac55e33bece7f530400a71123400000000",
    "1234840000000001000000010477777732076578616d706c6503636f6d00000100010000012c0004c00002020873"
    "69676e706f7374036b65790000fa00ff00000000003d0b686d61632d7368613235360000006553f102012c0020cf"
    "2cb50a80870eb63b3f821ae95a066a5114139d24b3fa2ef4de637296b1be51123400000000",
    "1234840000000001000000000477777733076578616d706c6503636f6d00000100010000012c0004c0000203",
    "1234840000000001000000010477777734076578616d706c6503636f6d00000100010000012c0004c00002040873"
    "69676e706f7374036b65790000fa00ff00000000003d0b686d61632d7368613235360000006553f104012c002022"
    "cf09aeaa7611a5db9bbae37d0213ba975f756b8022c7b7584940fa02aa1f08123400000000",
};
enum { SIGNED_LEN = 85 }; // the TSIG record of a message

// To a request signed at NOW_S, by dnspython, OTHER_S later.
static const char badtime_request[] =
    "12340100000100000000000103777777076578616d706c6503636f6d0000010001087369676e706f7374036b6579"
    "0000fa00ff00000000003d0b686d61632d7368613235360000006553f100012c0020ddd78ee67060f557861c4d3a"
    "1ec6ea83b70a42fdb35d3c6203538f99382cd5ad123400000000";
static const char badtime_reply[] =
    "12348109000100000000000103777777076578616d706c6503636f6d0000010001087369676e706f7374036b6579"
    "0000fa00ff0000000000430b686d61632d7368613235360000006553f100012c0020837b16121ad453fd1a3a164f"
    "10a8c17af9695e6e2009afa50501ea086f59807512340012000600006553f4e8";
static const char badtime_plain[] =
    "12348109000100000000000003777777076578616d706c6503636f6d0000010001";

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

static struct tsig_key key_of(const char *name)
{
    struct tsig_key key;
    assert_true(tsig_key_init(&key, text_of(name), TEXT("hmac-sha256"),
                              TEXT("MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY="), NULL));
    return key;
}

static enum tsig_result verify(const char *hex, const struct tsig_key *key, int64_t unix_s,
                               const struct tsig_mac *request_mac, struct tsig_mac *mac)
{
    AUTO_BUFFER octets = {0};
    size_t stripped_len;
    unsigned peer_error;
    add_hex(&octets, hex);
    return tsig_verify(buffer_text(&octets), key, unix_s, request_mac, &stripped_len, mac,
                       &peer_error);
}

static enum tsig_result verify_later(const struct buffer *octets, const struct tsig_key *key,
                                     const char *between_hex, struct tsig_mac *mac)
{
    AUTO_BUFFER between = {0};
    unsigned peer_error;
    add_hex(&between, between_hex);
    return tsig_verify_later(buffer_text(octets), key, NOW_S, buffer_text(&between), mac,
                             &peer_error);
}

// The MAC of the first reply.
static void handle_first(const struct tsig_key *key, struct tsig_mac *mac)
{
    struct tsig_mac request_mac;
    assert_int_equal(verify(request, key, NOW_S, NULL, &request_mac), TSIG_GOOD);
    assert_int_equal(verify(replies[0], key, NOW_S, &request_mac, mac), TSIG_GOOD);
}

static void a_reply_of_several_messages_is_signed_like_that_of_dnspython(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    struct tsig_mac mac;
    handle_first(&key, &mac);
    AUTO_BUFFER second = {0};
    add_hex(&second, replies[1]);
    second.len -= SIGNED_LEN;
    second.at[11] = 0;
    assert_true(tsig_sign_later(&second, &key, NOW_S + 2, &mac, NULL));
    check_hex(&second, replies[1]);
}

static void a_reply_of_several_messages_verifies_with_unsigned_ones_between(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    AUTO_BUFFER second = {0};
    AUTO_BUFFER last = {0};
    struct tsig_mac mac;
    handle_first(&key, &mac);
    add_hex(&second, replies[1]);
    add_hex(&last, replies[3]);
    assert_int_equal(verify_later(&second, &key, "", &mac), TSIG_GOOD);
    struct tsig_mac before = mac;
    assert_int_equal(verify_later(&last, &key, "", &mac), TSIG_BADSIG);
    assert_memory_equal(&mac, &before, sizeof mac);
    assert_int_equal(verify_later(&last, &key, replies[2], &mac), TSIG_GOOD);
    assert_memory_not_equal(mac.octets, before.octets, before.len);
}

static void a_message_out_of_turn_does_not_verify(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    AUTO_BUFFER first = {0};
    AUTO_BUFFER unsigned_one = {0};
    AUTO_BUFFER last = {0};
    struct tsig_mac mac;
    handle_first(&key, &mac);
    add_hex(&first, replies[0]);
    add_hex(&unsigned_one, replies[2]);
    add_hex(&last, replies[3]);
    assert_int_equal(verify_later(&first, &key, "", &mac), TSIG_BADSIG);
    assert_int_equal(verify_later(&last, &key, replies[2], &mac), TSIG_BADSIG);
    assert_int_equal(verify_later(&unsigned_one, &key, "", &mac), TSIG_ABSENT);
}

static void a_later_message_has_its_own_time(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    AUTO_BUFFER second = {0};
    struct tsig_mac mac;
    unsigned peer_error;
    handle_first(&key, &mac);
    add_hex(&second, replies[1]);
    struct text octets = buffer_text(&second);
    assert_int_equal(tsig_verify_later(octets, &key, NOW_S + 303, TEXT(""), &mac, &peer_error),
                     TSIG_BADTIME);
    assert_int_equal(tsig_verify_later(octets, &key, NOW_S + 302, TEXT(""), &mac, &peer_error),
                     TSIG_GOOD);
}

// ---- whose a request is -------------------------------------------------------------------------

static enum tsig_result find(const char *hex, struct tsig_found *found)
{
    AUTO_BUFFER octets = {0};
    add_hex(&octets, hex);
    return tsig_find(buffer_text(&octets), found);
}

static void the_key_of_a_request_is_found_by_name(void **state)
{
    (void)state;
    struct tsig_found found;
    assert_int_equal(find(request, &found), TSIG_GOOD);
    assert_int_equal(found.name_len, 14);
    assert_memory_equal(found.name, "\10signpost\3key", 14);
    assert_int_equal(found.algorithm_len, 13);
    assert_memory_equal(found.algorithm, "\13hmac-sha256", 13);
    assert_int_equal(found.time_s, NOW_S);
    assert_int_equal(find(replies[2], &found), TSIG_ABSENT);
    assert_int_equal(find("1234", &found), TSIG_MALFORMED);
}

static void badtime_is_refused_with_our_time_and_a_signature(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    AUTO_BUFFER reply = {0};
    struct tsig_found found;
    struct tsig_mac mac;
    assert_int_equal(find(badtime_request, &found), TSIG_GOOD);
    assert_int_equal(verify(badtime_request, &key, NOW_S + OTHER_S, NULL, &mac), TSIG_BADTIME);
    add_hex(&reply, badtime_plain);
    assert_true(tsig_refuse(&reply, &found, TSIG_ERROR_BADTIME, &key, &mac, NOW_S + OTHER_S, NULL));
    check_hex(&reply, badtime_reply);
}

static void an_unknown_key_is_refused_unsigned(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("signpost.key");
    AUTO_BUFFER reply = {0};
    struct tsig_found found;
    struct tsig_mac mac;
    assert_int_equal(find(badtime_request, &found), TSIG_GOOD);
    assert_int_equal(verify(badtime_request, &key, NOW_S, NULL, &mac), TSIG_GOOD);
    add_hex(&reply, badtime_plain);
    assert_true(tsig_refuse(&reply, &found, TSIG_ERROR_BADKEY, NULL, NULL, NOW_S, NULL));
    check_hex(&reply, "12348109000100000000000103777777076578616d706c6503636f6d0000010001"
                      "087369676e706f7374036b65790000fa00ff00000000001d"
                      "0b686d61632d7368613235360000006553f100012c00001234"
                      "00110000");
    struct tsig_mac reply_mac;
    size_t stripped_len;
    unsigned peer_error;
    assert_int_equal(
        tsig_verify(buffer_text(&reply), &key, NOW_S, &mac, &stripped_len, &reply_mac, &peer_error),
        TSIG_REFUSED_BY_PEER);
    assert_int_equal(peer_error, TSIG_ERROR_BADKEY);
}

static void a_reply_without_room_is_not_refused_half(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    struct tsig_found found;
    assert_int_equal(find(request, &found), TSIG_GOOD);
    char *octets = calloc(65500, 1);
    buffer_add(&reply, octets, 65500);
    assert_false(tsig_refuse(&reply, &found, TSIG_ERROR_BADSIG, NULL, NULL, NOW_S, NULL));
    assert_int_equal(reply.len, 65500);
    assert_int_equal(reply.at[11], 0);
    free(octets);
}

// ---- names of messages --------------------------------------------------------------------------

static bool take(const char *hex, size_t position, struct buffer *name, size_t *behind)
{
    AUTO_BUFFER octets = {0};
    uint8_t out[DNAME_MAX];
    struct dname taken;
    add_hex(&octets, hex);
    struct wire wire = wire_of(buffer_text(&octets));
    wire.position = position;
    bool is_taken = wire_take_name(&wire, out, &taken);
    *behind = wire.position;
    if (is_taken)
        dname_write(name, taken);
    return is_taken;
}

static void names_are_taken_in_lower_case_through_pointers(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        size_t position;
        size_t behind;
        const char *name;
    } rows[] = {
        {"0357775703434F4D00", 0, 9, "www.com."},
        {"00", 0, 1, "."},
        {"03434F4D00c000", 5, 7, "com."},
        {"03636f6d000161c0000162c005", 5, 9, "a.com."},
        {"03636f6d000161c0000162c005", 9, 13, "b.a.com."},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER name = {0};
        size_t behind;
        assert_true(take(rows[i].hex, rows[i].position, &name, &behind));
        assert_string_equal(name.at, rows[i].name);
        assert_int_equal(behind, rows[i].behind);
    }
}

static void names_that_lead_forward_round_or_out_are_none(void **state)
{
    (void)state;
    static const struct {
        const char *hex;
        size_t position;
    } rows[] = {
        {"", 0},         {"03636f6d", 0}, {"0363", 0},         {"c000", 0},     {"c00200", 0},
        {"0161c000", 0}, {"00c0", 1},     {"0161c0020162", 2}, {"40", 0},       {"8000", 0},
        {"c0", 0},       {"c0ff", 0},     {"0161c00400", 0},   {"0000c001", 3}, {"ff00", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER name = {0};
        size_t behind;
        if (take(rows[i].hex, rows[i].position, &name, &behind))
            fail_msg("row %zu is %s", i, name.at);
        assert_int_equal(behind, rows[i].position);
    }
}

static void a_name_of_255_octets_is_the_longest(void **state)
{
    (void)state;
    for (size_t last = 61; last <= 62; last++) {
        AUTO_BUFFER octets = {0};
        uint8_t out[DNAME_MAX];
        struct dname taken;
        for (size_t i = 0; i < 4; i++) {
            char label[64];
            memset(label, 'a', sizeof label);
            label[0] = (char)(i < 3 ? 63 : last);
            buffer_add(&octets, label, 1u + (size_t)label[0]);
        }
        buffer_add(&octets, "", 1);
        struct wire wire = wire_of(buffer_text(&octets));
        assert_int_equal(wire_take_name(&wire, out, &taken), last == 61);
        assert_int_equal(wire.position, last == 61 ? 255 : 0);
    }
}

static void a_long_chain_of_pointers_is_not_followed(void **state)
{
    (void)state;
    AUTO_BUFFER octets = {0};
    uint8_t out[DNAME_MAX];
    struct dname taken;
    buffer_add(&octets, "\0", 2);
    for (unsigned at = 0; at < 400; at += 2)
        wire_add_u16(&octets, 0xc000 | at);
    struct wire wire = wire_of(buffer_text(&octets));
    wire.position = 2 * 127;
    assert_true(wire_take_name(&wire, out, &taken));
    wire.position = 2 * 128;
    assert_false(wire_take_name(&wire, out, &taken));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reply_of_several_messages_is_signed_like_that_of_dnspython),
        cmocka_unit_test(a_reply_of_several_messages_verifies_with_unsigned_ones_between),
        cmocka_unit_test(a_message_out_of_turn_does_not_verify),
        cmocka_unit_test(a_later_message_has_its_own_time),
        cmocka_unit_test(the_key_of_a_request_is_found_by_name),
        cmocka_unit_test(badtime_is_refused_with_our_time_and_a_signature),
        cmocka_unit_test(an_unknown_key_is_refused_unsigned),
        cmocka_unit_test(a_reply_without_room_is_not_refused_half),
        cmocka_unit_test(names_are_taken_in_lower_case_through_pointers),
        cmocka_unit_test(names_that_lead_forward_round_or_out_are_none),
        cmocka_unit_test(a_name_of_255_octets_is_the_longest),
        cmocka_unit_test(a_long_chain_of_pointers_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
