#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/serial.h"

enum { NOON = 1795262400 }; // 2026-11-21

static void the_order_wraps(void **state)
{
    (void)state;
    static const struct {
        uint32_t a;
        uint32_t b;
        bool is_before;
    } rows[] = {
        {4294967290u, 5, true},           {7, 2147483654u, true},
        {7, 2147483655u, false},          {2147483655u, 7, false},
        {7, 2147483656u, false},          {2026112100u, 1795300000u, false},
        {1795300000u, 2026112100u, true}, {3, 3, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(serial_is_before(rows[i].a, rows[i].b), rows[i].is_before);
}

static uint32_t after(enum serial_policy policy, uint32_t old)
{
    return serial_next(
        &(struct serial_inputs){.has_old = true, .old = old, .policy = policy, .unix_s = NOON});
}

static uint32_t first(enum serial_policy policy)
{
    return serial_next(&(struct serial_inputs){.policy = policy, .unix_s = NOON});
}

static void the_first_number_is_that_of_the_policy(void **state)
{
    (void)state;
    assert_int_equal(first(SERIAL_DATE), 2026112100);
    assert_int_equal(first(SERIAL_UNIXTIME), NOON);
    assert_int_equal(first(SERIAL_COUNTER), 1);
}

static void the_date_is_that_of_utc_wherever_we_are(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        setenv("TZ", i ? "EAST-14" : "WEST+12", 1);
        tzset();
        assert_int_equal(first(SERIAL_DATE), 2026112100);
    }
    unsetenv("TZ");
    tzset();
}

static void numbers_go_up_by_one_until_the_policy_passes_them(void **state)
{
    (void)state;
    assert_int_equal(after(SERIAL_DATE, 2026112000), 2026112100);
    assert_int_equal(after(SERIAL_DATE, 2026112100), 2026112101);
    assert_int_equal(after(SERIAL_DATE, 2026112199), 2026112200);
    assert_int_equal(after(SERIAL_UNIXTIME, 2026112100), 2026112101);
    assert_int_equal(after(SERIAL_UNIXTIME, NOON - 5), NOON);
    assert_int_equal(after(SERIAL_COUNTER, 17), 18);
}

static void zero_is_skipped(void **state)
{
    (void)state;
    assert_int_equal(after(SERIAL_COUNTER, UINT32_MAX), 1);
}

static void a_minimum_lifts_the_number_and_never_lowers_it(void **state)
{
    (void)state;
    struct serial_inputs inputs = {
        .has_old = true, .old = 10, .policy = SERIAL_COUNTER, .has_minimum = true, .minimum = 100};
    assert_true(serial_is_behind(&inputs));
    assert_int_equal(serial_next(&inputs), 100);
    inputs.old = 100;
    assert_false(serial_is_behind(&inputs));
    assert_int_equal(serial_next(&inputs), 101);
    inputs.minimum = 100u + 2147483649u; // further than a number may step
    assert_int_equal(serial_next(&inputs), 101);
}

static void what_a_server_has_is_passed(void **state)
{
    (void)state;
    const uint32_t servers[] = {8, 12, 40};
    struct serial_inputs inputs = {.has_old = true,
                                   .old = 20,
                                   .policy = SERIAL_COUNTER,
                                   .servers = servers,
                                   .server_count = 2};
    assert_false(serial_is_behind(&inputs));
    assert_int_equal(serial_next(&inputs), 21);
    inputs.server_count = 3;
    assert_true(serial_is_behind(&inputs));
    assert_int_equal(serial_next(&inputs), 41);
    inputs.has_old = false;
    assert_int_equal(serial_next(&inputs), 41);
}

static void a_server_at_the_last_number_wraps_past_zero(void **state)
{
    (void)state;
    const uint32_t servers[] = {UINT32_MAX};
    assert_int_equal(serial_next(&(struct serial_inputs){.has_old = true,
                                                         .old = UINT32_MAX - 3,
                                                         .policy = SERIAL_COUNTER,
                                                         .servers = servers,
                                                         .server_count = 1}),
                     1);
}

static void what_is_too_far_for_one_step_is_not_taken(void **state)
{
    (void)state;
    const uint32_t servers[] = {7u + 2147483647u};
    struct serial_inputs inputs = {.has_old = true,
                                   .old = 7,
                                   .policy = SERIAL_COUNTER,
                                   .has_minimum = true,
                                   .minimum = 7u + 2147483648u};
    assert_int_equal(serial_next(&inputs), 8);
    inputs.servers = servers;
    inputs.server_count = 1;
    assert_int_equal(serial_next(&inputs), servers[0]);
}

// Each content has a number of its own, whatever clocks and servers do.
static void each_number_is_after_the_one_before(void **state)
{
    (void)state;
    uint32_t old = 4294960000u;
    uint64_t seed = 7;
    for (int i = 0; i < 100000; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t server = old + (uint32_t)(seed >> 60);
        const struct serial_inputs inputs = {.has_old = true,
                                             .old = old,
                                             .policy = (enum serial_policy)(seed >> 33) % 3,
                                             .unix_s = (int64_t)(seed >> 32),
                                             .has_minimum = seed >> 40 & 1,
                                             .minimum = (uint32_t)(seed >> 20),
                                             .servers = &server,
                                             .server_count = seed >> 50 & 1};
        uint32_t next = serial_next(&inputs);
        assert_true(serial_is_before(old, next) && next != 0);
        old = next;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_wraps),
        cmocka_unit_test(the_first_number_is_that_of_the_policy),
        cmocka_unit_test(the_date_is_that_of_utc_wherever_we_are),
        cmocka_unit_test(numbers_go_up_by_one_until_the_policy_passes_them),
        cmocka_unit_test(zero_is_skipped),
        cmocka_unit_test(a_minimum_lifts_the_number_and_never_lowers_it),
        cmocka_unit_test(what_a_server_has_is_passed),
        cmocka_unit_test(a_server_at_the_last_number_wraps_past_zero),
        cmocka_unit_test(what_is_too_far_for_one_step_is_not_taken),
        cmocka_unit_test(each_number_is_after_the_one_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
