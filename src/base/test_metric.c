#include "base/metric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void a_time_counts_in_every_bucket_that_holds_it(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct histogram histogram = {0};
    histogram_add(&histogram, 5);
    histogram_add(&histogram, 60000);
    metric_write_histogram(&out, "x_seconds", "op=\"get\"", &histogram);
    assert_non_null(strstr(out.at, "x_seconds_bucket{op=\"get\",le=\"0.0025\"} 0\n"));
    assert_non_null(strstr(out.at, "x_seconds_bucket{op=\"get\",le=\"0.005\"} 1\n"));
    assert_non_null(strstr(out.at, "x_seconds_bucket{op=\"get\",le=\"30\"} 1\n"));
    assert_non_null(strstr(out.at, "x_seconds_bucket{op=\"get\",le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(out.at, "x_seconds_sum{op=\"get\"} 60.005\n"));
    assert_non_null(strstr(out.at, "x_seconds_count{op=\"get\"} 2\n"));
}

static void a_histogram_may_have_no_labels(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct histogram histogram = {0};
    metric_write_histogram(&out, "x", "", &histogram);
    assert_non_null(strstr(out.at, "x_bucket{le=\"0.001\"} 0\n"));
}

static void a_label_cannot_end_its_line_or_quotes(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    metric_write_label(&out, "a\"b\\c\nd");
    assert_string_equal(out.at, "a\\\"b\\\\c\\nd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_counts_in_every_bucket_that_holds_it),
        cmocka_unit_test(a_histogram_may_have_no_labels),
        cmocka_unit_test(a_label_cannot_end_its_line_or_quotes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
