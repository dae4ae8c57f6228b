#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "store/queue.h"

static void expect_pop(struct queue *queue, int64_t now_ms, uint32_t expected)
{
    uint32_t id = UINT32_MAX;
    assert_true(queue_pop(queue, now_ms, &id));
    assert_int_equal(id, expected);
}

static void an_id_added_many_times_comes_once(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id;
    queue_add(queue, 7, QUEUE_USER, 0);
    queue_add(queue, 7, QUEUE_USER, 0);
    queue_add(queue, 7, QUEUE_BACKGROUND, 0);
    expect_pop(queue, 0, 7);
    assert_false(queue_pop(queue, 0, &id));
    queue_free(queue);
}

static void an_edit_overtakes_the_start_up_flood(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    for (uint32_t id = 0; id < 100; id++)
        queue_add(queue, id, QUEUE_BACKGROUND, 0);
    queue_add(queue, 50, QUEUE_USER, 10);
    expect_pop(queue, 10, 50);
    expect_pop(queue, 10, 0);
    expect_pop(queue, 10, 1);
    assert_int_equal(queue_depth(queue), 97);
    assert_int_equal(queue_adds(queue), 100);
    queue_free(queue);
}

static void what_is_urgent_goes_before_what_people_wait_for(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id = UINT32_MAX;
    queue_add(queue, 1, QUEUE_USER, 0);
    queue_add(queue, 2, QUEUE_USER, 0);
    queue_add(queue, 3, QUEUE_BACKGROUND, 0);
    assert_false(queue_has_urgent(queue));
    assert_false(queue_pop_urgent(queue, 0, &id));
    queue_add(queue, 4, QUEUE_URGENT, 5);
    queue_add(queue, 2, QUEUE_URGENT, 6); // moves up
    queue_add(queue, 4, QUEUE_USER, 7);   // keeps its place
    assert_int_equal(queue_depth(queue), 4);
    assert_int_equal(queue_adds(queue), 4);
    assert_true(queue_pop_urgent(queue, 10, &id));
    assert_int_equal(id, 4);
    expect_pop(queue, 10, 2);
    assert_int_equal(queue_last_wait_ms(queue), 10);
    assert_false(queue_has_urgent(queue));
    expect_pop(queue, 10, 1);
    expect_pop(queue, 10, 3);
    assert_false(queue_pop(queue, 10, &id));
    queue_free(queue);
}

static void a_timer_comes_up_in_the_line_that_it_was_set_for(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id = UINT32_MAX;
    queue_add(queue, 1, QUEUE_USER, 0);
    queue_after(queue, 2, QUEUE_URGENT, 100);
    queue_after(queue, 2, QUEUE_USER, 200);
    queue_after(queue, 3, QUEUE_URGENT, 50);
    queue_cancel_timer(queue, 3);
    queue_after(queue, 3, QUEUE_USER, 100);
    assert_false(queue_pop_urgent(queue, 99, &id));
    expect_pop(queue, 100, 2);
    assert_false(queue_has_urgent(queue));
    queue_after(queue, 2, QUEUE_USER, 200); // and not in that of another time
    assert_false(queue_pop_urgent(queue, 200, &id));
    expect_pop(queue, 200, 1);
    expect_pop(queue, 200, 3);
    expect_pop(queue, 200, 2);
    queue_free(queue);
}

static void what_is_urgent_goes_before_old_background_work(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    queue_add(queue, 1, QUEUE_BACKGROUND, 0);
    queue_add(queue, 2, QUEUE_URGENT, 70000);
    expect_pop(queue, 70000, 2);
    expect_pop(queue, 70000, 1);
    queue_free(queue);
}

static void background_work_rises_after_a_minute(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    queue_add(queue, 1, QUEUE_BACKGROUND, 0);
    queue_add(queue, 2, QUEUE_USER, 59000);
    expect_pop(queue, 59500, 2);
    queue_add(queue, 3, QUEUE_USER, 62000);
    expect_pop(queue, 62000, 1);
    expect_pop(queue, 62000, 3);
    queue_free(queue);
}

static void the_earlier_timer_wins(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id;
    queue_after(queue, 4, QUEUE_USER, 500);
    queue_after(queue, 4, QUEUE_USER, 200);
    queue_after(queue, 4, QUEUE_USER, 900);
    assert_int_equal(queue_next_ms(queue), 200);
    assert_false(queue_pop(queue, 199, &id));
    expect_pop(queue, 200, 4);
    assert_false(queue_pop(queue, 10000, &id));
    assert_true(queue_next_ms(queue) == INT64_MAX);
    queue_free(queue);
}

static void timers_ring_in_order_of_time(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    for (uint32_t id = 0; id < 50; id++)
        queue_after(queue, id, QUEUE_USER, 1000 - 10 * (int64_t)id);
    for (uint32_t id = 50; id-- > 0;)
        expect_pop(queue, 2000, id);
    queue_free(queue);
}

static void a_forgotten_id_does_not_come_back(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id;
    queue_add(queue, 1, QUEUE_USER, 0);
    queue_after(queue, 1, QUEUE_USER, 5);
    queue_add(queue, 2, QUEUE_BACKGROUND, 0);
    queue_forget(queue, 1);
    queue_forget(queue, 2);
    assert_false(queue_pop(queue, 100, &id));
    assert_true(queue_next_ms(queue) == INT64_MAX);
    queue_free(queue);
}

static void a_flood_leaves_the_timers(void **state)
{
    (void)state;
    struct queue *queue = queue_new();
    uint32_t id;
    queue_after(queue, 9, QUEUE_USER, 700);
    queue_after(queue, 60000, QUEUE_USER, 800);
    for (id = 0; id < 50000; id++)
        queue_add(queue, id, QUEUE_BACKGROUND, 0);
    for (uint32_t i = 0; i < 50000; i++)
        expect_pop(queue, 1, i);
    assert_false(queue_pop(queue, 1, &id));
    queue_add(queue, 40000, QUEUE_USER, 2);
    expect_pop(queue, 2, 40000);
    expect_pop(queue, 700, 9);
    expect_pop(queue, 800, 60000);
    assert_false(queue_pop(queue, 10000, &id));
    queue_free(queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_added_many_times_comes_once),
        cmocka_unit_test(an_edit_overtakes_the_start_up_flood),
        cmocka_unit_test(what_is_urgent_goes_before_what_people_wait_for),
        cmocka_unit_test(a_timer_comes_up_in_the_line_that_it_was_set_for),
        cmocka_unit_test(what_is_urgent_goes_before_old_background_work),
        cmocka_unit_test(background_work_rises_after_a_minute),
        cmocka_unit_test(the_earlier_timer_wins),
        cmocka_unit_test(timers_ring_in_order_of_time),
        cmocka_unit_test(a_forgotten_id_does_not_come_back),
        cmocka_unit_test(a_flood_leaves_the_timers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
