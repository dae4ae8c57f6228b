#include <string.h>

#include "engine/state.h"

// Lanes of backends that take one talk at a time: questions, lists, changes and good-byes in turn.

static enum gathering_class class_of(enum record_type type)
{
    return type == RECORD_A || type == RECORD_AAAA ? GATHER_ADDRESSES : GATHER_OTHERS;
}

void serial_gather(struct lane *lane, enum record_type type)
{
    struct gathering *gathering = &lane->gathering[class_of(type)];
    gathering->last_ms = loop_mono_ms(lane->engine->loop);
    if (!gathering->count++)
        gathering->first_ms = gathering->last_ms;
}

void serial_ungather(struct lane *lane, enum record_type type)
{
    lane->gathering[class_of(type)].count--;
}

// Who could want something there has been heard.
static bool is_informed(const struct lane *lane)
{
    const struct engine *engine = lane->engine;
    if (lane->controller == NO_CONTROLLER || engine->is_first_pass_done)
        return true;
    return lane_openers_are_synced(lane) && !queue_depth(engine->queue);
}

bool serial_is_awaited(const struct lane *lane)
{
    return lane->seat && lane->provider->lists && lane->has_question && !lane->view.is_listed;
}

// What the store has waited already need not be waited again, once all that it told is decided.
static int64_t ready_ms(const struct lane *lane, enum gathering_class class, int64_t now_ms)
{
    static const enum record_type types[] = {RECORD_A, RECORD_CNAME};
    const struct gathering *gathering = &lane->gathering[class];
    if (lane->is_fresh || !lane->provider->ready_ms || lane->engine->dry_run)
        return now_ms;
    struct engine *engine = lane->engine;
    int64_t waited_ms = engine_is_decided(engine) ? engine->options.store->settled_ms : 0;
    return lane->provider->ready_ms(lane->seat->at, types[class], gathering->first_ms - waited_ms,
                                    gathering->last_ms - waited_ms);
}

static void wake_at(struct lane *lane, int64_t at_ms, int64_t now_ms)
{
    loop_timer_set(lane->engine->loop, &lane->timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

// Which classes have gathered long enough; the clock rings for the first of the others.
static bool find_ready(struct lane *lane, int64_t now_ms, bool ready[GATHER_CLASSES])
{
    int64_t next_ms = INT64_MAX;
    bool is_any = lane->first_wish != NULL;
    for (int class = 0; class < GATHER_CLASSES; class ++) {
        ready[class] = false;
        if (!lane->gathering[class].count)
            continue;
        int64_t at_ms = ready_ms(lane, (enum gathering_class) class, now_ms);
        ready[class] = at_ms <= now_ms;
        is_any |= ready[class];
        if (!ready[class] && at_ms < next_ms)
            next_ms = at_ms;
    }
    if (!is_any && next_ms != INT64_MAX)
        wake_at(lane, next_ms, now_ms);
    return is_any;
}

// One talk may change a name in several types, in each once.
static bool is_taken(const struct engine *engine, const struct batch *batch,
                     const struct claim *claim)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct wish *wish = batch->wishes[i];
        const struct claim *other = wish ? NULL : &engine->claims[batch->claims[i]];
        bool is_same =
            wish ? wish->content->type == claim->type && text_is(wish->content->domain, claim->name)
                 : other->type == claim->type && !strcmp(other->name, claim->name);
        if (is_same)
            return true;
    }
    return false;
}

static void take_claims(struct lane *lane, struct batch *batch, int line,
                        const bool ready[GATHER_CLASSES])
{
    struct engine *engine = lane->engine;
    uint32_t next;
    for (uint32_t id = lane->due[line].first; id != NO_ID && batch->count < batch->limit;
         id = next) {
        const struct claim *claim = &engine->claims[id];
        next = claim->pending->next_due;
        if (!ready[class_of(claim->type)] || !lane_can_send(lane, claim_sends(claim)) ||
            (busy_has(engine, claim->book, claim->name) && is_taken(engine, batch, claim)))
            continue;
        lane_unqueue(lane, id);
        batch_put(lane, batch, id, NULL, claim->book, claim->name);
    }
}

static void send_changes(struct lane *lane, int64_t now_ms)
{
    struct batch batch = {.count = 0};
    bool ready[GATHER_CLASSES];
    bool is_ready = find_ready(lane, now_ms, ready);
    lane->is_fresh = false;
    if (!is_ready)
        return;
    batch.limit = lane->provider->max_changes;
    batch_take_wishes(lane, &batch);
    take_claims(lane, &batch, 0, ready);
    take_claims(lane, &batch, 1, ready);
    if (batch.count)
        flight_begin(lane, &batch);
}

static bool say_good_bye(struct lane *lane)
{
    struct seat *seat = lane->leaving;
    if (!seat)
        return false;
    lane->leaving = NULL;
    flight_begin_leave(lane, seat);
    seat_unref(seat);
    return lane->flights != NULL;
}

static bool ask(struct lane *lane, int64_t now_ms)
{
    if (!lane->is_question_due || lane->view.fault.fault != FAULT_NONE)
        return false;
    lane->is_question_due = false;
    lane->asked_ms = now_ms;
    loop_timer_cancel(lane->engine->loop, &lane->question_timer);
    flight_begin_health(lane, NULL);
    return true;
}

// Told once; each talk that ends tells it again. Questions go on as ever, and one of them ends it.
static void hear_ledger(struct lane *lane)
{
    const struct error *trouble = ahead_trouble(lane);
    bool was_troubled = lane->is_ledger_troubled;
    lane->is_ledger_troubled = trouble != NULL;
    if (trouble && !was_troubled)
        lane_hear_trouble(lane, trouble, false);
    else if (!trouble && was_troubled)
        lane->is_question_due = lane->has_question;
}

static bool has_ledger(struct lane *lane)
{
    hear_ledger(lane);
    return !lane->ledger || ledger_keeper_is_read(lane->ledger);
}

void serial_pump(struct lane *lane)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    if (lane->flights || !engine_may_write(lane->engine))
        return;
    if (lane->blocked_until_ms > now_ms) {
        wake_at(lane, lane->blocked_until_ms, now_ms);
        return;
    }
    if (say_good_bye(lane) || !lane->seat || !is_informed(lane) || !has_ledger(lane) ||
        ask(lane, now_ms))
        return;
    if (!lane->provider->lists || lane->view.is_listed)
        send_changes(lane, now_ms);
}
