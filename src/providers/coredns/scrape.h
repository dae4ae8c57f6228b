#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/value.h"

// What a CoreDNS's metrics page says of its Corefile and of the servers that it forwards to.

// At most so many servers come into an answer.
enum { SCRAPE_SERVERS_MAX = 1000 };

// The answer to the question "metrics" (coredns.md), or NULL: the page is none of a CoreDNS. It may
// borrow from the page.
struct value *scrape_read(struct arena *arena, struct text page, struct error *err);
