#pragma once

#include <stdint.h>

#include "base/text.h"
#include "frontends/status/status_query.h"

// Pieces of HTML. Whatever comes from outside goes through html_add(), which is fit for text and
// for attributes in double quotes: control characters and marks that turn the reading direction
// are gone, and &, <, >, " and ' are escaped.

enum { HTML_OCTETS_MAX = 4096 }; // of one text from outside

void html_add(struct buffer *out, struct text foreign);
// <td role="cell" data-label="LABEL">, to be followed by what the cell has and </td>.
void html_open_cell(struct buffer *out, const char *label);
void html_add_cell(struct buffer *out, const char *label, struct text foreign);
// <time>: seconds of UTC; "-" for 0.
void html_add_time(struct buffer *out, int64_t unix_s);
// The head of a table: its caption, which is escaped, and its columns, NULL-terminated.
void html_open_table(struct buffer *out, const char *caption, const char *const *columns);
void html_close_table(struct buffer *out);
// Previous and next page of `count` rows, where there are more than one page.
enum { HTML_PAGE_ROWS = 100 };
void html_add_pager(struct buffer *out, const struct status_query *query, size_t count);
// The number of the first row of the page, from 0.
size_t html_first_row(const struct status_query *query);
// "Zones 101 to 200 of 1234", or "No zones".
void html_write_range(struct buffer *out, const char *what, const struct status_query *query,
                      size_t count);
