#include "base/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"

// Things are numbers; `shift` makes their hashes collide.
struct things {
    uint64_t numbers[5000];
    unsigned shift;
};

static bool matches(const void *context, uint32_t id, const void *key)
{
    const struct things *things = context;
    return things->numbers[id] == *(const uint64_t *)key;
}

static uint64_t hash_of(const struct things *things, uint64_t number)
{
    return (number * 0x9e3779b97f4a7c15) >> things->shift;
}

static uint64_t hash(const void *context, uint32_t id)
{
    const struct things *things = context;
    return hash_of(things, things->numbers[id]);
}

static const struct table_ops ops = {matches, hash};

static uint32_t find(const struct table *table, uint64_t number)
{
    return table_find(table, hash_of(table->context, number), &number);
}

static void add(struct table *table, struct things *things, uint32_t id, uint64_t number)
{
    things->numbers[id] = number;
    table_add(table, hash_of(things, number), id);
}

static void empty_table_finds_nothing(void **state)
{
    (void)state;
    struct things things = {.shift = 20};
    struct table table = {.ops = &ops, .context = &things};
    assert_true(find(&table, 1) == TABLE_NONE);
    assert_false(table_remove(&table, 0, 0));
    table_done(&table);
}

static void fill_and_drain(unsigned shift, uint32_t count)
{
    autofree struct things *things = mem_new_of(struct things);
    things->shift = shift;
    struct table table = {.ops = &ops, .context = things};
    for (uint32_t i = 0; i < count; i++)
        add(&table, things, i, i * 7);
    assert_int_equal(table.count, count);
    for (uint32_t i = 0; i < count; i += 2)
        assert_true(table_remove(&table, hash(things, i), i));
    assert_false(table_remove(&table, hash(things, 0), 0));
    for (uint32_t i = 0; i < count; i++)
        assert_true(find(&table, i * 7) == (i % 2 ? i : TABLE_NONE));
    assert_int_equal(table.count, count / 2);
    table_done(&table);
    assert_true(find(&table, 7) == TABLE_NONE);
}

static void things_are_found_until_removed(void **state)
{
    (void)state;
    fill_and_drain(20, 5000);
}

static void colliding_things_are_found_until_removed(void **state)
{
    (void)state;
    fill_and_drain(63, 400);
}

static void steady_coming_and_going_does_not_grow_the_table(void **state)
{
    (void)state;
    autofree struct things *things = mem_new_of(struct things);
    things->shift = 20;
    struct table table = {.ops = &ops, .context = things};
    for (uint32_t i = 0; i < 100; i++)
        add(&table, things, i, i);
    uint32_t capacity = table.capacity;
    for (uint64_t round = 0; round < 100000; round++) {
        uint32_t id = (uint32_t)(round % 100);
        assert_true(table_remove(&table, hash(things, id), id));
        add(&table, things, id, 1000 + round);
    }
    assert_int_equal(table.count, 100);
    assert_in_range(table.capacity, 1, capacity * 2);
    assert_true(find(&table, 1000 + 99999) == 99);
    table_done(&table);
}

static void few_left_among_many_removed_are_found(void **state)
{
    (void)state;
    autofree struct things *things = mem_new_of(struct things);
    things->shift = 20;
    struct table table = {.ops = &ops, .context = things};
    for (uint32_t i = 0; i < 5000; i++)
        add(&table, things, i, i);
    for (uint32_t i = 0; i < 4990; i++)
        assert_true(table_remove(&table, hash(things, i), i));
    for (uint32_t i = 0; i < 5000; i++)
        assert_true(find(&table, i) == (i < 4990 ? TABLE_NONE : i));
    assert_int_equal(table.count, 10);
    table_done(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_table_finds_nothing),
        cmocka_unit_test(things_are_found_until_removed),
        cmocka_unit_test(colliding_things_are_found_until_removed),
        cmocka_unit_test(steady_coming_and_going_does_not_grow_the_table),
        cmocka_unit_test(few_left_among_many_removed_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
