#pragma once

#include "base/memory.h"
#include "io/http.h"
#include "store/cluster/api.h"

// Maps a reply of an API server, or its absence, to an error: the table of faults. Pure.

// The part of the request on which the meaning of a reply depends.
struct api_question {
    const char *method;
    bool is_json_patch; // a failed `test` comes as 422
    int64_t unix_ms;    // now: Retry-After may be a date
};
// Texts live in the arena or in `reply`.
void api_reply_read(struct api_reply *out, const struct api_question *question,
                    const struct http_reply *reply, struct arena *arena);
