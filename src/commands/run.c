#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/url.h"
#include "base/when.h"
#include "commands/backend_checks.h"
#include "commands/commands.h"
#include "commands/metrics_guard.h"
#include "commands/process.h"
#include "commands/recording.h"
#include "commands/setup.h"
#include "commands/subject.h"
#include "commands/webhook.h"
#include "engine/engine.h"
#include "frontends/probes/probes.h"
#include "frontends/status/status_page.h"
#include "io/address.h"
#include "io/usage.h"
#include "store/cluster/cluster.h"

enum { FRONTENDS_STAY_MS = 5000, SERVICES_MAX = 16 };

static const struct option run_rows[] = {
    FILENAME_OPTION,
    {.name = "metrics-bind-address",
     .type = OPTION_ADDRESS,
     .placeholder = "ADDR:PORT",
     .doc = "Where /metrics is served; 0 switches it off. Not given: :8080 in a cluster, "
            "127.0.0.1:8080 on a folder."},
    {.name = "status-page",
     .type = OPTION_FLAG,
     .doc = "Show the state of all objects, zones, backends and changes as pages at /status/ where "
            "/metrics is served; with --metrics-secure to the same accounts. Not given: on a "
            "folder only."},
    {.name = "health-probe-bind-address",
     .type = OPTION_ADDRESS,
     .placeholder = "ADDR:PORT",
     .doc = "Where /healthz and /readyz are served; 0 switches it off. Not given: :8081 in a "
            "cluster, 127.0.0.1:8081 on a folder."},
    {.name = "sync-period",
     .type = OPTION_DURATION,
     .fallback = "10h",
     .placeholder = "DURATION",
     .min = 1000,
     .doc = "Each object is looked at again that often, whether it changed or not; spread evenly, "
            "10 % more or less."},
    {.name = "shutdown-timeout",
     .type = OPTION_DURATION,
     .fallback = "30s",
     .placeholder = "DURATION",
     .min = 1,
     .doc = "How long requests in flight may take to end after SIGTERM."},
    {.name = "record",
     .type = OPTION_TEXT,
     .placeholder = "FOLDER",
     .doc = "Record every reconciliation into a new file in that folder, from which `signpost "
            "replay` makes it again, on any machine. Secrets are masked. At 256 MiB the recording "
            "ends."},
};

struct run_process {
    struct process_world process;
    const struct invocation *invocation;
    struct setup setup;
    struct store *store;
    struct recorder *recorder; // NULL: off
    struct engine *engine;
    struct probes *health;
    struct probes *metrics;
    struct status_page *page;    // NULL: off
    struct metrics_guard *guard; // of metrics; NULL: everybody may read them
    bool is_guarded;
    bool has_page;
    int64_t leaving_ms;
    struct loop_timer end_timer;
    struct webhook *webhook;      // NULL: off
    void *services[SERVICES_MAX]; // by subject; NULL: it has none
    int code;
};

// ---- store and engine ---------------------------------------------------------------------------

static void store_failed(void *context, const struct error *err)
{
    struct run_process *run = context;
    run->code = command_fail(2, "%s", err->text);
    loop_stop(run->process.world.loop);
}

static bool open_store(struct run_process *run, struct error *err)
{
    const struct setup_store how = {.world = &run->process.world,
                                    .log = run->process.log,
                                    .keeps_certificates = webhook_makes_certificates(
                                        run->invocation, run->setup.place.is_cluster),
                                    .judges_bearers = run->is_guarded,
                                    .failed = store_failed,
                                    .context = run};
    run->store = setup_open_store(&run->setup, &how, err);
    return run->store != NULL;
}

static void leading(void *context, bool is_leading)
{
    const struct run_process *run = context;
    webhook_set_leading(run->webhook, is_leading);
}

static bool make_services(struct run_process *run, struct error *err)
{
    const struct service_setup setup = {&run->process, run->invocation, &run->setup, run->store};
    must(subject_count <= SERVICES_MAX);
    for (size_t i = 0; i < subject_count; i++) {
        if (!subjects[i]->service)
            continue;
        run->services[i] = subjects[i]->service->make(&setup, err);
        if (!run->services[i])
            return false;
    }
    return true;
}

static bool open_services(struct run_process *run, struct error *err)
{
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i] && !subjects[i]->service->open(run->services[i], run->engine, err))
            return false;
    return true;
}

