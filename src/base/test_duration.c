#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/when.h"

static void durations_read_as_go_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } rows[] = {{"0", 0},
                {"-0", 0},
                {"+0", 0},
                {"0s", 0},
                {"5s", 5000},
                {"+5s", 5000},
                {"-5s", -5000},
                {"5.s", 5000},
                {".5s", 500},
                {"5.6s", 5600},
                {"5.004s", 5004},
                {"1m30s", 90000},
                {"-1.5h", -5400000},
                {"1h30m", 5400000},
                {"3h30m10ms", 12600010},
                {"1s1h", 3601000},
                {"300ms", 300},
                {"999us", 0},
                {"1999us", 1},
                {"-1999us", -1},
                {"1500\xc2\xb5s", 1},
                {"1500\xce\xbcs", 1},
                {"1000000ns", 1},
                {"0.3333333333333333333h", 1200000},
                {"0.100000000000000000000h", 360000},
                {"0.9223372036854775808s", 922},
                {"9223372036854775807ns", 9223372036854},
                {"-9223372036854775808ns", -9223372036854},
                {"2562047h47m16.854775807s", 9223372036854},
                {"-2562047h47m16.854775808s", -9223372036854}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ms = 1 << 20;
        assert_true(duration_parse(text_of(rows[i].text), &ms, NULL));
        assert_true(ms == rows[i].ms);
    }
}

static void durations_that_go_refuses_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {{"", "empty"},
                {"-", "empty"},
                {"3", "unit is missing"},
                {"00", "unit is missing"},
                {"1h5", "unit is missing"},
                {"s", "number is missing"},
                {".", "number is missing"},
                {".s", "number is missing"},
                {"--1s", "number is missing"},
                {" 1s", "number is missing"},
                {"1s ", "unit is unknown"},
                {"1 s", "unit is unknown"},
                {"1d", "unit is unknown"},
                {"1S", "unit is unknown"},
                {"1e3s", "unit is unknown"},
                {"1s-1s", "unit is unknown"},
                {"9223372036854775808ns", "too long"},
                {"9223372036854775809ns", "too long"},
                {"99999999999999999999s", "too long"},
                {"9223372036854776us", "too long"},
                {"3000000h", "too long"},
                {"2562047h47m16.854775808s", "too long"},
                {"-2562047h47m16.854775809s", "too long"},
                {"9223372036854775807ns1ns", "too long"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ms = 7;
        struct error err = {0};
        assert_false(duration_parse(text_of(rows[i].text), &ms, &err));
        assert_int_equal(ms, 7);
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_non_null(strstr(err.text, rows[i].why));
    }
}

static void durations_are_written_short(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "0s"},          {1, "1ms"},           {300, "300ms"},   {1000, "1s"},
                {1500, "1.5s"},     {1050, "1.05s"},      {10000, "10s"},   {60000, "1m"},
                {90000, "1m30s"},   {60500, "1m0.5s"},    {3600000, "1h"},  {3601000, "1h1s"},
                {5400000, "1h30m"}, {-5400000, "-1h30m"}, {-1, "-1ms"},     {36000000, "10h"},
                {600000, "10m"},    {100000, "1m40s"},    {86400000, "24h"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[WHEN_TEXT_MAX];
        int64_t ms = 7;
        duration_write(rows[i].ms, out);
        assert_string_equal(out, rows[i].text);
        assert_true(duration_parse(text_of(out), &ms, NULL));
        assert_true(ms == rows[i].ms);
    }
}

static void longest_durations_fit_their_text(void **state)
{
    (void)state;
    char out[WHEN_TEXT_MAX];
    duration_write(INT64_MAX, out);
    assert_string_equal(out, "2562047788015h12m55.807s");
    duration_write(INT64_MIN, out);
    assert_string_equal(out, "-2562047788015h12m55.808s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_read_as_go_reads_them),
        cmocka_unit_test(durations_that_go_refuses_are_refused),
        cmocka_unit_test(durations_are_written_short),
        cmocka_unit_test(longest_durations_fit_their_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
