#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "providers/pihole/list.h"

static bool takes(const char *name)
{
    struct error err = {0};
    bool is_taken = list_check_name(text_of(name), &err);
    assert_true(is_taken || (err.fault == FAULT_SPEC && strcmp(err.reason, "RecordRefused") == 0));
    return is_taken;
}

static void names_are_checked_by_the_rules_of_pihole(void **state)
{
    static const char *const good[] = {"nas",     "App.Home.lan", "-x.lan",
                                       "a_b.lan", "home.lan.",    "1"};
    static const char *const bad[] = {"",        "*.lan", "a..b",         ".lan",    "a/b.lan",
                                      "a b.lan", ".",     "\xc3\xa4.lan", "a\n.lan", "a,b"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(takes(good[i]));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(takes(bad[i]));
}

static void labels_have_at_most_63_octets_and_names_253(void **state)
{
    AUTO_BUFFER name = {0};
    (void)state;
    for (int i = 0; i < 4; i++)
        buffer_printf(&name, "%s%063d", i ? "." : "", 0);
    assert_false(takes(name.at));
    name.at[253] = '\0';
    assert_true(takes(name.at));
    assert_true(takes("012345678901234567890123456789012345678901234567890123456789012.lan"));
    assert_false(takes("0123456789012345678901234567890123456789012345678901234567890123.lan"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked_by_the_rules_of_pihole),
        cmocka_unit_test(labels_have_at_most_63_octets_and_names_253),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
