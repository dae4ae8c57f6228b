#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

// Transfers by server, kind and result, for metrics. Resident; at most 1024 rows, what comes after
// them is not counted.

struct transfer_row {
    char *server;
    const char *kind;   // static
    const char *result; // static
    uint64_t count;
};
// {0} is ready for use.
struct transfer_counts {
    struct transfer_row *rows;
    size_t used;
    size_t capacity;
};
void transfer_counts_done(struct transfer_counts *counts);
void transfer_counts_add(struct transfer_counts *counts, const char *server, const char *kind,
                         const char *result);
// Family signpost_zone_transfers_total.
void transfer_counts_write(const struct transfer_counts *counts, struct buffer *out);
