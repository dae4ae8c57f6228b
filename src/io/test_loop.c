#include "io/loop.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "io/loop_event.h"

// What happened, in order, as one letter each.
struct story {
    struct loop *loop;
    struct loop_timer early;
    struct loop_timer late;
    struct loop_timer never;
    struct loop_timer *owned;
    struct loop_fd *watched;
    int pipe[2];
    int64_t fired_ms;
    char seen[64];
};

static void note(struct story *story, char letter)
{
    size_t len = strlen(story->seen);
    assert_true(len + 1 < sizeof story->seen);
    story->seen[len] = letter;
}

static void note_a(void *context)
{
    note(context, 'a');
}

static void note_b(void *context)
{
    note(context, 'b');
}

static void end(void *context)
{
    struct story *story = context;
    note(story, '.');
    story->fired_ms = loop_mono_ms(story->loop);
    loop_stop(story->loop);
}

static int set_up(void **state)
{
    struct story *story = calloc(1, sizeof *story);
    story->loop = loop_new();
    assert_int_equal(pipe(story->pipe), 0);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    loop_timer_cancel(story->loop, &story->early);
    loop_timer_cancel(story->loop, &story->late);
    loop_timer_cancel(story->loop, &story->never);
    loop_unwatch_fd(story->loop, story->watched);
    loop_free(story->loop);
    close(story->pipe[0]);
    close(story->pipe[1]);
    free(story);
    return 0;
}

static void timer_fires_once_and_not_early(void **state)
{
    struct story *story = *state;
    int64_t start_ms = loop_mono_ms(story->loop);
    story->early = (struct loop_timer){.call = end, .context = story};
    loop_timer_set(story->loop, &story->early, 3);
    loop_run(story->loop);
    assert_true(story->fired_ms >= start_ms + 3);
    assert_string_equal(story->seen, ".");
    assert_null(story->early.handle);
}

static void timers_fire_in_order_of_time(void **state)
{
    struct story *story = *state;
    story->never = (struct loop_timer){.call = note_b, .context = story};
    story->early = (struct loop_timer){.call = note_a, .context = story};
    story->late = (struct loop_timer){.call = end, .context = story};
    loop_timer_set(story->loop, &story->never, INT64_MAX);
    loop_timer_set(story->loop, &story->late, 4);
    loop_timer_set(story->loop, &story->early, 1);
    loop_run(story->loop);
    assert_string_equal(story->seen, "a.");
}

static void last_setting_of_a_timer_wins(void **state)
{
    struct story *story = *state;
    int64_t start_ms = loop_mono_ms(story->loop);
    story->early = (struct loop_timer){.call = end, .context = story};
    loop_timer_set(story->loop, &story->early, INT64_MAX);
    loop_timer_set(story->loop, &story->early, 3600000);
    loop_timer_set(story->loop, &story->early, 1);
    loop_run(story->loop);
    assert_true(story->fired_ms < start_ms + 3600000);
}

static void cancelled_timer_does_not_fire(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = note_a, .context = story};
    story->late = (struct loop_timer){.call = end, .context = story};
    loop_timer_cancel(story->loop, &story->early);
    loop_timer_set(story->loop, &story->early, 0);
    loop_timer_set(story->loop, &story->late, 2);
    loop_timer_cancel(story->loop, &story->early);
    loop_run(story->loop);
    assert_string_equal(story->seen, ".");
}

static void set_again_until_three(void *context)
{
    struct story *story = context;
    note(story, 'a');
    if (strlen(story->seen) == 3)
        loop_stop(story->loop);
    else
        loop_timer_set(story->loop, &story->early, 0);
}

static void timer_may_be_set_from_its_own_call(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = set_again_until_three, .context = story};
    loop_timer_set(story->loop, &story->early, 0);
    loop_run(story->loop);
    assert_string_equal(story->seen, "aaa");
}

static void free_own_timer(void *context)
{
    struct story *story = context;
    free(story->owned);
    end(story);
}

static void timer_may_be_freed_in_its_own_call(void **state)
{
    struct story *story = *state;
    story->owned = calloc(1, sizeof *story->owned);
    *story->owned = (struct loop_timer){.call = free_own_timer, .context = story};
    loop_timer_set(story->loop, story->owned, 0);
    loop_run(story->loop);
    assert_string_equal(story->seen, ".");
}

