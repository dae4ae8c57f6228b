#include "dns/test_served.h"

#include "dns/message.h"

// What each request is answered with. Transfers are in test_transfer.c.

enum { RCODE_BADVERS = 16 };

struct header {
    struct wire_header fields;
    unsigned rcode; // with EDNS's part
    bool has_edns;
    bool has_tsig;
    uint16_t types[64]; // of the answer section
};

static struct header read_header(const struct buffer *message)
{
    struct header read = {0};
    struct wire wire = wire_of(buffer_text(message));
    struct wire_question question;
    struct wire_record record;
    assert_true(wire_take_header(&wire, &read.fields));
    read.rcode = read.fields.flags & FLAG_RCODE;
    for (size_t i = 0; i < read.fields.counts[0]; i++)
        assert_true(wire_take_question(&wire, &question));
    size_t count = (size_t)read.fields.counts[1] + read.fields.counts[2] + read.fields.counts[3];
    for (size_t i = 0; i < count; i++) {
        assert_true(wire_take_record(&wire, &record));
        if (i < COUNT_OF(read.types))
            read.types[i] = record.type;
        read.has_tsig |= record.type == RR_TSIG;
        if (record.type != RR_OPT)
            continue;
        read.has_edns = true;
        read.rcode |= record.ttl >> 24 << 4;
        assert_int_equal(record.class, 1232);
        assert_int_equal(record.ttl & 0xffffff, 0);
        assert_int_equal(record.rdata_len, 0);
    }
    assert_int_equal(wire.position, wire.len);
    assert_int_equal(read.fields.counts[2], 0);
    return read;
}

// One message with that RCODE and no records.
static struct header refused(struct served *served, const struct buffer *request, bool is_tcp,
                             unsigned rcode)
{
    AUTO_ANSWERED got = {0};
    answer(served, request, is_tcp, &got);
    assert_int_equal(got.count, 1);
    struct header header = read_header(&got.messages[0]);
    assert_int_equal(header.rcode, rcode);
    assert_int_equal(got.reported.rcode, rcode);
    assert_int_equal(header.fields.id, ID);
    assert_int_equal(header.fields.counts[1], 0);
    assert_int_equal(header.fields.flags & (FLAG_REPLY | FLAG_AUTHORITATIVE), FLAG_REPLY);
    assert_false(got.reported.has_serial);
    return header;
}

// One authoritative message with one SOA.
static struct header one_soa(struct served *served, const struct buffer *request, bool is_tcp)
{
    AUTO_ANSWERED got = {0};
    answer(served, request, is_tcp, &got);
    assert_int_equal(got.count, 1);
    struct header header = read_header(&got.messages[0]);
    assert_int_equal(header.rcode, RCODE_NOERROR);
    assert_int_equal(header.fields.counts[1], 1);
    assert_int_equal(header.types[0], RR_SOA);
    assert_true(header.fields.flags & FLAG_AUTHORITATIVE);
    assert_false(got.reported.is_incremental || got.reported.has_records);
    assert_true(got.reported.has_serial);
    assert_int_equal(got.reported.serial, 7);
    return header;
}

// ---- rows of the contract -----------------------------------------------------------------------

static void soa_is_answered_over_udp_and_tcp(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_SOA);
    one_soa(&served, &request, false);
    struct header header = one_soa(&served, &request, true);
    assert_int_equal(header.fields.counts[0], 1);
    assert_int_equal(header.fields.counts[3], 0);
    request.at[2] = 1;
    assert_true(one_soa(&served, &request, false).fields.flags & FLAG_RECURSION_DESIRED);
}

