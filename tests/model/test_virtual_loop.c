#include "model/virtual_loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"

enum { TIMERS = 6 };
static const int64_t start_unix_ms = 1700000000000;

struct entry {
    struct story *story;
    char letter;
    struct loop_timer timer;
    int64_t again_ms; // the timer sets itself once more after that; 0: no
};

// What happened, in order, as one letter each; upper case where an entry was deferred.
struct story {
    struct loop *loop;
    struct entry entries[TIMERS];
    struct loop_fd *watched[2];
    int pipe[2];
    char seen[64];
    int64_t last_ms;
};

static void note(struct story *story, char letter)
{
    size_t len = strlen(story->seen);
    assert_true(len + 1 < sizeof story->seen);
    story->seen[len] = letter;
    story->last_ms = loop_mono_ms(story->loop) - VIRTUAL_LOOP_START_MS;
}

static void fired(void *context)
{
    struct entry *entry = context;
    note(entry->story, entry->letter);
    if (entry->again_ms)
        loop_timer_set(entry->story->loop, &entry->timer, entry->again_ms);
    entry->again_ms = 0;
}

static void deferred(void *context)
{
    struct entry *entry = context;
    note(entry->story, (char)(entry->letter - 'a' + 'A'));
}

static int set_up(void **state)
{
    struct story *story = calloc(1, sizeof *story);
    story->loop = virtual_loop_new(start_unix_ms);
    for (int i = 0; i < TIMERS; i++) {
        struct entry *entry = &story->entries[i];
        *entry = (struct entry){.story = story, .letter = (char)('a' + i)};
        entry->timer = (struct loop_timer){.call = fired, .context = entry};
    }
    assert_int_equal(pipe(story->pipe), 0);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    for (int i = 0; i < TIMERS; i++)
        loop_timer_cancel(story->loop, &story->entries[i].timer);
    assert_int_equal(virtual_loop_timer_count(story->loop), 0);
    loop_free(story->loop);
    close(story->pipe[0]);
    close(story->pipe[1]);
    free(story);
    return 0;
}

static void set(struct story *story, char letter, int64_t delay_ms)
{
    loop_timer_set(story->loop, &story->entries[letter - 'a'].timer, delay_ms);
}

static void run_until(struct story *story, int64_t ms)
{
    virtual_loop_run_until(story->loop, VIRTUAL_LOOP_START_MS + ms);
}

static void steps_fire_timers_in_order_of_time(void **state)
{
    struct story *story = *state;
    set(story, 'a', 30);
    set(story, 'b', 10);
    set(story, 'c', 20);
    assert_int_equal(virtual_loop_next_ms(story->loop), VIRTUAL_LOOP_START_MS + 10);
    assert_true(virtual_loop_step(story->loop));
    assert_string_equal(story->seen, "b");
    assert_int_equal(story->last_ms, 10);
    assert_true(virtual_loop_step(story->loop));
    assert_true(virtual_loop_step(story->loop));
    assert_false(virtual_loop_step(story->loop));
    assert_string_equal(story->seen, "bca");
    assert_int_equal(story->last_ms, 30);
    assert_int_equal(virtual_loop_next_ms(story->loop), -1);
}

static void ties_fire_in_order_of_setting(void **state)
{
    struct story *story = *state;
    for (char letter = 'f'; letter >= 'a'; letter--)
        set(story, letter, 5);
    set(story, 'f', 5);
    run_until(story, 5);
    assert_string_equal(story->seen, "edcbaf");
}

static void run_until_takes_in_its_last_moment_and_stops_there(void **state)
{
    struct story *story = *state;
    set(story, 'a', 10);
    set(story, 'b', 11);
    run_until(story, 10);
    assert_string_equal(story->seen, "a");
    assert_int_equal(loop_mono_ms(story->loop), VIRTUAL_LOOP_START_MS + 10);
    run_until(story, 5000);
    assert_string_equal(story->seen, "ab");
    assert_int_equal(loop_mono_ms(story->loop), VIRTUAL_LOOP_START_MS + 5000);
}

