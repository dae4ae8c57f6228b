#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "dns/guard.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND };

static struct guard new_guard(void)
{
    return (struct guard){.rules = guard_rules};
}

static void few_removals_go_however_large_a_part_they_are(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    assert_true(guard_allows(&guard, 0, 9, 9));
    assert_true(guard_allows(&guard, 0, 0, 0));
    assert_false(guard_allows(&guard, 0, 10, 10));
}

static void a_small_part_goes_however_many_they_are(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    assert_true(guard_allows(&guard, 0, 1000, 300));
    assert_false(guard_allows(&guard, 0, 1000, 301));
    assert_true(guard_allows(&guard, 0, 34, 10));
    assert_false(guard_allows(&guard, 0, 33, 10));
}

static void a_trickle_does_not_creep_past(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    size_t owned = 100;
    for (int64_t at_ms = 0; at_ms < 10 * MINUTE; at_ms += 10 * SECOND)
        if (guard_allows(&guard, at_ms, owned, 1)) {
            guard_count(&guard, at_ms, 1);
            owned--;
        }
    assert_int_equal(owned, 70);
}

static void what_went_long_ago_counts_no_more(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    guard_count(&guard, 0, 20);
    assert_int_equal(guard_gone(&guard, 10 * MINUTE - 1), 20);
    assert_false(guard_allows(&guard, 10 * MINUTE - 1, 80, 11));
    assert_true(guard_allows(&guard, 10 * MINUTE, 80, 11));
    assert_int_equal(guard_gone(&guard, 10 * MINUTE), 0);
}

static void held_ones_stay_held_as_time_passes(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    for (int64_t at_ms = 0; at_ms < 60 * MINUTE; at_ms += MINUTE)
        assert_false(guard_allows(&guard, at_ms, 50, 50));
}

static void hundred_percent_is_no_guard(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    guard.rules.percent = 100;
    assert_true(guard_allows(&guard, 0, 50, 50));
    guard.rules.percent = 99;
    assert_false(guard_allows(&guard, 0, 100, 100));
}

// However removals are spread, within no window more go than the rules say.
static void no_window_lets_too_much_go(void **state)
{
    (void)state;
    enum { EVENTS = 3000, START = 400 };
    static int64_t times[EVENTS];
    static size_t counts[EVENTS], before[EVENTS];
    struct guard guard = new_guard();
    size_t owned = START, done = 0;
    uint64_t seed = 11;
    for (int64_t now_ms = 0; done < EVENTS;) {
        seed = hash_octets(&seed, sizeof seed);
        now_ms += (int64_t)(seed % 20000);
        size_t wanted = seed >> 40 & 7;
        if (guard_allows(&guard, now_ms, owned, wanted)) {
            guard_count(&guard, now_ms, wanted);
            owned -= wanted;
            times[done] = now_ms;
            counts[done] = wanted;
            before[done++] = owned + wanted;
        }
        owned = owned < 100 ? START : owned;
        for (size_t i = done, gone = 0; i-- > 0 && times[i] > now_ms - guard_rules.window_ms;) {
            gone += counts[i];
            size_t base = owned > before[i] ? owned + gone : before[i];
            assert_false(guard_is_too_much(&guard_rules, base, gone));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_removals_go_however_large_a_part_they_are),
        cmocka_unit_test(a_small_part_goes_however_many_they_are),
        cmocka_unit_test(a_trickle_does_not_creep_past),
        cmocka_unit_test(what_went_long_ago_counts_no_more),
        cmocka_unit_test(held_ones_stay_held_as_time_passes),
        cmocka_unit_test(hundred_percent_is_no_guard),
        cmocka_unit_test(no_window_lets_too_much_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
