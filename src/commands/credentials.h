#pragma once

#include "base/error.h"
#include "base/secret.h"

// Reads bearer tokens, and the certificates of authorities that servers are believed by, from
// files.

// The token in a text. NULL: it is empty or has control characters, which `err` says.
struct secret *token_make(struct text text, struct error *err);
// The token in that file, one newline at its end left out; NULL: err says what is wrong.
struct secret *token_read(const char *path, struct error *err);
// PEM text of certificates in the arena; NULL likewise.
const char *ca_read(struct arena *arena, const char *path, struct error *err);
