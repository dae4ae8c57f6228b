#pragma once

#include <stdint.h>

#include "base/log.h"
#include "io/http.h"

// Warnings in the replies of an API server, such as a field that it dropped or a version that will
// be removed. Each text is logged once.

enum { API_WARNINGS_MAX = 64 }; // different texts; later ones are not logged

// {0} is ready for use.
struct api_warnings {
    uint64_t reported[API_WARNINGS_MAX]; // hashes
    size_t count;
};
// Logs the texts of its Warning headers (RFC 7234 section 5.5, code 299) that were not logged yet.
void api_warnings_report(struct api_warnings *warnings, const struct http_reply *reply,
                         struct log *log);
