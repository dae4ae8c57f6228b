#include <stdio.h>
#include <string.h>

#include "engine/backend_state.h"
#include "store/cache.h"

static void write_controller_histogram(struct engine *engine, struct buffer *out, const char *name,
                                       const char *help, size_t offset)
{
    char labels[128];
    metric_write_head(out, name, "histogram", help);
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const char *state = (const char *)&engine->controllers[i];
        snprintf(labels, sizeof labels, "controller=\"%s\"",
                 engine->controllers[i].controller->name);
        metric_write_histogram(out, name, labels,
                               (const struct histogram *)(const void *)(state + offset));
    }
}

static void write_reconciles(struct engine *engine, struct buffer *out)
{
    static const char *const results[RECONCILE_RESULTS] = {"success", "error", "requeue_after"};
    const char *total = "controller_runtime_reconcile_total";
    metric_write_head(out, total, "counter", "Turns by controller and result.");
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller_state *state = &engine->controllers[i];
        for (size_t k = 0; k < RECONCILE_RESULTS; k++)
            buffer_printf(out, "%s{controller=\"%s\",result=\"%s\"} %llu\n", total,
                          state->controller->name, results[k],
                          (unsigned long long)state->reconciles[k]);
        buffer_printf(out, "%s{controller=\"%s\",result=\"requeue\"} 0\n", total,
                      state->controller->name);
    }
}

// One number for each controller.
static uint64_t reconciles_failed(const struct engine *engine, size_t at)
{
    return engine->controllers[at].reconciles[RECONCILE_ERROR];
}

static uint64_t reconciles_terminal(const struct engine *engine, size_t at)
{
    return engine->controllers[at].reconciles_terminal;
}

static uint64_t is_ready(const struct engine *engine, size_t at)
{
    return engine->is_first_pass_done &&
           input_is_synced(engine, engine->controllers[at].controller);
}

static uint64_t one(const struct engine *engine, size_t at)
{
    (void)engine;
    (void)at;
    return 1;
}

static uint64_t none(const struct engine *engine, size_t at)
{
    (void)engine;
    (void)at;
    return 0;
}

// A reconciliation is never interrupted, so none is under way while this is asked.
static const struct {
    const char *name;
    const char *type;
    const char *help;
    uint64_t (*get)(const struct engine *engine, size_t at);
} controller_rows[] = {
    {"controller_runtime_reconcile_errors_total", "counter", "Turns that ended in a fault.",
     reconciles_failed},
    {"controller_runtime_terminal_reconcile_errors_total", "counter",
     "Turns whose fault waits for an edit of the object.", reconciles_terminal},
    {"controller_runtime_reconcile_panics_total", "counter", "Always 0.", none},
    {"controller_runtime_reconcile_timeouts_total", "counter",
     "Always 0: a reconciliation waits for nothing.", none},
    {"controller_runtime_max_concurrent_reconciles", "gauge", "Turns at the same time, at most.",
     one},
    {"controller_runtime_active_workers", "gauge", "Turns under way.", none},
    {"signpost_controller_ready", "gauge", "1 when all that it reads is synced and decided.",
     is_ready},
};

static void write_controllers(struct engine *engine, struct buffer *out)
{
    write_reconciles(engine, out);
    for (size_t i = 0; i < COUNT_OF(controller_rows); i++) {
        metric_write_head(out, controller_rows[i].name, controller_rows[i].type,
                          controller_rows[i].help);
        for (size_t k = 0; k < engine->options.controller_count; k++)
            buffer_printf(out, "%s{controller=\"%s\"} %llu\n", controller_rows[i].name,
                          engine->controllers[k].controller->name,
                          (unsigned long long)controller_rows[i].get(engine, k));
    }
    write_controller_histogram(engine, out, "controller_runtime_reconcile_time_seconds",
                               "Length of a reconciliation.",
                               offsetof(struct controller_state, reconcile_seconds));
    write_controller_histogram(
        engine, out, "signpost_change_to_programmed_seconds",
        "From the decision on a content to its receipt, or until it has arrived everywhere.",
        offsetof(struct controller_state, programmed_seconds));
}

static const char *const operations[BACKEND_OPERATIONS] = {
    [OPERATION_UPSERT] = "upsert", [OPERATION_DELETE] = "delete",     [OPERATION_GET] = "get",
    [OPERATION_HEALTH] = "health", [OPERATION_QUESTION] = "question", [OPERATION_BATCH] = "batch",
};

