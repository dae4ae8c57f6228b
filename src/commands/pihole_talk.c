#include "commands/pihole_talk.h"

#include "base/must.h"

enum { LEAVE_MS = 500, PATIENCE_MS = 3000 };

#define NOBODY "?" // no owner id

static void step(struct pihole_talk *talk);
static bool may_pass(const struct pihole_talk *talk);
static void try_again(struct pihole_talk *talk);

static struct moment moment_of(const struct pihole_talk *talk)
{
    struct loop *loop = talk->world->loop;
    return (struct moment){loop_unix_ms(loop), loop_mono_ms(loop), talk->world->random};
}

static void end(struct pihole_talk *talk)
{
    loop_timer_cancel(talk->world->loop, &talk->deadline);
    loop_timer_cancel(talk->world->loop, &talk->pause);
    if (talk->call)
        http_cancel(talk->world->http, talk->call);
    talk->call = NULL;
    if (talk->talk)
        talk->provider->end(talk->talk);
    talk->talk = NULL;
}

static void finish(struct pihole_talk *talk, bool is_late)
{
    end(talk);
    talk->is_late = is_late;
    talk->done(talk->context);
}

static void hear(struct pihole_talk *talk, const struct heard *heard)
{
    struct moment moment = moment_of(talk);
    talk->call = NULL;
    talk->provider->hear(talk->talk, &moment, heard);
    step(talk);
}

static void http_came(void *context, const struct http_reply *reply)
{
    hear(context, &(struct heard){.kind = ASK_HTTP, .http = reply});
}

static void pause_over(void *context)
{
    hear(context, &(struct heard){.kind = ASK_WAIT});
}

static void time_is_over(void *context)
{
    finish(context, true);
}

static void step(struct pihole_talk *talk)
{
    struct moment moment = moment_of(talk);
    struct ask ask = {0};
    enum ask_kind kind = talk->provider->ask(talk->talk, &moment, &ask);
    must(kind != ASK_DNS);
    if (kind == ASK_HTTP)
        talk->call = http_send(talk->world->http, &ask.http, http_came, talk);
    else if (kind == ASK_WAIT)
        loop_timer_set(talk->world->loop, &talk->pause, ask.wait_ms);
    else if (may_pass(talk))
        try_again(talk);
    else
        finish(talk, false);
}

static void begin(void *context)
{
    struct pihole_talk *talk = context;
    talk->talk = talk->provider->begin(talk->seat, talk->job);
    talk->pause.call = pause_over;
    step(talk);
}

static void begin_in(struct pihole_talk *talk, int64_t delay_ms)
{
    talk->pause = (struct loop_timer){.call = begin, .context = talk, .handle = talk->pause.handle};
    loop_timer_set(talk->world->loop, &talk->pause, delay_ms);
}

// Too early to say what is wrong: as a rule its resolver is being restarted.
static bool may_pass(const struct pihole_talk *talk)
{
    const struct error *trouble = talk->job->trouble;
    return trouble && !*trouble->reason && talk->job->kind != JOB_LEAVE &&
           loop_mono_ms(talk->world->loop) - talk->began_ms + trouble->retry_ms < PATIENCE_MS;
}

static void try_again(struct pihole_talk *talk)
{
    struct job *job = talk->job;
    int64_t retry_ms = job->trouble->retry_ms;
    talk->provider->end(talk->talk);
    talk->talk = NULL;
    job->trouble = NULL;
    for (size_t i = 0; i < job->change_count; i++)
        job->changes[i].outcome = (struct outcome){0};
    begin_in(talk, retry_ms);
}

void pihole_talk_begin(struct pihole_talk *talk, struct job *job, int64_t timeout_ms)
{
    must(!talk->talk);
    talk->job = job;
    talk->began_ms = loop_mono_ms(talk->world->loop);
    talk->deadline = (struct loop_timer){.call = time_is_over, .context = talk};
    loop_timer_set(talk->world->loop, &talk->deadline, timeout_ms);
    // What is over at once would call back from within.
    begin_in(talk, 0);
}

void pihole_talk_leave(struct pihole_talk *talk, struct job *job)
{
    *job = (struct job){.kind = JOB_LEAVE, .arena = job->arena, .trace = PIHOLE_NO_TRACE};
    pihole_talk_begin(talk, job, LEAVE_MS);
}

bool pihole_talk_open(struct pihole_talk *talk, const struct pihole_targets *targets,
                      const struct pihole_target *target, const char *owner_id, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct seat_setup setup = {
        .config = pihole_target_config(arena, targets, target),
        .secret = target->secret,
        .owner_id = owner_id ? owner_id : NOBODY,
    };
    talk->provider = provider_find("pihole");
    must(talk->provider);
    return talk->provider->open(&setup, &talk->seat, err);
}

void pihole_talk_close(struct pihole_talk *talk)
{
    if (!talk->world)
        return;
    end(talk);
    if (talk->seat)
        talk->provider->close(talk->seat);
    talk->seat = NULL;
}
