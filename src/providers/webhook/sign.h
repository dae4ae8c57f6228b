#pragma once

#include "base/digest.h"
#include "base/text.h"

// The signature of the webhook protocol, for the side that sends and the side that checks:
// lower-case hex of HMAC over METHOD LF PATH LF TIMESTAMP LF NONCE [LF BODY].

struct sign_input {
    struct text method;
    struct text path; // as agreed: with or without the base path
    struct text timestamp;
    struct text nonce;
    struct text body; // empty or absent: the string ends with the nonce
};

enum { SIGNATURE_MAX = 2 * DIGEST_MAX + 1 };

// Writes 64 (SHA256) or 128 (SHA512) characters and a NUL.
void sign_request(const struct hmac_key *key, enum digest algorithm, const struct sign_input *input,
                  char out[SIGNATURE_MAX]);