static void the_soa_answer_is_this_one(void **state)
{
    (void)state;
    static const char wanted[] = "12348400"
                                 "0001000100000000"
                                 "0473686f70076578616d706c65000006"
                                 "0001"
                                 "c00c0006000100000e10"
                                 "0027"
                                 "036e7331c00c"
                                 "0a686f73746d6173746572c00c"
                                 "0000000700015180"
                                 "00001c200036ee8000000168";
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    AUTO_ANSWERED got = {0};
    char hex[256];
    ask(&request, RR_SOA);
    answer(&served, &request, false, &got);
    assert_true(got.messages[0].len < sizeof hex / 2);
    hex_encode(got.messages[0].at, got.messages[0].len, hex);
    assert_string_equal(hex, wanted);
    assert_int_equal(got.reported.kind, PRIMARY_SOA);
    assert_int_equal(got.reported.apex_len, shop.len);
    assert_memory_equal(got.reported.apex, shop.at, shop.len);
    assert_null(got.reported.key);
}

static void ixfr_over_udp_is_one_soa_whatever_the_serial(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    for (uint32_t serial = 5; serial <= 9; serial++) {
        AUTO_BUFFER request = {0};
        ask_since(&request, serial);
        one_soa(&served, &request, false);
    }
}

static void ixfr_of_one_who_is_not_behind_is_one_soa(void **state)
{
    (void)state;
    static const uint32_t serials[] = {7, 8, 6 + (1u << 31), 7 + (1u << 31)};
    AUTO_SERVED served = served_of(shop_zone(7));
    for (size_t i = 0; i < COUNT_OF(serials); i++) {
        AUTO_BUFFER request = {0};
        ask_since(&request, serials[i]);
        one_soa(&served, &request, true);
    }
}

static void ixfr_without_a_serial_is_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_IXFR);
    refused(&served, &request, true, RCODE_FORMERR);
    refused(&served, &request, false, RCODE_FORMERR);
}

static void ixfr_with_the_soa_of_another_name_is_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask_since(&request, 6);
    assert_int_equal((uint8_t)request.at[12 + shop.len + 4], 0xc0);
    request.at[12 + shop.len + 5] = 17; // the SOA is that of example.
    refused(&served, &request, true, RCODE_FORMERR);
}

static void axfr_over_udp_is_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_AXFR);
    refused(&served, &request, false, RCODE_FORMERR);
}

static void other_types_and_classes_are_refused(void **state)
{
    (void)state;
    static const uint16_t types[] = {RR_A, RR_NS, 255, 0, 253, 65535};
    AUTO_SERVED served = served_of(shop_zone(7));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        AUTO_BUFFER request = {0};
        ask(&request, types[i]);
        refused(&served, &request, i % 2, RCODE_REFUSED);
    }
    static const uint16_t classes[] = {0, 3, 254, 255};
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        AUTO_BUFFER request = {0};
        ask_name(&request, shop, RR_SOA, classes[i]);
        refused(&served, &request, i % 2, RCODE_REFUSED);
    }
}

static void other_opcodes_are_not_implemented(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    for (unsigned opcode = 1; opcode < 16; opcode++) {
        AUTO_BUFFER request = {0};
        ask(&request, RR_SOA);
        request.at[2] = (char)(opcode << 3);
        struct header header = refused(&served, &request, opcode % 2, RCODE_NOTIMP);
        assert_int_equal((header.fields.flags & FLAG_OPCODE) >> OPCODE_SHIFT, opcode);
        buffer_add(&request, "garbage", 7);
        refused(&served, &request, opcode % 2, RCODE_NOTIMP);
    }
}

static void an_unknown_zone_is_refused(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    uint8_t octets[DNAME_MAX];
    static const uint16_t types[] = {RR_SOA, RR_AXFR};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        AUTO_BUFFER request = {0};
        ask_name(&request, name_of("www", octets), types[i], CLASS_IN);
        refused(&served, &request, true, RCODE_REFUSED);
    }
}

static void the_case_of_the_question_makes_no_difference(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_SOA);
    request.at[13] = 'S';
    one_soa(&served, &request, true);
}

