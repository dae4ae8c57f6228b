#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "dns/message.h"

static void expect_hex(const struct buffer *octets, const char *wanted)
{
    char *hex = test_malloc(2 * octets->len + 1);
    hex_encode(octets->at, octets->len, hex);
    assert_string_equal(hex, wanted);
    test_free(hex);
}

static void add_hex(struct buffer *out, const char *hex)
{
    uint8_t octets[2048];
    size_t len = strlen(hex) / 2;
    assert_true(len <= sizeof octets);
    assert_true(hex_decode(text_of(hex), octets, len));
    buffer_add(out, octets, len);
}

// ---- writing ------------------------------------------------------------------------------------

static void query_carries_the_id_that_was_handed_in_and_no_edns(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    assert_true(message_query(&out, 0x1234, TEXT("www.Example.com"), 1, false, NULL));
    expect_hex(&out, "12340000000100000000000003777777074578616d706c6503636f6d0000010001");
    buffer_clear(&out);
    assert_true(message_query(&out, 0x0001, TEXT("www.example.com."), 33, true, NULL));
    expect_hex(&out, "00010100000100000000000003777777076578616d706c6503636f6d0000210001");
}

static void root_can_be_asked_for(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    assert_true(message_query(&out, 1, TEXT("."), 2, true, NULL));
    expect_hex(&out, "0001010000010000000000000000020001");
}

static void messages_are_appended(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "xy");
    assert_true(message_query(&out, 0x3132, TEXT("."), 2, false, NULL));
    assert_int_equal(out.len, 2 + 17);
    assert_memory_equal(out.at, "xy12", 4);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    static char long_label[65], long_name[1100];
    memset(long_label, 'a', 64);
    memset(long_name, 'a', sizeof long_name - 1);
    for (size_t i = 63; i < sizeof long_name; i += 64)
        long_name[i] = '.';
    const struct text names[] = {TEXT(""),         {NULL, 0},        TEXT("a..b"),
                                 TEXT(".."),       TEXT(".a"),       TEXT("a\0b"),
                                 {long_label, 64}, {long_name, 300}, {long_name, 1099}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_BUFFER out = {0};
        struct error err = {0};
        if (message_query(&out, 1, names[i], 1, false, &err))
            fail_msg("name %zu was accepted", i);
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_non_null(strstr(err.text, "is not a domain name"));
        assert_int_equal(out.len, 0);
    }
}

struct wanted_set {
    enum record_type type;
    const char *name;
    const char *value;
};

static struct record_set set_of(enum record_type type, const struct text *values, size_t count)
{
    return (struct record_set){.type = type,
                               .ttl_s = 300,
                               .values = values,
                               .value_count = count,
                               .priority = 1,
                               .weight = 2,
                               .port = 5060};
}

static bool add_one(struct update *update, enum record_type type, struct text value,
                    struct error *err)
{
    struct record_set set = set_of(type, &value, 1);
    return update_add_set(update, TEXT("www.example.com"), &set, err);
}

static void update_without_changes_names_its_zone(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    assert_true(update_write(&out, update, 0x4321, NULL));
    expect_hex(&out, "432128000001000000000000076578616d706c6503636f6d0000060001");
}

// dnspython 2.3 reads these octets as the changes asked for here.
static void update_holds_prerequisites_deletions_and_additions(void **state)
{
    (void)state;
    static const struct wanted_set sets[] = {
        {RECORD_A, "www.example.com", "192.0.2.1"},
        {RECORD_SRV, "_sip._tcp.example.com", "sip.example.com"},
        {RECORD_MX, "example.com", "."},
        {RECORD_TXT, "t.example.com", "\"a\\b;\""},
        {RECORD_AAAA, "*.w.example.com", "2001:db8::1"},
        {RECORD_CNAME, "*.w.example.com.", "a_b.example.net"},
    };
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    assert_true(update_require_absent(update, TEXT("_a._own.www.example.com"), RECORD_TXT, NULL));
    assert_true(update_delete_set(update, TEXT("www.example.com"), RECORD_A, NULL));
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        struct text value = text_of(sets[i].value);
        struct record_set set = set_of(sets[i].type, &value, 1);
        assert_true(update_add_set(update, text_of(sets[i].name), &set, NULL));
    }
    assert_true(update_write(&out, update, 0x4321, NULL));
    expect_hex(&out, "432128000001000100070000076578616d706c6503636f6d0000060001025f61045f6f776e03"
                     "777777c00c001000fe000000000000c025000100ff000000000000c025000100010000012c00"
                     "04c0000201045f736970045f746370c00c002100010000012c00170001000213c40373697007"
                     "6578616d706c6503636f6d00c00c000f00010000012c00030001000174c00c00100001000001"
                     "2c00070622615c623b22012a0177c00c001c00010000012c001020010db80000000000000000"
                     "00000001c0a2000500010000012c001103615f62076578616d706c65036e657400");
}

