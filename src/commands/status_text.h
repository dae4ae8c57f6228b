#pragma once

#include "commands/print.h"
#include "commands/view.h"

// A view as text: a table for people, one JSON document for programs, single lines for changes.

struct status_look {
    struct terminal terminal;
    bool has_answers;   // a column of what the name server answers
    const char *server; // which it is; NULL without
    const char *dir;
    size_t rows_max; // 0: no bound; else what is not right comes first
};

void status_write_table(struct buffer *out, const struct view *view,
                        const struct status_look *look);
// {"objects":[...],"refused":[...],"ready":8}, one line.
void status_write_json(struct buffer *out, struct view *view, bool has_answers);
// With a zone's servers at its end:
// "DNSRecord/default/web  www.example.com A  True  RecordUpdated  ok: 192.0.2.1"
void status_write_line(struct buffer *out, const struct view_row *row);
