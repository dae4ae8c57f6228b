#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/secret.h"
#include "base/text.h"
#include "frontends/provider_api/nonces.h"

// Is this request from somebody who knows a key, fresh, and new? The checks of the webhook
// protocol, in its order: headers, time stamp, signature, nonce. A nonce is remembered only after
// the signature held, so forgeries burn none.

struct verifier {
    enum digest algorithm;
    struct hmac_key **keys;
    size_t key_count;
    const char *base_path; // "" or "/api": accepted with and without
    struct nonces *nonces;
    // Stamps before start_s are stale until the process is 300 s old, whatever the clock says
    // meanwhile; 0 when nonces survive restarts.
    int64_t start_s;
    int64_t young_until_ms; // mono
};

struct verify_time {
    int64_t unix_ms;
    int64_t mono_ms;
};

struct verify_input {
    struct text method;
    const char *path;    // as received
    const char *decoded; // percent-decoded, or the same
    const char *timestamp;
    const char *nonce;
    const char *signature;
    bool has_doubles; // a header came twice
    struct text body;
};

// On refusal err has code AUTH_FAILED, TIMESTAMP_STALE, NONCE_REUSED or RATE_LIMITED, status 401 or
// 429, retry_ms for Retry-After. *stamp_s gets the time stamp when it is true.
bool verify_request(const struct verifier *verifier, const struct verify_input *input,
                    const struct verify_time *now, int64_t *stamp_s, struct error *err);
// The process has begun now, and knows no nonce of the one before it.
void verifier_start(struct verifier *verifier, const struct verify_time *now);
