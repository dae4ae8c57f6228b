#pragma once

#include <stdint.h>

#include "base/memory.h"
#include "base/secret.h"
#include "base/value.h"
#include "io/http.h"

// What a reply of an API server to a GET means.

enum { REPLY_OCTETS_MAX = 8 * 1024 * 1024 };

// The object in a reply with status 200, in the arena. NULL: there is none; err says why: fault
// AUTH (401, 403), LIMIT with the pause that is asked for (429), else AGAIN. What the server says
// is shown, unless `credential` (NULL: there is none) stands in it.
const struct value *reply_read(struct arena *arena, const struct http_reply *reply,
                               const struct secret *credential, int64_t now_s, struct error *err);