static void timer_set_from_its_own_call_fires_within_the_same_run(void **state)
{
    struct story *story = *state;
    story->entries[0].again_ms = 5;
    set(story, 'a', 5);
    run_until(story, 10);
    assert_string_equal(story->seen, "aa");
    assert_int_equal(story->last_ms, 10);
}

static void last_setting_wins_and_cancelled_timers_are_silent(void **state)
{
    struct story *story = *state;
    set(story, 'a', 5);
    set(story, 'b', 6);
    set(story, 'c', 7);
    set(story, 'a', 20);
    loop_timer_cancel(story->loop, &story->entries[1].timer);
    loop_timer_cancel(story->loop, &story->entries[1].timer);
    run_until(story, 10);
    assert_string_equal(story->seen, "c");
    run_until(story, 20);
    assert_string_equal(story->seen, "ca");
}

// Against a plain search for the earliest, over many settings and cancellings.
static void many_timers_fire_like_a_sorted_list(void **state)
{
    enum { MANY = 300 };
    struct story *story = *state;
    struct loop_timer timers[MANY] = {0};
    int64_t due_ms[MANY];
    uint32_t seed = 7;
    for (int i = 0; i < 2 * MANY; i++) {
        seed = seed * 1664525 + 1013904223;
        timers[i % MANY] = (struct loop_timer){
            .call = fired, .context = &story->entries[0], .handle = timers[i % MANY].handle};
        due_ms[i % MANY] = seed >> 20;
        loop_timer_set(story->loop, &timers[i % MANY], due_ms[i % MANY]);
        if (i >= MANY && i % 3 == 0) {
            loop_timer_cancel(story->loop, &timers[i % MANY]);
            due_ms[i % MANY] = INT64_MAX;
        }
    }
    for (;;) {
        int64_t earliest_ms = INT64_MAX;
        int earliest = 0;
        for (int i = MANY - 1; i >= 0; i--)
            if (due_ms[i] <= earliest_ms)
                earliest_ms = due_ms[earliest = i];
        if (earliest_ms == INT64_MAX)
            break;
        assert_true(virtual_loop_step(story->loop));
        assert_int_equal(story->last_ms, earliest_ms);
        assert_null(timers[earliest].handle);
        due_ms[earliest] = INT64_MAX;
        memset(story->seen, 0, sizeof story->seen);
    }
    assert_false(virtual_loop_step(story->loop));
}

static void defer_two(void *context)
{
    struct story *story = context;
    note(story, '(');
    loop_defer(story->loop, deferred, &story->entries[0]);
    loop_defer(story->loop, deferred, &story->entries[1]);
    note(story, ')');
}

static void delay_without_end_never_fires(void **state)
{
    struct story *story = *state;
    set(story, 'a', INT64_MAX);
    virtual_loop_suspend(story->loop, 60000);
    run_until(story, INT64_C(1) << 60);
    assert_string_equal(story->seen, "");
    assert_int_equal(virtual_loop_next_ms(story->loop), INT64_MAX);
}

static void deferred_calls_run_before_the_clock_moves(void **state)
{
    struct story *story = *state;
    set(story, 'f', 0);
    loop_defer(story->loop, defer_two, story);
    assert_true(virtual_loop_step(story->loop));
    assert_string_equal(story->seen, "()");
    assert_true(virtual_loop_step(story->loop));
    assert_string_equal(story->seen, "()AB");
    assert_true(virtual_loop_step(story->loop));
    assert_string_equal(story->seen, "()ABf");
}

static void take_one(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    char letter = '!';
    assert_int_equal(interest, LOOP_READ);
    if (read(fd, &letter, 1) == 1)
        note(story, letter);
    if (letter != '.')
        return;
    for (int i = 0; i < 2; i++)
        loop_unwatch_fd(story->loop, steal(story->watched[i]));
}

static void ready_descriptors_are_called_before_the_clock_moves(void **state)
{
    struct story *story = *state;
    set(story, 'f', 0);
    story->watched[0] = loop_watch_fd(story->loop, story->pipe[0], LOOP_READ, take_one, story);
    assert_int_equal(write(story->pipe[1], "xy", 2), 2);
    while (virtual_loop_step(story->loop))
        continue;
    assert_string_equal(story->seen, "xyf");
    loop_unwatch_fd(story->loop, steal(story->watched[0]));
}

