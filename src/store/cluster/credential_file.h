#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"

// A file with a credential that may be replaced at any time: a token, a CA, a certificate or a key.
// The last content that could be read stays in use.

enum { CREDENTIAL_FILE_MAX = 1024 * 1024 };

struct credential_file {
    const char *path; // NULL: there is none
    const char *what; // "token file"
    bool is_trimmed;  // blanks at both ends are removed
    struct secret *content;
    int64_t read_ms; // mono, of the last attempt; 0: never
    bool is_warned;
};

// Reads the file. *has_changed is set when the content differs from before. Returns false when it
// cannot be read or is empty, and logs one WARN until it can be read again.
bool credential_file_read(struct credential_file *file, int64_t now_ms, struct log *log,
                          bool *has_changed, struct error *err);
void credential_file_done(struct credential_file *file);
