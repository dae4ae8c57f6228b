#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A set of seconds that only grows, as spans in order. It stays small: when there are too many
// spans, the two that lie nearest to each other become one, with what is between them. So it may
// say yes too often, and never says no to what was added.

enum { SPANS_MAX = 32 };

struct span {
    int64_t first_s;
    int64_t last_s; // the last one that belongs to it
};

struct spans {
    struct span at[SPANS_MAX + 1];
    size_t count;
};

// Seconds further from 1970 than this are left out: no time stamp says them.
#define SPAN_SECONDS_MAX (INT64_C(1) << 40)
void spans_add(struct spans *spans, struct span span);
bool spans_have(const struct spans *spans, int64_t second);