static void required_sets_stand_before_the_changes(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    assert_true(update_delete_set(update, TEXT("www.example.com"), RECORD_A, NULL));
    assert_true(update_require_present(update, TEXT("www.example.com"), RECORD_A, NULL));
    assert_true(update_write(&out, update, 0x4321, NULL));
    expect_hex(&out, "432128000001000100010000076578616d706c6503636f6d0000060001037777"
                     "77c00c000100ff000000000000c01d000100ff000000000000");
}

// As dnspython writes them.
static void required_values_and_unused_names_stand_before_the_changes(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    const struct text value = TEXT("192.0.2.1");
    const struct record_set set = set_of(RECORD_A, &value, 1);
    assert_true(update_require_values(update, TEXT("www.example.com"), &set, NULL));
    assert_true(update_require_unused(update, TEXT("api.example.com"), NULL));
    assert_true(update_write(&out, update, 0x4321, NULL));
    expect_hex(&out, "432128000001000200000000076578616d706c6503636f6d0000060001037777"
                     "77c00c00010001000000000004c000020103617069c00c00ff00fe000000000000");
}

static void single_values_are_deleted_without_a_ttl(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    const struct text value = TEXT("192.0.2.1");
    const struct record_set set = set_of(RECORD_A, &value, 1);
    assert_true(update_delete_values(update, TEXT("www.example.com"), &set, NULL));
    assert_true(update_write(&out, update, 0x4321, NULL));
    expect_hex(&out, "432128000001000000010000076578616d706c6503636f6d0000060001037777"
                     "77c00c000100fe000000000004c0000201");
}

static void txt_is_cut_into_strings_of_255_octets(void **state)
{
    (void)state;
    char text[511];
    memset(text, 'x', sizeof text);
    static const struct {
        size_t len;
        size_t rdata_len;
        size_t strings[3];
    } rows[] = {{0, 1, {0}},
                {1, 2, {1}},
                {255, 256, {255}},
                {256, 258, {255, 1}},
                {510, 512, {255, 255}},
                {511, 514, {255, 255, 1}}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER out = {0};
        CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
        assert_true(add_one(update, RECORD_TXT, (struct text){text, rows[i].len}, NULL));
        assert_true(update_write(&out, update, 1, NULL));
        const uint8_t *rdata = (const uint8_t *)out.at + out.len - rows[i].rdata_len;
        assert_int_equal(rdata[-2] << 8 | rdata[-1], rows[i].rdata_len);
        for (size_t j = 0, at = 0; at < rows[i].rdata_len; at += 1 + rows[i].strings[j++])
            assert_int_equal(rdata[at], rows[i].strings[j]);
    }
}

static void numbers_that_ldns_would_wrap_are_refused(void **state)
{
    (void)state;
    static const int32_t bad[] = {-1, 65536, 70000, INT32_MAX, INT32_MIN};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    struct text value = TEXT("mail.example.com");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct error err = {0};
        struct record_set mx = set_of(RECORD_MX, &value, 1), srv = set_of(RECORD_SRV, &value, 1);
        mx.priority = bad[i];
        assert_false(update_add_set(update, TEXT("example.com"), &mx, &err));
        assert_non_null(strstr(err.text, "example.com MX: priority is "));
        assert_non_null(strstr(err.text, "it must be 0..65535"));
        srv.weight = bad[i];
        assert_false(update_add_set(update, TEXT("example.com"), &srv, &err));
        assert_non_null(strstr(err.text, "example.com SRV: weight is "));
        srv.weight = 0;
        srv.port = bad[i];
        assert_false(update_add_set(update, TEXT("example.com"), &srv, &err));
        assert_non_null(strstr(err.text, "example.com SRV: port is "));
    }
    AUTO_BUFFER out = {0};
    assert_true(update_write(&out, update, 1, NULL));
    assert_int_equal(out.at[9], 0);
}

