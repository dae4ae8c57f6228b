#include "base/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void ids_are_dense_and_begin_at_zero(void **state)
{
    (void)state;
    struct slots slots = {0};
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(slots_take(&slots), i);
    assert_int_equal(slots.end, 100);
    assert_int_equal(slots_taken(&slots), 100);
    slots_done(&slots);
}

static void what_was_given_back_goes_first_and_the_last_of_it_at_once(void **state)
{
    (void)state;
    struct slots slots = {0};
    for (uint32_t i = 0; i < 10; i++)
        slots_take(&slots);
    slots_give(&slots, 3);
    slots_give(&slots, 7);
    assert_int_equal(slots_taken(&slots), 8);
    assert_int_equal(slots_take(&slots), 7);
    slots_give(&slots, 9);
    assert_int_equal(slots_take(&slots), 9);
    assert_int_equal(slots_take(&slots), 3);
    assert_int_equal(slots_take(&slots), 10);
    assert_int_equal(slots_taken(&slots), 11);
    slots_done(&slots);
}

static void a_flood_that_went_leaves_no_array_once_its_ids_are_taken_again(void **state)
{
    (void)state;
    enum { FLOOD = 100000 };
    struct slots slots = {0};
    for (uint32_t i = 0; i < FLOOD; i++)
        slots_take(&slots);
    for (uint32_t i = 0; i < FLOOD; i++)
        slots_give(&slots, i);
    assert_int_equal(slots_taken(&slots), 0);
    for (uint32_t i = FLOOD; i-- > 0;)
        assert_int_equal(slots_take(&slots), i);
    assert_int_equal(slots.end, FLOOD);
    assert_int_equal(slots.free_capacity, 0);
    slots_done(&slots);
}

static void after_the_end_it_begins_anew(void **state)
{
    (void)state;
    struct slots slots = {0};
    slots_take(&slots);
    slots_take(&slots);
    slots_give(&slots, 0);
    slots_done(&slots);
    assert_int_equal(slots_take(&slots), 0);
    assert_int_equal(slots_take(&slots), 1);
    slots_done(&slots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_dense_and_begin_at_zero),
        cmocka_unit_test(what_was_given_back_goes_first_and_the_last_of_it_at_once),
        cmocka_unit_test(a_flood_that_went_leaves_no_array_once_its_ids_are_taken_again),
        cmocka_unit_test(after_the_end_it_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
