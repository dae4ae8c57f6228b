#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "store/store.h"

// Health, readiness and metrics over plain HTTP: GET /healthz, /readyz (?verbose, /readyz/<check>),
// /metrics. What is served depends on the callbacks that are set; anything else is 404.

struct probes_options {
    const char *address;
    uint16_t port;
    // Fills at most `capacity` lines of readiness and returns their number. NULL: no /readyz.
    size_t (*checks)(void *context, struct store_check *out, size_t capacity);
    // A reason to be restarted: /healthz fails with it. NULL, or NULL returned: there is none.
    const char *(*trouble)(void *context);
    // Prometheus text 0.0.4, appended. NULL: no /metrics.
    void (*metrics)(void *context, struct buffer *out);
    void *context;
};

struct probes;
struct loop;
struct probes *probes_new(struct loop *loop, const struct probes_options *options,
                          struct error *err);
void probes_free(struct probes *probes);
uint16_t probes_port(const struct probes *probes);
// From now on /readyz fails with "shutting down".
void probes_leave(struct probes *probes);