static void watch_given_up_in_a_call_is_not_called_any_more(void **state)
{
    struct story *story = *state;
    for (int i = 0; i < 2; i++)
        story->watched[i] = loop_watch_fd(story->loop, story->pipe[0], LOOP_READ, take_one, story);
    assert_int_equal(write(story->pipe[1], ".x", 2), 2);
    while (virtual_loop_step(story->loop))
        continue;
    assert_string_equal(story->seen, ".");
}

static void see_interest(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    (void)fd;
    note(story, (char)('0' + interest));
}

static void closed_pipe_is_ready(void **state)
{
    struct story *story = *state;
    close(story->pipe[1]);
    story->watched[0] = loop_watch_fd(story->loop, story->pipe[0], LOOP_READ, see_interest, story);
    assert_true(virtual_loop_step(story->loop));
    loop_unwatch_fd(story->loop, steal(story->watched[0]));
    assert_int_equal(pipe(story->pipe), 0);
    story->watched[0] = loop_watch_fd(story->loop, story->pipe[1], LOOP_WRITE, see_interest, story);
    assert_true(virtual_loop_step(story->loop));
    loop_unwatch_fd(story->loop, steal(story->watched[0]));
    assert_string_equal(story->seen, "12");
}

static void wall_clock_moves_along_and_jumps_alone(void **state)
{
    struct story *story = *state;
    set(story, 'a', 1000);
    assert_int_equal(loop_unix_ms(story->loop), start_unix_ms);
    run_until(story, 500);
    virtual_loop_jump_wall(story->loop, -3600000);
    assert_int_equal(loop_unix_ms(story->loop), start_unix_ms + 500 - 3600000);
    assert_int_equal(loop_mono_ms(story->loop), VIRTUAL_LOOP_START_MS + 500);
    run_until(story, 1000);
    assert_string_equal(story->seen, "a");
}

static void suspend_moves_both_clocks_and_holds_delays(void **state)
{
    struct story *story = *state;
    set(story, 'a', 1000);
    virtual_loop_suspend(story->loop, 60000);
    assert_int_equal(loop_mono_ms(story->loop), VIRTUAL_LOOP_START_MS + 60000);
    assert_int_equal(loop_unix_ms(story->loop), start_unix_ms + 60000);
    run_until(story, 60999);
    assert_string_equal(story->seen, "");
    run_until(story, 61000);
    assert_string_equal(story->seen, "a");
}

static void what_goes_first_is_not_held_and_comes_before_all_that_is_ready(void **state)
{
    struct story *story = *state;
    set(story, 'a', 1000);
    set(story, 'b', 5000);
    story->entries['b' - 'a'].timer.goes_first = true;
    loop_defer(story->loop, deferred, &story->entries[2]);
    virtual_loop_suspend(story->loop, 60000);
    run_until(story, 60000);
    assert_string_equal(story->seen, "bC");
    assert_int_equal(story->last_ms, 60000);
    run_until(story, 61000);
    assert_string_equal(story->seen, "bCa");
}

static void stopped_process_finds_all_due_and_what_goes_first_at_its_head(void **state)
{
    struct story *story = *state;
    set(story, 'a', 1000);
    set(story, 'b', 5000);
    story->entries['b' - 'a'].timer.goes_first = true;
    set(story, 'c', 90000);
    assert_false(virtual_loop_has_due(story->loop));
    virtual_loop_stall(story->loop, 60000);
    assert_true(virtual_loop_has_due(story->loop));
    run_until(story, 60000);
    assert_string_equal(story->seen, "ba");
    assert_int_equal(story->last_ms, 60000);
    assert_false(virtual_loop_has_due(story->loop));
    loop_defer(story->loop, deferred, &story->entries[2]);
    assert_true(virtual_loop_has_due(story->loop));
    run_until(story, 90000);
    assert_string_equal(story->seen, "baCc");
}

