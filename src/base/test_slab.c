#include "base/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

enum { MANY = 20000 };

// Lengths from 1 to a little over what is packed, the same for the same number.
static size_t length_of(size_t number)
{
    return 1 + number * 7919 % (SLAB_OCTETS_MAX + 16);
}

static void fill(char *at, size_t number)
{
    memset(at, (int)(number % 251), length_of(number));
}

static bool is_whole(const char *at, size_t number)
{
    for (size_t i = 0; i < length_of(number); i++)
        if ((uint8_t)at[i] != number % 251)
            return false;
    return true;
}

static void things_of_all_sizes_stay_whole_while_others_come_and_go(void **state)
{
    (void)state;
    struct slab *slab = slab_new();
    char **things = mem_new_array(char *, MANY);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < MANY; i++) {
            if (things[i])
                continue;
            things[i] = slab_take(slab, length_of(i));
            assert_int_equal((uintptr_t)things[i] % (length_of(i) % 8 ? 4 : 8), 0);
            fill(things[i], i);
        }
        for (size_t i = round; i < MANY; i += 3) {
            slab_give(things[i], length_of(i));
            things[i] = NULL;
        }
    }
    for (size_t i = 0; i < MANY; i++) {
        if (!things[i])
            continue;
        assert_true(is_whole(things[i], i));
        slab_give(things[i], length_of(i));
    }
    slab_free(slab);
    free(things);
}

static void small_things_take_hardly_more_than_their_size(void **state)
{
    (void)state;
    struct slab *slab = slab_new();
    char **things = mem_new_array(char *, MANY);
    for (size_t i = 0; i < MANY; i++)
        things[i] = slab_take(slab, 190);
    assert_true(slab_octets(slab) < (size_t)MANY * 192 + 300000);
    for (size_t i = 0; i < MANY; i++)
        slab_give(things[i], 190);
    slab_free(slab);
    free(things);
}

static void a_place_given_back_is_taken_again_first(void **state)
{
    (void)state;
    struct slab *slab = slab_new();
    char *first = slab_take(slab, 22);
    char *second = slab_take(slab, 24);
    slab_give(first, 22);
    char *third = slab_take(slab, 21);
    assert_ptr_equal(third, first);
    slab_give(second, 24);
    slab_give(third, 21);
    slab_free(slab);
}

static void memory_goes_back_with_the_last_thing_in_it(void **state)
{
    (void)state;
    struct slab *slab = slab_new();
    char **things = mem_new_array(char *, MANY);
    for (size_t i = 0; i < MANY; i++)
        things[i] = slab_take(slab, 100);
    size_t full = slab_octets(slab);
    for (size_t i = 0; i < MANY; i++)
        slab_give(things[i], 100);
    assert_true(full > 7 * 256 * 1024);
    assert_int_equal(slab_octets(slab), 0);
    slab_free(slab);
    free(things);
}

static void a_thing_outlives_its_slab(void **state)
{
    (void)state;
    struct slab *slab = slab_new();
    char *thing = slab_take(slab, 100);
    slab_give(slab_take(slab, 50), 50);
    slab_free(slab);
    memset(thing, 1, 100);
    slab_give(thing, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(things_of_all_sizes_stay_whole_while_others_come_and_go),
        cmocka_unit_test(small_things_take_hardly_more_than_their_size),
        cmocka_unit_test(a_place_given_back_is_taken_again_first),
        cmocka_unit_test(a_thing_outlives_its_slab),
        cmocka_unit_test(memory_goes_back_with_the_last_thing_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