static size_t check_services(const struct run_process *run, struct store_check *out,
                             size_t capacity)
{
    size_t count = 0;
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i] && subjects[i]->service->checks)
            count += subjects[i]->service->checks(run->services[i], out + count, capacity - count);
    return count;
}

static void reload_services(const struct run_process *run)
{
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i])
            subjects[i]->service->reload(run->services[i]);
}

static void close_services(const struct run_process *run)
{
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i])
            subjects[i]->service->close(run->services[i]);
}

static void free_services(const struct run_process *run)
{
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i])
            subjects[i]->service->free(run->services[i]);
}

// What two of our backends that turn out to be one are noticed by.
static void draw_process(struct run_process *run)
{
    uint32_t drawn;
    random_fill(run->process.world.random, &drawn, sizeof drawn);
    const char *name = arena_printf(run->invocation->arena, "%08" PRIx32, drawn);
    setup_set_access(&run->setup, &(struct backend_access){.process = name});
}

static bool open_engine(struct run_process *run, struct error *err)
{
    if (!recording_open(&run->setup, &run->process.world, run->process.log, run->store,
                        &run->recorder, err))
        return false;
    const struct engine_options options = {
        .world = &run->process.world,
        .log = run->process.log,
        .store = run->store,
        .controllers = run->setup.controllers,
        .settings = (const void *const *)run->setup.settings,
        .controller_count = run->setup.controller_count,
        .providers = providers,
        .provider_count = provider_count,
        .sync_period_ms = option_ms(run->invocation, "sync-period"),
        .zone_file_dir = option_text(run->invocation, "zone-file-dir"),
        .recorder = run->recorder,
        .keeps_states = run->has_page,
        .leading = leading,
        .context = run,
    };
    if (!make_services(run, err))
        return false;
    draw_process(run);
    run->engine = engine_new(&options);
    return open_services(run, err) && engine_start(run->engine, err);
}

// ---- frontends ----------------------------------------------------------------------------------

static void report_port(void *context, const struct hostport *at, const char *trouble)
{
    const struct run_process *run = context;
    process_world_report_port(&run->process, at, trouble);
}

static size_t metrics_checks(const struct run_process *run, struct store_check *out,
                             size_t capacity)
{
    const char *trouble = run->metrics ? probes_trouble(run->metrics) : NULL;
    if (!trouble || !capacity)
        return 0;
    *out = (struct store_check){.name = "metrics", .text = trouble};
    return 1;
}

static size_t checks(void *context, struct store_check *out, size_t capacity)
{
    struct run_process *run = context;
    size_t count = engine_checks(run->engine, out, capacity);
    count += metrics_checks(run, out + count, capacity - count);
    count += webhook_checks(run->webhook, out + count, capacity - count);
    count += backend_checks(&run->setup, run->engine, loop_mono_ms(run->process.world.loop),
                            out + count, capacity - count);
    return count + check_services(run, out + count, capacity - count);
}

static const char *trouble(void *context)
{
    const struct run_process *run = context;
    if (!run->setup.place.is_cluster || !lease_is_stuck(cluster_lease(run->store)))
        return NULL;
    return "the lease ran out, and work has not stopped";
}

static void metrics(void *context, struct buffer *out)
{
    struct run_process *run = context;
    engine_write_metrics(run->engine, out);
    store_write_metrics(run->store, out);
    usage_write_metrics(out);
    webhook_write_metrics(run->webhook, out);
    for (size_t i = 0; i < subject_count; i++)
        if (run->services[i] && subjects[i]->service->write_metrics)
            subjects[i]->service->write_metrics(run->services[i], out);
}

static void judge(void *context, struct text token, const char *peer, void *asker)
{
    const struct run_process *run = context;
    metrics_guard_judge(run->guard, token, peer, asker);
}

static void forget(void *context, void *asker)
{
    const struct run_process *run = context;
    metrics_guard_forget(run->guard, asker);
}

static void answer_page(void *context, struct http_exchange *exchange)
{
    const struct run_process *run = context;
    status_page_answer(run->page, exchange);
}

static void open_page(struct run_process *run, const struct hostport *at)
{
    run->page =
        status_page_new(&(struct status_page_options){.engine = run->engine,
                                                      .version = SIGNPOST_VERSION,
                                                      .is_local = address_is_loopback(at->host),
                                                      .checks = checks,
                                                      .context = run});
}

