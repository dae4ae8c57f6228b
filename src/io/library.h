#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

// Loads a shared library when it is first needed, because loading takes longer than all else that a
// short command does (docs/decisions/0017-libcurl-on-demand.md). A loaded library stays for good.

struct library_function {
    const char *name;
    size_t offset; // of its pointer in the table
};
struct library {
    const char *package; // that brings it, for the error's text
    const char *reason;  // of the error
    const struct library_function *functions;
    size_t count;
    size_t table_octets;
};

// Searches `file` as the dynamic loader does and fills `table`. On failure the table is unchanged
// and the error says what to install.
bool library_load(const struct library *library, const char *file, void *table, struct error *err);
