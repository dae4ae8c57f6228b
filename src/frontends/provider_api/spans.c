#include "frontends/provider_api/spans.h"

#include <string.h>

static void remove_at(struct spans *spans, size_t at)
{
    spans->count--;
    memmove(&spans->at[at], &spans->at[at + 1], (spans->count - at) * sizeof spans->at[0]);
}

static void insert_at(struct spans *spans, size_t at, struct span span)
{
    memmove(&spans->at[at + 1], &spans->at[at], (spans->count - at) * sizeof spans->at[0]);
    spans->at[at] = span;
    spans->count++;
}

// The first that ends right before the second, or later.
static size_t find_from(const struct spans *spans, int64_t second)
{
    size_t at = 0;
    while (at < spans->count && spans->at[at].last_s + 1 < second)
        at++;
    return at;
}

static void join_with_next(struct spans *spans, size_t at)
{
    if (spans->at[at].last_s < spans->at[at + 1].last_s)
        spans->at[at].last_s = spans->at[at + 1].last_s;
    remove_at(spans, at + 1);
}

static void join_nearest(struct spans *spans)
{
    size_t nearest = 0;
    int64_t least_s = INT64_MAX;
    for (size_t i = 0; i + 1 < spans->count; i++) {
        int64_t gap_s = spans->at[i + 1].first_s - spans->at[i].last_s;
        if (gap_s >= least_s)
            continue;
        least_s = gap_s;
        nearest = i;
    }
    join_with_next(spans, nearest);
}

void spans_add(struct spans *spans, struct span span)
{
    if (span.first_s > span.last_s || span.first_s < -SPAN_SECONDS_MAX ||
        span.last_s > SPAN_SECONDS_MAX)
        return;
    size_t at = find_from(spans, span.first_s);
    if (at == spans->count || spans->at[at].first_s - 1 > span.last_s) {
        insert_at(spans, at, span);
    } else {
        struct span *found = &spans->at[at];
        found->first_s = found->first_s < span.first_s ? found->first_s : span.first_s;
        found->last_s = found->last_s > span.last_s ? found->last_s : span.last_s;
        while (at + 1 < spans->count && spans->at[at + 1].first_s - 1 <= spans->at[at].last_s)
            join_with_next(spans, at);
    }
    if (spans->count > SPANS_MAX)
        join_nearest(spans);
}

bool spans_have(const struct spans *spans, int64_t second)
{
    for (size_t i = 0; i < spans->count; i++)
        if (spans->at[i].first_s <= second && second <= spans->at[i].last_s)
            return true;
    return false;
}
