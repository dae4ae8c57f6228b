#pragma once

#include "io/http.h"
#include "providers/provider.h"

// What a reply of the webhook protocol means. The status code decides; the body only supplies code
// and message.

// Result of one change into change->outcome; errors live in the arena. `now_s` is the Unix time,
// for Retry-After dates and the clock offset.
void reply_read_change(struct arena *arena, const struct http_reply *reply, struct change *change,
                       int64_t now_s);
// Result of GET /health into job->health and job->answer.
void reply_read_health(const struct http_reply *reply, struct job *job, int64_t now_s);
// The protocol's error code of a reply ("NONCE_REUSED"), or absent.
struct text reply_code(struct arena *arena, const struct http_reply *reply);
