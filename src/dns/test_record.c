#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dns/record.h"

static void expect(enum record_type type, const char *text, const char *wanted)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out;
    struct error err = {0};
    if (!record_value_normalise(arena, type, text_of(text), &out, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    if (!text_is(out, wanted))
        fail_msg("'%s' became '%.*s', not '%s'", text, TEXT_ARGS(out), wanted);
}

static void refuse_text(enum record_type type, struct text text, const char *wanted)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out = TEXT("untouched");
    struct error err = {0};
    if (record_value_normalise(arena, type, text, &out, &err))
        fail_msg("'%.*s' was accepted", TEXT_ARGS(text));
    assert_int_equal(err.fault, FAULT_SPEC);
    if (!strstr(err.text, wanted))
        fail_msg("'%s' does not say '%s'", err.text, wanted);
    assert_true(text_is(out, "untouched"));
}

static void refuse(enum record_type type, const char *text, const char *wanted)
{
    refuse_text(type, text_of(text), wanted);
}

static void types_have_their_iana_names_and_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned number;
    } wanted[RECORD_TYPES] = {{"A", 1},   {"AAAA", 28}, {"CNAME", 5}, {"TXT", 16},
                              {"MX", 15}, {"SRV", 33},  {"NS", 2},    {"PTR", 12}};
    for (size_t i = 0; i < RECORD_TYPES; i++) {
        enum record_type type = RECORD_TYPES;
        assert_true(record_type_parse(text_of(wanted[i].name), &type));
        assert_int_equal(type, i);
        assert_string_equal(record_type_name(type), wanted[i].name);
        assert_int_equal(record_type_number(type), wanted[i].number);
    }
}

static void unknown_and_lower_case_types_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a", "cname", "SOA", "", "A ", "AAAAA", "ANY"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        enum record_type type = RECORD_TXT;
        assert_false(record_type_parse(text_of(bad[i]), &type));
        assert_int_equal(type, RECORD_TXT);
    }
}

static void value_nouns_complete_the_error_texts(void **state)
{
    (void)state;
    assert_string_equal(record_value_noun(RECORD_A), "IPv4 address");
    assert_string_equal(record_value_noun(RECORD_AAAA), "IPv6 address");
    assert_string_equal(record_value_noun(RECORD_TXT), "text");
    assert_string_equal(record_value_noun(RECORD_CNAME), "domain name");
    assert_string_equal(record_value_noun(RECORD_PTR), "domain name");
}

static void a_is_a_dotted_quad(void **state)
{
    (void)state;
    expect(RECORD_A, "192.0.2.1", "192.0.2.1");
    expect(RECORD_A, "0.0.0.0", "0.0.0.0");
    expect(RECORD_A, "255.255.255.255", "255.255.255.255");
    refuse(RECORD_A, "192.0.2", "it has 3 numbers");
    refuse(RECORD_A, "192.0.2.1.5", "it has 5 numbers");
    refuse(RECORD_A, "192.0.2.1.", "a number is missing");
    refuse(RECORD_A, "192..2.1", "a number is missing");
    refuse(RECORD_A, "192.0.2.256", "at most 255");
    refuse(RECORD_A, "99999999999999999999.0.2.1", "at most 255");
    refuse(RECORD_A, "192.0.2.-1", "four numbers with dots");
    refuse(RECORD_A, "192.0.2.1 ", "four numbers with dots");
    refuse(RECORD_A, "0x7f.0.0.1", "four numbers with dots");
    refuse(RECORD_A, "www.example.com", "four numbers with dots");
    refuse_text(RECORD_A, TEXT("192.0.2.1\0"), "four numbers with dots");
}

static void a_has_no_leading_zeros(void **state)
{
    (void)state;
    refuse(RECORD_A, "192.0.2.01", "leading zeros are not allowed");
    refuse(RECORD_A, "010.0.2.1", "leading zeros are not allowed");
    refuse(RECORD_A, "192.00.2.1", "leading zeros are not allowed");
}

static void ipv6_text_in_a_is_refused_with_the_way_out(void **state)
{
    (void)state;
    refuse(RECORD_A, "2001:db8::1", "AAAA");
    refuse(RECORD_A, "::ffff:192.0.2.1", "IPv4-mapped IPv6 address: write 192.0.2.1");
    refuse(RECORD_A, "::FFFF:c000:0201", "IPv4-mapped IPv6 address: write 192.0.2.1");
}