static void write_backend_seconds(struct buffer *out, const struct backend *backend)
{
    char labels[400];
    for (size_t i = 0; i < BACKEND_OPERATIONS; i++) {
        if (!backend->request_seconds[i].count)
            continue;
        snprintf(labels, sizeof labels, "backend=\"%s\",operation=\"%s\"", backend->name,
                 operations[i]);
        metric_write_histogram(out, "signpost_backend_request_seconds", labels,
                               &backend->request_seconds[i]);
    }
}

static void write_backend_requests(struct buffer *out, const struct backend *backend)
{
    static const char *const classes[] = {"error", "1xx", "2xx", "3xx", "4xx", "5xx"};
    for (size_t i = 0; i < COUNT_OF(operations); i++)
        for (size_t j = 0; j < COUNT_OF(classes); j++)
            if (backend->requests[i].by_class[j])
                buffer_printf(out,
                              "signpost_backend_requests_total{backend=\"%s\",operation=\"%s\","
                              "code=\"%s\"} %llu\n",
                              backend->name, operations[i], classes[j],
                              (unsigned long long)backend->requests[i].by_class[j]);
}

static void write_backends(struct engine *engine, struct buffer *out)
{
    metric_write_head(out, "signpost_backend_requests_total", "counter",
                      "Requests sent, by backend; one may take several HTTP requests.");
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        write_backend_requests(out, backend);
    secondaries_write_requests(engine->secondaries, out);
    metric_write_head(out, "signpost_backend_request_seconds", "histogram",
                      "Length of an exchange.");
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        write_backend_seconds(out, backend);
    secondaries_write_seconds(engine->secondaries, out);
    metric_write_head(out, "signpost_backend_in_flight", "gauge",
                      "Requests in flight, by backend.");
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        buffer_printf(out, "signpost_backend_in_flight{backend=\"%s\"} %zu\n", backend->name,
                      backend->in_flight + backend->reading);
    secondaries_write_in_flight(engine->secondaries, out);
}

// ---- what controllers count ---------------------------------------------------------------------

static void write_row(struct buffer *out, const struct controller_metric *metric,
                      const struct key_metrics_row *row)
{
    bool is_of_past = metric->type == METRIC_RETRIES;
    if (!row->class_label || !(is_of_past ? row->retries : row->keys))
        return;
    buffer_printf(out, "%s{class=\"", metric->name);
    metric_write_label(out, row->class_label);
    if (metric->type == METRIC_IS) {
        buffer_printf(out, "\"} %d\n", !strcmp(row->reason_label, metric->reason));
        return;
    }
    buffer_add_text(out, "\",reason=\"");
    metric_write_label(out, row->reason_label);
    buffer_printf(out, "\"} %u\n", is_of_past ? row->retries : row->keys);
}

static void write_key_metrics(const struct controller_state *state, bool is_leading,
                              struct buffer *out)
{
    static const char *const words[] = {
        [METRIC_KEYS] = "gauge",  [METRIC_RETRIES] = "counter", [METRIC_IS] = "gauge",
        [METRIC_GAUGE] = "gauge", [METRIC_COUNT] = "counter",   [METRIC_SECONDS] = "summary"};
    const struct controller *controller = state->controller;
    for (size_t i = 0; i < controller->metric_count; i++) {
        const struct controller_metric *metric = &controller->metrics[i];
        bool adds_up = metric_adds_up(metric->type);
        metric_write_head(out, metric->name, words[metric->type], metric->help);
        if (adds_up || (metric->type == METRIC_GAUGE && is_leading))
            samples_write(&state->samples, metric, out);
        if (adds_up || metric->type == METRIC_GAUGE)
            continue;
        for (uint32_t row = 0; row < state->key_metrics.used; row++)
            write_row(out, metric, &state->key_metrics.rows[row]);
    }
}

// ---- the queue and the store --------------------------------------------------------------------

