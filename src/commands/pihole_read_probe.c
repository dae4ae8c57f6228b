#include "commands/pihole_read_probe.h"

#include "commands/pihole_exchange.h"
#include "commands/print.h"
#include "commands/process.h"

enum { LEFT_SHOWN = 20 };

struct guest {
    const struct pihole_read_probe *read_probe;
    const struct pihole_target *target;
    struct process_world process;
    struct pihole_exchange exchange;
    struct job job;
    struct error late;
};

static void tell(const struct guest *guest, const char *level, const char *text)
{
    AUTO_BUFFER what = {0};
    buffer_printf(&what, "Pi-hole %s", guest->target->name);
    guest->read_probe->told(guest->read_probe->context, level, what.at, text);
}

// ---- what it said -------------------------------------------------------------------------------

static void tell_left(const struct guest *guest, const struct value *left)
{
    size_t count = 0;
    value_each (line, left) {
        AUTO_BUFFER text = {0};
        if (count++ == LEFT_SHOWN)
            break;
        buffer_printf(&text, "a line of another owner stays there: %.*s", TEXT_ARGS(line->text));
        tell(guest, "warn", text.at);
    }
    if (value_count(left) > LEFT_SHOWN) {
        AUTO_BUFFER text = {0};
        buffer_printf(&text, "%zu more lines of other owners stay there",
                      value_count(left) - LEFT_SHOWN);
        tell(guest, "warn", text.at);
    }
}

static void tell_forced(const struct guest *guest, const struct value *answer)
{
    static const char *const lists[] = {"hosts", "cnameRecords"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        AUTO_BUFFER path = {0};
        AUTO_BUFFER text = {0};
        buffer_printf(&path, "visit.forced.%s", lists[i]);
        if (!value_bool_at(answer, path.at, false))
            continue;
        buffer_printf(&text, "dns.%s is set by its environment: take FTLCONF_dns_%s away there",
                      lists[i], lists[i]);
        tell(guest, "error", text.at);
    }
}

void pihole_read_probe_describe(struct buffer *out, const struct pihole_read_probe *read_probe,
                                const struct pihole_target *target, const struct value *answer)
{
    int64_t seats = value_int_at(answer, "seatsInUse", -1);
    buffer_printf(out, "it lets us in, API %.*s", TEXT_ARGS(value_text_at(answer, "dialect")));
    if (seats >= 0) {
        buffer_add_text(out, ", ");
        print_count(out, (size_t)seats, "seat");
        buffer_add_text(out, " in use");
    }
    buffer_add_text(out, "; ");
    print_count(out, (size_t)value_int_at(answer, "lines.hosts", 0), "line");
    buffer_add_text(out, " of hosts");
    if (read_probe->owner_id)
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.ours", 0));
    buffer_add_text(out, ", ");
    print_count(out, (size_t)value_int_at(answer, "lines.cnameRecords", 0), "line");
    buffer_add_text(out, " of cnameRecords");
    if (read_probe->owner_id && pihole_memory_view(read_probe->memory, target))
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.aliases", 0));
}

static void tell_answer(const struct guest *guest, const struct job *job)
{
    AUTO_BUFFER text = {0};
    const struct value *answer = job->answer;
    pihole_read_probe_describe(&text, guest->read_probe, guest->target, answer);
    tell(guest, "ok", text.at);
    if (job->trouble)
        tell(guest, "error", job->trouble->text);
    else
        tell_forced(guest, answer);
    if (value_bool_at(answer, "hostsRestart", false))
        tell(guest, "warn",
             "each change of hosts restarts its resolver: set dns.hostsLocal to false there");
    if (value_bool_at(answer, "visit.believesAnyKey", false))
        tell(guest, "warn",
             "its TLS key is not known yet: the first that `signpost run` sees is believed");
    tell_left(guest, value_at(answer, "visit.left", NULL));
}

// NULL: it was looked at.
static const struct error *fault_of(struct guest *guest)
{
    const struct job *job = &guest->job;
    const struct error *why = job->trouble ? job->trouble : job->health.error;
    if (job->health.is_done && job->answer)
        return NULL;
    if (why && !guest->exchange.is_late)
        return why;
    error_set(&guest->late, FAULT_AGAIN, "PiholeUnreachable",
              "did not answer all questions within --timeout");
    return &guest->late;
}

static void tell_fault(const struct guest *guest, const struct error *fault)
{
    if (guest->read_probe->seen)
        guest->read_probe->seen(guest->read_probe->context, guest->target, NULL, fault);
    else
        tell(guest, "error", fault->text);
}

static void tell_job(struct guest *guest)
{
    const struct error *fault = fault_of(guest);
    if (fault)
        tell_fault(guest, fault);
    else if (guest->read_probe->seen)
        guest->read_probe->seen(guest->read_probe->context, guest->target, guest->job.answer,
                                guest->job.trouble);
    else
        tell_answer(guest, &guest->job);
}

// ---- one Pi-hole --------------------------------------------------------------------------------

static void done(void *context)
{
    const struct guest *guest = context;
    loop_stop(guest->process.world.loop);
}

static void look(struct guest *guest, const struct pihole_targets *targets)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error err;
    struct loop *loop = guest->process.world.loop;
    guest->exchange =
        (struct pihole_exchange){.world = &guest->process.world, .done = done, .context = guest};
    guest->job =
        (struct job){.kind = JOB_HEALTH,
                     .arena = arena,
                     .trace = PIHOLE_NO_TRACE,
                     .ledger = pihole_memory_view(guest->read_probe->memory, guest->target)};
    if (!pihole_exchange_open(&guest->exchange, targets, guest->target, guest->read_probe->owner_id,
                              &err)) {
        tell_fault(guest, &err);
        return;
    }
    pihole_exchange_begin(&guest->exchange, &guest->job, guest->read_probe->timeout_ms);
    loop_run(loop);
    tell_job(guest);
    pihole_exchange_leave(&guest->exchange, &guest->job);
    loop_run(loop);
    pihole_exchange_close(&guest->exchange);
}

static bool read_probe_one(struct guest *guest, struct error *err)
{
    struct pihole_targets targets = *guest->read_probe->targets;
    targets.is_read_probe = true;
    if (!process_world_init(&guest->process, guest->read_probe->invocation, err))
        return false;
    if (guest->target->skips_verify && guest->read_probe->told)
        tell(guest, "warn", "its certificate is not checked");
    if (pihole_memory_fault(guest->read_probe->memory, guest->target) && guest->read_probe->told)
        tell(guest, "error", pihole_memory_fault(guest->read_probe->memory, guest->target));
    look(guest, &targets);
    process_world_done(&guest->process);
    return true;
}

bool pihole_read_probe(const struct pihole_read_probe *read_probe, struct error *err)
{
    for (size_t i = 0; i < read_probe->targets->count; i++) {
        struct guest guest = {.read_probe = read_probe, .target = &read_probe->targets->items[i]};
        if (!read_probe_one(&guest, err))
            return false;
    }
    return true;
}
