#include "commands/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "base/when.h"
#include "commands/chosen.h"
#include "commands/commands.h"
#include "commands/process.h"
#include "commands/settings.h"
#include "commands/webhook.h"
#include "doors/probes/probes.h"
#include "engine/engine.h"
#include "kinds/kinds.h"
#include "store/folder/folder.h"
#include "store/owner.h"

enum { KINDS_MAX = 64 };

static const char *const store_names[] = {"auto", "folder", NULL};

const struct option store_options[STORE_OPTION_COUNT] = {
    {.name = "store",
     .type = OPTION_CHOICE,
     .fallback = "auto",
     .placeholder = "STORE",
     .choices = store_names,
     .doc = "Where objects live. This version knows folders of manifests."},
    {.name = "dir",
     .type = OPTION_TEXT,
     .fallback = "./manifests",
     .placeholder = "PATH",
     .doc = "Folder of manifests; files in it are never written, status lies beside them."},
    {.name = "state-dir",
     .type = OPTION_TEXT,
     .placeholder = "PATH",
     .doc = "Folder for status files and the journal when the manifests' folder is read-only."},
    {.name = "allow-empty",
     .type = OPTION_FLAG,
     .doc = "An empty folder where 10 objects or more were known is meant: delete what they "
            "published."},
};

static const struct option run_rows[] = {
    {.name = "controllers",
     .type = OPTION_LIST,
     .placeholder = "NAMES",
     .doc = "Which controllers run; the default ones when not given."},
    {.name = "metrics-bind-address",
     .type = OPTION_ADDRESS,
     .fallback = "127.0.0.1:8080",
     .placeholder = "ADDR:PORT",
     .doc = "Where /metrics is served; 0 switches it off."},
    {.name = "health-probe-bind-address",
     .type = OPTION_ADDRESS,
     .fallback = "127.0.0.1:8081",
     .placeholder = "ADDR:PORT",
     .doc = "Where /healthz and /readyz are served; 0 switches it off."},
    {.name = "owner-id",
     .type = OPTION_TEXT,
     .placeholder = "ID",
     .doc = "Whose is what is written elsewhere: 1 to 24 of a-z, 0-9 and -. Drawn once and kept in "
            ".signpost/state; one that is given replaces it."},
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
     .doc = "How long talks in flight may take to end after SIGTERM."},
    {.name = "config",
     .type = OPTION_TEXT,
     .placeholder = "FILE",
     .doc = "YAML file with any of these options as keys."},
};

struct run_process {
    struct process_world process;
    const struct invocation *invocation;
    const struct controller *controllers[CHOSEN_MAX];
    const void *settings[CHOSEN_MAX];
    size_t controller_count;
    struct store *store;
    struct engine *engine;
    struct probes *health;
    struct probes *metrics;
    struct webhook *webhook; // NULL: off
    int code;
};

// ---- controllers --------------------------------------------------------------------------------

static bool add_controller(struct run_process *run, const struct controller *controller,
                           struct error *err)
{
    size_t at = run->controller_count;
    run->settings[at] = settings_resolve(run->invocation, controller, err);
    if (!run->settings[at])
        return false;
    run->controllers[at] = controller;
    run->controller_count++;
    return true;
}

static bool choose_controllers(struct run_process *run, struct error *err)
{
    struct chosen chosen;
    if (!chosen_init(&chosen, run->invocation, err))
        return false;
    for (size_t i = 0; i < chosen.count; i++)
        if (!add_controller(run, chosen.items[i], err))
            return false;
    return true;
}

static const char *finalizer_of(const struct run_process *run, const struct kind *kind)
{
    for (size_t i = 0; i < run->controller_count; i++)
        if (run->controllers[i]->kind == kind)
            return run->controllers[i]->finalizer;
    return NULL;
}

// ---- store and engine ---------------------------------------------------------------------------

static bool check_owner(const struct run_process *run, struct error *err)
{
    const char *owner_id = option_text(run->invocation, "owner-id");
    return !owner_id || owner_id_check(text_of(owner_id), err) ||
           option_blame(run->invocation, "owner-id", owner_id, err);
}

static bool open_store(struct run_process *run, struct error *err)
{
    struct store_kind rows[KINDS_MAX];
    size_t count = 0;
    for (; count < kind_count && count < KINDS_MAX; count++)
        rows[count] =
            (struct store_kind){.kind = kinds[count], .finalizer = finalizer_of(run, kinds[count])};
    const struct folder_options options = {
        .dir = option_text(run->invocation, "dir"),
        .state_dir = option_text(run->invocation, "state-dir"),
        .allow_empty = option_flag(run->invocation, "allow-empty"),
        .owner_id = option_text(run->invocation, "owner-id"),
        .kinds = rows,
        .kind_count = count,
    };
    run->store = folder_new(&run->process.world, &options, run->process.log, err);
    return run->store != NULL;
}

