#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/http.h"

// The metrics page of a program that Prometheus may scrape: how it is asked for, and what counts as
// an answer. What the page says is read by its samples (providers/sample.h).

// GET /metrics at "IP:port", never through a proxy; at most 1 MiB within 5 s. The URL is written to
// `url`, which the request borrows.
void metrics_page_request(struct buffer *url, struct text address, struct http_request *out);
// The page's text, copied into the arena. False: the server did not answer with one.
bool metrics_page_read(struct arena *arena, const struct http_reply *reply, const char *url,
                       struct text *page, struct error *err);
