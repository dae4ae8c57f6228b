#include "commands/read_probe.h"

#include "commands/backend_exchange.h"
#include "commands/process.h"

struct guest {
    const struct read_probe *probe;
    const struct configured_backend *backend;
    struct process_world process;
    struct backend_exchange exchange;
    struct job job;
    struct error late;
};

// ---- what it said -------------------------------------------------------------------------------

static void report_line(void *context, const char *level, const char *text)
{
    const struct guest *guest = context;
    guest->probe->reported(guest->probe->context, level, guest->backend->title, text);
}

// NULL: it was looked at.
static const struct error *fault_of(struct guest *guest)
{
    const struct job *job = &guest->job;
    const struct error *why = job->unavailable ? job->unavailable : job->health.error;
    if (job->health.is_done && job->answer)
        return NULL;
    if (why && !guest->exchange.is_late)
        return why;
    error_set(&guest->late, FAULT_AGAIN, guest->backend->provider->unreachable,
              "did not answer all questions within --timeout");
    return &guest->late;
}

static void report_fault(struct guest *guest, const struct error *fault)
{
    if (guest->probe->seen)
        guest->probe->seen(guest->probe->context, guest->backend, NULL, fault);
    else
        report_line(guest, "error", fault->text);
}

static void report_job(struct guest *guest)
{
    const struct read_probe *probe = guest->probe;
    const struct error *fault = fault_of(guest);
    if (fault)
        report_fault(guest, fault);
    else if (probe->seen)
        probe->seen(probe->context, guest->backend, &guest->job, guest->job.unavailable);
    else
        guest->backend->provider->explain(&guest->job, probe->owner_id != NULL, report_line, guest);
}

// ---- one backend --------------------------------------------------------------------------------

static void done(void *context)
{
    const struct guest *guest = context;
    loop_stop(guest->process.world.loop);
}

static void look(struct guest *guest)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err;
    struct loop *loop = guest->process.world.loop;
    guest->exchange =
        (struct backend_exchange){.world = &guest->process.world, .done = done, .context = guest};
    guest->job = (struct job){.kind = JOB_HEALTH,
                              .arena = arena,
                              .trace = EXCHANGE_NO_TRACE,
                              .ledger = ledger_memory_view(guest->probe->memory, guest->backend)};
    if (!backend_exchange_open(&guest->exchange, guest->backend, true, guest->probe->owner_id,
                               &err)) {
        report_fault(guest, &err);
        return;
    }
    backend_exchange_begin(&guest->exchange, &guest->job, guest->probe->timeout_ms);
    loop_run(loop);
    report_job(guest);
    backend_exchange_leave(&guest->exchange, &guest->job);
    loop_run(loop);
    backend_exchange_close(&guest->exchange);
}

static bool probe_one(struct guest *guest, struct error *err)
{
    const char *fault = ledger_memory_fault(guest->probe->memory, guest->backend);
    if (!process_world_init(&guest->process, guest->probe->invocation, err))
        return false;
    if (guest->backend->is_unverified && guest->probe->reported)
        report_line(guest, "warn", "its certificate is not checked");
    if (fault && guest->probe->reported)
        report_line(guest, "error", fault);
    look(guest);
    process_world_done(&guest->process);
    return true;
}

bool read_probe(const struct read_probe *probe, struct error *err)
{
    for (size_t i = 0; i < probe->backends->count; i++) {
        struct guest guest = {.probe = probe, .backend = &probe->backends->items[i]};
        if (guest.backend->provider->explain && !probe_one(&guest, err))
            return false;
    }
    return true;
}
