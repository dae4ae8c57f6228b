#pragma once

#include <stdint.h>

#include "base/text.h"

// Metrics as Prometheus text 0.0.4: heads of families, label values, histograms of seconds.

enum { HISTOGRAM_BUCKETS = 12 };

// {0} is ready for use.
struct histogram {
    uint64_t buckets[HISTOGRAM_BUCKETS + 1]; // each counts what is above the one before
    double sum_s;
    uint64_t count;
};
void histogram_add(struct histogram *histogram, int64_t ms);

// HELP and TYPE; `type` is "counter", "gauge", "summary" or "histogram".
void metric_write_head(struct buffer *out, const char *name, const char *type, const char *help);
// A label's value with its escapes, without the quotes.
void metric_write_label(struct buffer *out, const char *text);
// All samples of one histogram; `labels` are written already: `zone="a",op="b"`, or "".
void metric_write_histogram(struct buffer *out, const char *name, const char *labels,
                            const struct histogram *histogram);