// One queue for all controllers, named as the program.
static void write_queue(struct engine *engine, struct buffer *out)
{
    const char *labels = "controller=\"signpost\",name=\"signpost\"";
    const struct {
        const char *name;
        const char *type;
        const char *help;
        uint64_t value;
    } rows[] = {
        {"workqueue_depth", "gauge", "Keys that are due.", queue_depth(engine->queue)},
        {"workqueue_adds_total", "counter", "Keys that became due.", queue_adds(engine->queue)},
        {"workqueue_retries_total", "counter", "Keys that are due again after a refused write.",
         engine->write_retries},
        {"workqueue_unfinished_work_seconds", "gauge",
         "Always 0: a reconciliation is never interrupted.", 0},
        {"workqueue_longest_running_processor_seconds", "gauge",
         "Always 0: a reconciliation is never interrupted.", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        metric_write_head(out, rows[i].name, rows[i].type, rows[i].help);
        buffer_printf(out, "%s{%s} %llu\n", rows[i].name, labels,
                      (unsigned long long)rows[i].value);
    }
    metric_write_head(out, "workqueue_queue_duration_seconds", "histogram",
                      "How long keys were due.");
    metric_write_histogram(out, "workqueue_queue_duration_seconds", labels, &engine->queue_seconds);
    metric_write_head(out, "workqueue_work_duration_seconds", "histogram",
                      "Length of a reconciliation.");
    metric_write_histogram(out, "workqueue_work_duration_seconds", labels, &engine->work_seconds);
}

static void write_cache(struct engine *engine, struct buffer *out)
{
    const struct cache *cache = engine->options.store->cache;
    metric_write_head(out, "signpost_cache_objects", "gauge", "Objects held, by kind.");
    for (size_t i = 0; i < engine->kind_count; i++)
        buffer_printf(out, "signpost_cache_objects{kind=\"%s\"} %zu\n", engine->kinds[i]->name,
                      cache_count(cache, engine->kinds[i]));
    metric_write_head(out, "signpost_cache_bytes", "gauge", "Memory of the objects held, by kind.");
    for (size_t i = 0; i < engine->kind_count; i++)
        buffer_printf(out, "signpost_cache_bytes{kind=\"%s\"} %zu\n", engine->kinds[i]->name,
                      cache_octets(cache, engine->kinds[i]));
}

// A store with metrics of its own tells more of its lease.
static void write_leading(const struct engine *engine, struct buffer *out)
{
    if (engine->options.store->ops->write_metrics)
        return;
    metric_write_head(out, "leader_election_master_status", "gauge", "1 while this process leads.");
    buffer_printf(out, "leader_election_master_status{name=\"signpost\"} %d\n", engine->is_leading);
}

static void write_held(struct engine *engine, struct buffer *out)
{
    bool is_any = false;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next) {
        if (!backend->provider || !backend->provider->lists)
            continue;
        if (!is_any)
            metric_write_head(out, "signpost_guard_held", "gauge",
                              "Records that a guard keeps although nothing wants them any more.");
        is_any = true;
        buffer_printf(out, "signpost_guard_held{backend=\"%s\",zone=\".\"} %zu\n", backend->name,
                      guarded_count(backend->guarded));
    }
}

static bool has_backend(const struct engine *engine, const struct provider *provider)
{
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend->provider == provider)
            return true;
    return false;
}

static size_t view_sessions(const struct engine *engine, const struct provider *provider,
                            struct session_view *out)
{
    size_t count = 0;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend->session && backend->session->provider == provider)
            out[count++] = (struct session_view){.backend = backend->name,
                                                 .session = backend->session->at,
                                                 .repaired = backend->repaired};
    return count;
}

static void count_claims(const struct engine *engine, struct session_view *seats, size_t count)
{
    for (uint32_t id = 0; id < engine->claim_slots.end; id++) {
        const struct claim *claim = claim_get(engine, id);
        const struct backend *backend = claim_is_free(claim) ? NULL : claim_backend(engine, claim);
        if (!backend || claim_is_forgotten(claim))
            continue;
        for (size_t i = 0; i < count; i++) {
            if (seats[i].backend != backend->name)
                continue;
            seats[i].satisfied[claim_type(claim)] += claim_is_satisfied_by_others(claim);
            seats[i].refused[claim_type(claim)] += claim_is_refused(claim);
        }
    }
}

static void write_sessions(struct engine *engine, struct buffer *out)
{
    arena_reset(engine->scratch);
    struct session_view *seats =
        arena_new_array(engine->scratch, struct session_view, engine->backend_count + 1);
    for (size_t i = 0; i < engine->options.provider_count; i++) {
        const struct provider *provider = engine->options.providers[i];
        if (!provider->write_metrics || !has_backend(engine, provider))
            continue;
        size_t count = view_sessions(engine, provider, seats);
        count_claims(engine, seats, count);
        provider->write_metrics(seats, count, out);
    }
}

void engine_write_metrics(struct engine *engine, struct buffer *out)
{
    write_controllers(engine, out);
    for (size_t i = 0; i < engine->options.controller_count; i++)
        write_key_metrics(&engine->controllers[i], engine->is_leading, out);
    write_queue(engine, out);
    write_backends(engine, out);
    write_held(engine, out);
    write_sessions(engine, out);
    publish_write_metrics(engine, out);
    catalogs_write_metrics(engine, out);
    shared_models_write_metrics(engine, out);
    if (engine->options.store) {
        write_cache(engine, out);
        write_leading(engine, out);
    }
    metric_write_head(out, "signpost_build_info", "gauge", "The version that runs.");
    buffer_printf(out, "signpost_build_info{version=\"%s\"} 1\n", SIGNPOST_VERSION);
}
