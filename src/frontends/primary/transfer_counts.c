#include "frontends/primary/transfer_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/metric.h"

enum { ROWS_MAX = 1024 };

void transfer_counts_done(struct transfer_counts *counts)
{
    for (size_t i = 0; i < counts->used; i++)
        free(counts->rows[i].server);
    free(counts->rows);
    *counts = (struct transfer_counts){0};
}

static bool is_of(const struct transfer_row *row, const char *server, const char *kind,
                  const char *result)
{
    return strcmp(row->kind, kind) == 0 && strcmp(row->result, result) == 0 &&
           strcmp(row->server, server) == 0;
}

void transfer_counts_add(struct transfer_counts *counts, const char *server, const char *kind,
                         const char *result)
{
    size_t at = 0;
    while (at < counts->used && !is_of(&counts->rows[at], server, kind, result))
        at++;
    if (at == ROWS_MAX)
        return;
    if (at == counts->used) {
        mem_reserve(&counts->rows, &counts->capacity, at + 1);
        counts->rows[counts->used++] =
            (struct transfer_row){.server = mem_copy_text(server), .kind = kind, .result = result};
    }
    counts->rows[at].count++;
}

void transfer_counts_write(const struct transfer_counts *counts, struct buffer *out)
{
    const char *name = "signpost_zone_transfers_total";
    metric_write_head(out, name, "counter",
                      "Requests for a zone, by server (none: it is not one of the zone's group), "
                      "by what was sent or asked for, and by what came of it.");
    for (size_t i = 0; i < counts->used; i++) {
        const struct transfer_row *row = &counts->rows[i];
        buffer_printf(out, "%s{server=\"", name);
        metric_write_label(out, row->server);
        buffer_printf(out, "\",kind=\"%s\",result=\"%s\"} %llu\n", row->kind, row->result,
                      (unsigned long long)row->count);
    }
}
