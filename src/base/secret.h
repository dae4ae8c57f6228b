#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/text.h"

// Secret octets: kept in cleansed memory, opaque, impossible to print. Immutable and shared by
// reference; the memory is overwritten when the last reference goes.
//
//     struct secret *key = secret_new(octets, len);
//     hmac(DIGEST_SHA256, key, message, mac);
//     secret_unref(key);

struct secret;

// Copies the octets; the caller cleanses its own copy (secret_wipe). Empty is allowed.
struct secret *secret_new(const void *octets, size_t len);
struct secret *secret_ref(struct secret *secret); // NULL stays NULL
void secret_unref(struct secret *secret);         // accepts NULL
DEFINE_CLEANUP(secret, secret_unref)
size_t secret_len(const struct secret *secret);
// Constant time in the content; NULL equals only NULL.
bool secret_equal(const struct secret *a, const struct secret *b);
bool secret_ends_with_newline(const struct secret *secret);
// Fewer octets are guessed: a warning, as others may have set it so.
enum { SECRET_OCTETS_GOOD = 16 };
bool secret_is_short(const struct secret *secret);
// First `len` octets of SHA-256 of the content: tells a change without showing the content.
void secret_fingerprint(const struct secret *secret, uint8_t *out, size_t len);
// For the few places that hand it to a library (HMAC, TSIG, a PEM parser). Never log or format it.
struct text secret_expose(const struct secret *secret);
// No core file of this process or of its children is written, and other processes of the same user
// do not read its memory. Before the first secret.
void secret_keep_from_dumps(void);
// Overwrites memory in a way that the compiler keeps.
void secret_wipe(void *at, size_t len);