static void ttl_over_31_bits_is_refused(void **state)
{
    (void)state;
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    struct error err = {0};
    struct text value = TEXT("192.0.2.1");
    struct record_set set = set_of(RECORD_A, &value, 1);
    set.ttl_s = 2147483648U;
    assert_false(update_add_set(update, TEXT("example.com"), &set, &err));
    assert_string_equal(err.text, "TTL is 2147483648: at most 2147483647 is allowed");
    set.ttl_s--;
    assert_true(update_add_set(update, TEXT("example.com"), &set, &err));
}

static void bad_values_are_refused_with_name_and_type(void **state)
{
    (void)state;
    static const struct {
        enum record_type type;
        struct text value;
        const char *text;
    } rows[] = {
        {RECORD_A, TEXT("2001:db8::1"), "www.example.com A: '2001:db8::1' is not an IPv4 address"},
        {RECORD_A, TEXT("192.0.2"), "is not an IPv4 address"},
        {RECORD_A, TEXT("192.0.2.1\0"), "is not an IPv4 address"},
        {RECORD_A, TEXT(""), "is not an IPv4 address"},
        {RECORD_AAAA, TEXT("192.0.2.1"), "is not an IPv6 address"},
        {RECORD_AAAA, TEXT("0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"), "IPv6"},
        {RECORD_CNAME, TEXT(""), "is not a domain name"},
        {RECORD_NS, TEXT("a..b"), "www.example.com NS: 'a..b' is not a domain name"},
    };
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        assert_false(add_one(update, rows[i].type, rows[i].value, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
    }
}

static void text_that_no_record_can_hold_is_refused(void **state)
{
    (void)state;
    char *text = calloc(65280, 1);
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    struct error err = {0};
    assert_false(add_one(update, RECORD_TXT, (struct text){text, 65280}, &err));
    assert_true(add_one(update, RECORD_TXT, (struct text){text, 65279}, &err));
    free(text);
}

static void update_that_does_not_fit_a_message_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(update) struct update *update = update_new(TEXT("example.com"), NULL);
    struct error err = {0};
    for (size_t i = 0; i < 4100; i++)
        assert_true(add_one(update, RECORD_A, TEXT("192.0.2.1"), &err));
    assert_false(update_write(&out, update, 1, &err));
    assert_non_null(strstr(err.text, "at most 65535 fit"));
    assert_int_equal(out.len, 0);
}

