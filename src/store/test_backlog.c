#include "store/backlog.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_first(struct backlog *backlog, uint32_t expected)
{
    const struct backlog_item *item = backlog_first(backlog);
    assert_non_null(item);
    assert_int_equal(item->id, expected);
    assert_true(backlog_remove(backlog, expected));
}

static void ids_come_in_the_order_in_which_they_were_added(void **state)
{
    (void)state;
    struct backlog backlog = {0};
    for (uint32_t i = 0; i < 5000; i++)
        backlog_add(&backlog, i * 7919 % 5000, i);
    assert_int_equal(backlog.depth, 5000);
    for (uint32_t i = 0; i < 5000; i++)
        expect_first(&backlog, i * 7919 % 5000);
    assert_null(backlog_first(&backlog));
    backlog_done(&backlog);
}

static void a_removed_id_is_passed_over(void **state)
{
    (void)state;
    struct backlog backlog = {0};
    for (uint32_t id = 1; id <= 3; id++)
        backlog_add(&backlog, id, 0);
    assert_true(backlog_remove(&backlog, 2));
    assert_false(backlog_remove(&backlog, 2));
    assert_false(backlog_has(&backlog, 2));
    expect_first(&backlog, 1);
    expect_first(&backlog, 3);
    assert_null(backlog_first(&backlog));
    backlog_done(&backlog);
}

static void an_id_that_comes_and_goes_takes_one_place(void **state)
{
    (void)state;
    struct backlog backlog = {0};
    backlog_add(&backlog, 1, 0);
    for (uint32_t i = 0; i < 10000; i++) {
        backlog_add(&backlog, 9, i);
        assert_true(backlog_remove(&backlog, 9));
    }
    backlog_add(&backlog, 9, 10000);
    assert_true(backlog.capacity < 100);
    expect_first(&backlog, 1);
    expect_first(&backlog, 9);
    assert_null(backlog_first(&backlog));
    backlog_done(&backlog);
}

static void the_time_of_coming_is_kept(void **state)
{
    (void)state;
    struct backlog backlog = {0};
    backlog_add(&backlog, 400, 17);
    assert_int_equal(backlog_first(&backlog)->added_ms, 17);
    backlog_done(&backlog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_come_in_the_order_in_which_they_were_added),
        cmocka_unit_test(a_removed_id_is_passed_over),
        cmocka_unit_test(an_id_that_comes_and_goes_takes_one_place),
        cmocka_unit_test(the_time_of_coming_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