static void deferred_calls_run_in_order_and_not_at_once(void **state)
{
    struct story *story = *state;
    loop_defer(story->loop, note_b, story);
    loop_defer(story->loop, note_a, story);
    loop_defer(story->loop, end, story);
    assert_string_equal(story->seen, "");
    loop_run(story->loop);
    assert_string_equal(story->seen, "ba.");
}

static void defer_again(void *context)
{
    struct story *story = context;
    loop_defer(story->loop, defer_again, story);
}

static void endless_deferring_does_not_starve_timers(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = end, .context = story};
    loop_timer_set(story->loop, &story->early, 1);
    loop_defer(story->loop, defer_again, story);
    loop_run(story->loop);
    assert_string_equal(story->seen, ".");
}

static void stop_leaves_later_deferred_calls_for_the_next_run(void **state)
{
    struct story *story = *state;
    loop_defer(story->loop, end, story);
    loop_defer(story->loop, note_a, story);
    loop_defer(story->loop, end, story);
    loop_run(story->loop);
    assert_string_equal(story->seen, ".");
    loop_run(story->loop);
    assert_string_equal(story->seen, ".a.");
}

static void stop_before_run_counts(void **state)
{
    struct story *story = *state;
    loop_defer(story->loop, note_a, story);
    loop_stop(story->loop);
    loop_run(story->loop);
    assert_string_equal(story->seen, "");
}

static void read_one_and_unwatch(void *context, int fd, unsigned interest)
{
    struct story *story = context;
    char letter;
    assert_int_equal(interest, LOOP_READ);
    assert_int_equal(read(fd, &letter, 1), 1);
    note(story, letter);
    if (letter != 'z')
        return;
    loop_unwatch_fd(story->loop, story->watched);
    story->watched = NULL;
    loop_timer_set(story->loop, &story->early, 1);
}

static void descriptor_is_called_as_long_as_it_is_ready(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = end, .context = story};
    story->watched =
        loop_watch_fd(story->loop, story->pipe[0], LOOP_READ, read_one_and_unwatch, story);
    assert_int_equal(write(story->pipe[1], "xyz!", 4), 4);
    loop_run(story->loop);
    assert_string_equal(story->seen, "xyz.");
}

static void writable(void *context, int fd, unsigned interest)
{
    (void)fd;
    assert_int_equal(interest, LOOP_WRITE);
    end(context);
}

static void interest_in_writing_is_told_apart(void **state)
{
    struct story *story = *state;
    story->watched = loop_watch_fd(story->loop, story->pipe[1], LOOP_WRITE, writable, story);
    loop_run(story->loop);
    assert_string_equal(story->seen, ".");
}

static void note_r(void *context, int fd, unsigned interest)
{
    (void)fd, (void)interest;
    note(context, 'r');
    loop_stop(((struct story *)context)->loop);
}

static void stay_stopped(struct story *story)
{
    int64_t start_ms = loop_mono_ms(story->loop);
    while (loop_mono_ms(story->loop) < start_ms + 5)
        continue;
}

static void make_readable(struct story *story)
{
    assert_int_equal(write(story->pipe[1], "x", 1), 1);
    story->watched = loop_watch_fd(story->loop, story->pipe[0], LOOP_READ, note_r, story);
}

static void what_goes_first_is_called_before_all_that_became_ready(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = note_a, .context = story, .goes_first = true};
    story->late = (struct loop_timer){.call = note_b, .context = story};
    loop_defer(story->loop, note_b, story);
    loop_timer_set(story->loop, &story->early, 3);
    loop_timer_set(story->loop, &story->late, 0);
    make_readable(story);
    stay_stopped(story);
    loop_run(story->loop);
    assert_int_equal(story->seen[0], 'a');
    assert_non_null(strchr(story->seen, 'r'));
    assert_null(strchr(story->seen + 1, 'a'));
}

static void end_all(void *context)
{
    struct story *story = context;
    note(story, 'a');
    loop_timer_cancel(story->loop, &story->late);
    loop_unwatch_fd(story->loop, story->watched);
    story->watched = NULL;
    loop_stop(story->loop);
}

