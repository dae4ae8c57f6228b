#include "store/cluster/api_count.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char *const methods[API_METHODS] = {"GET", "POST", "PUT", "PATCH", "DELETE", "other"};

static size_t find_method(const char *method)
{
    size_t i = 0;
    while (i + 1 < API_METHODS && strcmp(method, methods[i]))
        i++;
    return i;
}

static struct api_count *get_row(struct api_counts *counts, int code)
{
    size_t at = 0;
    while (at < counts->row_count && counts->rows[at].code < code)
        at++;
    if (at < counts->row_count && counts->rows[at].code == code)
        return &counts->rows[at];
    mem_reserve(&counts->rows, &counts->row_capacity, counts->row_count + 1);
    memmove(&counts->rows[at + 1], &counts->rows[at],
            (counts->row_count - at) * sizeof *counts->rows);
    counts->row_count++;
    counts->rows[at] = (struct api_count){.code = code};
    return &counts->rows[at];
}

void api_counts_done(struct api_counts *counts)
{
    free(counts->rows);
    *counts = (struct api_counts){0};
}

void api_counts_add(struct api_counts *counts, const char *method, int code, int64_t duration_ms)
{
    size_t at = find_method(method);
    get_row(counts, code)->count[at]++;
    if (duration_ms >= 0)
        histogram_add(&counts->seconds[at], duration_ms);
}

void api_counts_add_retry(struct api_counts *counts, const char *method)
{
    counts->retries[find_method(method)]++;
}

void api_counts_add_wait(struct api_counts *counts, const char *method, int64_t waited_ms)
{
    histogram_add(&counts->waits[find_method(method)], waited_ms);
}

static void write_requests(const struct api_counts *counts, const char *host, struct buffer *out)
{
    const char *name = "rest_client_requests_total";
    metric_write_head(out, name, "counter", "Requests to the API server by status code.");
    for (size_t i = 0; i < counts->row_count; i++) {
        char code[16];
        snprintf(code, sizeof code, "%d", counts->rows[i].code);
        for (size_t k = 0; k < API_METHODS; k++)
            if (counts->rows[i].count[k])
                buffer_printf(out, "%s{code=\"%s\",method=\"%s\",host=\"%s\"} %llu\n", name,
                              counts->rows[i].code ? code : "<error>", methods[k], host,
                              (unsigned long long)counts->rows[i].count[k]);
    }
}

static void write_seconds(const struct histogram seconds[API_METHODS], const char *name,
                          const char *help, const char *host, struct buffer *out)
{
    metric_write_head(out, name, "histogram", help);
    for (size_t i = 0; i < API_METHODS; i++) {
        char labels[400];
        snprintf(labels, sizeof labels, "verb=\"%s\",host=\"%s\"", methods[i], host);
        if (seconds[i].count)
            metric_write_histogram(out, name, labels, &seconds[i]);
    }
}

static void write_retries(const struct api_counts *counts, const char *host, struct buffer *out)
{
    const char *name = "rest_client_request_retries_total";
    metric_write_head(out, name, "counter",
                      "Requests sent once more with a fresh credential, after a 401.");
    for (size_t i = 0; i < API_METHODS; i++)
        if (counts->retries[i])
            buffer_printf(out, "%s{code=\"401\",verb=\"%s\",host=\"%s\"} %llu\n", name, methods[i],
                          host, (unsigned long long)counts->retries[i]);
}

void api_counts_write(const struct api_counts *counts, const char *host, struct buffer *out)
{
    write_requests(counts, host, out);
    write_seconds(counts->seconds, "rest_client_request_duration_seconds",
                  "Length of a request, watches apart.", host, out);
    write_seconds(counts->waits, "rest_client_rate_limiter_duration_seconds",
                  "How long a write waited for --kube-api-qps; none without it.", host, out);
    write_retries(counts, host, out);
}
