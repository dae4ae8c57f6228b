#include "commands/pihole_visit.h"

#include "commands/pihole_talk.h"
#include "commands/print.h"
#include "commands/process.h"

enum { LEFT_SHOWN = 20 };

struct guest {
    const struct pihole_visit *visit;
    const struct pihole_target *target;
    struct process_world process;
    struct pihole_talk talk;
    struct job job;
    struct error late;
};

static void tell(const struct guest *guest, const char *level, const char *text)
{
    AUTO_BUFFER what = {0};
    buffer_printf(&what, "Pi-hole %s", guest->target->name);
    guest->visit->told(guest->visit->context, level, what.at, text);
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

void pihole_visit_describe(struct buffer *out, const struct pihole_visit *visit,
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
    if (visit->owner_id)
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.ours", 0));
    buffer_add_text(out, ", ");
    print_count(out, (size_t)value_int_at(answer, "lines.cnameRecords", 0), "line");
    buffer_add_text(out, " of cnameRecords");
    if (visit->owner_id && pihole_memory_view(visit->memory, target))
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.aliases", 0));
}

static void tell_answer(const struct guest *guest, const struct job *job)
{
    AUTO_BUFFER text = {0};
    const struct value *answer = job->answer;
    pihole_visit_describe(&text, guest->visit, guest->target, answer);
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
    if (why && !guest->talk.is_late)
        return why;
    error_set(&guest->late, FAULT_AGAIN, "PiholeUnreachable",
              "did not answer all questions within --timeout");
    return &guest->late;
}

static void tell_fault(const struct guest *guest, const struct error *fault)
{
    if (guest->visit->seen)
        guest->visit->seen(guest->visit->context, guest->target, NULL, fault);
    else
        tell(guest, "error", fault->text);
}

static void tell_job(struct guest *guest)
{
    const struct error *fault = fault_of(guest);
    if (fault)
        tell_fault(guest, fault);
    else if (guest->visit->seen)
        guest->visit->seen(guest->visit->context, guest->target, guest->job.answer,
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
    guest->talk =
        (struct pihole_talk){.world = &guest->process.world, .done = done, .context = guest};
    guest->job = (struct job){.kind = JOB_HEALTH,
                              .arena = arena,
                              .trace = PIHOLE_NO_TRACE,
                              .ledger = pihole_memory_view(guest->visit->memory, guest->target)};
    if (!pihole_talk_open(&guest->talk, targets, guest->target, guest->visit->owner_id, &err)) {
        tell_fault(guest, &err);
        return;
    }
    pihole_talk_begin(&guest->talk, &guest->job, guest->visit->timeout_ms);
    loop_run(loop);
    tell_job(guest);
    pihole_talk_leave(&guest->talk, &guest->job);
    loop_run(loop);
    pihole_talk_close(&guest->talk);
}

static bool visit_one(struct guest *guest, struct error *err)
{
    struct pihole_targets targets = *guest->visit->targets;
    targets.is_visit = true;
    if (!process_world_init(&guest->process, guest->visit->invocation, err))
        return false;
    if (guest->target->skips_verify && guest->visit->told)
        tell(guest, "warn", "its certificate is not checked");
    if (pihole_memory_fault(guest->visit->memory, guest->target) && guest->visit->told)
        tell(guest, "error", pihole_memory_fault(guest->visit->memory, guest->target));
    look(guest, &targets);
    process_world_done(&guest->process);
    return true;
}

bool pihole_visit(const struct pihole_visit *visit, struct error *err)
{
    for (size_t i = 0; i < visit->targets->count; i++) {
        struct guest guest = {.visit = visit, .target = &visit->targets->items[i]};
        if (!visit_one(&guest, err))
            return false;
    }
    return true;
}
