#pragma once

#include "base/error.h"
#include "base/memory.h"
#include "base/value.h"

// What an external-dns's metrics page says of its last synchronization and of what it left out.

// At most so many records of other owners come into an answer.
enum { SCRAPE_MISMATCHES_MAX = 16 };

// The answer to the question "metrics" (externaldns.md), or NULL: the page is none of an
// external-dns. It may borrow from the page.
struct value *external_dns_scrape_read(struct arena *arena, struct text page, struct error *err);
