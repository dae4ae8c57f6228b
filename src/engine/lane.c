#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/must.h"

enum { PREVIOUS_SECRET_MS = 10 * 60 * 1000, ASK_ANEW_MS = 1000 };

struct lane *lane_find(const struct engine *engine, const char *name)
{
    for (struct lane *lane = engine->lanes; lane; lane = lane->next)
        if (!strcmp(lane->name, name))
            return lane;
    return NULL;
}

// ---- the line of due claims ---------------------------------------------------------------------

static struct pending *pending_of(const struct lane *lane, uint32_t claim)
{
    return lane->engine->claims[claim].pending;
}

void lane_queue(struct lane *lane, uint32_t claim)
{
    struct pending *pending = pending_of(lane, claim);
    struct line_of_claims *line = &lane->due[pending->is_background];
    must(!pending->is_due);
    pending->is_due = true;
    pending->next_due = NO_ID;
    pending->previous_due = line->last;
    if (line->last == NO_ID)
        line->first = claim;
    else
        pending_of(lane, line->last)->next_due = claim;
    line->last = claim;
    lane->due_count++;
    serial_gather(lane, lane->engine->claims[claim].type);
    engine_schedule(lane->engine);
}

void lane_unqueue(struct lane *lane, uint32_t claim)
{
    struct pending *pending = pending_of(lane, claim);
    struct line_of_claims *line = &lane->due[pending->is_background];
    must(pending->is_due);
    if (pending->previous_due == NO_ID)
        line->first = pending->next_due;
    else
        pending_of(lane, pending->previous_due)->next_due = pending->next_due;
    if (pending->next_due == NO_ID)
        line->last = pending->previous_due;
    else
        pending_of(lane, pending->next_due)->previous_due = pending->previous_due;
    pending->is_due = false;
    lane->due_count--;
    serial_ungather(lane, lane->engine->claims[claim].type);
}

bool lane_can_send(const struct lane *lane, enum claim_intent intent)
{
    if (!lane->seat)
        return false;
    return lane->view.fault.fault == FAULT_NONE || intent == CLAIM_REMOVE;
}

bool lane_has_sendable(const struct lane *lane)
{
    for (int line = 0; line < 2; line++)
        for (uint32_t id = lane->due[line].first; id != NO_ID; id = pending_of(lane, id)->next_due)
            if (lane_can_send(lane, claim_sends(&lane->engine->claims[id])))
                return true;
    return lane->seat && lane->first_wish;
}

bool lane_is_unread(const struct lane *lane)
{
    return lane_has_sendable(lane) || serial_is_awaited(lane);
}

bool lane_rests_in_trouble(const struct lane *lane)
{
    return lane->view.trouble.fault != FAULT_NONE &&
           lane->blocked_until_ms > loop_mono_ms(lane->engine->loop);
}

// ---- pumping ------------------------------------------------------------------------------------

// A name is taken for the batch at once, so that neither this batch nor another talk has it twice.
void batch_put(struct lane *lane, struct batch *batch, uint32_t claim, struct wish *wish,
               uint16_t book, const char *name)
{
    batch->claims[batch->count] = claim;
    batch->wishes[batch->count] = wish;
    bool is_busy = busy_has(lane->engine, book, name);
    batch->busy[batch->count++] = is_busy ? NO_ID : busy_add(lane->engine, book, name);
}

static void batch_take_claims(struct lane *lane, struct batch *batch, bool is_background)
{
    uint32_t next;
    for (uint32_t id = lane->due[is_background].first; id != NO_ID && batch->count < batch->limit;
         id = next) {
        const struct claim *claim = &lane->engine->claims[id];
        next = claim->pending->next_due;
        if (!lane_can_send(lane, claim_sends(claim)) ||
            busy_has(lane->engine, claim->book, claim->name))
            continue;
        lane_unqueue(lane, id);
        batch_put(lane, batch, id, NULL, claim->book, claim->name);
    }
}