static void aaaa_goes_out_as_typed(void **state)
{
    (void)state;
    expect(RECORD_AAAA, "2001:DB8:0:0::1", "2001:DB8:0:0::1");
    expect(RECORD_AAAA, "::", "::");
    expect(RECORD_AAAA, "64:ff9b::192.0.2.1", "64:ff9b::192.0.2.1");
    refuse(RECORD_AAAA, "fe80::1%eth0", "zone id");
    refuse(RECORD_AAAA, "2001:db8::/32", "prefix length");
    refuse(RECORD_AAAA, "192.0.2.1", "belong into A records");
    refuse(RECORD_AAAA, "2001:db8::1::2", "eight groups");
    refuse(RECORD_AAAA, "[::1]", "eight groups");
    refuse(RECORD_AAAA, "::1 ", "eight groups");
    refuse_text(RECORD_AAAA, TEXT("::1\0"), "eight groups");
    refuse(RECORD_AAAA, "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", "eight groups");
}

static void ipv4_mapped_address_in_aaaa_is_refused(void **state)
{
    (void)state;
    refuse(RECORD_AAAA, "::ffff:192.0.2.1", "IPv4-mapped address: put 192.0.2.1 into an A");
    refuse(RECORD_AAAA, "0:0:0:0:0:ffff:c000:201", "IPv4-mapped");
}

static void name_values_are_host_names(void **state)
{
    (void)state;
    static const enum record_type types[] = {RECORD_CNAME, RECORD_MX, RECORD_SRV, RECORD_NS,
                                             RECORD_PTR};
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        expect(types[i], "Mail.Example.com.", "mail.example.com");
        refuse(types[i], "192.0.2.1", "IP address");
        refuse(types[i], "mail example.com", "blank");
        refuse(types[i], "10 mail.example.com", "blank");
    }
}

static void root_is_a_value_of_mx_and_srv_alone(void **state)
{
    (void)state;
    expect(RECORD_MX, ".", ".");
    expect(RECORD_SRV, ".", ".");
    refuse(RECORD_CNAME, ".", "only in MX and SRV");
    refuse(RECORD_NS, ".", "only in MX and SRV");
    refuse(RECORD_PTR, ".", "only in MX and SRV");
}

static void txt_is_raw_text(void **state)
{
    (void)state;
    expect(RECORD_TXT, "v=spf1 -all", "v=spf1 -all");
    expect(RECORD_TXT, "\"quoted\" \\ ; ( )", "\"quoted\" \\ ; ( )");
    expect(RECORD_TXT, "a\tb", "a\tb");
    expect(RECORD_TXT, " gr\u00fc\u00dfe \U0001f600 ", " gr\u00fc\u00dfe \U0001f600 ");
    refuse(RECORD_TXT, "a\nb", "octet 2 is a control character (U+000A)");
    refuse(RECORD_TXT, "\x7f", "octet 1 is a control character (U+007F)");
    refuse(RECORD_TXT, "\xc2\x85", "control character (U+0085)");
    refuse_text(RECORD_TXT, TEXT("a\0b"), "octet 2 is a control character (U+0000)");
    refuse(RECORD_TXT, "ab\xff", "octet 3 is not valid UTF-8");
}

static void empty_and_oversized_values_are_refused(void **state)
{
    (void)state;
    static char large[4098];
    memset(large, 'x', sizeof large - 1);
    for (size_t i = 0; i < RECORD_TYPES; i++) {
        refuse((enum record_type)i, "", "it is empty");
        refuse((enum record_type)i, large, "at most 4096 are allowed");
    }
    large[4096] = '\0';
    expect(RECORD_TXT, large, large);
}