static struct probes *bind_probes(struct run_process *run, struct text address, bool is_health,
                                  struct error *err)
{
    struct hostport at;
    struct probes_options options = {.listening = report_port, .context = run};
    if (is_health)
        options.checks = checks, options.trouble = trouble;
    else
        options.metrics = metrics;
    if (!is_health && run->guard)
        options.judge = judge, options.forget = forget, options.is_tls = true;
    if (!hostport_parse(&at, address, 0, false, err))
        return NULL;
    if (!is_health && run->has_page) {
        open_page(run, &at);
        options.has_page = status_page_has, options.answer_page = answer_page;
    }
    options.address = at.host;
    options.port = at.port;
    return probes_new(run->process.world.loop, &options, err);
}

// In a cluster the probes are what restarts and scrapes us: an address that can never be had ends
// the start. On a folder it is one warning.
static bool open_probes(struct run_process *run, const char *option, bool is_health,
                        struct probes **out, struct error *err)
{
    static const char *const defaults[2][2] = {{"127.0.0.1:8080", "127.0.0.1:8081"},
                                               {":8080", ":8081"}};
    const char *address = option_text(run->invocation, option);
    if (!address)
        address = defaults[run->setup.place.is_cluster][is_health];
    if (!strcmp(address, "0"))
        return true;
    *out = bind_probes(run, text_of(address), is_health, err);
    if (*out)
        return true;
    if (run->setup.place.is_cluster)
        return error_prefix(err, "--%s: ", option);
    log_line(run->process.log, LOG_WARN, "cannot serve; going on without",
             LOG_TEXT("option", option), LOG_TEXT("error", err->text), LOG_END);
    return true;
}

static bool open_metrics(struct run_process *run, struct error *err)
{
    struct hostport at = {0};
    const char *address = option_text(run->invocation, "metrics-bind-address");
    if (run->is_guarded)
        run->guard = metrics_guard_new(&run->process.world, cluster_api(run->store));
    if (!open_probes(run, "metrics-bind-address", false, &run->metrics, err))
        return false;
    if (!run->guard || !run->metrics)
        return true;
    return (!address || hostport_parse(&at, text_of(address), 0, false, err)) &&
           metrics_guard_certify(run->guard, run->metrics, run->setup.place.own_namespace, at.host,
                                 err);
}

static void note(void *context, const struct kube_event *reported)
{
    const struct run_process *run = context;
    store_publish_event(run->store, reported);
}

static bool open_webhook(struct run_process *run, struct error *err)
{
    bool is_wanted;
    bool is_cluster = run->setup.place.is_cluster;
    const struct webhook_options options = {
        .process = &run->process,
        .invocation = run->invocation,
        .engine = run->engine,
        .api = is_cluster ? cluster_api(run->store) : NULL,
        .namespace_ = run->setup.place.own_namespace,
        .note = note,
        .context = run,
    };
    if (!webhook_check_options(run->invocation, is_cluster, &is_wanted, err))
        return false;
    if (!is_wanted)
        return true;
    run->webhook = webhook_new(&options, err);
    return run->webhook != NULL;
}

// ---- life ---------------------------------------------------------------------------------------

static void end(void *context)
{
    struct run_process *run = context;
    loop_stop(run->process.world.loop);
}

// In a cluster others learn only by and by that we go: until then the frontends answer.
static void left(void *context)
{
    struct run_process *run = context;
    int64_t gone_ms = loop_mono_ms(run->process.world.loop) - run->leaving_ms;
    int64_t stay_ms = run->setup.place.is_cluster ? FRONTENDS_STAY_MS : 0;
    run->end_timer = (struct loop_timer){.call = end, .context = run};
    loop_timer_set(run->process.world.loop, &run->end_timer,
                   gone_ms < stay_ms ? stay_ms - gone_ms : 0);
}

static void stopped(void *context)
{
    struct run_process *run = context;
    AUTO_BUFFER cut = {0};
    engine_write_cut(run->engine, &cut);
    if (cut.len) {
        run->code = 1;
        log_line(run->process.log, LOG_ERROR,
                 "cut off at --shutdown-timeout; the next start goes on", LOG_TEXT("cut", cut.at),
                 LOG_END);
    }
    store_flush(run->store);
    store_leave(run->store, left, run);
}

static void leave(void *context)
{
    struct run_process *run = context;
    log_line(run->process.log, LOG_INFO, "stopping", LOG_END);
    run->leaving_ms = loop_mono_ms(run->process.world.loop);
    probes_leave(run->health);
    webhook_drain(run->webhook);
    engine_stop(run->engine, option_ms(run->invocation, "shutdown-timeout"), stopped, run);
}