void batch_take_wishes(struct lane *lane, struct batch *batch)
{
    char name[600];
    uint16_t book = book_get(lane->engine, lane->book);
    struct wish **link = &lane->first_wish;
    struct wish *last = NULL;
    while (*link && batch->count < batch->limit) {
        struct wish *wish = *link;
        if (wish_is_void(wish)) {
            wish_unlink(wish);
            wish_free(wish);
            continue;
        }
        wish_write_name(wish, name, sizeof name);
        if (!lane->seat->provider->is_serial && busy_has(lane->engine, book, name)) {
            last = wish;
            link = &wish->next;
            continue;
        }
        *link = wish->next;
        wish->next = NULL;
        lane->wish_count--;
        if (lane->last_wish == wish)
            lane->last_wish = last;
        batch_put(lane, batch, NO_ID, wish, book, name);
    }
}

static bool lane_is_waiting(struct lane *lane, int64_t now_ms)
{
    int64_t until = 0;
    if (lane->engine->dry_run)
        return false;
    if (lane->is_learning)
        until = lane->opened_ms + lane->learn_ms;
    if (lane->blocked_until_ms > until)
        until = lane->blocked_until_ms;
    if (lane->collect_until_ms > until)
        until = lane->collect_until_ms;
    if (until <= now_ms) {
        lane->is_learning = false;
        return false;
    }
    loop_timer_set(lane->engine->loop, &lane->timer, until - now_ms);
    return true;
}

static bool lane_has_work(const struct lane *lane)
{
    return lane->seat && (lane->due_count || lane->first_wish);
}

static size_t lane_room(const struct lane *lane)
{
    size_t limit = lane->transport_failures >= 3 ? 1 : lane->max_in_flight;
    return lane->in_flight < limit ? limit - lane->in_flight : 0;
}

// What waited behind a talk has gathered long enough.
static void lane_collect(struct lane *lane, int64_t now_ms)
{
    int64_t collect_ms = lane->seat->provider->collect_ms;
    if (!lane->collect_until_ms && !lane->in_flight && now_ms - lane->idle_since_ms > collect_ms)
        lane->collect_until_ms = now_ms + collect_ms;
}

void lane_pump(struct lane *lane)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    if (lane->provider && lane->provider->is_serial) {
        serial_pump(lane);
        return;
    }
    if (!lane_has_work(lane) || !engine_may_write(lane->engine))
        return;
    lane_collect(lane, now_ms);
    if (lane_is_waiting(lane, now_ms))
        return;
    while (lane_room(lane) && lane_has_work(lane) && engine_may_write(lane->engine)) {
        struct batch batch = {.count = 0};
        batch.limit = lane->seat->provider->max_changes;
        must(batch.limit <= COUNT_OF(batch.claims));
        batch_take_wishes(lane, &batch);
        batch_take_claims(lane, &batch, false);
        batch_take_claims(lane, &batch, true);
        if (!batch.count)
            break;
        flight_begin(lane, &batch);
    }
    lane->collect_until_ms = 0;
}

static void lane_timer(void *context)
{
    lane_pump(context);
}

void lane_clear_backoff(struct lane *lane)
{
    struct engine *engine = lane->engine;
    lane->transport_failures = 0;
    lane->blocked_until_ms = 0;
    for (uint32_t id = 0; id < engine->claim_used; id++) {
        const struct claim *claim = &engine->claims[id];
        if (!claim->name || claim->lane != lane->number || !claim->pending ||
            !claim->pending->next_unix_ms)
            continue;
        queue_forget(engine->due, id);
        claim_retry(engine, id);
    }
}

// ---- settings -----------------------------------------------------------------------------------

static void view_refresh(struct lane *lane)
{
    lane->view.name = lane->name;
    lane->view.book = lane->book;
    lane->view.is_open = lane->seat != NULL;
    lane->view.secret = lane->secret;
}

void seat_unref(struct seat *seat)
{
    if (!seat || --seat->refs)
        return;
    seat->provider->close(seat->at);
    free(seat);
}

// It may have to say good-bye.
static void lane_close_seat(struct lane *lane)
{
    if (lane->seat && lane->seat->provider->leaves) {
        seat_unref(lane->leaving);
        lane->leaving = lane->seat;
    } else {
        seat_unref(lane->seat);
    }
    lane->seat = NULL;
    lane->view.is_listed = false;
}

// Where nobody has led yet, nothing is ours.
#define UNKNOWN_OWNER "?"