static void addresses_that_no_host_has_are_known(void **state)
{
    static const struct {
        enum record_type type;
        const char *value;
        bool is_of_no_host;
    } rows[] = {
        {RECORD_A, "0.0.0.0", true},
        {RECORD_A, "0.1.2.3", true},
        {RECORD_A, "1.0.0.0", false},
        {RECORD_A, "127.0.0.1", false},
        {RECORD_A, "169.254.0.1", false},
        {RECORD_A, "223.255.255.255", false},
        {RECORD_A, "224.0.0.1", true},
        {RECORD_A, "240.0.0.1", true},
        {RECORD_A, "255.255.255.255", true},
        {RECORD_AAAA, "::", true},
        {RECORD_AAAA, "0:0:0::0", true},
        {RECORD_AAAA, "::1", false},
        {RECORD_AAAA, "::192.0.2.1", false},
        {RECORD_AAAA, "fe80::1", false},
        {RECORD_AAAA, "FF02::1", true},
        {RECORD_AAAA, "ff0e::101", true},
        {RECORD_CNAME, "0.example.org", false},
        {RECORD_TXT, "0.0.0.0", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(record_value_is_of_no_host(rows[i].type, text_of(rows[i].value)),
                         rows[i].is_of_no_host);
}

static void expect_canonical(enum record_type type, const char *text, const char *wanted)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out = record_value_canonical(arena, type, text_of(text));
    if (!text_is(out, wanted))
        fail_msg("'%s' is canonically '%.*s', not '%s'", text, TEXT_ARGS(out), wanted);
}

static void canonical_aaaa_is_that_of_rfc_5952(void **state)
{
    (void)state;
    expect_canonical(RECORD_AAAA, "2001:DB8:0:0:0:0:0:1", "2001:db8::1");
    expect_canonical(RECORD_AAAA, "2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1");
    expect_canonical(RECORD_AAAA, "2001:0:0:1:0:0:0:1", "2001:0:0:1::1");
    expect_canonical(RECORD_AAAA, "2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
    expect_canonical(RECORD_AAAA, "0001::", "1::");
    expect_canonical(RECORD_AAAA, "not an address", "not an address");
}

static void canonical_names_are_lower_case_without_final_dot(void **state)
{
    (void)state;
    expect_canonical(RECORD_CNAME, "WWW.Example.com.", "www.example.com");
    expect_canonical(RECORD_MX, ".", ".");
    expect_canonical(RECORD_TXT, "WWW.Example.com.", "WWW.Example.com.");
    expect_canonical(RECORD_NS, "", "");
}

static struct record_set set_of(enum record_type type, const struct text *values, size_t count)
{
    return (struct record_set){.type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = TEXT("www"),
                               .ttl_s = 300,
                               .values = values,
                               .value_count = count,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static void sets_are_equal_whatever_the_order_and_form_of_values(void **state)
{
    (void)state;
    const struct text left[] = {TEXT("2001:db8::1"), TEXT("2001:db8::2")};
    const struct text right[] = {TEXT("2001:DB8:0::2"), TEXT("2001:db8:0:0::1"),
                                 TEXT("2001:db8::1")};
    struct record_set a = set_of(RECORD_AAAA, left, 2), b = set_of(RECORD_AAAA, right, 3);
    assert_true(record_set_equal(&a, &b));
    assert_true(record_set_equal(&b, &a));
    b.value_count = 1;
    assert_false(record_set_equal(&a, &b));
    assert_false(record_set_equal(&b, &a));
}

static void sets_differ_by_type_ttl_and_value(void **state)
{
    (void)state;
    const struct text values[] = {TEXT("a.example"), TEXT("b.example")};
    const struct text others[] = {TEXT("a.example"), TEXT("c.example")};
    struct record_set a = set_of(RECORD_NS, values, 2), b = a;
    assert_true(record_set_equal(&a, &b));
    b.values = others;
    assert_false(record_set_equal(&a, &b));
    b = a;
    b.ttl_s = 301;
    assert_false(record_set_equal(&a, &b));
    b = a;
    b.type = RECORD_PTR;
    assert_false(record_set_equal(&a, &b));
}

static void numbers_count_where_the_type_has_them(void **state)
{
    (void)state;
    const struct text values[] = {TEXT("mail.example")};
    struct record_set a = set_of(RECORD_MX, values, 1), b = a;
    b.weight = 5;
    assert_true(record_set_equal(&a, &b));
    b.priority = 5;
    assert_false(record_set_equal(&a, &b));
    a.type = b.type = RECORD_CNAME;
    assert_true(record_set_equal(&a, &b));
    a.type = b.type = RECORD_SRV;
    a = b;
    b.port = 443;
    assert_false(record_set_equal(&a, &b));
    b.port = a.port;
    b.weight = 6;
    assert_false(record_set_equal(&a, &b));
}

static void text_values_are_compared_by_octet(void **state)
{
    (void)state;
    const struct text left[] = {TEXT("Text"), TEXT("other")};
    const struct text right[] = {TEXT("other"), TEXT("text")};
    struct record_set a = set_of(RECORD_TXT, left, 2), b = set_of(RECORD_TXT, right, 2);
    assert_false(record_set_equal(&a, &b));
}

static void owner_name_and_type_are_the_key_whatever_the_split(void **state)
{
    (void)state;
    const struct record_set x = {
        .type = RECORD_A, .domain = TEXT("a.example"), .subdomain = TEXT("x")};
    const struct record_set same[] = {
        {.type = RECORD_A, .domain = TEXT("example"), .subdomain = TEXT("x.a")},
        {.type = RECORD_A, .domain = TEXT("x.a.example"), .subdomain = TEXT("@")},
    };
    const struct record_set others[] = {
        {.type = RECORD_AAAA, .domain = TEXT("a.example"), .subdomain = TEXT("x")},
        {.type = RECORD_A, .domain = TEXT("a.example"), .subdomain = TEXT("@")},
        {.type = RECORD_A, .domain = TEXT("a.example"), .subdomain = TEXT("y")},
        {.type = RECORD_A, .domain = TEXT("xa.example"), .subdomain = TEXT("@")},
        {.type = RECORD_A, .domain = TEXT("axexample"), .subdomain = TEXT("x")},
    };
    for (size_t i = 0; i < COUNT_OF(same); i++) {
        assert_true(record_set_is_same_key(&x, &same[i]));
        assert_int_equal(record_set_key_hash(&x), record_set_key_hash(&same[i]));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(record_set_is_same_key(&x, &others[i]));
        assert_int_not_equal(record_set_key_hash(&x), record_set_key_hash(&others[i]));
    }
}

static void copies_share_nothing_with_the_original(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char value[] = "mail.example", domain[] = "example.com";
    struct text values[] = {{value, strlen(value)}};
    struct record_set original = set_of(RECORD_MX, values, 1);
    original.domain = text_of(domain);
    original.priority = 10;
    struct record_set copy = record_set_copy(arena, &original);
    memset(value, 'x', strlen(value));
    memset(domain, 'x', strlen(domain));
    assert_ptr_not_equal(copy.values, original.values);
    assert_true(text_is(copy.values[0], "mail.example"));
    assert_true(text_is(copy.domain, "example.com"));
    assert_true(text_is(copy.subdomain, "www"));
    assert_int_equal(copy.priority, 10);
    assert_int_equal(copy.ttl_s, 300);
}

static void txt_is_cut_at_255_octets(void **state)
{
    (void)state;
    char text[511] = "";
    assert_int_equal(txt_string_count((struct text){text, 0}), 1);
    assert_int_equal(txt_string_count((struct text){text, 1}), 1);
    assert_int_equal(txt_string_count((struct text){text, 255}), 1);
    assert_int_equal(txt_string_count((struct text){text, 256}), 2);
    assert_int_equal(txt_string_count((struct text){text, 510}), 2);
    assert_int_equal(txt_string_count((struct text){text, 511}), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_their_iana_names_and_numbers),
        cmocka_unit_test(unknown_and_lower_case_types_are_refused),
        cmocka_unit_test(value_nouns_complete_the_error_texts),
        cmocka_unit_test(a_is_a_dotted_quad),
        cmocka_unit_test(a_has_no_leading_zeros),
        cmocka_unit_test(ipv6_text_in_a_is_refused_with_the_way_out),
        cmocka_unit_test(aaaa_goes_out_as_typed),
        cmocka_unit_test(ipv4_mapped_address_in_aaaa_is_refused),
        cmocka_unit_test(name_values_are_host_names),
        cmocka_unit_test(root_is_a_value_of_mx_and_srv_alone),
        cmocka_unit_test(txt_is_raw_text),
        cmocka_unit_test(empty_and_oversized_values_are_refused),
        cmocka_unit_test(addresses_that_no_host_has_are_known),
        cmocka_unit_test(canonical_aaaa_is_that_of_rfc_5952),
        cmocka_unit_test(canonical_names_are_lower_case_without_final_dot),
        cmocka_unit_test(sets_are_equal_whatever_the_order_and_form_of_values),
        cmocka_unit_test(sets_differ_by_type_ttl_and_value),
        cmocka_unit_test(numbers_count_where_the_type_has_them),
        cmocka_unit_test(text_values_are_compared_by_octet),
        cmocka_unit_test(owner_name_and_type_are_the_key_whatever_the_split),
        cmocka_unit_test(copies_share_nothing_with_the_original),
        cmocka_unit_test(txt_is_cut_at_255_octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
