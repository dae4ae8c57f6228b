#include "engine/zone_file_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect_name(const char *zone, const char *file)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    struct dname read;
    AUTO_BUFFER name = {0};
    uint8_t other[DNAME_MAX];
    assert_true(dname_read(text_of(zone), NULL, DNAME_OF_FILE, octets, &apex, NULL));
    zone_file_name_write(&name, apex);
    assert_string_equal(name.at, file);
    assert_true(zone_file_name_read(buffer_text(&name), other, &read));
    assert_true(dname_equal(apex, read));
}

static void a_file_is_named_after_its_zone_and_leads_back_to_it(void **state)
{
    (void)state;
    expect_name("shop.example.", "shop.example.zone");
    expect_name("0/25.2.0.192.in-addr.arpa.", "0%2F25.2.0.192.in-addr.arpa.zone");
    expect_name("a\\.b.example.", "a%5C.b.example.zone");
    expect_name("100\\%.example.", "100%5C%25.example.zone");
    expect_name("a\\032b.example.", "a%5C032b.example.zone");
}

static bool is_name(const char *name)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    return zone_file_name_read(text_of(name), octets, &apex);
}

static void other_names_are_strangers(void **state)
{
    (void)state;
    static const char *const strangers[] = {
        "",
        "zone",
        ".zone",
        "shop.example",
        "shop.example.zone.bak",
        "..zone",
        "a..zone",
        "Shop.example.zone",
        "shop%2Eexample.zone",
        "%41.example.zone",
        "100%.example.zone",
        "a%2.zone",
        "shop.example.zone~",
        "a/b.zone",
    };
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        if (is_name(strangers[i]))
            fail_msg("%s is taken for a zone's", strangers[i]);
}

static bool is_temporary(const char *name)
{
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    return zone_file_name_read_temporary(text_of(name), octets, &apex);
}

static void what_a_crash_leaves_is_known_by_its_name(void **state)
{
    (void)state;
    assert_true(is_temporary(".shop.example.zone.Ab3xY9.tmp"));
    assert_false(is_temporary("shop.example.zone.Ab3xY9.tmp"));
    assert_false(is_temporary(".shop.example.zone.tmp"));
    assert_false(is_temporary(".shop.example.Ab3xY9.tmp"));
    assert_false(is_temporary(".tmp"));
    assert_false(is_name(".shop.example.zone.Ab3xY9.tmp"));
}

static void the_first_line_names_the_zone(void **state)
{
    (void)state;
    uint8_t octets[DNAME_MAX];
    struct dname apex;
    AUTO_BUFFER line = {0};
    assert_true(dname_read(TEXT("shop.example."), NULL, DNAME_OF_FILE, octets, &apex, NULL));
    zone_file_mark_write(&line, apex);
    assert_string_equal(line.at, "; written by signpost: shop.example.\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_named_after_its_zone_and_leads_back_to_it),
        cmocka_unit_test(other_names_are_strangers),
        cmocka_unit_test(what_a_crash_leaves_is_known_by_its_name),
        cmocka_unit_test(the_first_line_names_the_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
