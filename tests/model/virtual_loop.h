#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/loop.h"

// The twin of the loop on a virtual clock: time stands still while code runs and moves only when
// nothing else is left to do, at once to the next timer. The same calls give the same order every
// time; only watched descriptors bring in the outside.
//
//     struct loop *loop = virtual_loop_new(1700000000000);
//     ... hand it to what is tested ...
//     virtual_loop_run_until(loop, loop_mono_ms(loop) + 5000);
//     loop_free(loop);
//
// All calls want a loop made by virtual_loop_new. loop_run steps until loop_stop or until nothing
// is left. Timers still set when the loop goes are dropped, their storage untouched. More than a
// million rounds without any move of the clock end the process: such code would spin for real.

// loop_mono_ms of a new one: not 0, which code may take for "never".
enum { VIRTUAL_LOOP_START_MS = 1000000 };

// `unix_ms` is the wall clock at the start; later it moves along with the virtual clock.
struct loop *virtual_loop_new(int64_t unix_ms);

// One round: runs the calls deferred so far, then polls the watched descriptors (without waiting)
// and calls those that are ready, in order of watching. Where there was neither, moves the clock to
// the earliest timer and runs that one alone (ties: in order of setting). False when nothing was
// left.
bool virtual_loop_step(struct loop *loop);

// Runs everything due up to and including that time, then leaves the clock exactly there. loop_stop
// ends it early, with the clock where it was.
void virtual_loop_run_until(struct loop *loop, int64_t mono_ms);

// Did loop_stop end the last run, or was it called since?
bool virtual_loop_is_stopped(const struct loop *loop);

// Time of the earliest timer, -1 without one. Deferred calls do not count.
int64_t virtual_loop_next_ms(const struct loop *loop);

// Timers set and not fired: to prove that what is freed cancels its own.
size_t virtual_loop_timer_count(const struct loop *loop);

// The wall clock steps, as set by hand or NTP; timers don't notice.
void virtual_loop_jump_wall(struct loop *loop, int64_t delta_ms);

// The machine sleeps: both clocks move, delays don't run on.
void virtual_loop_suspend(struct loop *loop, int64_t delta_ms);

// The process is stopped (SIGSTOP) while time goes on: what became due meanwhile waits, what goes
// first is at the head of it.
void virtual_loop_stall(struct loop *loop, int64_t delta_ms);

// From now on the monotonic clock moves that much with each look at it: work in slices of time gets
// little done in one. 0: as before. What runs until a time may end a little behind it.
void virtual_loop_slow_down(struct loop *loop, int64_t look_ms);

// Is there anything to be run before the clock moves? For several loops, each a process, on one
// time: whoever drives them runs each until the same moment, as long as any has something due.
bool virtual_loop_has_due(const struct loop *loop);

// Makes the call that watches this signal; false when none does. Not from within a call of the
// loop.
bool virtual_loop_signal(struct loop *loop, int number);

// What was deferred is dropped: it belonged to a process that has just died. Not from within a call
// of the loop.
void virtual_loop_drop_deferred(struct loop *loop);