const char *engine_owner_id(const struct engine *engine)
{
    return engine->options.store ? store_owner_id(engine->options.store) : NULL;
}

// Where our mark is needed, there is no seat before it is known.
static bool lane_open_seat(struct lane *lane, const struct value *config, struct error *err)
{
    const char *owner_id = engine_owner_id(lane->engine);
    if (!owner_id && lane->engine->dry_run && lane->engine->is_leading)
        owner_id = UNKNOWN_OWNER;
    lane->wants_owner = lane->provider->has_ledger && !owner_id;
    if (lane->wants_owner)
        return true;
    const struct seat_setup setup = {.config = config,
                                     .secret = lane->secret,
                                     .previous = lane->previous_secret,
                                     .previous_until_ms = lane->previous_until_ms,
                                     .owner_id = owner_id,
                                     .known = lane->view.known};
    void *at;
    if (!lane->provider->open(&setup, &at, err))
        return false;
    lane_close_seat(lane);
    lane->seat = mem_new_of(struct seat);
    *lane->seat = (struct seat){.provider = lane->provider, .at = at, .refs = 1};
    lane->is_question_due = lane->provider->lists;
    lane->has_left = false;
    ahead_open(lane);
    return true;
}

static void lane_question_due(void *context);

static void learning_is_over(void *context)
{
    struct lane *lane = context;
    lane->view.is_learning = false;
    gather_wake_lane(lane);
    engine_schedule(lane->engine);
}

static uint16_t number_take(struct engine *engine)
{
    for (size_t i = 0; i < engine->lane_count; i++)
        if (!engine->lanes_by_number[i])
            return (uint16_t)(i + 1);
    must(engine->lane_count < UINT16_MAX);
    mem_reserve(&engine->lanes_by_number, &engine->lane_capacity, engine->lane_count + 1);
    return (uint16_t)++engine->lane_count;
}

// NULL: nothing any more.
static void lane_know(struct lane *lane, const struct value *known)
{
    struct arena *arena = known ? arena_new() : NULL;
    lane->view.known = known ? value_copy(arena, known) : NULL;
    arena_free(lane->known_arena);
    lane->known_arena = arena;
}

static struct lane *lane_new(struct engine *engine, const struct lane_want *want)
{
    struct lane *lane = mem_new_of(struct lane);
    lane->engine = engine;
    lane->name = mem_copy_text(want->name);
    lane->book = mem_copy_text("");
    lane->owner = NO_ID;
    lane->controller = NO_CONTROLLER;
    lane->was_well = want->was_well;
    lane_know(lane, want->known);
    lane->opened_ms = loop_mono_ms(engine->loop);
    lane->due[0] = lane->due[1] = (struct line_of_claims){NO_ID, NO_ID};
    lane->timer = (struct loop_timer){.call = lane_timer, .context = lane};
    lane->question_timer = (struct loop_timer){.call = lane_question_due, .context = lane};
    lane->learn_timer = (struct loop_timer){.call = learning_is_over, .context = lane};
    lane->number = number_take(engine);
    engine->lanes_by_number[lane->number - 1] = lane;
    lane->next = engine->lanes;
    engine->lanes = lane;
    view_refresh(lane);
    return lane;
}

static bool same_fault(const struct error *a, const struct error *b)
{
    return a->fault == b->fault && !strcmp(a->reason, b->reason) && !strcmp(a->text, b->text);
}

// Open (or refused by the provider) with exactly these settings.
static bool lane_is_same(const struct lane *lane, const struct lane_want *want, const char *config)
{
    bool is_as_told = lane->has_refused || lane->view.fault.fault == FAULT_NONE;
    return (lane->seat || lane->wants_owner || lane->has_refused) && is_as_told && lane->config &&
           !strcmp(lane->config, config) && !strcmp(lane->book, want->book) &&
           !strcmp(lane->provider->name, want->provider) &&
           secret_equal(lane->secret, want->secret);
}

