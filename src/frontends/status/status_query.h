#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"

// The query of a status page: "system=dnsrecord&state=not-ready&q=shop&page=2". Anything else in it
// is refused, rather than answered with what was not asked for.

enum { STATUS_QUERY_OCTETS_MAX = 2048, STATUS_FIELD_OCTETS_MAX = 320, STATUS_PAGE_MAX = 1000000 };

enum status_filter {
    STATUS_FILTER_SYSTEM = 1,
    STATUS_FILTER_STATE = 2,
    STATUS_FILTER_SEARCH = 4,
    STATUS_FILTER_PAGE = 8,
};

struct status_query {
    char system[STATUS_FIELD_OCTETS_MAX + 1]; // "": all
    char state[STATUS_FIELD_OCTETS_MAX + 1];  // "": all
    char search[STATUS_FIELD_OCTETS_MAX + 1]; // in lower case; "": everything
    size_t page;                              // from 1
};

// `filters` are those that the page has (status_filter). A field that is empty asks for nothing.
bool status_query_parse(struct status_query *out, struct text query, unsigned filters,
                        struct error *err);
// Appends "?system=...&page=..." of what differs from a page without filters; escaped for HTML.
void status_query_write(struct buffer *out, const struct status_query *query);
