#include <stdio.h>

#include "engine/state.h"
#include "store/cache.h"

const double seconds_bounds[SECONDS_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                0.1,   0.25,   0.5,   1,    5,     30};

void histogram_add(struct histogram *histogram, int64_t ms)
{
    double seconds = (double)ms / 1000;
    size_t at = 0;
    while (at < SECONDS_BUCKETS && seconds > seconds_bounds[at])
        at++;
    histogram->buckets[at]++;
    histogram->sum += seconds;
    histogram->count++;
}

static void write_head(struct buffer *out, const char *name, const char *type, const char *help)
{
    buffer_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_histogram(struct buffer *out, const char *name, const char *labels,
                            const struct histogram *histogram)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < SECONDS_BUCKETS; i++) {
        sum += histogram->buckets[i];
        buffer_printf(out, "%s_bucket{%s,le=\"%g\"} %llu\n", name, labels, seconds_bounds[i],
                      (unsigned long long)sum);
    }
    buffer_printf(out, "%s_bucket{%s,le=\"+Inf\"} %llu\n%s_sum{%s} %g\n%s_count{%s} %llu\n", name,
                  labels, (unsigned long long)histogram->count, name, labels, histogram->sum, name,
                  labels, (unsigned long long)histogram->count);
}

static void write_controller_histogram(struct engine *engine, struct buffer *out, const char *name,
                                       const char *help, size_t offset)
{
    char labels[128];
    write_head(out, name, "histogram", help);
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const char *state = (const char *)&engine->controllers[i];
        snprintf(labels, sizeof labels, "controller=\"%s\"",
                 engine->controllers[i].controller->name);
        write_histogram(out, name, labels,
                        (const struct histogram *)(const void *)(state + offset));
    }
}

static void write_controllers(struct engine *engine, struct buffer *out)
{
    const char *total = "controller_runtime_reconcile_total";
    write_head(out, total, "counter", "Turns by controller and result.");
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller_state *state = &engine->controllers[i];
        const char *name = state->controller->name;
        buffer_printf(out, "%s{controller=\"%s\",result=\"success\"} %llu\n", total, name,
                      (unsigned long long)state->turns_ok);
        buffer_printf(out, "%s{controller=\"%s\",result=\"error\"} %llu\n", total, name,
                      (unsigned long long)state->turns_failed);
    }
    write_controller_histogram(engine, out, "controller_runtime_reconcile_time_seconds",
                               "Length of a turn.",
                               offsetof(struct controller_state, turn_seconds));
    write_controller_histogram(engine, out, "signpost_change_to_programmed_seconds",
                               "From the decision on a content to its receipt.",
                               offsetof(struct controller_state, programmed_seconds));
}

static void write_lane_requests(struct buffer *out, const struct lane *lane)
{
    static const char *const operations[] = {"upsert", "delete", "get", "health"};
    static const char *const classes[] = {"error", "1xx", "2xx", "3xx", "4xx", "5xx"};
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        for (size_t j = 0; j < COUNT_OF(classes); j++)
            if (lane->requests[i].by_class[j])
                buffer_printf(out,
                              "signpost_backend_requests_total{backend=\"%s\",operation=\"%s\","
                              "code=\"%s\"} %llu\n",
                              lane->name, operations[i], classes[j],
                              (unsigned long long)lane->requests[i].by_class[j]);
}

static void write_lanes(struct engine *engine, struct buffer *out)
{
    char labels[400];
    write_head(out, "signpost_backend_requests_total", "counter", "Outgoing talk by backend.");
    for (const struct lane *lane = engine->lanes; lane; lane = lane->next)
        write_lane_requests(out, lane);
    write_head(out, "signpost_backend_request_seconds", "histogram", "Length of a talk.");
    for (const struct lane *lane = engine->lanes; lane; lane = lane->next) {
        snprintf(labels, sizeof labels, "backend=\"%s\"", lane->name);
        write_histogram(out, "signpost_backend_request_seconds", labels, &lane->request_seconds);
    }
    write_head(out, "signpost_backend_in_flight", "gauge", "Talks under way.");
    for (const struct lane *lane = engine->lanes; lane; lane = lane->next)
        buffer_printf(out, "signpost_backend_in_flight{backend=\"%s\"} %zu\n", lane->name,
                      lane->in_flight);
}

static void write_cache(struct engine *engine, struct buffer *out)
{
    const struct cache *cache = engine->options.store->cache;
    write_head(out, "signpost_cache_objects", "gauge", "Objects held, by kind.");
    for (size_t i = 0; i < engine->kind_count; i++)
        buffer_printf(out, "signpost_cache_objects{kind=\"%s\"} %zu\n", engine->kinds[i]->name,
                      cache_count(cache, engine->kinds[i]));
    write_head(out, "signpost_cache_bytes", "gauge", "Memory of the objects held, by kind.");
    for (size_t i = 0; i < engine->kind_count; i++)
        buffer_printf(out, "signpost_cache_bytes{kind=\"%s\"} %zu\n", engine->kinds[i]->name,
                      cache_octets(cache, engine->kinds[i]));
}

void engine_write_metrics(struct engine *engine, struct buffer *out)
{
    write_controllers(engine, out);
    write_head(out, "workqueue_depth", "gauge", "Keys that are due.");
    buffer_printf(out, "workqueue_depth %u\n", queue_depth(engine->queue));
    write_lanes(engine, out);
    if (engine->options.store)
        write_cache(engine, out);
    write_head(out, "signpost_build_info", "gauge", "The version that runs.");
    buffer_printf(out, "signpost_build_info{version=\"%s\"} 1\n", SIGNPOST_VERSION);
}