static void reload(void *context)
{
    struct run_process *run = context;
    log_line(run->process.log, LOG_INFO, "reading credentials and certificates anew", LOG_END);
    if (run->setup.place.is_cluster)
        cluster_reload(run->store);
    webhook_reload(run->webhook);
    reload_services(run);
}

static void report_running(struct run_process *run)
{
    log_line(run->process.log, LOG_INFO, "running",
             LOG_TEXT(run->setup.place.is_cluster ? "cluster" : "dir",
                      run->setup.place.is_cluster ? cluster_address(run->store)
                                                  : option_text(run->invocation, "dir")),
             LOG_TEXT("version", SIGNPOST_VERSION), LOG_END);
}

static bool run_open(struct run_process *run, struct error *err)
{
    if (!open_store(run, err) || !open_engine(run, err) || !open_webhook(run, err))
        return false;
    if (!open_probes(run, "health-probe-bind-address", true, &run->health, err) ||
        !open_metrics(run, err))
        return false;
    process_world_on_signal(&run->process, leave, run);
    process_world_on_hangup(&run->process, reload, run);
    report_running(run);
    return true;
}

static void run_close(struct run_process *run)
{
    loop_timer_cancel(run->process.world.loop, &run->end_timer);
    probes_free(run->health);
    probes_free(run->metrics);
    status_page_free(run->page);
    metrics_guard_free(run->guard);
    webhook_free(run->webhook);
    run->webhook = NULL;
    close_services(run);
    engine_free(run->engine);
    free_services(run);
    recorder_free(run->recorder);
    store_free(run->store);
    process_world_done(&run->process);
    setup_done(&run->setup);
}

// On a folder the page is there unless an option says otherwise.
static bool check_page(struct run_process *run, struct error *err)
{
    const char *address = option_text(run->invocation, "metrics-bind-address");
    bool is_given = option_is_set(run->invocation, "status-page");
    bool is_served = !address || strcmp(address, "0") != 0;
    run->has_page = is_given ? option_flag(run->invocation, "status-page")
                             : !run->setup.place.is_cluster && is_served;
    if (run->has_page && !is_served)
        return error_set(err, FAULT_SPEC, "",
                         "--status-page needs --metrics-bind-address: the page is served there");
    return true;
}

static int run_run(struct invocation *invocation)
{
    struct run_process run = {.invocation = invocation};
    struct error err;
    if (!setup_init(&run.setup, invocation, &err) || !writer_options_check(invocation, &err) ||
        !metrics_guard_check(invocation, run.setup.place.is_cluster, &run.is_guarded, &err) ||
        !check_page(&run, &err)) {
        setup_done(&run.setup);
        return command_fail(2, "%s", err.text);
    }
    if (!process_world_init(&run.process, invocation, &err)) {
        setup_done(&run.setup);
        return command_fail(1, "%s", err.text);
    }
    if (run_open(&run, &err))
        loop_run(run.process.world.loop);
    else
        run.code = command_fail(2, "%s", err.text);
    run_close(&run);
    return run.code;
}

extern const struct command run_command;
const struct command run_command = {
    .name = "run",
    .summary = "keep DNS true to what the manifests declare",
    .positional = "[PATH]",
    .path_option = "dir",
    .exit_docs =
        {
            "a signal ended it in good order",
            "it cannot go on, and says why",
            "a setting is wrong, or what it names cannot be read",
        },
    .doc =
        "Watches the objects of a cluster or a folder of manifests, works out which records ought "
        "to exist, and makes it so. In a cluster the objects carry conditions and events; of "
        "several replicas one writes. On a folder status is written beside the manifests "
        "(web.yaml.status), a change acts within a tenth of a second, and a broken file keeps its "
        "last good records.",
    .examples = "signpost run --dir ./manifests\n"
                "signpost run --kubeconfig ~/.kube/config --namespaces web,mail\n",
    .groups = {{store_options, STORE_OPTION_COUNT, true},
               {setup_options, SETUP_OPTION_COUNT, true},
               SUBJECT_OPTIONS(SUBJECT_SETUP, true),
               {run_rows, COUNT_OF(run_rows), false},
               {lease_options, LEASE_OPTION_COUNT, true},
               {writer_options, WRITER_OPTION_COUNT, false},
               {&metrics_guard_option, 1, false},
               {webhook_options, WEBHOOK_OPTION_COUNT, false},
               SUBJECT_OPTIONS(SUBJECT_RUN, false),
               {log_options, LOG_OPTION_COUNT, true}},
    .has_settings = true,
    .run = run_run,
};
