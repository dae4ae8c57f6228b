#include "frontends/provider_api/request_counts.h"

#include <stdio.h>
#include <stdlib.h>

const char *const operation_names[OPS] = {"health", "upsert", "delete", "get", "other"};

void request_counts_init(struct request_counts *counts, const struct request_scope *scope,
                         bool counts_records)
{
    *counts = (struct request_counts){.scope = scope};
    if (counts_records)
        counts->records = mem_new_array(size_t, scope->zone_count + 1);
}

void request_counts_done(struct request_counts *counts)
{
    free(counts->records);
    counts->records = NULL;
}

void request_counts_add(struct request_counts *counts, enum operation operation, int status,
                        int64_t took_ms)
{
    counts->requests[operation][status / 100 < CODE_CLASSES ? status / 100 : 0]++;
    histogram_add(&counts->seconds[operation], took_ms);
}

void request_counts_record(struct request_counts *counts, const struct record_set *set,
                           bool is_removed)
{
    struct text name;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct request_scope *scope = counts->scope;
    if (!counts->records || !record_name_join(arena, set->domain, set->subdomain, &name, NULL))
        return;
    struct text zone = request_zone(scope->zones, scope->zone_count, name);
    size_t at = 0;
    while (at < scope->zone_count && scope->zones[at].at != zone.at)
        at++;
    if (scope->zone_count && at == scope->zone_count)
        return;
    counts->records[at] += is_removed ? -(size_t)1 : 1;
}

static void write_requests(const struct request_counts *counts, struct buffer *out)
{
    static const char *const classes[CODE_CLASSES] = {"0", "1xx", "2xx", "3xx", "4xx", "5xx"};
    const char *name = "signpost_provider_requests_total";
    metric_write_head(out, name, "counter", "Requests by operation and code.");
    for (size_t i = 0; i < OPS; i++)
        for (size_t j = 0; j < CODE_CLASSES; j++)
            if (counts->requests[i][j])
                buffer_printf(out, "%s{op=\"%s\",code=\"%s\"} %llu\n", name, operation_names[i],
                              classes[j], (unsigned long long)counts->requests[i][j]);
}

static void write_seconds(const struct request_counts *counts, struct buffer *out)
{
    char labels[32];
    const char *name = "signpost_provider_request_seconds";
    metric_write_head(out, name, "histogram", "From a request to its answer.");
    for (size_t i = 0; i < OPS; i++) {
        snprintf(labels, sizeof labels, "op=\"%s\"", operation_names[i]);
        if (counts->seconds[i].count)
            metric_write_histogram(out, name, labels, &counts->seconds[i]);
    }
}

static void write_records(const struct request_counts *counts, struct buffer *out)
{
    const char *name = "signpost_provider_records";
    if (!counts->records)
        return;
    metric_write_head(out, name, "gauge", "Record sets that are kept, by zone; . without zones.");
    for (size_t i = 0; i < counts->scope->zone_count; i++)
        buffer_printf(out, "%s{zone=\"%.*s\"} %zu\n", name, TEXT_ARGS(counts->scope->zones[i]),
                      counts->records[i]);
    if (!counts->scope->zone_count)
        buffer_printf(out, "%s{zone=\".\"} %zu\n", name, counts->records[0]);
}

void request_counts_write(const struct request_counts *counts, struct buffer *out)
{
    write_requests(counts, out);
    write_seconds(counts, out);
    write_records(counts, out);
}