static void update_of_a_bad_zone_is_refused(void **state)
{
    (void)state;
    struct error err = {0};
    assert_null(update_new(TEXT("a..b"), &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    update_free(NULL);
}

// ---- reading ------------------------------------------------------------------------------------

// Written by dnspython 2.3: compressed, all eight types, an SOA, a CAA.
static const char all_types[] =
    "beef85800001000e0000000003577777074578616d706c6503636f6d0000ff0001c00c00010001000000"
    "c80004c0000201c00c00010001000000c80004c0000202c00c001c00010000012c001020010db8000000"
    "00000000000000000105616c696173c010000500010000003c0002c00cc00c001000010000012c001006"
    "68656c6c6f200877c3b6726c6400ffc010000f00010000012c0009000a046d61696cc010c010000f0001"
    "0000012c000a0014056d61696c32c010c010000f00010000012c0003000000c010000f00010000012c00"
    "0a000a056d61696c33c010045f736970045f746370c010002100010000012c000c0001000213c4037369"
    "70c010c010000200010000012c0006036e7331c0100131013201300331393207696e2d61646472046172"
    "706100000c00010000012c0002c00cc0100006000100000e10001dc10b04686f7374c010ee6b28000000"
    "0001000000020000000300000004c010010100010000012c00110005697373756563612e6578616d706c"
    "65";

static bool read_hex(struct arena *arena, const char *hex, struct message *out, struct error *err)
{
    AUTO_BUFFER octets = {0};
    add_hex(&octets, hex);
    return message_read(arena, buffer_text(&octets), out, err);
}

static void check_set(const struct record_set *set, enum record_type type, const char *name,
                      uint32_t ttl_s)
{
    assert_int_equal(set->type, type);
    if (!text_is(set->domain, name))
        fail_msg("owner is '%.*s', not '%s'", TEXT_ARGS(set->domain), name);
    assert_true(text_is(set->subdomain, "@"));
    assert_int_equal(set->ttl_s, ttl_s);
}

static void check_value(const struct record_set *set, size_t index, struct text wanted)
{
    assert_true(index < set->value_count);
    assert_int_equal(set->values[index].len, wanted.len);
    assert_memory_equal(set->values[index].at, wanted.at, wanted.len);
}

static void header_and_question_are_read(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena, all_types, &message, NULL));
    assert_int_equal(message.id, 0xbeef);
    assert_true(message.is_reply);
    assert_true(message.is_authoritative);
    assert_false(message.is_truncated);
    assert_int_equal(message.opcode, 0);
    assert_int_equal(message.rcode, 0);
    assert_true(text_is(message.question_name, "www.example.com"));
    assert_int_equal(message.question_type, 255);
    assert_true(message.has_soa);
    assert_int_equal(message.soa_serial, 4000000000U);
    assert_int_equal(message.skipped_count, 1);
}

static void records_of_all_types_become_sets(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena, all_types, &message, NULL));
    assert_int_equal(message.answer_count, 10);
    const struct record_set *set = message.answers;
    check_set(&set[0], RECORD_A, "www.example.com", 200);
    check_value(&set[0], 0, TEXT("192.0.2.1"));
    check_value(&set[0], 1, TEXT("192.0.2.2"));
    check_set(&set[1], RECORD_AAAA, "www.example.com", 300);
    check_value(&set[1], 0, TEXT("2001:db8::1"));
    check_set(&set[2], RECORD_CNAME, "alias.example.com", 60);
    check_value(&set[2], 0, TEXT("www.example.com"));
    check_set(&set[3], RECORD_TXT, "www.example.com", 300);
    check_value(&set[3], 0, TEXT("hello w\xc3\xb6rld\0\xff"));
    check_set(&set[7], RECORD_SRV, "_sip._tcp.example.com", 300);
    check_value(&set[7], 0, TEXT("sip.example.com"));
    check_set(&set[8], RECORD_NS, "example.com", 300);
    check_value(&set[8], 0, TEXT("ns1.example.com"));
    check_set(&set[9], RECORD_PTR, "1.2.0.192.in-addr.arpa", 300);
    check_value(&set[9], 0, TEXT("www.example.com"));
}

static void records_that_differ_in_numbers_are_sets_of_their_own(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena, all_types, &message, NULL));
    const struct record_set *mx = &message.answers[4];
    assert_int_equal(mx[0].priority, 10);
    assert_int_equal(mx[0].value_count, 2);
    check_value(&mx[0], 0, TEXT("mail.example.com"));
    check_value(&mx[0], 1, TEXT("mail3.example.com"));
    assert_int_equal(mx[1].priority, 20);
    assert_int_equal(mx[1].value_count, 1);
    assert_int_equal(mx[2].priority, 0);
    check_value(&mx[2], 0, TEXT("."));
    assert_int_equal(mx[0].weight, -1);
    assert_int_equal(mx[3].type, RECORD_SRV);
    assert_int_equal(mx[3].priority, 1);
    assert_int_equal(mx[3].weight, 2);
    assert_int_equal(mx[3].port, 5060);
    assert_int_equal(message.answers[0].priority, -1);
}

static void message_without_question_has_none(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena, "0001ae050000000000000000", &message, NULL));
    assert_null(message.question_name.at);
    assert_int_equal(message.opcode, 5);
    assert_int_equal(message.rcode, RCODE_REFUSED);
    assert_true(message.is_truncated);
    assert_true(message.is_authoritative);
    assert_int_equal(message.answer_count, 0);
    assert_false(message.has_soa);
}

