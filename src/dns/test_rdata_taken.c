#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"

static uint16_t type_of(const char *name)
{
    uint16_t type = 0;
    assert_true(rr_type_read(text_of(name), &type));
    return type;
}

static void expect(const char *type, struct text message, size_t at, struct text wanted)
{
    AUTO_BUFFER out = {0};
    struct error err = {0};
    if (!rdata_take(type_of(type), message, at, message.len - at, &out, &err))
        fail_msg("%s was not taken: %s", type, err.text);
    assert_int_equal(out.len, wanted.len);
    assert_memory_equal(out.at, wanted.at, wanted.len);
}

static void refuse(const char *type, struct text message, size_t at, const char *wanted)
{
    AUTO_BUFFER out = {0};
    struct error err = {0};
    assert_false(rdata_take(type_of(type), message, at, message.len - at, &out, &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.text, wanted);
    assert_int_equal(out.len, 0);
}

static void names_are_decompressed_and_in_lower_case(void **state)
{
    (void)state;
    struct text message = TEXT("\4SHOP\7Example\0\0\12\4Mail\xc0\0");
    expect("MX", message, 14, TEXT("\0\12\4mail\4shop\7example\0"));
    expect("AFSDB", message, 14, TEXT("\0\12\4mail\4shop\7example\0"));
    struct text twice = TEXT("\7Example\0\4Shop\xc0\0\xc0\11\1x\xc0\11xxxxxxxxxxxxxxxxxxxx");
    expect("SOA", twice, 16, TEXT("\4shop\7example\0\1x\4shop\7example\0xxxxxxxxxxxxxxxxxxxx"));
}

static void pointers_must_lead_back(void **state)
{
    (void)state;
    refuse("NS", TEXT("\1a\xc0\0"), 0, "a name in it is malformed");
    refuse("NS", TEXT("xx\xc0\2"), 2, "a name in it is malformed");
    refuse("NS", TEXT("xx\xc0\4"), 2, "a name in it is malformed");
    refuse("NS", TEXT("\xc0\2\xc0\0\xc0\0"), 4, "a name in it is malformed");
    refuse("NS", TEXT("\1a\xc0"), 0, "a name in it is malformed");
    refuse("NS",
           TEXT("\x41"
                "a\0"),
           0, "a name in it is malformed");
    refuse("NS", TEXT("\3abc"), 0, "a name in it is malformed");
}

static void names_of_more_than_255_octets_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER message = {0};
    for (size_t i = 0; i < 127; i++)
        buffer_add(&message, "\1a", 2);
    buffer_add_char(&message, 0);
    expect("NS", buffer_text(&message), 0, buffer_text(&message));
    size_t at = message.len;
    buffer_add(&message, "\1b\xc0\0", 4);
    refuse("NS", buffer_text(&message), at, "a name in it is malformed");
}

static void nothing_may_be_cut_off_or_left_over(void **state)
{
    (void)state;
    refuse("A", TEXT("\1\2\3"), 0, "the rdata ends within a field");
    refuse("A", TEXT("\1\2\3\4\5"), 0, "octets are left over behind the last field");
    refuse("TXT", TEXT(""), 0, "the rdata ends within a field");
    refuse("TXT", TEXT("\4abc"), 0, "the rdata ends within a field");
    refuse("MX", TEXT("\0\1"), 0, "a name in it is malformed");
    refuse("CAA", TEXT("\0\0x"), 0, "the tag is empty");
    refuse("CAA", TEXT("\0\2a-x"), 0, "the tag may hold letters and digits alone");
    refuse("TLSA", TEXT("\0\0\0"), 0, "the rdata ends before its last field");
    refuse("HIP", TEXT("\1\2\0\2ab"), 0, "the rdata ends within a field");
    refuse("IPSECKEY", TEXT("\1\4\2key"), 0, "the type of the gateway is not one of 0..3");
    AUTO_BUFFER out = {0};
    assert_false(rdata_take(RR_A, TEXT("\1\2\3\4"), 1, 4, &out, NULL));
    assert_false(rdata_take(RR_A, TEXT("\1\2\3\4"), 5, 0, &out, NULL));
}

static void bitmaps_must_be_canonical(void **state)
{
    (void)state;
    expect("NSEC", TEXT("\0\0\1\x40\1\1\x40"), 0, TEXT("\0\0\1\x40\1\1\x40"));
    refuse("NSEC", TEXT("\0"), 0, "types are missing: an NSEC names one at least");
    refuse("NSEC", TEXT("\0\0\1\0"), 0, "the bitmap of types is not in its canonical form");
    refuse("NSEC", TEXT("\0\1\1\x40\0\1\x40"), 0,
           "the bitmap of types is not in its canonical form");
    refuse("NSEC", TEXT("\0\0\2\x40"), 0, "the bitmap of types ends within a window");
    refuse("NSEC", TEXT("\0\0"), 0, "the bitmap of types ends within a window");
}

