#pragma once

#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"

// Which upstreams failed health checks lately. CoreDNS counts failures for ever, so what was
// counted before is remembered by server and upstream. Resident: one for a session.

enum { FAILING_FOR_MS = 5 * 60 * 1000, FAILING_MAX = 4096 };

struct failing;
struct failing *failing_new(void);
void failing_free(struct failing *failing); // accepts NULL
// Takes what one server counts by now (map: upstream, number), and lists the upstreams whose number
// has grown within FAILING_FOR_MS, in their order. What a server counted before it was looked at
// the first time says nothing.
struct value *failing_note(struct failing *failing, struct arena *arena, struct text server,
                           const struct value *counts, int64_t mono_ms);
