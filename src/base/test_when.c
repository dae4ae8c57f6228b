#include "base/when.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void check_both_ways(int64_t unix_s, const char *text)
{
    char out[WHEN_TEXT_MAX];
    int64_t ms = 0;
    when_write(unix_s, out);
    assert_string_equal(out, text);
    assert_true(when_parse(text_of(text), &ms, NULL));
    assert_true(ms == unix_s * 1000);
}

static void times_go_both_ways(void **state)
{
    (void)state;
    check_both_ways(0, "1970-01-01T00:00:00Z");
    check_both_ways(-1, "1969-12-31T23:59:59Z");
    check_both_ways(951782400, "2000-02-29T00:00:00Z");
    check_both_ways(1767088800, "2025-12-30T10:00:00Z");
    check_both_ways(4107542400, "2100-03-01T00:00:00Z");
    check_both_ways(-62167219200, "0000-01-01T00:00:00Z");
    check_both_ways(253402300799, "9999-12-31T23:59:59Z");
}

static void every_day_of_four_centuries_goes_both_ways(void **state)
{
    (void)state;
    for (int64_t day = -80000; day < 80000; day++) {
        char out[WHEN_TEXT_MAX];
        int64_t ms = 0;
        when_write(day * 86400 + 7, out);
        assert_true(when_parse(text_of(out), &ms, NULL));
        assert_true(ms == (day * 86400 + 7) * 1000);
    }
}

static void times_beyond_four_digit_years_are_clamped(void **state)
{
    (void)state;
    char out[WHEN_TEXT_MAX];
    when_write(INT64_MAX, out);
    assert_string_equal(out, "9999-12-31T23:59:59Z");
    when_write(INT64_MIN, out);
    assert_string_equal(out, "0000-01-01T00:00:00Z");
    when_write_us(INT64_MAX, out);
    assert_string_equal(out, "9999-12-31T23:59:59.775807Z");
    when_write_ms(INT64_MIN, out);
    assert_string_equal(out, "0000-01-01T00:00:00.192Z");
}

static void microseconds_always_have_six_digits(void **state)
{
    (void)state;
    char out[WHEN_TEXT_MAX];
    when_write_us(1767088800000000, out);
    assert_string_equal(out, "2025-12-30T10:00:00.000000Z");
    when_write_us(1767088800000042, out);
    assert_string_equal(out, "2025-12-30T10:00:00.000042Z");
    when_write_us(-1, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999999Z");
}

static void milliseconds_are_written_and_read(void **state)
{
    (void)state;
    char out[WHEN_TEXT_MAX];
    when_write_ms(1767088800123, out);
    assert_string_equal(out, "2025-12-30T10:00:00.123Z");
    when_write_ms(-1, out);
    assert_string_equal(out, "1969-12-31T23:59:59.999Z");
    int64_t ms = 0;
    assert_true(when_parse(TEXT("2025-12-30T10:00:00.1239999999999999999999Z"), &ms, NULL));
    assert_true(ms == 1767088800123);
    assert_true(when_parse(TEXT("2025-12-30T10:00:00.5Z"), &ms, NULL));
    assert_true(ms == 1767088800500);
}

static void offsets_are_taken_off(void **state)
{
    (void)state;
    int64_t ms = 0;
    assert_true(when_parse(TEXT("2025-12-30T11:30:00+01:30"), &ms, NULL));
    assert_true(ms == 1767088800000);
    assert_true(when_parse(TEXT("2025-12-29t23:00:00-11:00"), &ms, NULL));
    assert_true(ms == 1767088800000);
    assert_true(when_parse(TEXT("2016-12-31T23:59:60z"), &ms, NULL));
    assert_true(ms == 1483228800000);
}

static void wrong_times_are_refused_untouched(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "2025-12-30",
                                        "2025-12-30T10:00:00",
                                        "2025-12-30 10:00:00Z",
                                        "2025-13-01T00:00:00Z",
                                        "2025-00-01T00:00:00Z",
                                        "2025-02-29T00:00:00Z",
                                        "1900-02-29T00:00:00Z",
                                        "2025-04-31T00:00:00Z",
                                        "2025-01-00T00:00:00Z",
                                        "2025-01-01T24:00:00Z",
                                        "2025-01-01T00:60:00Z",
                                        "2025-01-01T00:00:61Z",
                                        "2025-01-01T00:00:00.Z",
                                        "2025-01-01T00:00:00+0100",
                                        "2025-01-01T00:00:00+24:00",
                                        "2025-01-01T00:00:00ZZ",
                                        "25-01-01T00:00:00Z",
                                        "+025-01-01T00:00:00Z",
                                        " 2025-01-01T00:00:00Z"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        int64_t ms = 7;
        struct error err = {0};
        assert_false(when_parse(text_of(wrong[i]), &ms, &err));
        assert_int_equal(ms, 7);
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_non_null(strstr(err.text, "is not a time"));
    }
}

static void an_http_date_is_read(void **state)
{
    (void)state;
    int64_t unix_s = 0;
    assert_true(when_parse_http(TEXT("Sun, 06 Nov 1994 08:49:37 GMT"), &unix_s));
    assert_true(unix_s == 784111777);
}

static void wrong_http_dates_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "120",
                                        "Sun, 06 Nov 1994 08:49:37",
                                        "Sun, 6 Nov 1994 08:49:37 GMT",
                                        "Son, 06 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 UTC",
                                        "Sun, 31 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 GMT "};
    int64_t unix_s = 7;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(when_parse_http(text_of(wrong[i]), &unix_s));
    assert_int_equal(unix_s, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_go_both_ways),
        cmocka_unit_test(every_day_of_four_centuries_goes_both_ways),
        cmocka_unit_test(times_beyond_four_digit_years_are_clamped),
        cmocka_unit_test(milliseconds_are_written_and_read),
        cmocka_unit_test(microseconds_always_have_six_digits),
        cmocka_unit_test(offsets_are_taken_off),
        cmocka_unit_test(wrong_times_are_refused_untouched),
        cmocka_unit_test(an_http_date_is_read),
        cmocka_unit_test(wrong_http_dates_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