static void lane_set_numbers(struct lane *lane, const struct lane_want *want)
{
    lane->max_in_flight = want->max_in_flight ? want->max_in_flight : 1;
    lane->retry_base_ms = want->retry_base_ms;
    lane->retry_max_ms = want->retry_max_ms;
    lane->retry_attempts = want->retry_attempts;
    lane->retry_slow_ms = want->retry_slow_ms;
    lane->linger_ms = want->linger_ms;
    lane->learn_ms = want->learn_ms;
    lane->guard.rules = guard_rules;
    if (want->guard_percent)
        lane->guard.rules.percent = want->guard_percent;
}

static void lane_set_secret(struct lane *lane, struct secret *secret)
{
    if (secret_equal(lane->secret, secret))
        return;
    secret_unref(lane->previous_secret);
    lane->previous_secret = lane->secret;
    lane->previous_until_ms = loop_mono_ms(lane->engine->loop) + PREVIOUS_SECRET_MS;
    lane->secret = secret_ref(secret);
}

static void lane_set_book(struct lane *lane, const char *book)
{
    if (!strcmp(lane->book, book))
        return;
    if (*lane->book)
        lane->was_well = false;
    free(lane->book);
    lane->book = mem_copy_text(book);
    holds_forget(lane);
    lane->opened_ms = loop_mono_ms(lane->engine->loop);
    lane->is_learning = lane->view.is_learning = lane->learn_ms > 0;
    if (lane->is_learning)
        loop_timer_set(lane->engine->loop, &lane->learn_timer, lane->learn_ms);
    lane->view.answer = NULL;
    lane->view.answered_s = 0;
    lane->asked_ms = 0;
}

static void lane_changed(struct lane *lane)
{
    view_refresh(lane);
    lane_clear_backoff(lane);
    gather_wake_lane(lane);
    engine_schedule(lane->engine);
}

static const struct provider *provider_of(const struct engine *engine, const char *name)
{
    for (size_t i = 0; i < engine->options.provider_count; i++)
        if (!strcmp(engine->options.providers[i]->name, name))
            return engine->options.providers[i];
    return NULL;
}

// Its answer would say nothing of the backend that the lane has now, and the next question waits
// for it.
static bool is_idle_question(const struct lane *lane, const struct flight *flight)
{
    return flight->job.kind == JOB_HEALTH && !flight->wishes[0] && !lane->provider->is_serial;
}

// What the lane knew was of another backend.
static void lane_forget_place(struct lane *lane, const struct provider *provider, const char *book)
{
    bool is_same = lane->provider == provider && (!*lane->book || !strcmp(lane->book, book));
    if (!lane->provider || is_same)
        return;
    lane_know(lane, NULL);
    for (struct flight *flight = lane->flights, *next; flight; flight = next) {
        next = flight->next;
        flight->seat->is_elsewhere = true;
        if (is_idle_question(lane, flight))
            flight_abort(flight);
    }
}

// Usable as wanted: takes over address, keys and numbers. Talks under way keep the seat that they
// began with and end with their own receipt.
static bool lane_take_over(struct lane *lane, const struct lane_want *want, char *config,
                           struct error *err)
{
    const struct provider *provider = provider_of(lane->engine, want->provider);
    must(provider != NULL);
    lane_set_numbers(lane, want);
    lane_forget_place(lane, provider, want->book);
    lane->provider = provider;
    lane_set_secret(lane, want->secret);
    free(lane->config);
    lane->config = config;
    lane->has_refused = !lane_open_seat(lane, want->config, err);
    lane_set_book(lane, want->book);
    if (lane->has_refused)
        return false;
    lane->view.is_lingering = false;
    loop_timer_cancel(lane->engine->loop, &lane->linger_timer);
    return true;
}

static void lane_linger_end(void *context)
{
    struct lane *lane = context;
    lane_close_seat(lane);
    lane->view.is_lingering = false;
    lane_changed(lane);
}

static void lane_linger(struct lane *lane)
{
    if (lane->view.is_lingering || !lane->seat)
        return;
    lane->view.is_lingering = true;
    lane->linger_timer = (struct loop_timer){
        .call = lane_linger_end, .context = lane, .handle = lane->linger_timer.handle};
    loop_timer_set(lane->engine->loop, &lane->linger_timer, lane->linger_ms);
}

static char *config_text(const struct value *config)
{
    struct buffer out = {0};
    value_write_json(&out, config);
    return buffer_steal(&out);
}