static void no_other_octet_is_read_than_the_message_has(void **state)
{
    (void)state;
    AUTO_BUFFER octets = {0};
    add_hex(&octets, all_types);
    for (size_t len = 0; len < octets.len; len++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        char *exact = test_malloc(len + 1);
        memcpy(exact, octets.at, len);
        struct message message = {.id = 7};
        struct error err = {0};
        assert_false(message_read(arena, (struct text){exact, len}, &message, &err));
        assert_int_equal(err.fault, FAULT_AGAIN);
        assert_int_equal(message.id, 7);
        test_free(exact);
    }
}

static void section_is_named_that_cannot_be_read(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    struct error err = {0};
    assert_false(read_hex(arena, "00018000", &message, &err));
    assert_string_equal(err.text, "DNS message has 4 octets: its header needs 12");
    assert_false(read_hex(arena,
                          "000180000002000000000000"
                          "0000010001",
                          &message, &err));
    assert_string_equal(err.text, "DNS message is malformed: question 2 cannot be read");
    assert_false(read_hex(arena,
                          "000180000000ffff00000000"
                          "00000100010000012c0004c0000201",
                          &message, &err));
    assert_string_equal(err.text, "DNS message is malformed: answer 2 cannot be read");
}

static void oversized_message_is_refused(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    struct error err = {0};
    char *octets = calloc(65536, 1);
    assert_true(message_read(arena, (struct text){octets, 65535}, &message, &err));
    assert_false(message_read(arena, (struct text){octets, 65536}, &message, &err));
    assert_string_equal(err.text, "DNS message has 65536 octets: at most 65535 are allowed");
    free(octets);
}

#define ONE_ANSWER "000180000000000100000000"

static void malformed_names_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        ONE_ANSWER "c00c00010001000000010004c0000201",   // points at itself
        ONE_ANSWER "c00e00010001000000010004c0000201",   // ahead, into nowhere
        ONE_ANSWER "ffff00010001000000010004c0000201",   // behind the end
        ONE_ANSWER "4161000001000100000001000400000000", // label of an unknown kind
        ONE_ANSWER "0361620001000100000001000400000000", // label runs over
        ONE_ANSWER "00000500010000000100020361",         // target runs over
        ONE_ANSWER "0000050001000000010002c017",         // target points at itself
        ONE_ANSWER "00000500010000000100030161ff",       // pointer cut in half
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct message message;
        struct error err = {0};
        if (read_hex(arena, rows[i], &message, &err))
            fail_msg("row %zu was accepted", i);
        assert_string_equal(err.text, "DNS message is malformed: answer 1 cannot be read");
    }
}

static void rdata_of_the_wrong_length_is_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        ONE_ANSWER "00000100010000000100030a0000",       // A of 3 octets
        ONE_ANSWER "00000100010000000100050a00000100",   // A of 5 octets
        ONE_ANSWER "0000010001000000010000",             // A of none
        ONE_ANSWER "00001c0001000000010004c0000201",     // AAAA of 4 octets
        ONE_ANSWER "00000f00010000000100020001",         // MX without name
        ONE_ANSWER "00000f000100000001000100",           // MX of 1 octet
        ONE_ANSWER "00000f00010000000100060001016100ff", // longer than it says
        ONE_ANSWER "0000210001000000010006000100020003", // SRV without name
        ONE_ANSWER "000010000100000001000205610000",     // TXT runs over
        ONE_ANSWER "0000100001000000010000",             // TXT without string
        ONE_ANSWER "0000050001000000010003000000",       // CNAME and more
        ONE_ANSWER "0000060001000000010004000000ff",     // SOA cut
        ONE_ANSWER "0000fa000100000001ffff00",           // unknown type runs over
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct message message;
        struct error err = {0};
        if (read_hex(arena, rows[i], &message, &err))
            fail_msg("row %zu was accepted", i);
        assert_string_equal(err.text, "DNS message is malformed: answer 1 cannot be read");
    }
}

