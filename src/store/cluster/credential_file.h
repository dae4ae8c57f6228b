#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "base/secret.h"

// One file that holds a credential and is replaced under us: a token, a CA, a certificate, a key.
// Its last readable content stays in use.

enum { CREDENTIAL_FILE_MAX = 1024 * 1024 };

struct credential_file {
    const char *path; // NULL: there is none
    const char *what; // "token file"
    bool is_trimmed;  // blanks at both ends do not belong to it
    struct secret *content;
    int64_t read_ms; // mono, of the last attempt; 0: never
    bool is_warned;
};

// Reads it. *has_changed is set when the content is another one than before. False when it cannot
// be read or is empty: one WARN then, until it can be read again.
bool credential_file_read(struct credential_file *file, int64_t now_ms, struct log *log,
                          bool *has_changed, struct error *err);
void credential_file_done(struct credential_file *file);
