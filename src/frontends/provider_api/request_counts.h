#pragma once

#include "base/metric.h"
#include "frontends/provider_api/request.h"

// What /metrics tells of the provider's API: its requests by operation and code, how long they
// took, and how many record sets each zone has where the provider keeps them itself. Resident.

enum operation { OP_HEALTH, OP_UPSERT, OP_DELETE, OP_GET, OP_OTHER, OPS };
extern const char *const operation_names[OPS];

enum { CODE_CLASSES = 6 };
struct request_counts {
    uint64_t requests[OPS][CODE_CLASSES];
    struct histogram seconds[OPS];
    const struct request_scope *scope; // borrowed
    size_t *records;                   // of each zone, or of all; NULL: they are not counted
};
void request_counts_init(struct request_counts *counts, const struct request_scope *scope,
                         bool counts_records);
void request_counts_done(struct request_counts *counts);
void request_counts_add(struct request_counts *counts, enum operation operation, int status,
                        int64_t took_ms);
// A record set came or went.
void request_counts_record(struct request_counts *counts, const struct record_set *set,
                           bool is_removed);
// Prometheus text.
void request_counts_write(const struct request_counts *counts, struct buffer *out);
