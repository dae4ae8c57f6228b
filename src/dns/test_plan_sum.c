#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dns/plan_sum.h"

static struct record_set set_of(enum record_type type, const char *subdomain, uint32_t ttl_s,
                                const struct text *values, size_t count)
{
    return (struct record_set){.type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = text_of(subdomain),
                               .ttl_s = ttl_s,
                               .values = values,
                               .value_count = count,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static const struct text old_lb[] = {{"old-lb.example.net", 18}};
static const struct text lb[] = {{"lb.example.net", 14}};
static const struct text www[] = {{"192.0.2.11", 10}, {"192.0.2.10", 10}};
static const struct text old[] = {{"192.0.2.7", 9}};

static void sum_is_that_of_the_example(void **state)
{
    (void)state;
    char sum[PLAN_SUM_MAX];
    struct record_set api_before = set_of(RECORD_CNAME, "api", 300, old_lb, 1);
    struct record_set api_after = set_of(RECORD_CNAME, "api", 60, lb, 1);
    struct record_set www_after = set_of(RECORD_A, "www", 300, www, 2);
    struct record_set old_before = set_of(RECORD_A, "old", 300, old, 1);
    const struct plan_sum_change changes[] = {{.before = &old_before},
                                              {.after = &www_after},
                                              {.before = &api_before, .after = &api_after}};
    plan_sum_write("public", changes, 3, sum);
    assert_string_equal(sum, "41f56d72c54d82605d85329eaa13287e8cd4c08db026fd19ebb6b076cdd52294");
    plan_sum_write("private", changes, 3, sum);
    assert_string_not_equal(sum,
                            "41f56d72c54d82605d85329eaa13287e8cd4c08db026fd19ebb6b076cdd52294");
}

static void another_set_identifier_is_another_plan(void **state)
{
    (void)state;
    char one[PLAN_SUM_MAX], other[PLAN_SUM_MAX];
    struct record_set set = set_of(RECORD_A, "@", 300, old, 1);
    plan_sum_write("x", &(struct plan_sum_change){.after = &set, .set = TEXT("eu")}, 1, one);
    plan_sum_write("x", &(struct plan_sum_change){.after = &set}, 1, other);
    assert_string_not_equal(one, other);
}

static void names_count_whose_values_are_not_known(void **state)
{
    (void)state;
    char one[PLAN_SUM_MAX], other[PLAN_SUM_MAX], none[PLAN_SUM_MAX];
    struct record_set www_before = set_of(RECORD_A, "www", 0, NULL, 0);
    struct record_set old_before = set_of(RECORD_A, "old", 0, NULL, 0);
    plan_sum_write("x", &(struct plan_sum_change){.before = &www_before}, 1, one);
    plan_sum_write("x", &(struct plan_sum_change){.before = &old_before}, 1, other);
    plan_sum_write("x", NULL, 0, none);
    assert_string_not_equal(one, other);
    assert_string_not_equal(one, none);
}

static void no_changes_have_a_sum_too(void **state)
{
    (void)state;
    char sum[PLAN_SUM_MAX];
    plan_sum_write("x", NULL, 0, sum);
    assert_string_equal(sum, "f70dd9ca25301dcf4288f12c3b55138c7343c2ace19b4210a2c55263c7425871");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sum_is_that_of_the_example),
        cmocka_unit_test(another_set_identifier_is_another_plan),
        cmocka_unit_test(names_count_whose_values_are_not_known),
        cmocka_unit_test(no_changes_have_a_sum_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
