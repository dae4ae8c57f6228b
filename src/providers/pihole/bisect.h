#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "providers/provider.h"

// Finding what a Pi-hole refuses when it does not say: the changes were refused as a whole, parts
// of them are tried, and what is taken is written. After at most log2(n) tries, rounded up, the one
// at changes[low] is to blame; all before it are written; those behind it are to be tried as a
// whole again.
//
//     struct bisect bisect = bisect_of(changes, count);
//     while ((n = bisect_next(&bisect)))            try n of them, from changes[bisect.low] on
//         bisect_handle_reply(&bisect, is_taken);
struct bisect {
    struct change *const *changes;
    size_t low;
    size_t high;
};
struct bisect bisect_of(struct change *const *changes, size_t count); // at least one
size_t bisect_next(const struct bisect *bisect);
void bisect_handle_reply(struct bisect *bisect, bool is_taken);