static void parameters_must_be_in_order_and_whole(void **state)
{
    (void)state;
    refuse("SVCB", TEXT("\0\1\0\0\3\0\2\0\1\0\1\0\3\2h2"), 0,
           "parameter alpn is not in the order of keys");
    refuse("SVCB", TEXT("\0\1\0\0\3\0\2\0\1\0\3\0\2\0\1"), 0, "parameter port stands there twice");
    refuse("SVCB", TEXT("\0\1\0\0\3\0\3\0\1"), 0, "the parameters are cut off");
    refuse("SVCB", TEXT("\0\1\0\0\3\0\1\1"), 0, "parameter port has a value that is malformed");
    refuse("SVCB", TEXT("\0\1\0\0\1\0\2\2h"), 0, "parameter alpn has a value that is malformed");
    refuse("SVCB", TEXT("\0\1\0\0\4\0\3\1\2\3"), 0,
           "parameter ipv4hint has a value that is malformed");
    refuse("SVCB", TEXT("\0\1\0\0\7\0\6/{dns\0"), 0,
           "parameter dohpath has a value that is malformed");
    refuse("SVCB", TEXT("\0\1\0\0\7\0\7/{\0dns}"), 0,
           "parameter dohpath has a value that is malformed");
    refuse("SVCB", TEXT("\0\1\0\xff\xff\0\0"), 0, "parameter key65535 may not be used");
    refuse("SVCB", TEXT("\0\1\0\0\0\0\2\0\3"), 0, "parameter port is mandatory, but missing");
}

static void addresses_are_no_names_of_hosts(void **state)
{
    (void)state;
    refuse("NS", TEXT("\003192\0010\0012\0011\0"), 0,
           "192.0.2.1. is an address: write the name of a host that has it");
    refuse("MX", TEXT("\0\1\0132001:db8::1\0"), 0,
           "2001:db8::1. is an address: write the name of a host that has it");
    expect("CNAME", TEXT("\003192\0010\0012\0011\0"), 0, TEXT("\003192\0010\0012\0011\0"));
}

static void locations_must_lie_on_earth(void **state)
{
    (void)state;
    refuse("LOC", TEXT("\1\x12\x16\x13\x80\0\0\0\x80\0\0\0\0\x98\x96\x80"), 0,
           "the location has another version than 0");
    refuse("LOC", TEXT("\0\xa2\x16\x13\x80\0\0\0\x80\0\0\0\0\x98\x96\x80"), 0,
           "a number of the location is out of range");
    refuse("LOC", TEXT("\0\x12\x16\x13\xa0\0\0\0\x80\0\0\0\0\x98\x96\x80"), 0,
           "a number of the location is out of range");
    refuse("LOC", TEXT("\0\x02\x16\x13\x80\0\0\0\x80\0\0\0\0\x98\x96\x80"), 0,
           "a number of the location is out of range");
    refuse("LOC", TEXT("\0\x12"), 0, "the location is not 16 octets long");
}

static void address_lists_have_no_zeros_at_the_end(void **state)
{
    (void)state;
    expect("APL", TEXT("\0\1\x18\x83\xc0\0\2"), 0, TEXT("\0\1\x18\x83\xc0\0\2"));
    refuse("APL", TEXT("\0\1\x18\4\xc0\0\2\0"), 0, "an item of the address list is malformed");
    refuse("APL", TEXT("\0\1\x21\3\xc0\0\2"), 0, "an item of the address list is malformed");
    refuse("APL", TEXT("\0\1\x18"), 0, "an item of the address list is malformed");
}

static void octets_without_a_text_are_written_as_they_are(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    rdata_write(&out, type_of("APL"), TEXT("\0\3\x18\1\xc0"));
    assert_string_equal(out.at, "\\# 5 00031801C0");
    buffer_clear(&out);
    rdata_write(&out, RR_A, TEXT("\1\2\3"));
    assert_string_equal(out.at, "\\# 3 010203");
    buffer_clear(&out);
    rdata_write(&out, type_of("GPOS"), TEXT("\0011\0012\0013"));
    assert_string_equal(out.at, "\\# 6 013101320133");
    buffer_clear(&out);
    rdata_write(&out, 65280, TEXT(""));
    assert_string_equal(out.at, "\\# 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_decompressed_and_in_lower_case),
        cmocka_unit_test(pointers_must_lead_back),
        cmocka_unit_test(names_of_more_than_255_octets_are_refused),
        cmocka_unit_test(nothing_may_be_cut_off_or_left_over),
        cmocka_unit_test(bitmaps_must_be_canonical),
        cmocka_unit_test(parameters_must_be_in_order_and_whole),
        cmocka_unit_test(addresses_are_no_names_of_hosts),
        cmocka_unit_test(locations_must_lie_on_earth),
        cmocka_unit_test(address_lists_have_no_zeros_at_the_end),
        cmocka_unit_test(octets_without_a_text_are_written_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
