#include "providers/pihole/talk.h"

enum {
    KNOCK_MS = 50,
    UNSEEN_MS = 5000, // so long after it was asked for, a restart that nobody saw is over
    DOUBT_MS = 3000,  // and one that was not to be has not come
    UNTOLD_MS = 500,  // and one that was asked for before we came has taken the API away
    AWAY_MS = 5000,   // an API that stays away longer is waited for by the next talk
};

// The restart that was not to be: that Pi-hole does not know how to go without.
static void note_uncalled(struct talk *talk)
{
    struct pihole_seat *seat = talk->seat;
    seat->restart.deferral = DEFERRAL_IGNORED;
    seat->restart.is_owed = false;
    seat->restarted_ms = seat->restart.since_ms;
    seat->count.restarts++;
}

static void end(struct seat_restart *restart)
{
    if (restart->is_doubtful && restart->phase == RESTART_DUE)
        restart->deferral = DEFERRAL_KNOWN;
    restart->phase = RESTART_NONE;
    restart->is_doubtful = false;
}

void restart_hear(struct talk *talk)
{
    struct seat_restart *restart = &talk->seat->restart;
    bool is_over = restart->phase == RESTART_GONE || talk->moment->mono_ms >= restart->unseen_by_ms;
    if (restart->phase == RESTART_NONE || talk->reply.kind == REPLY_HUNG)
        return;
    if (talk->reply.kind != REPLY_DOWN) {
        if (is_over)
            end(restart);
        return;
    }
    if (restart->is_doubtful && restart->phase == RESTART_DUE)
        note_uncalled(talk);
    restart->phase = RESTART_GONE;
}

static void expect(struct talk *talk, int64_t at_most_ms)
{
    struct seat_restart *restart = &talk->seat->restart;
    restart->phase = RESTART_DUE;
    restart->since_ms = talk->moment->mono_ms;
    restart->unseen_by_ms = restart->since_ms + at_most_ms;
}

// Who had the session before us, or another process, may just have asked for one.
void restart_suspect(struct talk *talk)
{
    if (talk->seat->restart.phase == RESTART_NONE)
        expect(talk, UNTOLD_MS);
}

void restart_note(struct talk *talk, bool is_deferred)
{
    struct pihole_seat *seat = talk->seat;
    struct seat_restart *restart = &seat->restart;
    restart->is_owed = is_deferred || (restart->is_owed && talk->reply.kind != REPLY_OK);
    if (is_deferred && restart->deferral == DEFERRAL_KNOWN)
        return;
    expect(talk, is_deferred ? DOUBT_MS : UNSEEN_MS);
    restart->is_doubtful = is_deferred;
    if (is_deferred)
        return;
    seat->restarted_ms = talk->moment->mono_ms;
    seat->count.restarts++;
}

void restart_await(struct talk *talk)
{
    talk_pause(talk, KNOCK_MS, STEP_KNOCK);
}

void restart_hear_knock(struct talk *talk)
{
    const struct seat_restart *restart = &talk->seat->restart;
    enum reply_kind kind = talk->reply.kind;
    bool is_away = talk->moment->mono_ms - restart->since_ms >= AWAY_MS;
    if (kind == REPLY_HUNG || kind == REPLY_UNTRUSTED || (kind == REPLY_DOWN && is_away))
        talk_trouble_of_reply(talk);
    else if (restart->phase != RESTART_NONE)
        restart_await(talk);
    else
        talk_go_on(talk);
}

bool restart_pay(struct talk *talk)
{
    const struct seat_restart *restart = &talk->seat->restart;
    if (!restart->is_owed || talk->job->is_trial)
        return false;
    if (restart->phase == RESTART_NONE)
        talk->step = STEP_RESTART;
    else
        restart_await(talk);
    return true;
}

// It may have been asked for, too, when only the answer was lost; then once more.
void restart_hear_paid(struct talk *talk)
{
    struct seat_restart *restart = &talk->seat->restart;
    enum reply_kind kind = talk->reply.kind;
    bool is_lost = kind == REPLY_DOWN || kind == REPLY_HUNG;
    if (kind == REPLY_OK || (is_lost && !talk->http->is_unsent))
        restart_note(talk, false);
    if (kind == REPLY_OK && talk->job->kind == JOB_HEALTH) {
        health_finish(talk);
        return;
    }
    if (kind == REPLY_OK) {
        changes_finish(talk);
        return;
    }
    restart->is_owed = true;
    if (kind != REPLY_APP_SUDO) {
        talk_trouble_of_reply(talk);
        return;
    }
    restart->deferral = DEFERRAL_IGNORED;
    talk_trouble(talk, TROUBLE_BLOCKED,
                 "Pi-hole at %s does not let us restart its resolver, and aliases wait for that: "
                 "set webserver.api.allow_destructive to true there",
                 talk->seat->base);
}