static void a_zone_without_good_version_is_a_failure_of_ours(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(NULL);
    AUTO_BUFFER request = {0};
    ask(&request, RR_SOA);
    refused(&served, &request, false, RCODE_SERVFAIL);
    zone_history_free(steal(served.history));
    refused(&served, &request, false, RCODE_SERVFAIL);
    served.is_refused = true;
    refused(&served, &request, false, RCODE_REFUSED);
}

static void who_may_not_have_it_is_refused(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    served.is_keyed = true;
    ask(&request, RR_AXFR);
    refused(&served, &request, true, RCODE_REFUSED);
}

// ---- shape --------------------------------------------------------------------------------------

static bool is_answered(struct served *served, struct text octets)
{
    CLEANUP(primary_answer) struct primary_answer *made = answer_of(served, octets, false);
    return made;
}

static void what_is_no_request_is_not_answered(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_SOA);
    for (size_t len = 0; len < 12; len++)
        assert_false(is_answered(&served, (struct text){request.at, len}));
    assert_false(is_answered(&served, (struct text){0}));
    assert_true(is_answered(&served, buffer_text(&request)));
    request.at[2] = (char)0x80;
    assert_false(is_answered(&served, buffer_text(&request)));
}

static void requests_cut_short_are_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask_since(&request, 6);
    add_edns(&request, 4096, 0);
    size_t whole = request.len;
    for (request.len = 12; request.len < whole; request.len++)
        refused(&served, &request, request.len % 2, RCODE_FORMERR);
    buffer_add(&request, "", 1);
    request.len = whole + 1;
    refused(&served, &request, true, RCODE_FORMERR);
}

static void one_question_is_asked(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER none = {0};
    ask(&none, RR_SOA);
    none.len = 12;
    none.at[5] = 0;
    assert_int_equal(refused(&served, &none, false, RCODE_FORMERR).fields.counts[0], 0);
    AUTO_BUFFER two = {0};
    ask(&two, RR_SOA);
    buffer_add(&two, "\300\14\0\6\0\1", 6);
    two.at[5] = 2;
    assert_int_equal(refused(&served, &two, false, RCODE_FORMERR).fields.counts[0], 0);
}

static void no_request_of_changed_octets_does_harm(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    uint32_t seed = 1;
    ask_since(&request, 6);
    add_edns(&request, 4096, 0);
    assert_true(tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL));
    for (size_t round = 0; round < 20000; round++) {
        AUTO_ANSWERED got = {0};
        AUTO_BUFFER changed = {0};
        seed = seed * 1664525 + 1013904223;
        buffer_add(&changed, request.at, request.len - (round % 4 ? 0 : (seed >> 9) % 64));
        changed.at[(seed >> 4) % changed.len] ^= (char)(1 << seed % 8);
        changed.at[(seed >> 16) % changed.len] = (char)(seed >> 8);
        answer(&served, &changed, seed >> 31, &got);
    }
}

// ---- EDNS ---------------------------------------------------------------------------------------

static void edns_is_answered_with_edns(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER plain = {0};
    AUTO_BUFFER request = {0};
    ask(&plain, RR_SOA);
    ask(&request, RR_SOA);
    add_edns(&request, 4096, 0x8000); // DO is not taken up
    assert_false(one_soa(&served, &plain, false).has_edns);
    assert_true(one_soa(&served, &request, false).has_edns);
    served.is_refused = true;
    assert_true(refused(&served, &request, false, RCODE_REFUSED).has_edns);
}

static void an_unknown_version_of_edns_is_told(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    ask(&request, RR_SOA);
    add_edns(&request, 512, 1 << 16);
    assert_true(refused(&served, &request, false, RCODE_BADVERS).has_edns);
}

static void two_edns_records_or_one_of_a_name_are_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER two = {0};
    ask(&two, RR_SOA);
    add_edns(&two, 512, 0);
    add_edns(&two, 512, 0);
    refused(&served, &two, false, RCODE_FORMERR);
    AUTO_BUFFER named = {0};
    ask(&named, RR_SOA);
    buffer_add(&named, "\300\14\0\51\2\0\0\0\0\0\0\0", 12);
    named.at[11] = 1;
    refused(&served, &named, false, RCODE_FORMERR);
}

