#include "dns/guard.h"

#include <string.h>

enum { WINDOW_MS = 600000, LEAST = 10, PERCENT = 30, PERCENT_ALL = 100 };

const struct guard_rules guard_rules = {WINDOW_MS, LEAST, PERCENT};

bool guard_is_too_much(const struct guard_rules *rules, size_t owned, size_t removals)
{
    return rules->percent < PERCENT_ALL && removals >= rules->least &&
           (uint64_t)removals * PERCENT_ALL > (uint64_t)owned * rules->percent;
}

// A slice counts until the last of it has left the window.
static void forget_old(struct guard *guard, int64_t now_ms)
{
    size_t old = 0;
    while (old < guard->slice_count &&
           guard->slices[old].last_ms + guard->rules.window_ms <= now_ms)
        old++;
    guard->slice_count -= old;
    memmove(guard->slices, guard->slices + old, guard->slice_count * sizeof *guard->slices);
}

size_t guard_gone(struct guard *guard, int64_t now_ms)
{
    size_t gone = 0;
    forget_old(guard, now_ms);
    for (size_t i = 0; i < guard->slice_count; i++)
        gone += guard->slices[i].count;
    return gone;
}

bool guard_allows(struct guard *guard, int64_t now_ms, size_t owned, size_t removals)
{
    size_t gone = guard_gone(guard, now_ms);
    return !removals || !guard_is_too_much(&guard->rules, owned + gone, removals + gone);
}

static struct guard_slice *slice_at(struct guard *guard, int64_t now_ms)
{
    int64_t width_ms = guard->rules.window_ms / (GUARD_SLICES - 1) + 1;
    struct guard_slice *last = guard->slice_count ? &guard->slices[guard->slice_count - 1] : NULL;
    bool is_full = guard->slice_count == GUARD_SLICES;
    if (last && (is_full || now_ms - last->first_ms < width_ms))
        return last;
    last = &guard->slices[guard->slice_count++];
    *last = (struct guard_slice){.first_ms = now_ms};
    return last;
}

void guard_count(struct guard *guard, int64_t now_ms, size_t removals)
{
    if (!removals)
        return;
    forget_old(guard, now_ms);
    struct guard_slice *slice = slice_at(guard, now_ms);
    slice->last_ms = now_ms;
    slice->count += removals;
}

// ---- as text ------------------------------------------------------------------------------------

enum { SECOND_MS = 1000 };

void guard_write(const struct guard *guard, int64_t ahead_ms, struct buffer *out)
{
    for (size_t i = 0; i < guard->slice_count; i++) {
        const struct guard_slice *slice = &guard->slices[i];
        int64_t last_s = (slice->last_ms + ahead_ms + SECOND_MS - 1) / SECOND_MS;
        buffer_printf(out, "%s%lld:%zu", i ? " " : "", (long long)last_s, slice->count);
    }
}

static bool read_slice(struct text word, int64_t *last_s, int64_t *count)
{
    struct text first;
    return text_cut(&word, ':', &first) && text_to_int64(first, last_s) &&
           text_to_int64(word, count) && *last_s > 0 &&
           *last_s<INT32_MAX *(int64_t)SECOND_MS && * count> 0 && *count < INT32_MAX;
}

// Where the clock was set back, the time is not known any more: it counts as of now.
void guard_read(struct guard *guard, int64_t now_ms, int64_t ahead_ms, struct text text)
{
    struct text word;
    int64_t last_s, count;
    guard->slice_count = 0;
    while (text_cut(&text, ' ', &word)) {
        if (!read_slice(word, &last_s, &count))
            continue;
        int64_t at_ms = last_s * SECOND_MS - ahead_ms;
        guard_count(guard, at_ms < now_ms ? at_ms : now_ms, (size_t)count);
    }
    forget_old(guard, now_ms);
}