// Usable no more: what is to be removed can still go for a while.
static void lane_fault(struct lane *lane, const struct lane_want *want)
{
    if (same_fault(&lane->view.fault, &want->fault) && !lane->has_refused)
        return;
    lane->view.fault = want->fault;
    lane->has_refused = false;
    lane->linger_ms = want->linger_ms;
    lane_linger(lane);
    lane_changed(lane);
}

bool lane_set(struct engine *engine, const struct lane_want *want, uint32_t owner,
              struct lane **out, struct error *err)
{
    struct lane *lane = lane_find(engine, want->name);
    if (!lane)
        lane = lane_new(engine, want);
    *out = lane;
    lane->owner = owner;
    lane->is_released = false;
    lane->view.basis = want->basis;
    if (want->fault.fault != FAULT_NONE) {
        lane_fault(lane, want);
        return true;
    }
    char *config = config_text(want->config);
    if (lane_is_same(lane, want, config)) {
        lane_set_numbers(lane, want);
        free(config);
        return true;
    }
    struct error why = {0};
    bool is_ok = lane_take_over(lane, want, config, &why);
    lane->view.fault = why;
    if (is_ok)
        error_clear(&lane->view.fault);
    else if (err)
        *err = why;
    lane_changed(lane);
    return is_ok;
}

void lane_release(struct lane *lane)
{
    lane->owner = NO_ID;
    lane->is_released = true;
    error_set(&lane->view.fault, FAULT_WAIT, "", "its owner is gone");
    loop_timer_cancel(lane->engine->loop, &lane->question_timer);
    lane->has_question = false;
    lane_linger(lane);
    lane_changed(lane);
}

// ---- questions ----------------------------------------------------------------------------------

static void lane_question_due(void *context)
{
    struct lane *lane = context;
    if (lane->provider && lane->provider->is_serial) {
        lane->is_question_due = lane->has_question;
        engine_schedule(lane->engine);
        return;
    }
    if (!lane->seat || !lane->has_question || lane->reading || !lane->engine->is_leading ||
        lane->view.fault.fault != FAULT_NONE)
        return;
    lane->asked_ms = loop_mono_ms(lane->engine->loop);
    flight_begin_health(lane, NULL);
}

void lane_ask(struct lane *lane, const struct question *question)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    bool is_new = !lane->has_question || lane->question_epoch != question->epoch;
    lane->has_question = true;
    lane->question_epoch = question->epoch;
    lane->good_for_ms = question->good_for_ms;
    if (is_new)
        lane->asked_ms = 0;
    if (!lane->seat || (lane->reading && !is_new))
        return;
    int64_t due_ms = lane->asked_ms ? lane->asked_ms + lane->good_for_ms : now_ms;
    loop_timer_set(lane->engine->loop, &lane->question_timer,
                   due_ms > now_ms ? due_ms - now_ms : 0);
}

void lane_ask_anew(struct lane *lane)
{
    int64_t due_ms = lane->asked_ms + ASK_ANEW_MS;
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    if (lane->has_question && lane->seat && !lane->reading)
        loop_timer_set(lane->engine->loop, &lane->question_timer,
                       due_ms > now_ms ? due_ms - now_ms : 0);
}

// Too early to tell, and the answer before may hold.
static bool is_no_answer(const struct lane *lane, const struct job *job)
{
    return lane->view.answered_s && job->trouble && !*job->trouble->reason;
}

static void take_answer(struct lane *lane, const struct job *job)
{
    struct arena *arena = arena_new();
    bool was_ok = lane->view.answered_s ? lane->view.is_answer_ok : lane->was_well;
    bool is_ok = job->health.is_done;
    lane->view.answered_s = loop_unix_ms(lane->engine->loop) / 1000;
    lane->view.is_answer_ok = is_ok;
    lane->view.answer = job->answer ? value_copy(arena, job->answer) : NULL;
    lane->view.note = job->health.note ? arena_copy_text(arena, job->health.note) : NULL;
    error_clear(&lane->view.answer_error);
    if (job->health.error)
        lane->view.answer_error = *job->health.error;
    arena_free(lane->answer_arena);
    lane->answer_arena = arena;
    struct content_id id = {0};
    if (lane->view.answer)
        id = value_content_id(value_find(lane->view.answer, "capabilities"));
    bool is_learned = lane->is_learning || !content_id_equal(id, lane->answer_id);
    lane->answer_id = id;
    lane->is_learning = lane->view.is_learning = false;
    loop_timer_cancel(lane->engine->loop, &lane->learn_timer);
    if (is_ok && !was_ok)
        lane_clear_backoff(lane);
    if (lane->owner != NO_ID)
        key_wake(lane->engine, lane->owner, QUEUE_USER);
    if (is_learned)
        gather_wake_lane(lane);
}