static struct zone *zone_of_long_names(struct dname apex)
{
    uint8_t mname[DNAME_MAX], rname[DNAME_MAX];
    memset(mname, 'm', sizeof mname);
    memset(rname, 'r', sizeof rname);
    for (size_t i = 0; i < 3; i++)
        mname[64 * i] = rname[64 * i] = 63;
    mname[192] = rname[192] = 61;
    mname[254] = rname[254] = 0;
    struct zone_soa soa = {.mname = {mname, 255}, .rname = {rname, 255}, .serial = 7};
    return zone_new(zone_soa_set(apex, 0, &soa), NULL, 0);
}

static void what_does_not_fit_is_truncated_and_has_the_payload_that_was_asked_for(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(zone_of_long_names(shop));
    AUTO_BUFFER plain = {0};
    AUTO_ANSWERED got = {0};
    ask(&plain, RR_SOA);
    answer(&served, &plain, false, &got);
    assert_int_equal(got.count, 1);
    struct header header = read_header(&got.messages[0]);
    assert_true(header.fields.flags & FLAG_TRUNCATED);
    assert_int_equal(header.fields.counts[1], 0);
    assert_true(got.messages[0].len <= 512);
    add_edns(&plain, 4096, 0);
    one_soa(&served, &plain, false);
    one_soa(&served, &plain, true);
}

// ---- TSIG ---------------------------------------------------------------------------------------

static enum tsig_result result_of(const struct buffer *message, const struct tsig_key *key,
                                  int64_t unix_s, const struct tsig_mac *request_mac,
                                  unsigned *peer_error)
{
    struct tsig_mac mac;
    size_t stripped_len;
    return tsig_verify(buffer_text(message), key, unix_s, request_mac, &stripped_len, &mac,
                       peer_error);
}

static void a_signed_request_has_a_signed_answer(void **state)
{
    (void)state;
    static const char *const algorithms[] = {"hmac-sha1", "hmac-sha224", "hmac-sha256",
                                             "hmac-sha384", "hmac-sha512"};
    AUTO_SERVED served = served_of(shop_zone(7));
    served.is_keyed = true;
    for (size_t i = 0; i < COUNT_OF(algorithms); i++) {
        AUTO_BUFFER request = {0};
        AUTO_ANSWERED got = {0};
        struct tsig_mac mac;
        unsigned peer_error;
        tsig_key_done(&served.key);
        served.key = key_of(algorithms[i]);
        ask(&request, RR_SOA);
        add_edns(&request, 4096, 0);
        assert_true(tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL));
        answer(&served, &request, i % 2, &got);
        assert_int_equal(got.reported.rcode, RCODE_NOERROR);
        assert_ptr_equal(got.reported.key, &served.key);
        assert_int_equal(result_of(&got.messages[0], &served.key, NOW_S, &mac, &peer_error),
                         TSIG_GOOD);
    }
}

static void errors_of_a_signed_request_are_signed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    static const struct {
        uint16_t type;
        unsigned opcode;
        unsigned rcode;
    } rows[] = {{RR_A, 0, RCODE_REFUSED}, {RR_SOA, 4, RCODE_NOTIMP}, {RR_IXFR, 0, RCODE_FORMERR}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER request = {0};
        AUTO_ANSWERED got = {0};
        struct tsig_mac mac;
        unsigned peer_error;
        ask(&request, rows[i].type);
        request.at[2] = (char)(rows[i].opcode << 3);
        assert_true(tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL));
        answer(&served, &request, true, &got);
        assert_int_equal(got.reported.rcode, rows[i].rcode);
        assert_int_equal(result_of(&got.messages[0], &served.key, NOW_S, &mac, &peer_error),
                         TSIG_GOOD);
    }
}

