#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "frontends/refusals.h"

enum { MINUTE_MS = 60 * 1000, HOUR_MS = 60 * MINUTE_MS };

static int set_up(void **state)
{
    *state = refusals_new();
    return 0;
}

static int tear_down(void **state)
{
    refusals_free(*state);
    return 0;
}

static size_t reported_of(struct refusals *refusals, const char *peer, size_t count,
                          int64_t mono_ms)
{
    size_t reported = 0;
    for (size_t i = 0; i < count; i++)
        reported += refusals_count(refusals, peer, "AUTH_FAILED", mono_ms).is_worth_reporting;
    return reported;
}

static void first_second_fourth_and_eighth_are_told(void **state)
{
    static const bool is_reported[] = {true, true, false, true, false, false, false, true, false};
    for (size_t i = 0; i < COUNT_OF(is_reported); i++) {
        const struct refusal refusal = refusals_count(*state, "192.0.2.1", "AUTH_FAILED", 5);
        assert_int_equal(refusal.is_worth_reporting, is_reported[i]);
        assert_int_equal(refusal.count, i + 1);
    }
}

static void a_flood_is_told_once_an_hour_with_its_count(void **state)
{
    assert_int_equal(reported_of(*state, "192.0.2.1", 100000, 0), 11);
    assert_int_equal(reported_of(*state, "192.0.2.1", 1, HOUR_MS - 1), 0);
    const struct refusal refusal = refusals_count(*state, "192.0.2.1", "AUTH_FAILED", HOUR_MS);
    assert_true(refusal.is_worth_reporting);
    assert_int_equal(refusal.count, 100002);
    assert_int_equal(reported_of(*state, "192.0.2.1", 100000, HOUR_MS + 1), 0);
}

static void other_peers_and_codes_are_counted_apart(void **state)
{
    assert_int_equal(reported_of(*state, "192.0.2.1", 3, 0), 2);
    assert_int_equal(reported_of(*state, "192.0.2.2", 1, 0), 1);
    assert_true(refusals_count(*state, "192.0.2.1", "NONCE_REUSED", 0).is_worth_reporting);
}

static void after_an_hour_of_silence_it_begins_anew(void **state)
{
    assert_int_equal(reported_of(*state, "192.0.2.1", 3, 0), 2);
    assert_int_equal(refusals_count(*state, "192.0.2.1", "AUTH_FAILED", HOUR_MS).count, 1);
}

static void more_peers_than_fit_count_together_until_there_is_room(void **state)
{
    char peer[32];
    size_t reported = 0;
    for (size_t i = 0; i < 10000; i++) {
        snprintf(peer, sizeof peer, "2001:db8::%zx", i);
        reported += reported_of(*state, peer, 1, 0);
    }
    assert_int_equal(reported, 256 + 11);
    const struct refusal refusal = refusals_count(*state, "192.0.2.9", "AUTH_FAILED", 0);
    assert_true(refusal.is_of_many);
    assert_int_equal(refusal.count, 10000 - 256 + 1);
    assert_false(refusals_count(*state, "192.0.2.9", "AUTH_FAILED", HOUR_MS).is_of_many);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_second_fourth_and_eighth_are_told),
        TEST(a_flood_is_told_once_an_hour_with_its_count),
        TEST(other_peers_and_codes_are_counted_apart),
        TEST(after_an_hour_of_silence_it_begins_anew),
        TEST(more_peers_than_fit_count_together_until_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
