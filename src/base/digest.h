#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/text.h"

// Digests, MACs (OpenSSL 3) and the text forms of octets.

enum digest {
    DIGEST_SHA1, // only for hmac-sha1 of TSIG
    DIGEST_SHA224,
    DIGEST_SHA256,
    DIGEST_SHA384,
    DIGEST_SHA512,
};

enum { DIGEST_MAX = 64 };

size_t digest_len(enum digest digest); // octets
// Writes digest_len() octets to out.
void digest_of(enum digest digest, struct text message, uint8_t *out);

// The first 8 octets of its SHA-256, for what is stored and may meet by chance alone.
uint64_t digest_word(const void *at, size_t len);

// Digest over several pieces. `digest_begin` .. `digest_add` .. `digest_end` (which frees).
struct digest_state;
struct digest_state *digest_begin(enum digest digest);
void digest_add(struct digest_state *state, const void *at, size_t len);
void digest_end(struct digest_state *state, uint8_t *out);
// One that has taken the same octets so far: what begins alike is digested once.
struct digest_state *digest_copy(const struct digest_state *state);
void digest_free(struct digest_state *state); // of one that nobody ends; accepts NULL

// HMAC (RFC 2104) over the concatenated pieces; writes digest_len() octets. A keyed context can be
// kept for many messages: hmac_key_new prepares it once (hot path of the provider).
void hmac(enum digest digest, const struct secret *key, const struct text *pieces, size_t count,
          uint8_t *out);
struct hmac_key;
struct hmac_key *hmac_key_new(enum digest digest, const struct secret *key);
void hmac_key_free(struct hmac_key *key); // accepts NULL
DEFINE_CLEANUP(hmac_key, hmac_key_free)
void hmac_with(const struct hmac_key *key, const struct text *pieces, size_t count, uint8_t *out);

// Constant-time equality of `len` octets.
bool octets_equal(const void *a, const void *b, size_t len);

// Lower-case hex: writes 2 * len characters and a NUL.
void hex_encode(const void *at, size_t len, char *out);
// Lower- or upper-case; text must have exactly 2 * len characters.
bool hex_decode(struct text text, uint8_t *out, size_t len);

// Base64 (RFC 4648 section 4) with padding. Decoding accepts and skips line breaks and blanks and
// refuses all else; nothing is appended then, and the error text shows none of it. The result is
// appended.
void base64_encode(struct buffer *out, const void *at, size_t len);
bool base64_decode(struct buffer *out, struct text text, struct error *err);