// What a request is told whose TSIG is not good.
struct reported_tsig {
    unsigned error;
    bool is_signed;
};

static struct reported_tsig reported_of(struct served *served, const struct buffer *request,
                                        const struct tsig_key *key, const struct tsig_mac *mac)
{
    AUTO_ANSWERED got = {0};
    unsigned error;
    answer(served, request, true, &got);
    assert_int_equal(got.count, 1);
    struct header header = read_header(&got.messages[0]);
    assert_int_equal(header.rcode, RCODE_NOTAUTH);
    assert_int_equal(header.fields.counts[1], 0);
    assert_int_equal(header.fields.id, ID);
    assert_true(header.has_tsig);
    assert_null(got.reported.key);
    assert_int_equal(got.reported.kind, PRIMARY_AXFR);
    assert_int_equal(result_of(&got.messages[0], key, NOW_S, mac, &error), TSIG_REFUSED_BY_PEER);
    assert_int_equal(got.reported.tsig_error, error);
    // With another request's MAC only what is unsigned still counts.
    struct tsig_mac other = {.len = mac->len};
    unsigned same;
    bool is_signed = result_of(&got.messages[0], key, NOW_S, &other, &same) != TSIG_REFUSED_BY_PEER;
    return (struct reported_tsig){error, is_signed};
}

static void an_unknown_key_is_told_unsigned(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    struct tsig_key other;
    assert_true(tsig_key_init(&other, TEXT("other.key"), TEXT("hmac-sha256"), TEXT("AAAA"), NULL));
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    ask(&request, RR_AXFR);
    assert_true(tsig_sign(&request, &other, NOW_S, NULL, &mac, NULL));
    struct reported_tsig reported = reported_of(&served, &request, &other, &mac);
    assert_int_equal(reported.error, TSIG_ERROR_BADKEY);
    assert_false(reported.is_signed);
    tsig_key_done(&other);
}

static void another_algorithm_is_another_key(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    struct tsig_key other = key_of("hmac-sha512");
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    ask(&request, RR_AXFR);
    assert_true(tsig_sign(&request, &other, NOW_S, NULL, &mac, NULL));
    struct reported_tsig reported = reported_of(&served, &request, &other, &mac);
    assert_int_equal(reported.error, TSIG_ERROR_BADKEY);
    assert_false(reported.is_signed);
    tsig_key_done(&other);
}

static void a_wrong_mac_is_told_unsigned(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    ask(&request, RR_AXFR);
    assert_true(tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL));
    request.at[request.len - 7] ^= 1;
    struct reported_tsig reported = reported_of(&served, &request, &served.key, &mac);
    assert_int_equal(reported.error, TSIG_ERROR_BADSIG);
    assert_false(reported.is_signed);
}

static void a_wrong_time_is_told_signed_with_our_time(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    static const int64_t times[] = {NOW_S - 301, NOW_S + 301, 0};
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        AUTO_BUFFER request = {0};
        AUTO_ANSWERED got = {0};
        struct tsig_mac mac;
        ask(&request, RR_AXFR);
        assert_true(tsig_sign(&request, &served.key, times[i], NULL, &mac, NULL));
        struct reported_tsig reported = reported_of(&served, &request, &served.key, &mac);
        assert_int_equal(reported.error, TSIG_ERROR_BADTIME);
        assert_true(reported.is_signed);
        answer(&served, &request, true, &got);
        const struct buffer *reply = &got.messages[0];
        static const uint8_t now[] = {0, 6, 0, 0, 0x65, 0x53, 0xf1, 0};
        assert_memory_equal(reply->at + reply->len - sizeof now, now, sizeof now);
    }
}

static void a_replay_within_the_fudge_is_answered_and_one_after_it_is_not(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    struct tsig_mac mac;
    ask(&request, RR_SOA);
    assert_true(tsig_sign(&request, &served.key, NOW_S - 300, NULL, &mac, NULL));
    one_soa(&served, &request, false);
    one_soa(&served, &request, false);
}