static void what_goes_first_may_unwatch_what_became_ready(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = end_all, .context = story, .goes_first = true};
    loop_timer_set(story->loop, &story->early, 3);
    make_readable(story);
    stay_stopped(story);
    loop_run(story->loop);
    assert_string_equal(story->seen, "a");
}

static void what_goes_first_may_cancel_a_timer_that_is_due(void **state)
{
    struct story *story = *state;
    story->early = (struct loop_timer){.call = end_all, .context = story, .goes_first = true};
    story->late = (struct loop_timer){.call = note_b, .context = story};
    loop_timer_set(story->loop, &story->late, 0);
    loop_timer_set(story->loop, &story->early, 3);
    stay_stopped(story);
    loop_run(story->loop);
    assert_string_equal(story->seen, "a");
}

static void what_goes_first_is_not_early_and_can_be_cancelled(void **state)
{
    struct story *story = *state;
    int64_t start_ms = loop_mono_ms(story->loop);
    story->never = (struct loop_timer){.call = note_a, .context = story, .goes_first = true};
    story->early = (struct loop_timer){.call = end, .context = story, .goes_first = true};
    loop_timer_set(story->loop, &story->never, 1);
    loop_timer_set(story->loop, &story->never, INT64_MAX);
    loop_timer_set(story->loop, &story->early, 3);
    loop_run(story->loop);
    assert_true(story->fired_ms >= start_ms + 3);
    loop_timer_set(story->loop, &story->never, 0);
    loop_timer_cancel(story->loop, &story->never);
    loop_timer_set(story->loop, &story->early, 2);
    loop_run(story->loop);
    assert_string_equal(story->seen, "..");
}

static void signal_calls_every_time(void **state)
{
    struct story *story = *state;
    loop_watch_signal(story->loop, SIGUSR1, note_a, story);
    loop_watch_signal(story->loop, SIGUSR2, end, story);
    for (int i = 0; i < 2; i++) {
        raise(SIGUSR1);
        raise(SIGUSR2);
        loop_run(story->loop);
    }
    assert_int_equal(strlen(story->seen), 4);
}

static void broken_pipe_is_an_error_and_no_signal(void **state)
{
    struct story *story = *state;
    int ends[2];
    (void)story;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(write(ends[1], "x", 1), -1);
    close(ends[1]);
}

static void wall_clock_is_in_milliseconds_of_unix_time(void **state)
{
    struct story *story = *state;
    int64_t unix_ms = loop_unix_ms(story->loop);
    assert_true(unix_ms > INT64_C(1500000000000) && unix_ms < INT64_C(9000000000000));
    assert_non_null(loop_event_base(story->loop));
}

#define LOOP_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LOOP_TEST(timer_fires_once_and_not_early),
        LOOP_TEST(timers_fire_in_order_of_time),
        LOOP_TEST(last_setting_of_a_timer_wins),
        LOOP_TEST(cancelled_timer_does_not_fire),
        LOOP_TEST(timer_may_be_set_from_its_own_call),
        LOOP_TEST(timer_may_be_freed_in_its_own_call),
        LOOP_TEST(deferred_calls_run_in_order_and_not_at_once),
        LOOP_TEST(endless_deferring_does_not_starve_timers),
        LOOP_TEST(stop_leaves_later_deferred_calls_for_the_next_run),
        LOOP_TEST(stop_before_run_counts),
        LOOP_TEST(descriptor_is_called_as_long_as_it_is_ready),
        LOOP_TEST(interest_in_writing_is_told_apart),
        LOOP_TEST(what_goes_first_is_called_before_all_that_became_ready),
        LOOP_TEST(what_goes_first_may_unwatch_what_became_ready),
        LOOP_TEST(what_goes_first_may_cancel_a_timer_that_is_due),
        LOOP_TEST(what_goes_first_is_not_early_and_can_be_cancelled),
        LOOP_TEST(signal_calls_every_time),
        LOOP_TEST(broken_pipe_is_an_error_and_no_signal),
        LOOP_TEST(wall_clock_is_in_milliseconds_of_unix_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