void lane_take_answer(struct lane *lane, const struct flight *flight)
{
    if (!flight->seat->is_elsewhere && !is_no_answer(lane, &flight->job))
        take_answer(lane, &flight->job);
}

void lane_answered(struct lane *lane, const struct flight *flight)
{
    lane_take_answer(lane, flight);
    if (lane->has_question)
        loop_timer_set(lane->engine->loop, &lane->question_timer,
                       lane->asked_ms ? lane->good_for_ms : 0);
    engine_schedule(lane->engine);
}

// ---- serial lanes -------------------------------------------------------------------------------

enum { TROUBLE_AGAIN_MS = 5 * 60 * 1000 };

static void tell_trouble(struct lane *lane, bool is_news)
{
    int64_t now_ms = loop_mono_ms(lane->engine->loop);
    lane->troubles_untold++;
    if (!is_news && now_ms - lane->trouble_told_ms < TROUBLE_AGAIN_MS)
        return;
    words_tell_trouble(lane, &lane->view.trouble, lane->troubles_untold, is_news);
    lane->trouble_told_ms = now_ms;
    lane->troubles_untold = 0;
}

static void end_trouble(struct lane *lane)
{
    lane->view.stalled_ms = 0;
    if (lane->view.trouble.fault == FAULT_NONE)
        return;
    error_clear(&lane->view.trouble);
    lane->troubles_untold = 0;
    gather_wake_lane(lane);
}

static void lane_rest(struct lane *lane, const struct error *trouble)
{
    int64_t rest_ms = trouble->retry_ms > 0 ? trouble->retry_ms : 1;
    lane->blocked_until_ms = loop_mono_ms(lane->engine->loop) + rest_ms;
    lane->is_question_due = lane->has_question;
}

// It may pass by itself: told once.
static void stall(struct lane *lane, const struct error *trouble)
{
    if (lane->view.stalled_ms)
        return;
    lane->view.stalled_ms = loop_mono_ms(lane->engine->loop);
    words_tell_stall(lane, trouble);
}

void lane_hear_trouble(struct lane *lane, const struct error *trouble, bool rests)
{
    if (!trouble) {
        end_trouble(lane);
        return;
    }
    bool is_news = strcmp(lane->view.trouble.reason, trouble->reason) != 0;
    if (rests)
        lane_rest(lane, trouble);
    if (!*trouble->reason) {
        stall(lane, trouble);
        return;
    }
    lane->view.stalled_ms = 0;
    lane->view.trouble = *trouble;
    tell_trouble(lane, is_news);
    if (is_news)
        gather_wake_lane(lane);
}

static void lane_seat_again(struct lane *lane)
{
    struct error err = {0};
    struct arena *arena = arena_new();
    const struct value *config =
        value_read_json(arena, text_of(lane->config), &value_manifest_limits, NULL);
    lane->has_refused = !lane_open_seat(lane, config, &err);
    if (lane->has_refused)
        lane->view.fault = err;
    arena_free(arena);
}

static void lane_seat_late(struct lane *lane)
{
    lane_seat_again(lane);
    lane_changed(lane);
}

static bool is_known(const struct value *known, const struct value *learned)
{
    value_each (item, learned) {
        const struct value *old = value_find_text(known, item->key);
        bool is_same = old ? value_equal(old, item) : item->type == VALUE_NULL;
        if (!is_same)
            return false;
    }
    return true;
}

