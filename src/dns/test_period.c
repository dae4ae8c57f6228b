#include "dns/period.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"

static void units_add_up(void **state)
{
    static const struct {
        const char *text;
        uint64_t seconds;
    } rows[] = {
        {"0", 0},
        {"3600", 3600},
        {"0000003600", 3600},
        {"1h", 3600},
        {"1h30m", 5400},
        {"1W2D3H4M5S", 788645},
        {"30m1h", 5400},
        {"4294967295", 4294967295},
        {"4294967296", 4294967296},
        {"9999999999", 4294967296},
        {"7102w", 4294967296},
        {"9999999999w9999999999w", 4294967296},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t seconds = 1;
        assert_true(period_read(text_of(rows[i].text), &seconds));
        assert_int_equal(seconds, rows[i].seconds);
    }
}

static void what_is_no_period_is_refused(void **state)
{
    static const char *const texts[] = {"",   "h",   "1x",  "1h30", "1hm",
                                        "-1", "1.5", "1 h", "+1",   "00000000001"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        uint64_t seconds;
        assert_false(period_read(text_of(texts[i]), &seconds));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_add_up),
        cmocka_unit_test(what_is_no_period_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