static void foreign_classes_and_types_are_skipped_and_counted(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena,
                         "000180000000000400000000"
                         "0000010003000000010002abcd"   // class CH, no matter what is in
                         "00fde90001000000010003010203" // private type
                         "00002e0001000000010000"       // RRSIG without content
                         "000001000100000001000401020304",
                         &message, NULL));
    assert_int_equal(message.skipped_count, 3);
    assert_int_equal(message.answer_count, 1);
    check_value(&message.answers[0], 0, TEXT("1.2.3.4"));
    check_set(&message.answers[0], RECORD_A, ".", 1);
}

static void repeated_records_count_once(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena,
                         "000180000000000400000000"
                         "016100"
                         "0001000100000005000401020304"
                         "014100"
                         "0001000100000003000401020304"
                         "016200"
                         "0001000100000001000401020304"
                         "016100"
                         "0001000100000004000401020305",
                         &message, NULL));
    assert_int_equal(message.answer_count, 2);
    assert_int_equal(message.answers[0].value_count, 2);
    check_set(&message.answers[0], RECORD_A, "a", 3);
    check_value(&message.answers[0], 1, TEXT("1.2.3.5"));
    check_set(&message.answers[1], RECORD_A, "b", 1);
}

static void ttl_with_the_highest_bit_counts_as_zero(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena, ONE_ANSWER "000001000180000000000401020304", &message, NULL));
    assert_int_equal(message.answers[0].ttl_s, 0);
    assert_true(read_hex(arena, ONE_ANSWER "00000100017fffffff000401020304", &message, NULL));
    assert_int_equal(message.answers[0].ttl_s, INT32_MAX);
}

static void odd_octets_of_a_name_are_escaped(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct message message;
    assert_true(read_hex(arena,
                         ONE_ANSWER "05412e200042"
                                    "00"
                                    "0001000100000001000401020304",
                         &message, NULL));
    assert_true(text_is(message.answers[0].domain, "a\\.\\032\\000b"));
}

static void what_was_written_reads_back(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER out = {0};
    struct message message;
    assert_true(message_query(&out, 0xabcd, TEXT("Www.example.com"), 28, true, NULL));
    assert_true(message_read(arena, buffer_text(&out), &message, NULL));
    assert_int_equal(message.id, 0xabcd);
    assert_false(message.is_reply);
    assert_true(text_is(message.question_name, "www.example.com"));
    assert_int_equal(message.question_type, 28);
}

// 3000 sets, some of two values: their number may not make reading slow or mix them up.
static void many_sets_are_kept_apart(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER octets = {0};
    struct message message;
    buffer_add(&octets, "\0\1\x80\0\0\0\x0b\xb8\0\0\0\0", 12);
    for (unsigned i = 0; i < 3000; i++) {
        char rr[32];
        int len = snprintf(rr, sizeof rr, "\4%04u", i % 2000);
        buffer_add(&octets, rr, (size_t)len);
        buffer_add(&octets, "\0\0\1\0\1\0\0\0\1\0\4\1\2", 13);
        buffer_add_char(&octets, (char)(i / 2000));
        buffer_add_char(&octets, 4);
    }
    assert_true(message_read(arena, buffer_text(&octets), &message, NULL));
    assert_int_equal(message.answer_count, 2000);
    for (size_t i = 0; i < 2000; i++)
        assert_int_equal(message.answers[i].value_count, i < 1000 ? 2 : 1);
    assert_true(text_is(message.answers[999].domain, "0999"));
    check_value(&message.answers[999], 1, TEXT("1.2.1.4"));
}

// A referral: NS of a delegation, and the addresses that go with it.
static const char referral[] =
    "123481000001000000010002037375620473686f70076578616d706c650000010001c00c0002"
    "00010000012c0006034e5331c00cc00c000100010000003c0004c0000209c00c000100010000005a0004c0000208";

