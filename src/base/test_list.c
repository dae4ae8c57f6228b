#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct thing {
    int number;
    struct link link;
};
struct box {
    LIST_OF(struct thing) things;
};

static void expect(const struct box *box, const char *order)
{
    for (const struct thing *at = list_first(&box->things); at; at = list_next(at))
        assert_int_equal(at->number, *order++ - '0');
    assert_int_equal(*order, '\0');
}

static void an_empty_list_is_all_zeroes(void **state)
{
    (void)state;
    struct box box = {0};
    assert_true(list_is_empty(&box.things));
    assert_null(list_first(&box.things));
    assert_null(list_take_first(&box.things));
    list_each (at, &box.things)
        fail_msg("%d", at->number);
}

static void things_stand_in_the_order_in_which_they_were_put(void **state)
{
    (void)state;
    struct box box = {0};
    struct thing things[] = {{.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
    list_append(&box.things, &things[1]);
    list_append(&box.things, &things[2]);
    list_prepend(&box.things, &things[0]);
    list_append(&box.things, &things[3]);
    expect(&box, "1234");
    assert_false(list_is_empty(&box.things));
}

static void any_of_them_can_be_taken_out_and_put_in_again(void **state)
{
    (void)state;
    struct box box = {0};
    struct thing things[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    for (size_t i = 0; i < 3; i++)
        list_append(&box.things, &things[i]);
    list_remove(&box.things, &things[1]);
    expect(&box, "13");
    list_prepend(&box.things, &things[1]);
    expect(&box, "213");
    list_remove(&box.things, &things[2]);
    expect(&box, "21");
    list_remove(&box.things, &things[1]);
    expect(&box, "1");
    list_remove(&box.things, &things[0]);
    expect(&box, "");
    list_append(&box.things, &things[2]);
    expect(&box, "3");
}

static void the_first_is_taken_until_none_is_left(void **state)
{
    (void)state;
    struct box box = {0};
    struct thing things[] = {{.number = 1}, {.number = 2}};
    list_append(&box.things, &things[0]);
    list_append(&box.things, &things[1]);
    assert_ptr_equal(list_take_first(&box.things), &things[0]);
    expect(&box, "2");
    assert_ptr_equal(list_take_first(&box.things), &things[1]);
    assert_null(list_take_first(&box.things));
}

static void a_walk_bears_that_each_thing_goes(void **state)
{
    (void)state;
    struct box box = {0};
    struct thing things[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    int sum = 0;
    for (size_t i = 0; i < 3; i++)
        list_append(&box.things, &things[i]);
    list_each (at, &box.things) {
        sum = 10 * sum + at->number;
        list_remove(&box.things, at);
        at->link = (struct link){&at->link, &at->link};
    }
    assert_int_equal(sum, 123);
    expect(&box, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_is_all_zeroes),
        cmocka_unit_test(things_stand_in_the_order_in_which_they_were_put),
        cmocka_unit_test(any_of_them_can_be_taken_out_and_put_in_again),
        cmocka_unit_test(the_first_is_taken_until_none_is_left),
        cmocka_unit_test(a_walk_bears_that_each_thing_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