// Talks under way go on as they began; what they put there is told by the seat that they have.
void lane_learn(struct lane *lane, const struct flight *flight)
{
    const struct value *learned = flight->job.learned;
    if (flight->seat->is_elsewhere || !lane->seat || is_known(lane->view.known, learned))
        return;
    struct arena *arena = arena_new();
    struct value *known =
        lane->view.known ? value_copy(arena, lane->view.known) : value_make(arena, VALUE_MAP);
    value_each (item, learned)
        value_set(known, item->key, value_copy(arena, item));
    lane_know(lane, known);
    arena_free(arena);
    lane_seat_again(lane);
    gather_wake_lane(lane);
    if (lane->owner != NO_ID)
        key_wake(lane->engine, lane->owner, QUEUE_USER);
    engine_schedule(lane->engine);
}

void lanes_lead(struct engine *engine, bool is_leading)
{
    for (struct lane *lane = engine->lanes; lane; lane = lane->next) {
        lane->view.is_listed = false;
        lane->is_guard_recalled = false;
        holds_forget(lane);
        if (!is_leading) {
            if (lane->ledger)
                ledger_keeper_close(lane->ledger);
            continue;
        }
        if (lane->ledger)
            ledger_keeper_open(lane->ledger);
        if (lane->wants_owner)
            lane_seat_late(lane);
        lane->is_question_due = lane->provider && lane->provider->is_serial && lane->has_question;
        if (lane->has_question)
            loop_timer_set(engine->loop, &lane->question_timer, 0);
    }
}

void lanes_list_anew(struct engine *engine, size_t controller)
{
    for (struct lane *lane = engine->lanes; lane; lane = lane->next)
        lane->is_question_due |= lane->controller == controller && lane->has_question;
    engine_schedule(engine);
}

static bool lane_leave(struct lane *lane)
{
    if (!lane->seat || !lane->provider->leaves || lane->has_left)
        return false;
    lane->has_left = true;
    flight_begin_leave(lane, lane->seat);
    return lane->flights != NULL;
}

bool lanes_leave(struct engine *engine)
{
    bool is_any = false;
    for (struct lane *lane = engine->lanes; lane && engine_may_write(engine); lane = lane->next)
        is_any |= lane_leave(lane);
    return is_any;
}

void lanes_leave_late(struct engine *engine)
{
    for (struct lane *lane = engine->lanes; lane; lane = lane->next) {
        if (!lane->provider || !lane->provider->leaves)
            continue;
        lane->has_left = true;
        while (lane->flights)
            flight_abort(lane->flights);
    }
}

// ---- ending -------------------------------------------------------------------------------------

static void lane_free(struct lane *lane)
{
    struct loop *loop = lane->engine->loop;
    while (lane->flights)
        flight_abort(lane->flights);
    seat_unref(lane->seat);
    seat_unref(lane->leaving);
    ledger_keeper_free(lane->ledger);
    hold_free(lane->hold);
    loop_timer_cancel(loop, &lane->timer);
    loop_timer_cancel(loop, &lane->question_timer);
    loop_timer_cancel(loop, &lane->linger_timer);
    loop_timer_cancel(loop, &lane->learn_timer);
    for (struct wish *wish = lane->first_wish, *next; wish; wish = next) {
        next = wish->next;
        wish_free(wish);
    }
    secret_unref(lane->secret);
    secret_unref(lane->previous_secret);
    arena_free(lane->answer_arena);
    arena_free(lane->known_arena);
    free(lane->config);
    free(lane->name);
    free(lane->book);
    free(lane);
}

static bool lane_is_needed(const struct lane *lane)
{
    return !lane->is_released || lane->seat || lane->leaving || lane->flights ||
           lane->claim_count || lane->first_wish;
}

void lanes_sweep(struct engine *engine)
{
    for (struct lane **link = &engine->lanes; *link;) {
        struct lane *lane = *link;
        if (lane_is_needed(lane)) {
            link = &lane->next;
            continue;
        }
        *link = lane->next;
        engine->lanes_by_number[lane->number - 1] = NULL;
        lane_free(lane);
    }
}

void lanes_free(struct engine *engine)
{
    for (struct lane *lane = engine->lanes, *next; lane; lane = next) {
        next = lane->next;
        engine->lanes_by_number[lane->number - 1] = NULL;
        lane_free(lane);
    }
    engine->lanes = NULL;
    free(engine->lanes_by_number);
}
