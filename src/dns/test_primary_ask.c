#include "dns/test_served.h"

#include "base/digest.h"

// NOTIFY, the question for the SOA, and what is heard of them.

enum { FLAGS_OF_NOTIFY = OPCODE_NOTIFY << OPCODE_SHIFT };

static void expect_octets(const struct buffer *octets, const char *wanted)
{
    char hex[512];
    assert_true(octets->len < sizeof hex / 2);
    hex_encode(octets->at, octets->len, hex);
    assert_string_equal(hex, wanted);
}

static void key_cleanup(struct tsig_key *key)
{
    tsig_key_done(key);
}
#define AUTO_KEY __attribute__((cleanup(key_cleanup))) struct tsig_key

// ---- what is said -------------------------------------------------------------------------------

static void notify_has_the_new_soa(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    struct rrset *soa = shop_soa(7);
    assert_true(primary_notify(&out, ID, soa, NULL, NOW_S, &mac, NULL));
    expect_octets(&out, "12342400"
                        "0001000100000000"
                        "0473686f70076578616d706c65000006"
                        "0001"
                        "c00c0006000100000e10"
                        "0027"
                        "036e7331c00c"
                        "0a686f73746d6173746572c00c"
                        "0000000700015180"
                        "00001c200036ee8000000168");
    rrset_unref(soa);
}

static void a_probe_asks_for_the_soa_alone(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    assert_true(primary_probe(&out, ID, shop, NULL, NOW_S, &mac, NULL));
    expect_octets(&out, "123400000001000000000000"
                        "0473686f70076578616d706c65000006"
                        "0001");
}

static void what_is_said_is_appended_and_signed(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha512");
    struct rrset *soa = shop_soa(7);
    for (size_t i = 0; i < 2; i++) {
        AUTO_BUFFER out = {0};
        struct tsig_mac mac, found;
        size_t stripped_len;
        unsigned peer_error;
        buffer_add(&out, "abc", 3);
        assert_true(i ? primary_notify(&out, ID, soa, &key, NOW_S, &mac, NULL)
                      : primary_probe(&out, ID, shop, &key, NOW_S, &mac, NULL));
        struct text message = {out.at + 3, out.len - 3};
        assert_int_equal(
            tsig_verify(message, &key, NOW_S, NULL, &stripped_len, &found, &peer_error), TSIG_GOOD);
        assert_int_equal(mac.len, 64);
        assert_memory_equal(mac.octets, found.octets, mac.len);
        assert_false(i ? primary_notify(&out, ID, soa, &key, -1, &mac, NULL)
                       : primary_probe(&out, ID, shop, &key, -1, &mac, NULL));
        assert_int_equal(out.len, 3 + message.len);
    }
    rrset_unref(soa);
}

static void notify_of_long_names_fits_udp_without_its_hint(void **state)
{
    (void)state;
    AUTO_KEY key = key_of("hmac-sha512");
    uint8_t octets[DNAME_MAX], mname[129];
    memset(octets, 'm', sizeof octets);
    memset(mname, 'n', sizeof mname);
    octets[0] = octets[64] = octets[128] = mname[0] = mname[64] = 63;
    octets[192] = 61;
    octets[254] = mname[128] = 0;
    struct dname name = {octets, sizeof octets};
    struct zone_soa fields = {.mname = {mname, 129}, .rname = name, .serial = 7};
    struct rrset *soa = zone_soa_set(name, 0, &fields);
    for (size_t i = 0; i < 2; i++) {
        AUTO_BUFFER out = {0};
        struct tsig_mac mac;
        assert_true(primary_notify(&out, ID, soa, i ? &key : NULL, NOW_S, &mac, NULL));
        assert_true(out.len <= 512);
        assert_int_equal(out.at[7], i ? 0 : 1);
        assert_int_equal(out.at[11], i);
    }
    rrset_unref(soa);
}

// ---- what is heard ------------------------------------------------------------------------------

struct heard {
    bool is_good;
    bool has_serial;
    uint32_t serial;
    struct error err;
};

static struct heard handle_reply(const struct buffer *octets, const struct tsig_key *key,
                                 const struct tsig_mac *mac)
{
    struct heard heard = {.serial = 99};
    autofree char *exact = mem_copy(octets->len ? octets->at : "", octets->len);
    heard.is_good = primary_reply((struct text){exact, octets->len}, ID, shop, key, NOW_S, mac,
                                  &heard.has_serial, &heard.serial, &heard.err);
    return heard;
}

