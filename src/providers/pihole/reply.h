#pragma once

#include "base/secret.h"
#include "base/value.h"
#include "io/http.h"

// What a reply of a Pi-hole means, by status, error key and message.

enum reply_kind {
    REPLY_OK,           // 2xx
    REPLY_THERE,        // 400: such an item is present already
    REPLY_ABSENT,       // 404 without an error: there is no such item
    REPLY_REFUSED,      // 400, 409: what was sent; the hint says why
    REPLY_TOO_LONG,     // the body was dropped
    REPLY_UNAUTHORIZED, // 401
    REPLY_NEEDS_TOKEN,  // two-factor authentication is on
    REPLY_READ_ONLY,    // 403: misc.readOnly
    REPLY_APP_SUDO,     // 403: an app's session may not write
    REPLY_FORCED,       // 400: set by environment; the hint is the key
    REPLY_RATE,         // 429: too fast
    REPLY_SEATS,        // 429: the Pi-hole has no free API session, which it calls a seat
    REPLY_LIMIT,        // 429 of another kind
    REPLY_FAILED,       // 5xx, other 404 and the rest
    REPLY_STRANGE,      // not of a Pi-hole
    REPLY_DOWN,         // none came
    REPLY_HUNG,         // none came in time on a connection that was taken
    REPLY_UNTRUSTED,    // none came: a certificate was not taken
};
enum { REPLY_KINDS = REPLY_UNTRUSTED + 1, REPLY_OCTETS_MAX = 8 * 1024 * 1024 };

// Texts point into the arena and the HTTP reply.
struct reply {
    enum reply_kind kind;
    int status;
    const struct value *tree; // a map, or NULL
    struct text key;
    struct text message;
    struct text hint;
    int64_t retry_ms; // Retry-After of a 429 if it is at most 5 minutes, else 0
};

void reply_read(struct reply *out, struct arena *arena, const struct http_reply *http,
                int64_t now_s);

// The reply in one line for an error's text: what Pi-hole says, what came in its place (at most
// 120 printable octets of it), or where a redirect leads. Where one of the secrets (ended by NULL)
// stands in what came, nothing of that is shown.
const char *reply_text(struct arena *arena, const struct reply *reply,
                       const struct http_reply *http, const struct text *secrets);
