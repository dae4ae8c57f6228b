#pragma once

#include <stdint.h>

#include "base/log.h"
#include "io/http.h"

// What an API server warns of in its replies: a field that it dropped, a version that will go. Each
// text is told once.

enum { API_WARNINGS_MAX = 64 }; // different ones; what comes behind is not told

// {0} is ready for use.
struct api_warnings {
    uint64_t told[API_WARNINGS_MAX]; // hashes
    size_t count;
};
// Logs the texts of its Warning headers (RFC 7234 section 5.5, code 299) that were not told yet.
void api_warnings_report(struct api_warnings *warnings, const struct http_reply *reply,
                         struct log *log);