static bool open_engine(struct run_process *run, struct error *err)
{
    const struct engine_options options = {
        .world = &run->process.world,
        .log = run->process.log,
        .store = run->store,
        .controllers = run->controllers,
        .settings = run->settings,
        .controller_count = run->controller_count,
        .providers = providers,
        .provider_count = provider_count,
        .sync_period_ms = option_ms(run->invocation, "sync-period"),
    };
    run->engine = engine_new(&options);
    return engine_start(run->engine, err);
}

// ---- doors --------------------------------------------------------------------------------------

static size_t checks(void *context, struct store_check *out, size_t capacity)
{
    struct run_process *run = context;
    size_t count = engine_checks(run->engine, out, capacity);
    return count + webhook_checks(run->webhook, out + count, capacity - count);
}

static void metrics(void *context, struct buffer *out)
{
    struct run_process *run = context;
    engine_write_metrics(run->engine, out);
    webhook_write_metrics(run->webhook, out);
}

// A taken port is no reason not to run on a folder: one warning.
static struct probes *open_probes(struct run_process *run, const char *option, bool is_health)
{
    struct hostport at;
    struct error err;
    const char *address = option_text(run->invocation, option);
    if (!strcmp(address, "0"))
        return NULL;
    struct probes_options options = {.context = run};
    if (is_health)
        options.checks = checks;
    else
        options.metrics = metrics;
    struct probes *probes = NULL;
    if (hostport_parse(&at, text_of(address), 0, false, &err)) {
        options.address = at.host;
        options.port = at.port;
        probes = probes_new(run->process.world.loop, &options, &err);
    }
    if (!probes)
        log_line(run->process.log, LOG_WARN, "cannot serve; going on without",
                 LOG_TEXT("option", option), LOG_TEXT("error", err.text), LOG_END);
    return probes;
}

static bool open_webhook(struct run_process *run, struct error *err)
{
    bool is_wanted;
    if (!webhook_check_options(run->invocation, false, &is_wanted, err))
        return false;
    if (!is_wanted)
        return true;
    run->webhook = webhook_new(&(struct webhook_options){.process = &run->process,
                                                         .invocation = run->invocation,
                                                         .engine = run->engine},
                               err);
    return run->webhook != NULL;
}

// ---- life ---------------------------------------------------------------------------------------

static void stopped(void *context)
{
    struct run_process *run = context;
    store_flush(run->store);
    loop_stop(run->process.world.loop);
}

static void leave(void *context)
{
    struct run_process *run = context;
    log_line(run->process.log, LOG_INFO, "stopping", LOG_END);
    probes_leave(run->health);
    webhook_drain(run->webhook);
    engine_stop(run->engine, option_ms(run->invocation, "shutdown-timeout"), stopped, run);
}

static bool run_open(struct run_process *run, struct error *err)
{
    if (!open_store(run, err) || !open_engine(run, err) || !open_webhook(run, err))
        return false;
    run->health = open_probes(run, "health-probe-bind-address", true);
    run->metrics = open_probes(run, "metrics-bind-address", false);
    process_world_on_signal(&run->process, leave, run);
    log_line(run->process.log, LOG_INFO, "running",
             LOG_TEXT("dir", option_text(run->invocation, "dir")),
             LOG_TEXT("version", SIGNPOST_VERSION), LOG_END);
    return true;
}

static void run_close(struct run_process *run)
{
    probes_free(run->health);
    probes_free(run->metrics);
    webhook_free(run->webhook);
    engine_free(run->engine);
    store_free(run->store);
    process_world_done(&run->process);
}

static int run_run(struct invocation *invocation)
{
    struct run_process run = {.invocation = invocation};
    struct error err;
    if (!choose_controllers(&run, &err) || !check_owner(&run, &err))
        return command_fail(2, "%s", err.text);
    if (!process_world_init(&run.process, invocation, &err))
        return command_fail(1, "%s", err.text);
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
    .doc =
        "Watches a folder of manifests, works out which records ought to exist, and makes it so. "
        "Status is written beside the manifests (web.yaml.status). A change acts within a tenth "
        "of a second; a broken file keeps its last good records.",
    .examples = "signpost run --dir ./manifests\n",
    .groups = {{store_options, STORE_OPTION_COUNT},
               {run_rows, COUNT_OF(run_rows)},
               {webhook_options, WEBHOOK_OPTION_COUNT},
               {log_options, LOG_OPTION_COUNT}},
    .has_settings = true,
    .run = run_run,
};
