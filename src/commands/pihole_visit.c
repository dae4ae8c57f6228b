#include "commands/pihole_visit.h"

#include <string.h>

#include "base/must.h"
#include "commands/print.h"
#include "commands/process.h"
#include "providers/provider.h"

enum { LEFT_SHOWN = 20, LEAVE_MS = 500 };

#define NO_TRACE "00000000000000000000000000000001"
#define NOBODY "?" // no owner id

struct guest {
    const struct pihole_visit *visit;
    const struct pihole_target *target;
    const struct provider *provider;
    struct process_world process;
    void *seat;
    void *talk;
    struct http_call *call;
    struct loop_timer timer;    // a pause of the talk
    struct loop_timer deadline; // of all of it
    bool is_late;
};

static void tell(const struct guest *guest, const char *level, const char *text)
{
    AUTO_BUFFER what = {0};
    buffer_printf(&what, "Pi-hole %s", guest->target->name);
    guest->visit->told(guest->visit->context, level, what.at, text);
}

// ---- one talk -----------------------------------------------------------------------------------

static void step(struct guest *guest);

static struct moment moment_of(const struct guest *guest)
{
    const struct world *world = &guest->process.world;
    return (struct moment){loop_unix_ms(world->loop), loop_mono_ms(world->loop), world->random};
}

static void hear(struct guest *guest, const struct heard *heard)
{
    struct moment moment = moment_of(guest);
    guest->call = NULL;
    guest->provider->hear(guest->talk, &moment, heard);
    step(guest);
}

static void http_came(void *context, const struct http_reply *reply)
{
    hear(context, &(struct heard){.kind = ASK_HTTP, .http = reply});
}

static void pause_over(void *context)
{
    hear(context, &(struct heard){.kind = ASK_WAIT});
}

static void step(struct guest *guest)
{
    struct world *world = &guest->process.world;
    struct moment moment = moment_of(guest);
    struct ask ask = {0};
    enum ask_kind kind = guest->provider->ask(guest->talk, &moment, &ask);
    must(kind != ASK_DNS);
    if (kind == ASK_HTTP)
        guest->call = http_send(world->http, &ask.http, http_came, guest);
    else if (kind == ASK_WAIT)
        loop_timer_set(world->loop, &guest->timer, ask.wait_ms);
    else
        loop_stop(world->loop);
}

static void time_is_over(void *context)
{
    struct guest *guest = context;
    guest->is_late = true;
    loop_stop(guest->process.world.loop);
}

static void hold(struct guest *guest, struct job *job, int64_t timeout_ms)
{
    struct world *world = &guest->process.world;
    guest->timer = (struct loop_timer){.call = pause_over, .context = guest};
    guest->deadline = (struct loop_timer){.call = time_is_over, .context = guest};
    guest->is_late = false;
    guest->talk = guest->provider->begin(guest->seat, job);
    loop_timer_set(world->loop, &guest->deadline, timeout_ms);
    step(guest);
    loop_run(world->loop);
    loop_timer_cancel(world->loop, &guest->deadline);
    loop_timer_cancel(world->loop, &guest->timer);
    if (guest->call)
        http_cancel(world->http, guest->call);
    guest->call = NULL;
    guest->provider->end(guest->talk);
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

static void write_counts(struct buffer *out, const struct guest *guest, const struct value *answer)
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
    if (guest->visit->owner_id)
        buffer_printf(out, ", %lld ours", (long long)value_int_at(answer, "visit.ours", 0));
    buffer_add_text(out, ", ");
    print_count(out, (size_t)value_int_at(answer, "lines.cnameRecords", 0), "line");
    buffer_add_text(out, " of cnameRecords");
}

static void tell_answer(const struct guest *guest, const struct job *job)
{
    AUTO_BUFFER text = {0};
    const struct value *answer = job->answer;
    write_counts(&text, guest, answer);
    tell(guest, "ok", text.at);
    if (job->trouble)
        tell(guest, "error", job->trouble->text);
    else
        tell_forced(guest, answer);
    if (value_bool_at(answer, "hostsRestart", false))
        tell(guest, "warn",
             "each change of hosts restarts its resolver: set dns.hostsLocal to false there");
    tell_left(guest, value_at(answer, "visit.left", NULL));
}

static void tell_job(const struct guest *guest, const struct job *job)
{
    const struct error *why = job->trouble ? job->trouble : job->health.error;
    if (job->health.is_done && job->answer)
        tell_answer(guest, job);
    else if (why && !guest->is_late)
        tell(guest, "error", why->text);
    else
        tell(guest, "error", "did not answer all questions within --timeout");
}

// ---- one Pi-hole --------------------------------------------------------------------------------

static void look(struct guest *guest)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct job job = {.kind = JOB_HEALTH, .arena = arena, .trace = NO_TRACE};
    struct job leave = {.kind = JOB_LEAVE, .arena = arena, .trace = NO_TRACE};
    hold(guest, &job, guest->visit->timeout_ms);
    tell_job(guest, &job);
    hold(guest, &leave, LEAVE_MS);
}

static bool open_seat(struct guest *guest, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pihole_targets targets = *guest->visit->targets;
    targets.is_visit = true;
    const struct value *config = pihole_target_config(arena, &targets, guest->target);
    const struct seat_setup setup = {
        .config = config,
        .secret = guest->target->secret,
        .owner_id = guest->visit->owner_id ? guest->visit->owner_id : NOBODY,
    };
    return guest->provider->open(&setup, &guest->seat, err);
}

static bool visit_one(struct guest *guest, struct error *err)
{
    struct error why = {0};
    if (!process_world_init(&guest->process, guest->visit->invocation, err))
        return false;
    if (guest->target->skips_verify)
        tell(guest, "warn", "its certificate is not checked");
    if (open_seat(guest, &why)) {
        look(guest);
        guest->provider->close(guest->seat);
    } else {
        tell(guest, "error", why.text);
    }
    process_world_done(&guest->process);
    return true;
}

bool pihole_visit(const struct pihole_visit *visit, struct error *err)
{
    for (size_t i = 0; i < visit->targets->count; i++) {
        struct guest guest = {.visit = visit,
                              .target = &visit->targets->items[i],
                              .provider = provider_find("pihole")};
        must(guest.provider);
        if (!visit_one(&guest, err))
            return false;
    }
    return true;
}
