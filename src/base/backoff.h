#pragma once

#include <stdint.h>

// How long to wait before the next try, after so many failures in a row: `first_ms` after the
// first, twice as long after each further one, and never longer than `most_ms`.
//
//     loop_timer_set(loop, &timer, backoff_ms(RETRY_MS, RETRY_MAX_MS, ++failures));

// failures: 0 counts as 1. Any number of them is fine.
int64_t backoff_ms(int64_t first_ms, int64_t most_ms, unsigned failures);