static void a_tsig_that_is_not_last_or_twice_is_malformed(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER not_last = {0};
    AUTO_BUFFER twice = {0};
    struct tsig_mac mac;
    ask(&not_last, RR_SOA);
    assert_true(tsig_sign(&not_last, &served.key, NOW_S, NULL, &mac, NULL));
    add_edns(&not_last, 512, 0);
    assert_false(refused(&served, &not_last, false, RCODE_FORMERR).has_tsig);
    ask(&twice, RR_SOA);
    assert_true(tsig_sign(&twice, &served.key, NOW_S, NULL, &mac, NULL));
    assert_true(tsig_sign(&twice, &served.key, NOW_S, NULL, &mac, NULL));
    assert_false(refused(&served, &twice, false, RCODE_FORMERR).has_tsig);
}

static void nothing_is_said_when_the_clock_cannot_be(void **state)
{
    (void)state;
    AUTO_SERVED served = served_of(shop_zone(7));
    AUTO_BUFFER request = {0};
    AUTO_BUFFER out = {0};
    struct tsig_mac mac;
    ask(&request, RR_SOA);
    assert_true(tsig_sign(&request, &served.key, NOW_S, NULL, &mac, NULL));
    CLEANUP(primary_answer)
    struct primary_answer *made = answer_of(&served, buffer_text(&request), true);
    assert_false(primary_answer_next(made, -1, &out));
    assert_false(primary_answer_next(made, NOW_S, &out));
    assert_int_equal(out.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(soa_is_answered_over_udp_and_tcp),
        cmocka_unit_test(the_soa_answer_is_this_one),
        cmocka_unit_test(ixfr_over_udp_is_one_soa_whatever_the_serial),
        cmocka_unit_test(ixfr_of_one_who_is_not_behind_is_one_soa),
        cmocka_unit_test(ixfr_without_a_serial_is_malformed),
        cmocka_unit_test(ixfr_with_the_soa_of_another_name_is_malformed),
        cmocka_unit_test(axfr_over_udp_is_malformed),
        cmocka_unit_test(other_types_and_classes_are_refused),
        cmocka_unit_test(other_opcodes_are_not_implemented),
        cmocka_unit_test(an_unknown_zone_is_refused),
        cmocka_unit_test(the_case_of_the_question_makes_no_difference),
        cmocka_unit_test(a_zone_without_good_version_is_a_failure_of_ours),
        cmocka_unit_test(who_may_not_have_it_is_refused),
        cmocka_unit_test(what_is_no_request_is_not_answered),
        cmocka_unit_test(requests_cut_short_are_malformed),
        cmocka_unit_test(one_question_is_asked),
        cmocka_unit_test(no_request_of_changed_octets_does_harm),
        cmocka_unit_test(edns_is_answered_with_edns),
        cmocka_unit_test(an_unknown_version_of_edns_is_told),
        cmocka_unit_test(two_edns_records_or_one_of_a_name_are_malformed),
        cmocka_unit_test(what_does_not_fit_is_truncated_and_has_the_payload_that_was_asked_for),
        cmocka_unit_test(a_signed_request_has_a_signed_answer),
        cmocka_unit_test(errors_of_a_signed_request_are_signed),
        cmocka_unit_test(an_unknown_key_is_told_unsigned),
        cmocka_unit_test(another_algorithm_is_another_key),
        cmocka_unit_test(a_wrong_mac_is_told_unsigned),
        cmocka_unit_test(a_wrong_time_is_told_signed_with_our_time),
        cmocka_unit_test(a_replay_within_the_fudge_is_answered_and_one_after_it_is_not),
        cmocka_unit_test(a_tsig_that_is_not_last_or_twice_is_malformed),
        cmocka_unit_test(nothing_is_said_when_the_clock_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