static void signal_makes_the_call_that_watches_it(void **state)
{
    struct story *story = *state;
    loop_watch_signal(story->loop, SIGTERM, fired, &story->entries[0]);
    loop_watch_signal(story->loop, SIGHUP, fired, &story->entries[1]);
    assert_true(virtual_loop_signal(story->loop, SIGHUP));
    assert_true(virtual_loop_signal(story->loop, SIGTERM));
    assert_true(virtual_loop_signal(story->loop, SIGTERM));
    assert_false(virtual_loop_signal(story->loop, SIGINT));
    assert_string_equal(story->seen, "baa");
}

static void stop_now(void *context)
{
    loop_stop(context);
}

static void stop_ends_a_run_and_the_next_goes_on(void **state)
{
    struct story *story = *state;
    struct loop_timer stopper = {.call = stop_now, .context = story->loop};
    loop_timer_set(story->loop, &stopper, 5);
    set(story, 'a', 5);
    set(story, 'b', 6);
    run_until(story, 100);
    assert_string_equal(story->seen, "");
    assert_true(virtual_loop_is_stopped(story->loop));
    assert_int_equal(loop_mono_ms(story->loop), VIRTUAL_LOOP_START_MS + 5);
    loop_run(story->loop);
    assert_false(virtual_loop_is_stopped(story->loop));
    assert_string_equal(story->seen, "ab");
}

static void stop_before_run_counts(void **state)
{
    struct story *story = *state;
    loop_defer(story->loop, deferred, &story->entries[0]);
    loop_stop(story->loop);
    loop_run(story->loop);
    assert_string_equal(story->seen, "");
    loop_run(story->loop);
    assert_string_equal(story->seen, "A");
}

static void stop_leaves_later_deferred_calls_for_the_next_run(void **state)
{
    struct story *story = *state;
    loop_defer(story->loop, stop_now, story->loop);
    loop_defer(story->loop, deferred, &story->entries[0]);
    set(story, 'b', 0);
    loop_run(story->loop);
    assert_string_equal(story->seen, "");
    loop_run(story->loop);
    assert_string_equal(story->seen, "Ab");
}

static void loop_may_go_while_timers_and_watches_remain(void **state)
{
    (void)state;
    struct loop *loop = virtual_loop_new(0);
    struct loop_timer timer = {.call = stop_now, .context = loop};
    loop_timer_set(loop, &timer, 5);
    loop_watch_fd(loop, 0, LOOP_READ, take_one, NULL);
    loop_defer(loop, stop_now, loop);
    loop_free(loop);
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(steps_fire_timers_in_order_of_time),
        LOOP_TEST(ties_fire_in_order_of_setting),
        LOOP_TEST(run_until_takes_in_its_last_moment_and_stops_there),
        LOOP_TEST(timer_set_from_its_own_call_fires_within_the_same_run),
        LOOP_TEST(last_setting_wins_and_cancelled_timers_are_silent),
        LOOP_TEST(many_timers_fire_like_a_sorted_list),
        LOOP_TEST(delay_without_end_never_fires),
        LOOP_TEST(deferred_calls_run_before_the_clock_moves),
        LOOP_TEST(ready_descriptors_are_called_before_the_clock_moves),
        LOOP_TEST(watch_given_up_in_a_call_is_not_called_any_more),
        LOOP_TEST(closed_pipe_is_ready),
        LOOP_TEST(wall_clock_moves_along_and_jumps_alone),
        LOOP_TEST(suspend_moves_both_clocks_and_holds_delays),
        LOOP_TEST(what_goes_first_is_not_held_and_comes_before_all_that_is_ready),
        LOOP_TEST(stopped_process_finds_all_due_and_what_goes_first_at_its_head),
        LOOP_TEST(signal_makes_the_call_that_watches_it),
        LOOP_TEST(stop_ends_a_run_and_the_next_goes_on),
        LOOP_TEST(stop_before_run_counts),
        LOOP_TEST(stop_leaves_later_deferred_calls_for_the_next_run),
        LOOP_TEST(loop_may_go_while_timers_and_watches_remain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
