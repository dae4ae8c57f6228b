#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Serial numbers of zones (RFC 1982): 32 bits that wrap.

// Is `a` before `b`? The distance of 2^31 is undefined there, and false both ways here.
bool serial_is_before(uint32_t a, uint32_t b);

// Where the numbers of a zone come from when its content changes.
enum serial_policy { SERIAL_DATE, SERIAL_UNIXTIME, SERIAL_COUNTER };
const char *serial_policy_name(enum serial_policy policy); // "date", "unixtime", "counter"

struct serial_inputs {
    bool has_old;
    uint32_t old; // that was published last
    enum serial_policy policy;
    int64_t unix_s;
    bool has_minimum;
    uint32_t minimum;        // at least this one, for a zone that is taken over
    const uint32_t *servers; // what servers that do not sign answered
    size_t server_count;
};
// The number of the next content: after the old one, and after what any server has. Never 0.
uint32_t serial_next(const struct serial_inputs *inputs);
// Is a number due though the content is the same? The minimum was raised, or a server is ahead.
bool serial_is_behind(const struct serial_inputs *inputs);
