#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frontends/provider_api/spans.h"

static void add(struct spans *spans, int64_t first_s, int64_t last_s)
{
    spans_add(spans, (struct span){first_s, last_s});
}

static void check_span(const struct spans *spans, size_t at, int64_t first_s, int64_t last_s)
{
    assert_true(at < spans->count);
    assert_int_equal(spans->at[at].first_s, first_s);
    assert_int_equal(spans->at[at].last_s, last_s);
}

static void neighbours_are_one_span(void **state)
{
    struct spans spans = {0};
    (void)state;
    for (int64_t second = 100; second < 5000; second++)
        add(&spans, second, second);
    assert_int_equal(spans.count, 1);
    check_span(&spans, 0, 100, 4999);
    add(&spans, 99, 99);
    check_span(&spans, 0, 99, 4999);
}

static void spans_stay_in_order_and_apart(void **state)
{
    struct spans spans = {0};
    (void)state;
    add(&spans, 50, 60);
    add(&spans, -5, 5);
    add(&spans, 20, 30);
    assert_int_equal(spans.count, 3);
    check_span(&spans, 0, -5, 5);
    check_span(&spans, 1, 20, 30);
    check_span(&spans, 2, 50, 60);
    assert_true(spans_have(&spans, 20));
    assert_true(spans_have(&spans, 30));
    assert_false(spans_have(&spans, 31));
    assert_false(spans_have(&spans, 6));
}

static void span_that_covers_others_takes_them_in(void **state)
{
    struct spans spans = {0};
    (void)state;
    add(&spans, 10, 20);
    add(&spans, 30, 40);
    add(&spans, 60, 70);
    add(&spans, 15, 50);
    assert_int_equal(spans.count, 2);
    check_span(&spans, 0, 10, 50);
    add(&spans, 12, 13);
    check_span(&spans, 0, 10, 50);
    add(&spans, 0, 100);
    assert_int_equal(spans.count, 1);
    check_span(&spans, 0, 0, 100);
}

static void nearest_become_one_when_there_are_too_many(void **state)
{
    struct spans spans = {0};
    (void)state;
    for (int64_t i = 0; i < 1000; i++)
        add(&spans, 600 * i, 600 * i);
    add(&spans, 1 << 30, (1 << 30) + 5);
    assert_true(spans.count <= SPANS_MAX);
    for (int64_t i = 0; i < 1000; i++)
        assert_true(spans_have(&spans, 600 * i));
    assert_true(spans_have(&spans, 1 << 30));
    assert_false(spans_have(&spans, 600 * 1000));
    assert_false(spans_have(&spans, (1 << 30) - 1));
}

static void impossible_seconds_are_left_out(void **state)
{
    struct spans spans = {0};
    (void)state;
    add(&spans, 2, 1);
    add(&spans, INT64_MIN, 0);
    add(&spans, 0, INT64_MAX);
    assert_int_equal(spans.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neighbours_are_one_span),
        cmocka_unit_test(spans_stay_in_order_and_apart),
        cmocka_unit_test(span_that_covers_others_takes_them_in),
        cmocka_unit_test(nearest_become_one_when_there_are_too_many),
        cmocka_unit_test(impossible_seconds_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