static void begin_reply(struct buffer *out, unsigned flags)
{
    ask(out, RR_SOA);
    out->at[2] = (char)(flags >> 8);
    out->at[3] = (char)flags;
}

static void add_soa(struct buffer *out, const char *owner, size_t owner_len, uint8_t serial)
{
    static const uint8_t timers[16];
    const uint8_t serial_octets[] = {0, 0, 0, serial};
    buffer_add(out, owner, owner_len);
    buffer_add(out, "\0\6\0\1\0\0\0\0\0\27\0\300\14", 13);
    buffer_add(out, serial_octets, sizeof serial_octets);
    buffer_add(out, timers, sizeof timers);
    out->at[7]++;
}

static void a_reply_to_a_probe_has_the_serial(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8400);
    add_soa(&reply, "\300\14", 2, 9);
    struct heard heard = handle_reply(&reply, NULL, NULL);
    assert_true(heard.is_good && heard.has_serial);
    assert_int_equal(heard.serial, 9);
}

static void a_reply_without_soa_is_good_without_serial(void **state)
{
    (void)state;
    AUTO_BUFFER notified = {0};
    AUTO_BUFFER other = {0};
    begin_reply(&notified, FLAG_REPLY | FLAGS_OF_NOTIFY);
    struct heard heard = handle_reply(&notified, NULL, NULL);
    assert_true(heard.is_good && !heard.has_serial);
    assert_int_equal(heard.serial, 99);
    begin_reply(&other, 0x8400);
    add_soa(&other, "\300\21", 2, 9);
    heard = handle_reply(&other, NULL, NULL);
    assert_true(heard.is_good && !heard.has_serial);
}

static void notify_is_answered_with_or_without_authority(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, FLAG_REPLY | FLAGS_OF_NOTIFY);
    add_soa(&reply, "\300\14", 2, 9);
    assert_true(handle_reply(&reply, NULL, NULL).has_serial);
}

static void expect_error(const struct buffer *reply, enum fault fault, const char *code,
                         const char *text)
{
    struct heard heard = handle_reply(reply, NULL, NULL);
    assert_false(heard.is_good || heard.has_serial);
    assert_int_equal(heard.serial, 99);
    assert_int_equal(heard.err.fault, fault);
    assert_string_equal(heard.err.code, code);
    assert_string_equal(heard.err.text, text);
}

static void replies_to_something_else_are_none(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        char octet;
    } rows[] = {{0, 0}, {1, 0}, {2, 4}, {13, 'x'}, {27, 1}, {29, 3}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER reply = {0};
        begin_reply(&reply, 0x8400);
        add_soa(&reply, "\300\14", 2, 9);
        reply.at[rows[i].at] = rows[i].octet;
        expect_error(&reply, FAULT_AGAIN, "", "what came is no reply to our question");
    }
}

static void replies_cut_short_are_none(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8400);
    add_soa(&reply, "\300\14", 2, 9);
    for (size_t whole = reply.len; reply.len-- > 0;)
        assert_false(handle_reply(&reply, NULL, NULL).is_good && reply.len < whole);
}

static void refusals_have_their_code(void **state)
{
    (void)state;
    static const struct {
        unsigned rcode;
        enum fault fault;
        const char *code;
        const char *text;
    } rows[] = {{5, FAULT_AUTH, "REFUSED", "the server answers REFUSED"},
                {9, FAULT_AUTH, "NOTAUTH", "the server answers NOTAUTH"},
                {2, FAULT_AGAIN, "SERVFAIL", "the server answers SERVFAIL"},
                {3, FAULT_AGAIN, "NXDOMAIN", "the server answers NXDOMAIN"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER reply = {0};
        begin_reply(&reply, 0x8000 | rows[i].rcode);
        expect_error(&reply, rows[i].fault, rows[i].code, rows[i].text);
    }
}

static void a_serial_of_a_cache_does_not_count(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8180);
    add_soa(&reply, "\300\14", 2, 9);
    expect_error(&reply, FAULT_AGAIN, "", "the server is not authoritative for the zone");
}

static void two_soas_are_malformed(void **state)
{
    (void)state;
    AUTO_BUFFER reply = {0};
    begin_reply(&reply, 0x8400);
    add_soa(&reply, "\300\14", 2, 9);
    add_soa(&reply, "\300\14", 2, 10);
    expect_error(&reply, FAULT_AGAIN, "", "the reply is malformed");
}

