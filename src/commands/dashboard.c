#include "commands/dashboard.h"

#include "base/memory.h"

#define PROCESS "pod, instance"

static const struct dashboard_panel reconciliations[] = {
    {.title = "From a decision to its receipt",
     .metric = "signpost_change_to_programmed_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "controller"},
    {.title = "Reconciliations",
     .metric = "controller_runtime_reconcile_total",
     .form = DASHBOARD_COUNTER,
     .by = "controller, result"},
    {.title = "Reconciliations that failed",
     .metric = "controller_runtime_reconcile_errors_total",
     .form = DASHBOARD_COUNTER,
     .by = "controller"},
    {.metric = "controller_runtime_terminal_reconcile_errors_total",
     .form = DASHBOARD_COUNTER,
     .by = "controller",
     .legend = "until an edit:"},
    {.title = "Length of a reconciliation",
     .metric = "controller_runtime_reconcile_time_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "controller"},
    {.metric = "workqueue_work_duration_seconds", .form = DASHBOARD_SECONDS, .legend = "all"},
    {.title = "Controllers that are ready",
     .metric = "signpost_controller_ready",
     .form = DASHBOARD_LEAST,
     .by = "controller"},
    {.title = "Keys that are due", .metric = "workqueue_depth", .by = PROCESS},
    {.title = "How long keys were due",
     .metric = "workqueue_queue_duration_seconds",
     .form = DASHBOARD_SECONDS,
     .by = PROCESS},
    {.title = "Keys that became due",
     .metric = "workqueue_adds_total",
     .form = DASHBOARD_COUNTER,
     .by = PROCESS},
    {.metric = "workqueue_retries_total",
     .form = DASHBOARD_COUNTER,
     .by = PROCESS,
     .legend = "after a refused write:"},
};

static const struct dashboard_panel backends[] = {
    {.title = "Requests to backends",
     .metric = "signpost_backend_requests_total",
     .form = DASHBOARD_COUNTER,
     .by = "backend, operation, code"},
    {.title = "Length of a request",
     .metric = "signpost_backend_request_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "backend, operation"},
    {.title = "Requests in flight", .metric = "signpost_backend_in_flight", .by = "backend"},
    {.title = "Records that a guard keeps", .metric = "signpost_guard_held", .by = "backend, zone"},
};

static const struct dashboard_panel leading_and_objects[] = {
    {.title = "Who leads", .metric = "leader_election_master_status", .by = PROCESS},
    {.title = "Time left on the lease",
     .metric = "signpost_lease_margin_seconds",
     .by = PROCESS,
     .unit = "s"},
    {.title = "Renewals that had to read the lease",
     .metric = "leader_election_slowpath_total",
     .form = DASHBOARD_COUNTER,
     .by = PROCESS},
    {.title = "Objects held", .metric = "signpost_cache_objects", .by = "kind"},
    {.title = "Memory of the objects held",
     .metric = "signpost_cache_bytes",
     .by = "kind",
     .unit = "bytes"},
};

static const struct dashboard_panel api_server[] = {
    {.title = "Requests to the API server",
     .metric = "rest_client_requests_total",
     .form = DASHBOARD_COUNTER,
     .by = "method, code"},
    {.metric = "rest_client_request_retries_total",
     .form = DASHBOARD_COUNTER,
     .by = "verb",
     .legend = "once more after a 401:"},
    {.title = "Length of a request",
     .metric = "rest_client_request_duration_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "verb"},
    {.metric = "rest_client_rate_limiter_duration_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "verb",
     .legend = "waited for --kube-api-qps:"},
    {.title = "Since the last event or bookmark",
     .metric = "signpost_watch_last_event_seconds",
     .by = "kind",
     .unit = "s"},
    {.title = "Watches that ended otherwise than in time",
     .metric = "signpost_watch_deaths_total",
     .form = DASHBOARD_COUNTER,
     .by = "kind"},
    {.title = "Lists after the first",
     .metric = "signpost_relists_total",
     .form = DASHBOARD_COUNTER,
     .by = "kind"},
    {.title = "Objects that were skipped as too large",
     .metric = "signpost_oversized_objects",
     .form = DASHBOARD_COUNTER,
     .by = "kind"},
    {.title = "Events",
     .metric = "signpost_events_sent_total",
     .form = DASHBOARD_COUNTER,
     .legend = "sent"},
    {.metric = "signpost_events_dropped_total",
     .form = DASHBOARD_COUNTER,
     .by = "why",
     .legend = "dropped:"},
    {.title = "Events that wait", .metric = "signpost_events_waiting", .by = PROCESS},
};

static const struct dashboard_panel admission[] = {
    {.title = "Admission requests",
     .metric = "controller_runtime_webhook_requests_total",
     .form = DASHBOARD_COUNTER,
     .by = "webhook, code"},
    {.title = "Length of an admission request",
     .metric = "controller_runtime_webhook_latency_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "webhook"},
    {.title = "Admission requests in flight",
     .metric = "controller_runtime_webhook_requests_in_flight",
     .by = "webhook"},
};

static const struct dashboard_panel provider[] = {
    {.title = "Requests",
     .metric = "signpost_provider_requests_total",
     .form = DASHBOARD_COUNTER,
     .by = "op, code"},
    {.title = "Length of a request",
     .metric = "signpost_provider_request_seconds",
     .form = DASHBOARD_SECONDS,
     .by = "op"},
    {.title = "Record sets", .metric = "signpost_provider_records", .by = "zone"},
    {.title = "Nonces that are remembered", .metric = "signpost_provider_nonces", .by = PROCESS},
};

static const struct dashboard_panel process[] = {
    {.title = "CPU",
     .metric = "process_cpu_seconds_total",
     .form = DASHBOARD_COUNTER,
     .by = PROCESS,
     .unit = "percentunit"},
    {.title = "Memory", .metric = "process_resident_memory_bytes", .by = PROCESS, .unit = "bytes"},
    {.title = "Address space",
     .metric = "process_virtual_memory_bytes",
     .by = PROCESS,
     .unit = "bytes"},
    {.title = "Descriptors", .metric = "process_open_fds", .by = PROCESS, .legend = "open:"},
    {.metric = "process_max_fds", .by = PROCESS, .legend = "at most:"},
    {.title = "Since the start",
     .metric = "process_start_time_seconds",
     .form = DASHBOARD_AGE,
     .by = PROCESS},
};

#define SECTION(title_, panels_)                                                                   \
    {                                                                                              \
        .title = (title_), .panels = (panels_), .count = COUNT_OF(panels_)                         \
    }

const struct dashboard_section dashboard_engine[DASHBOARD_ENGINE] = {
    SECTION("Reconciliations", reconciliations),
    SECTION("Backends", backends),
    SECTION("Lead and objects", leading_and_objects),
};

const struct dashboard_section dashboard_process[DASHBOARD_PROCESS] = {
    SECTION("API server", api_server),
    SECTION("Admission", admission),
    SECTION("signpost provider", provider),
    SECTION("Processes", process),
};
