#include "base/backoff.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void each_failure_doubles_the_wait(void **state)
{
    (void)state;
    static const int64_t waits_ms[] = {5, 5, 10, 20, 40, 80, 160};
    for (unsigned failures = 0; failures < sizeof waits_ms / sizeof *waits_ms; failures++)
        assert_int_equal(backoff_ms(5, 1000, failures), waits_ms[failures]);
}

static void no_wait_is_longer_than_the_longest(void **state)
{
    (void)state;
    assert_int_equal(backoff_ms(30000, 300000, 4), 240000);
    assert_int_equal(backoff_ms(30000, 300000, 5), 300000);
    assert_int_equal(backoff_ms(30000, 300000, 6), 300000);
    assert_int_equal(backoff_ms(60000, 60000, 1), 60000);
    assert_int_equal(backoff_ms(60000, 60000, 2), 60000);
    assert_int_equal(backoff_ms(90000, 60000, 1), 60000);
}

static void a_wait_that_just_fits_is_not_cut(void **state)
{
    (void)state;
    assert_int_equal(backoff_ms(100, 400, 3), 400);
    assert_int_equal(backoff_ms(100, 401, 3), 400);
    assert_int_equal(backoff_ms(100, 399, 3), 399);
}

static void any_number_of_failures_is_fine(void **state)
{
    (void)state;
    assert_int_equal(backoff_ms(5, 60000, UINT_MAX), 60000);
    assert_int_equal(backoff_ms(5, INT64_MAX, UINT_MAX), INT64_MAX);
    assert_int_equal(backoff_ms(0, 60000, 3), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_failure_doubles_the_wait),
        cmocka_unit_test(no_wait_is_longer_than_the_longest),
        cmocka_unit_test(a_wait_that_just_fits_is_not_cut),
        cmocka_unit_test(any_number_of_failures_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
