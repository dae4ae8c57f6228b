#include "base/metric.h"

#include <stddef.h>

static const double bounds_s[HISTOGRAM_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,   0.25,   0.5,   1,    5,     30};

void histogram_add(struct histogram *histogram, int64_t ms)
{
    double seconds = ms > 0 ? (double)ms / 1000 : 0;
    size_t at = 0;
    while (at < HISTOGRAM_BUCKETS && seconds > bounds_s[at])
        at++;
    histogram->buckets[at]++;
    histogram->sum_s += seconds;
    histogram->count++;
}

void metric_write_head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metric_write_label(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            buffer_add_char(out, '\\');
        if (*text == '\n')
            buffer_add_text(out, "\\n");
        else
            buffer_add_char(out, *text);
    }
}

void metric_write_histogram(struct buffer *out, const char *name, const char *labels,
                            const struct histogram *histogram)
{
    uint64_t sum = 0;
    const char *comma = *labels ? "," : "";
    unsigned long long count = histogram->count;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        sum += histogram->buckets[i];
        buffer_printf(out, "%s_bucket{%s%sle=\"%g\"} %llu\n", name, labels, comma, bounds_s[i],
                      (unsigned long long)sum);
    }
    buffer_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %llu\n", name, labels, comma, count);
    buffer_printf(out, "%s_sum{%s} %g\n%s_count{%s} %llu\n", name, labels, histogram->sum_s, name,
                  labels, count);
}
