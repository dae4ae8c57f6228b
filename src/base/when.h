#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

// Times and durations as text. Pure: the clock is handed in.

enum { WHEN_TEXT_MAX = 40 };

// "2025-12-30T10:00:00Z" from Unix seconds (RFC 3339, UTC).
void when_write(int64_t unix_s, char out[WHEN_TEXT_MAX]);
// With milliseconds: "2025-12-30T10:00:00.123Z".
void when_write_ms(int64_t unix_ms, char out[WHEN_TEXT_MAX]);
// With microseconds, always six digits, as Kubernetes' MicroTime wants them.
void when_write_us(int64_t unix_us, char out[WHEN_TEXT_MAX]);
// RFC 3339 with optional fraction and offset; to Unix milliseconds.
bool when_parse(struct text text, int64_t *unix_ms, struct error *err);
// IMF-fixdate of HTTP (RFC 9110 section 5.6.7), for Retry-After and Date; to Unix seconds.
bool when_parse_http(struct text text, int64_t *unix_s);

// Go duration syntax ("300ms", "1h30m", "-1.5h", "0") to milliseconds, rounded toward zero.
bool duration_parse(struct text text, int64_t *ms, struct error *err);
// Go duration syntax to nanoseconds, without rounding.
bool duration_parse_ns(struct text text, int64_t *ns, struct error *err);
// Shortest Go form of whole milliseconds: "1m30s", "300ms", "0s".
void duration_write(int64_t ms, char out[WHEN_TEXT_MAX]);
