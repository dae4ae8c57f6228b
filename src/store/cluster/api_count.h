#pragma once

#include <stdint.h>

#include "base/metric.h"
#include "base/text.h"

// Counts requests to an API server and their results as client-go does: rest_client_*.

enum { API_METHODS = 6 }; // those of API requests, and "other"

struct api_count {
    int code; // 0: no reply
    uint64_t count[API_METHODS];
};

// {0} is ready for use.
struct api_counts {
    struct api_count *rows; // by rising code
    size_t row_count;
    size_t row_capacity;
    uint64_t retries[API_METHODS];
    struct histogram seconds[API_METHODS];
    struct histogram waits[API_METHODS];
};
void api_counts_done(struct api_counts *counts);
// A duration below 0 is not counted (a watch).
void api_counts_add(struct api_counts *counts, const char *method, int code, int64_t duration_ms);
void api_counts_add_retry(struct api_counts *counts, const char *method);
// Counts a wait for our own limit of requests a second.
void api_counts_add_wait(struct api_counts *counts, const char *method, int64_t waited_ms);
void api_counts_write(const struct api_counts *counts, const char *host, struct buffer *out);
