#pragma once

#include "base/memory.h"
#include "io/http.h"
#include "store/cluster/api.h"

// What an API server's answer, or its silence, means to us: the table of faults. Pure.

// What was asked, as far as the meaning depends on it.
struct api_question {
    const char *method;
    bool is_json_patch; // a failed `test` comes as 422
    int64_t unix_ms;    // now: Retry-After may be a date
};
// Texts live in the arena or in `reply`.
void api_reply_read(struct api_reply *out, const struct api_question *question,
                    const struct http_reply *reply, struct arena *arena);
