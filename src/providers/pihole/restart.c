#include "providers/pihole/exchange.h"

enum {
    KNOCK_MS = 50,
    UNSEEN_MS = 5000, // so long after it was asked for, a restart that nobody saw is over
    DOUBT_MS = 3000,  // and one that was not to be has not come
    UNTOLD_MS = 500,  // and one that was asked for before we came has taken the API away
    AWAY_MS = 5000,   // an API that stays away longer is waited for by the next exchange
};

// The restart that was not to be: that Pi-hole does not know how to go without.
static void note_uncalled(struct exchange *exchange)
{
    struct pihole_instance *instance = exchange->instance;
    instance->restart.deferral = DEFERRAL_IGNORED;
    instance->restart.is_owed = false;
    instance->restarted_ms = instance->restart.since_ms;
    instance->count.restarts++;
}

static void end(struct instance_restart *restart)
{
    if (restart->is_doubtful && restart->phase == RESTART_DUE)
        restart->deferral = DEFERRAL_KNOWN;
    restart->phase = RESTART_NONE;
    restart->is_doubtful = false;
}

void restart_handle_reply(struct exchange *exchange)
{
    struct instance_restart *restart = &exchange->instance->restart;
    bool is_over =
        restart->phase == RESTART_GONE || exchange->moment->mono_ms >= restart->unseen_by_ms;
    if (restart->phase == RESTART_NONE || exchange->reply.kind == REPLY_HUNG)
        return;
    if (exchange->reply.kind != REPLY_DOWN) {
        if (is_over)
            end(restart);
        return;
    }
    if (restart->is_doubtful && restart->phase == RESTART_DUE)
        note_uncalled(exchange);
    restart->phase = RESTART_GONE;
}

static void expect(struct exchange *exchange, int64_t at_most_ms)
{
    struct instance_restart *restart = &exchange->instance->restart;
    restart->phase = RESTART_DUE;
    restart->since_ms = exchange->moment->mono_ms;
    restart->unseen_by_ms = restart->since_ms + at_most_ms;
}

// Who had the session before us, or another process, may just have asked for one.
void restart_suspect(struct exchange *exchange)
{
    if (exchange->instance->restart.phase == RESTART_NONE)
        expect(exchange, UNTOLD_MS);
}

void restart_note(struct exchange *exchange, bool is_deferred)
{
    struct pihole_instance *instance = exchange->instance;
    struct instance_restart *restart = &instance->restart;
    restart->is_owed = is_deferred || (restart->is_owed && exchange->reply.kind != REPLY_OK);
    if (is_deferred && restart->deferral == DEFERRAL_KNOWN)
        return;
    expect(exchange, is_deferred ? DOUBT_MS : UNSEEN_MS);
    restart->is_doubtful = is_deferred;
    if (is_deferred)
        return;
    instance->restarted_ms = exchange->moment->mono_ms;
    instance->count.restarts++;
}

void restart_await(struct exchange *exchange)
{
    exchange_pause(exchange, KNOCK_MS, STEP_KNOCK);
}

void restart_handle_knock(struct exchange *exchange)
{
    const struct instance_restart *restart = &exchange->instance->restart;
    enum reply_kind kind = exchange->reply.kind;
    bool is_away = exchange->moment->mono_ms - restart->since_ms >= AWAY_MS;
    if (kind == REPLY_HUNG || kind == REPLY_UNTRUSTED || (kind == REPLY_DOWN && is_away))
        exchange_trouble_of_reply(exchange);
    else if (restart->phase != RESTART_NONE)
        restart_await(exchange);
    else
        exchange_go_on(exchange);
}

bool restart_pay(struct exchange *exchange)
{
    const struct instance_restart *restart = &exchange->instance->restart;
    if (!restart->is_owed || exchange->job->is_dry_run)
        return false;
    if (restart->phase == RESTART_NONE)
        exchange->step = STEP_RESTART;
    else
        restart_await(exchange);
    return true;
}

// It may have been asked for, too, when only the answer was lost; then once more.
void restart_handle_paid(struct exchange *exchange)
{
    struct instance_restart *restart = &exchange->instance->restart;
    enum reply_kind kind = exchange->reply.kind;
    bool is_lost = kind == REPLY_DOWN || kind == REPLY_HUNG;
    if (kind == REPLY_OK || (is_lost && !exchange->http->is_unsent))
        restart_note(exchange, false);
    if (kind == REPLY_OK && exchange->job->kind == JOB_HEALTH) {
        health_finish(exchange);
        return;
    }
    if (kind == REPLY_OK) {
        changes_finish(exchange);
        return;
    }
    restart->is_owed = true;
    if (kind != REPLY_APP_SUDO) {
        exchange_trouble_of_reply(exchange);
        return;
    }
    restart->deferral = DEFERRAL_IGNORED;
    exchange_trouble(
        exchange, TROUBLE_BLOCKED,
        "Pi-hole at %s does not let us restart its resolver, and aliases wait for that: "
        "set webserver.api.allow_destructive to true there",
        exchange->instance->base);
}
