#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// The mass-delete guard: removals for which nobody asked in so many words (their objects are just
// not there any more) are held back when, within a window of time, they are many and a large part
// of what we own there. What went before within the window counts along, so that a trickle cannot
// creep past. Pure; one of each backend (zone, Pi-hole), resident with whoever sends the removals.
//
//     struct guard guard = {.rules = guard_rules};
//     if (guard_allows(&guard, now_ms, owned, due + under_way)) ...   send them
//     guard_count(&guard, now_ms, done);                              they went

struct guard_rules {
    int64_t window_ms;
    unsigned least;   // fewer than so many are always let go
    unsigned percent; // of what we own; up to so many are, too. 100: there is no guard
};
extern const struct guard_rules guard_rules; // 10 min, 10, 30

enum { GUARD_SLICES = 64 };
struct guard_slice { // removals of about one moment
    int64_t first_ms;
    int64_t last_ms;
    size_t count;
};
struct guard {
    struct guard_rules rules;
    struct guard_slice slices[GUARD_SLICES]; // oldest first
    size_t slice_count;
};

// Are so many removals too many of `owned`, which counts them?
bool guard_is_too_much(const struct guard_rules *rules, size_t owned, size_t removals);
// May they go, all of them together? `owned`: what is ours there now; `removals`: those of it that
// are wanted, held ones and those under way included. now_ms: of a clock that is never set.
bool guard_allows(struct guard *guard, int64_t now_ms, size_t owned, size_t removals);
// So many went. Those that a person has approved are not counted.
void guard_count(struct guard *guard, int64_t now_ms, size_t removals);
// What it remembers as text, for a process that comes after this one: "1767225600:12 1767225610:3",
// Unix seconds and how many went by then. ahead_ms: of the Unix clock before the guard's.
void guard_write(const struct guard *guard, int64_t ahead_ms, struct buffer *out);
// In place of what it remembers. What cannot be understood is skipped.
void guard_read(struct guard *guard, int64_t now_ms, int64_t ahead_ms, struct text text);
// How many went within the window.
size_t guard_gone(struct guard *guard, int64_t now_ms);