static void records_are_found_in_whichever_section_they_stand(void **state)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER octets = {0};
    struct message_set set;
    (void)state;
    add_hex(&octets, referral);
    struct text all = buffer_text(&octets);
    assert_true(message_find(arena, all, TEXT("sub.shop.example"), 1, &set, NULL));
    assert_int_equal(set.count, 2);
    assert_int_equal(set.ttl_s, 60);
    assert_true(text_equal(set.rdatas[1], ((struct text){"\xc0\x00\x02\x08", 4})));
    assert_true(message_find(arena, all, TEXT("SUB.shop.example."), 2, &set, NULL));
    assert_int_equal(set.count, 1);
    assert_true(text_equal(set.rdatas[0], ((struct text){"\3ns1\3sub\4shop\7example", 22})));
    assert_true(message_find(arena, all, TEXT("shop.example"), 1, &set, NULL));
    assert_int_equal(set.count, 0);
}

static void message_that_ends_too_early_is_not_looked_through(void **state)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER octets = {0};
    struct message_set set;
    (void)state;
    add_hex(&octets, referral);
    for (size_t len = 0; len < octets.len; len++) {
        char *exact = test_malloc(len ? len : 1);
        memcpy(exact, octets.at, len);
        assert_false(message_find(arena, (struct text){exact, len}, TEXT("sub.shop.example"), 1,
                                  &set, NULL));
        test_free(exact);
    }
}

static void rcodes_have_their_iana_names(void **state)
{
    (void)state;
    assert_string_equal(message_rcode_name(RCODE_NOERROR), "NOERROR");
    assert_string_equal(message_rcode_name(RCODE_REFUSED), "REFUSED");
    assert_string_equal(message_rcode_name(RCODE_NXRRSET), "NXRRSET");
    assert_string_equal(message_rcode_name(RCODE_NOTZONE), "NOTZONE");
    assert_string_equal(message_rcode_name(13), "RCODE13");
    assert_string_equal(message_rcode_name(17), "BADKEY");
    assert_string_equal(message_rcode_name(4095), "unknown RCODE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_carries_the_id_that_was_handed_in_and_no_edns),
        cmocka_unit_test(root_can_be_asked_for),
        cmocka_unit_test(messages_are_appended),
        cmocka_unit_test(bad_names_are_refused),
        cmocka_unit_test(update_without_changes_names_its_zone),
        cmocka_unit_test(update_holds_prerequisites_deletions_and_additions),
        cmocka_unit_test(required_sets_stand_before_the_changes),
        cmocka_unit_test(required_values_and_unused_names_stand_before_the_changes),
        cmocka_unit_test(single_values_are_deleted_without_a_ttl),
        cmocka_unit_test(txt_is_cut_into_strings_of_255_octets),
        cmocka_unit_test(numbers_that_ldns_would_wrap_are_refused),
        cmocka_unit_test(ttl_over_31_bits_is_refused),
        cmocka_unit_test(bad_values_are_refused_with_name_and_type),
        cmocka_unit_test(text_that_no_record_can_hold_is_refused),
        cmocka_unit_test(update_that_does_not_fit_a_message_is_refused),
        cmocka_unit_test(update_of_a_bad_zone_is_refused),
        cmocka_unit_test(header_and_question_are_read),
        cmocka_unit_test(records_of_all_types_become_sets),
        cmocka_unit_test(records_that_differ_in_numbers_are_sets_of_their_own),
        cmocka_unit_test(message_without_question_has_none),
        cmocka_unit_test(no_other_octet_is_read_than_the_message_has),
        cmocka_unit_test(section_is_named_that_cannot_be_read),
        cmocka_unit_test(oversized_message_is_refused),
        cmocka_unit_test(malformed_names_are_refused),
        cmocka_unit_test(rdata_of_the_wrong_length_is_refused),
        cmocka_unit_test(foreign_classes_and_types_are_skipped_and_counted),
        cmocka_unit_test(repeated_records_count_once),
        cmocka_unit_test(ttl_with_the_highest_bit_counts_as_zero),
        cmocka_unit_test(odd_octets_of_a_name_are_escaped),
        cmocka_unit_test(what_was_written_reads_back),
        cmocka_unit_test(many_sets_are_kept_apart),
        cmocka_unit_test(records_are_found_in_whichever_section_they_stand),
        cmocka_unit_test(message_that_ends_too_early_is_not_looked_through),
        cmocka_unit_test(rcodes_have_their_iana_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
