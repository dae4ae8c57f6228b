#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/rr_type.h"

static uint16_t read_type(const char *text)
{
    uint16_t type = 0;
    assert_true(rr_type_read(text_of(text), &type));
    return type;
}

static void mnemonics_and_numbers_are_the_same_types(void **state)
{
    (void)state;
    char out[10];
    assert_int_equal(read_type("A"), RR_A);
    assert_int_equal(read_type("https"), RR_HTTPS);
    assert_int_equal(read_type("TYPE1"), RR_A);
    assert_int_equal(read_type("type32768"), RR_TA);
    assert_int_equal(read_type("TYPE65280"), 65280);
    assert_string_equal(rr_type_write(RR_CAA, out), "CAA");
    assert_string_equal(rr_type_write(65535, out), "TYPE65535");
}

// Each number that has a mnemonic is found by both.
static void every_mnemonic_comes_back(void **state)
{
    (void)state;
    char out[10];
    unsigned named = 0;
    for (unsigned number = 0; number <= UINT16_MAX; number++) {
        const char *name = rr_type_write((uint16_t)number, out);
        named += strncmp(name, "TYPE", 4) != 0;
        assert_int_equal(read_type(name), number);
    }
    assert_int_equal(named, 58);
}

static void rare_mnemonics_are_read_and_written_as_numbers(void **state)
{
    (void)state;
    char out[10];
    assert_int_equal(read_type("minfo"), 14);
    assert_int_equal(read_type("NSAP-PTR"), 23);
    assert_string_equal(rr_type_write(14, out), "TYPE14");
}

static void what_is_no_type_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",          "AA",     "TYPE", "TYPE-1",
                                        "TYPE65536", "TYPE1x", "A ",   "TYPE000001"};
    uint16_t type;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_false(rr_type_read(text_of(texts[i]), &type));
}

static void types_that_nobody_may_write_are_known(void **state)
{
    (void)state;
    static const char *const reserved[] = {
        "SOA",  "SIG", "RRSIG", "NSEC", "NSEC3", "NSEC3PARAM", "ZONEMD", "OPT",     "TKEY",
        "TSIG", "ANY", "AXFR",  "IXFR", "MAILA", "MAILB",      "TYPE0",  "TYPE128", "TYPE200"};
    static const char *const others[] = {"A",         "NS",  "DS",      "DNSKEY", "CDS",
                                         "TYPE65280", "DLV", "TYPE127", "URI"};
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        assert_true(rr_type_is_reserved(read_type(reserved[i])));
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(rr_type_is_reserved(read_type(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mnemonics_and_numbers_are_the_same_types),
        cmocka_unit_test(every_mnemonic_comes_back),
        cmocka_unit_test(rare_mnemonics_are_read_and_written_as_numbers),
        cmocka_unit_test(what_is_no_type_is_refused),
        cmocka_unit_test(types_that_nobody_may_write_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
