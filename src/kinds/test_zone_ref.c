#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_quote.h"
#include "kinds/zone_ref.h"

static void a_label_is_name_dot_namespace(void **state)
{
    (void)state;
    char label[ZONE_LABEL_MAX];
    zone_label_write(TEXT("example-org"), TEXT("dns"), label);
    assert_string_equal(label, "example-org.dns");
}

static void a_label_of_63_octets_stays_and_a_longer_one_is_cut_and_hashed(void **state)
{
    (void)state;
    char label[ZONE_LABEL_MAX];
    zone_label_write(TEXT("0123456789012345678901234567890123456789012345678901234567"),
                     TEXT("dns1"), label);
    assert_string_equal(label, "0123456789012345678901234567890123456789012345678901234567.dns1");
    zone_label_write(TEXT("a-very-long-zone-name-for-the-customer-portal-example-org"),
                     TEXT("team-platform-services"), label);
    assert_string_equal(label, "a-very-long-zone-name-for-the-customer-portal-exampl-64eb6cb0b8");
    assert_int_equal(strlen(label), 63);
}

static void a_reference_without_namespace_has_none(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct zone_ref ref = zone_ref_decode(quote(arena, "{'name':'a','namespace':null}"));
    assert_true(text_is(ref.name, "a"));
    assert_null(ref.namespace_.at);
    assert_int_equal(value_count(zone_ref_encode(arena, ref)), 1);
    ref = zone_ref_decode(NULL);
    assert_null(ref.name.at);
    assert_int_equal(zone_ref_encode(arena, ref)->type, VALUE_NULL);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_name_dot_namespace),
        cmocka_unit_test(a_label_of_63_octets_stays_and_a_longer_one_is_cut_and_hashed),
        cmocka_unit_test(a_reference_without_namespace_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
