#include "store/cluster/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"

struct thing {
    int number;
    int *gone; // counts
};

static void thing_gone(void *item)
{
    struct thing *thing = item;
    if (thing->gone)
        ++*thing->gone;
}

static struct thing *put(struct recent *recent, uint64_t key, int number, int *gone)
{
    struct thing *thing = recent_touch(recent, key);
    *thing = (struct thing){number, gone};
    return thing;
}

static void an_item_is_found_by_its_key_until_it_is_removed(void **state)
{
    (void)state;
    int gone = 0;
    struct recent *recent = recent_new(4, sizeof(struct thing), thing_gone);
    assert_null(recent_find(recent, 7));
    put(recent, 7, 70, &gone);
    assert_int_equal(((struct thing *)recent_find(recent, 7))->number, 70);
    recent_remove(recent, 7);
    recent_remove(recent, 7);
    assert_null(recent_find(recent, 7));
    assert_int_equal(gone, 1);
    assert_int_equal(((struct thing *)recent_touch(recent, 7))->number, 0);
    recent_free(recent);
}

static void the_one_untouched_for_longest_makes_room(void **state)
{
    (void)state;
    int gone = 0;
    struct recent *recent = recent_new(3, sizeof(struct thing), thing_gone);
    for (int i = 0; i < 3; i++)
        put(recent, (uint64_t)i, i, &gone);
    recent_touch(recent, 0);
    put(recent, 3, 3, &gone);
    assert_int_equal(gone, 1);
    assert_null(recent_find(recent, 1));
    assert_non_null(recent_find(recent, 0));
    assert_int_equal(recent_count(recent), 3);
    recent_free(recent);
    assert_int_equal(gone, 4);
}

static bool add_up(void *context, uint64_t key, void *item)
{
    const struct thing *thing = item;
    uint64_t *sum = context;
    *sum = *sum * 10 + (uint64_t)thing->number;
    return key != 2;
}

static void items_are_shown_from_the_oldest_until_told_to_end(void **state)
{
    (void)state;
    uint64_t sum = 0;
    struct recent *recent = recent_new(8, sizeof(struct thing), NULL);
    for (int i = 1; i <= 3; i++)
        put(recent, (uint64_t)i, i, NULL);
    recent_touch(recent, 1);
    recent_touch(recent, 2);
    put(recent, 4, 4, NULL);
    recent_each(recent, add_up, &sum);
    assert_int_equal(sum, 312);
    recent_free(recent);
}

struct removal {
    struct recent *recent;
    size_t shown;
};

static bool remove_odd(void *context, uint64_t key, void *item)
{
    struct removal *removal = context;
    (void)item;
    removal->shown++;
    if (key % 2)
        recent_remove(removal->recent, key);
    return true;
}

static void what_is_shown_may_be_removed(void **state)
{
    (void)state;
    int gone = 0;
    struct removal removal = {.recent = recent_new(100, sizeof(struct thing), thing_gone)};
    for (int i = 0; i < 20; i++)
        put(removal.recent, (uint64_t)i, i, &gone);
    recent_each(removal.recent, remove_odd, &removal);
    assert_int_equal(removal.shown, 20);
    assert_int_equal(gone, 10);
    assert_int_equal(recent_count(removal.recent), 10);
    recent_free(removal.recent);
}

static void many_come_and_go_in_the_room_of_few(void **state)
{
    (void)state;
    int gone = 0;
    struct recent *recent = recent_new(100, sizeof(struct thing), thing_gone);
    for (int i = 0; i < 5000; i++) {
        put(recent, (uint64_t)i * 0x9e3779b97f4a7c15, i, &gone);
        if (i % 7 == 0)
            recent_remove(recent, (uint64_t)i * 0x9e3779b97f4a7c15);
    }
    assert_int_equal(recent_count(recent), 100);
    assert_int_equal(gone, 4900);
    for (int i = 4999; i > 4990; i--)
        if (i % 7)
            assert_int_equal(
                ((struct thing *)recent_find(recent, (uint64_t)i * 0x9e3779b97f4a7c15))->number, i);
    recent_free(recent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_found_by_its_key_until_it_is_removed),
        cmocka_unit_test(the_one_untouched_for_longest_makes_room),
        cmocka_unit_test(items_are_shown_from_the_oldest_until_told_to_end),
        cmocka_unit_test(what_is_shown_may_be_removed),
        cmocka_unit_test(many_come_and_go_in_the_room_of_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