// ---- with a key ---------------------------------------------------------------------------------

// What a primary that holds shop.example. answers to a probe signed with that key at that time.
static struct heard probe(struct served *served, const struct tsig_key *key, int64_t unix_s)
{
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    struct tsig_mac mac;
    assert_true(primary_probe(&request, ID, shop, key, unix_s, &mac, NULL));
    answer(served, &request, false, &got);
    assert_int_equal(got.count, 1);
    return handle_reply(&got.messages[0], key, &mac);
}

static void a_signed_probe_is_answered_signed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    served.is_keyed = true;
    struct heard heard = probe(&served, &served.key, NOW_S);
    assert_true(heard.is_good && heard.has_serial);
    assert_int_equal(heard.serial, 7);
}

static void what_is_wrong_with_our_key_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t unix_s;
        const char *secret;
        const char *text;
    } rows[] = {
        {"other", NOW_S, "AAAA", "the server refuses our TSIG signature: BADKEY"},
        {"signpost.key", NOW_S, "AAAA", "the server refuses our TSIG signature: BADSIG"},
        {"signpost.key", NOW_S - 301, "MDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXY=",
         "the server refuses our TSIG signature: BADTIME"},
    };
    AUTO_SERVED served = served_of(shop_zone(7));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_KEY key;
        assert_true(tsig_key_init(&key, text_of(rows[i].name), TEXT("hmac-sha256"),
                                  text_of(rows[i].secret), NULL));
        struct heard heard = probe(&served, &key, rows[i].unix_s);
        assert_false(heard.is_good);
        assert_int_equal(heard.err.fault, FAULT_AUTH);
        assert_int_equal(heard.err.status, 9);
        assert_string_equal(heard.err.text, rows[i].text);
        assert_string_equal(heard.err.code, strrchr(rows[i].text, ' ') + 1);
    }
}

static struct heard handle_signed(int64_t unix_s, bool is_other, bool is_signed)
{
    AUTO_KEY key = key_of("hmac-sha256");
    AUTO_KEY other = key_of("hmac-sha512");
    AUTO_BUFFER request = {0};
    AUTO_BUFFER reply = {0};
    struct tsig_mac mac, own;
    assert_true(primary_probe(&request, ID, shop, &key, NOW_S, &mac, NULL));
    begin_reply(&reply, 0x8400);
    add_soa(&reply, "\300\14", 2, 9);
    if (is_signed)
        assert_true(tsig_sign(&reply, is_other ? &other : &key, unix_s, &mac, &own, NULL));
    return handle_reply(&reply, &key, &mac);
}

static void replies_that_are_not_signed_well_do_not_count(void **state)
{
    (void)state;
    assert_true(handle_signed(NOW_S, false, true).has_serial);
    struct heard none = handle_signed(NOW_S, false, false);
    assert_string_equal(none.err.code, "UNSIGNED");
    assert_string_equal(none.err.text, "the reply is not signed: NOERROR");
    struct heard other = handle_signed(NOW_S, true, true);
    assert_string_equal(other.err.code, "BADKEY");
    struct heard late = handle_signed(NOW_S - 301, false, true);
    assert_string_equal(late.err.code, "BADTIME");
    assert_false(none.is_good || other.is_good || late.is_good);
    assert_int_equal(none.err.fault, FAULT_AUTH);
    assert_int_equal(other.err.fault, FAULT_AUTH);
    assert_int_equal(late.err.fault, FAULT_AUTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notify_has_the_new_soa),
        cmocka_unit_test(a_probe_asks_for_the_soa_alone),
        cmocka_unit_test(what_is_said_is_appended_and_signed),
        cmocka_unit_test(notify_of_long_names_fits_udp_without_its_hint),
        cmocka_unit_test(a_reply_to_a_probe_has_the_serial),
        cmocka_unit_test(a_reply_without_soa_is_good_without_serial),
        cmocka_unit_test(notify_is_answered_with_or_without_authority),
        cmocka_unit_test(replies_to_something_else_are_none),
        cmocka_unit_test(replies_cut_short_are_none),
        cmocka_unit_test(refusals_have_their_code),
        cmocka_unit_test(a_serial_of_a_cache_does_not_count),
        cmocka_unit_test(two_soas_are_malformed),
        cmocka_unit_test(a_signed_probe_is_answered_signed),
        cmocka_unit_test(what_is_wrong_with_our_key_is_told),
        cmocka_unit_test(replies_that_are_not_signed_well_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
