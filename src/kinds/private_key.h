#pragma once

#include <stdbool.h>

#include "base/text.h"

// Private keys in texts that are meant for certificates: where people put one by mistake, it would
// stay in the object's history.
//
//     if (private_key_is_in(value_text(item)))
//         ...

// Does the text hold a private key: in PEM form (RFC 7468), or as base64 of that or of DER,
// whatever its line breaks, alphabet and padding (PKCS#1, PKCS#8 with a password or without, SEC 1,
// DSA, PKCS#12, OpenSSH)? Certificates, requests and public keys are none.
bool private_key_is_in(struct text text);
