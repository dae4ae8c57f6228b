#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
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

// ---- over the end of a process ------------------------------------------------------------------

static void what_it_remembers_outlives_the_process(void **state)
{
    (void)state;
    enum { AHEAD = 1767225600 };
    AUTO_BUFFER text = {0};
    struct guard guard = new_guard();
    struct guard next = new_guard();
    guard_count(&guard, 0, 12);
    guard_count(&guard, 5 * MINUTE + 1, 3);
    guard_write(&guard, AHEAD * 1000LL, &text);
    assert_string_equal(text.at, "1767225600:12 1767225901:3");
    // The clock of the next one begins anew, six minutes later.
    guard_read(&next, 0, (AHEAD + 6 * 60) * 1000LL, buffer_text(&text));
    assert_int_equal(guard_gone(&next, 0), 15);
    assert_false(guard_allows(&next, 0, 25, 1));
    assert_int_equal(guard_gone(&next, 4 * MINUTE), 3);
    assert_int_equal(guard_gone(&next, 10 * MINUTE), 0);
}

static void what_is_long_ago_is_not_read(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    guard_count(&guard, 0, 7);
    guard_read(&guard, MINUTE, 0, TEXT("1:5 70:2"));
    assert_int_equal(guard_gone(&guard, MINUTE), 7);
    assert_int_equal(guard_gone(&guard, 10 * MINUTE + SECOND), 2);
    guard_read(&guard, 20 * MINUTE, 0, TEXT("1:5"));
    assert_int_equal(guard_gone(&guard, 20 * MINUTE), 0);
    guard_read(&guard, 0, 0, TEXT(""));
    assert_int_equal(guard_gone(&guard, 0), 0);
}

static void where_the_clock_was_set_back_it_counts_as_of_now(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    guard_read(&guard, MINUTE, 0, TEXT("999999:5"));
    assert_int_equal(guard_gone(&guard, 11 * MINUTE - 1), 5);
    assert_int_equal(guard_gone(&guard, 11 * MINUTE), 0);
}

static void what_cannot_be_understood_is_skipped(void **state)
{
    (void)state;
    struct guard guard = new_guard();
    guard_read(&guard, MINUTE, 0,
               TEXT(": 1 :1 1: x:1 1:x 1:-1 -1:1 0:1 1:0 99999999999999999999:1 "
                    "9223372036854775807:1 1:9223372036854775807  30:4"));
    assert_int_equal(guard_gone(&guard, MINUTE), 4);
}

static void there_is_room_for_any_number_of_moments(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    struct guard guard = new_guard();
    for (int i = 1; i <= 1000; i++)
        buffer_printf(&text, "%d:1 ", i * 100);
    guard_read(&guard, 100000 * SECOND, 0, buffer_text(&text));
    assert_in_range(guard_gone(&guard, 100000 * SECOND), 1, 1000);
    guard_count(&guard, 100000 * SECOND, 2);
    assert_in_range(guard.slice_count, 1, GUARD_SLICES);
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
        cmocka_unit_test(what_it_remembers_outlives_the_process),
        cmocka_unit_test(what_is_long_ago_is_not_read),
        cmocka_unit_test(where_the_clock_was_set_back_it_counts_as_of_now),
        cmocka_unit_test(what_cannot_be_understood_is_skipped),
        cmocka_unit_test(there_is_room_for_any_number_of_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
