#include "engine/write_back.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "engine/recorder.h"

enum {
    ROUNDS_MAX = 4,
    SLICE_KEYS = 8,
    SLICE_MS = 5,
    CLOCK_LEAP_MS = 5000,
    FLOOD_RECONCILES = 1000,
    RELEASE_AFTER_FLOOD_MS = 1000,
    RELEASE_AFTER_IDLE_MS = 150 * 1000, // connections that idle are closed by then
};

void engine_draw_trace(struct engine *engine, char out[33])
{
    uint8_t octets[16];
    random_fill(engine->options.world->random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, out);
}

// ---- deciding -----------------------------------------------------------------------------------

// A copy, so that each round of decide() sees it; the text goes when they are over.
static void fill_whole(struct engine *engine, uint32_t id, struct snapshot *snapshot)
{
    struct key_extra *extra = engine->keys[id].extra;
    if (!extra || !extra->was_read)
        return;
    snapshot->was_read = true;
    if (extra->whole)
        snapshot->whole =
            value_read_json(engine->arena, text_of(arena_copy_text(engine->arena, extra->whole)),
                            &value_manifest_limits, NULL);
}

static void fill_snapshot(struct engine *engine, uint32_t id, const char *trace,
                          struct snapshot *snapshot)
{
    const struct key *key = &engine->keys[id];
    *snapshot = (struct snapshot){
        .arena = engine->arena,
        .namespace_ = object_namespace(key->object),
        .name = object_name(key->object),
        .subject = key_subject(key),
        .previous = key->extra ? key->extra->previous : NULL,
        .refused = key->extra ? key->extra->refused : NULL,
        .is_leading = engine_may_write(engine),
        .runs_workloads = engine->options.store->runs_workloads,
        .owner_id = engine_owner_id(engine),
        .now_ms = loop_unix_ms(engine->loop),
        .started_ms = engine->started_unix_ms,
        .settings = engine->controllers[key->controller].settings,
        .trace = trace,
    };
    input_fill(engine, key->controller, snapshot);
    if (key->extra)
        questions_fill_snapshot(&key->extra->asking, snapshot);
    publish_fill_snapshot(engine, id, snapshot);
    registry_fill_receipts(engine, id, snapshot);
    fill_whole(engine, id, snapshot);
}

static void forget_whole(struct engine *engine, uint32_t id)
{
    struct key_extra *extra = engine->keys[id].extra;
    if (!extra)
        return;
    free(extra->whole);
    extra->whole = NULL;
    extra->was_read = false;
}

static bool key_has_backend(const struct key_extra *extra, const struct backend *backend)
{
    for (size_t i = 0; i < extra->backend_count; i++)
        if (extra->backends[i] == backend)
            return true;
    return false;
}

// A backend that another key owns by now is left to that key.
static void release_backends(struct key *key, uint32_t id, struct backend *const *old, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!key_has_backend(key->extra, old[i]) && backend_is_owned_by(old[i], id))
            backend_release(old[i]);
}

// One that is refused shows why in its view.
static void set_backends(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    if (!decision->backend_count && !(key->extra && key->extra->backend_count))
        return;
    struct key_extra *extra = key_extra(key);
    autofree struct backend **old = extra->backends;
    size_t old_count = extra->backend_count;
    extra->backends = mem_new_array(struct backend *, decision->backend_count + 1);
    extra->backend_count = decision->backend_count;
    for (size_t i = 0; i < decision->backend_count; i++)
        backend_set(engine, &decision->backends[i], id, &extra->backends[i], NULL);
    release_backends(key, id, old, old_count);
}

static bool set_questions(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    return (key->extra || decision->question_count) &&
           questions_set(engine, &key_extra(key)->asking, id, decision->questions,
                         decision->question_count);
}

// True if the key has to look again, as its claims stand otherwise than it saw.
static bool submit_claims(struct engine *engine, uint32_t id, const struct decision *decision)
{
    engine->submitting = id;
    engine->has_woken_itself = false;
    bool is_changed = registry_submit(engine, id, decision->claims, decision->claim_count);
    engine->submitting = NO_ID;
    return is_changed || engine->has_woken_itself;
}

static void record(struct engine *engine, uint32_t id, const struct snapshot *snapshot,
                   const struct decision *decision)
{
    size_t place = engine->keys[id].controller;
    recorder_add_reconciliation(
        engine->options.recorder,
        &(struct recorder_reconciliation){engine->controllers[place].controller, place,
                                          shared_model_of(engine, id), snapshot, decision});
}

// Decides again as long as a decision changes what the next snapshot shows: receipts of its own
// claims, and answers that its questions have already. Receipts that change in the last round, or
// later, wake the key.
static void decide(struct engine *engine, uint32_t id, const char *trace, struct decision *decision)
{
    const struct controller *controller =
        engine->controllers[engine->keys[id].controller].controller;
    bool is_changed = true;
    for (int round = 0; is_changed && round < ROUNDS_MAX; round++) {
        struct snapshot snapshot;
        if (round)
            decision_done(decision);
        arena_reset(engine->arena);
        fill_snapshot(engine, id, trace, &snapshot);
        *decision = (struct decision){0};
        controller->decide(&snapshot, shared_model_of(engine, id), decision);
        record(engine, id, &snapshot, decision);
        set_backends(engine, id, decision);
        bool is_answered = set_questions(engine, id, decision);
        is_changed = submit_claims(engine, id, decision) || is_answered;
        if (registry_awaits_plan(engine, id))
            break;
    }
    if (is_changed && engine->has_woken_itself)
        key_wake(engine, id, QUEUE_USER);
}

static bool find_live_key(struct engine *engine, const struct object_ref_key *object, uint32_t *id)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller_state *state = &engine->controllers[i];
        if (state->controller->kind != object->kind)
            continue;
        *id = key_find(engine, i, object->namespace_, object->name);
        return *id != NO_ID && input_is_synced(engine, state->controller) &&
               input_is_resolved(engine, state, key_subject(&engine->keys[*id]));
    }
    return false;
}

const struct value *engine_decide_status(struct engine *engine, const struct object_ref_key *key)
{
    uint32_t id;
    struct snapshot snapshot;
    struct decision decision = {0};
    char trace[33];
    if (!find_live_key(engine, key, &id))
        return NULL;
    shared_models_settle(engine);
    engine_draw_trace(engine, trace);
    arena_reset(engine->arena);
    fill_snapshot(engine, id, trace, &snapshot);
    snapshot.shows_all = true;
    engine->controllers[engine->keys[id].controller].controller->decide(
        &snapshot, shared_model_of(engine, id), &decision);
    const struct value *status = decision.status;
    decision_done(&decision);
    return status;
}

// ---- a reconciliation ---------------------------------------------------------------------------

static void reconcile_forget(struct engine *engine, uint32_t id)
{
    const struct key *key = &engine->keys[id];
    registry_submit(engine, id, NULL, 0);
    set_backends(engine, id, &(struct decision){0});
    set_questions(engine, id, &(struct decision){0});
    input_index_key(engine, id, key->object, NULL);
    publish_forget(engine, id);
    key_forget(engine, id);
}

// No watch reported the deletion, so nothing is removed in its name. What it had at backends that
// list is found unclaimed by a new listing there, and goes as far as the guard lets it.
static void leave_to_guard(struct engine *engine, uint32_t id)
{
    backends_list_anew(engine, engine->controllers[engine->keys[id].controller].opener);
    reconcile_forget(engine, id);
}

static bool is_left_to_guard(const struct engine *engine, uint32_t id)
{
    size_t opener = engine->controllers[engine->keys[id].controller].opener;
    return engine->keys[id].is_deletion_inferred && engine->controllers[opener].controller->open;
}

static void forget_previous_if_settled(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    if (!key->extra || !key->extra->previous || !registry_is_settled(engine, id))
        return;
    object_unref(key->extra->previous);
    key->extra->previous = NULL;
}

static uint64_t hash_more(uint64_t hash, struct text text, uint64_t number)
{
    uint64_t mixed[] = {hash, hash_octets(text.at, text.len), number};
    return hash_octets(mixed, sizeof mixed);
}

// 0: nothing is reported.
static uint64_t report_hash(const struct decision *decision)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < decision->event_count; i++) {
        const struct decision_event *event = &decision->events[i];
        hash = hash_more(hash, text_of(event->reason), event->is_warning);
        hash = hash_more(hash, text_of(event->text), 0);
    }
    for (size_t i = 0; i < decision->line_count; i++) {
        const struct log_attr *attrs = decision->lines[i].attrs;
        hash = hash_more(hash, text_of(decision->lines[i].message), decision->lines[i].level);
        for (; attrs && attrs->type != LOG_ATTR_END; attrs++)
            hash = hash_more(hash, attrs->text, (uint64_t)attrs->integer);
    }
    for (size_t i = 0; i < decision->sample_count; i++)
        if (metric_adds_up(decision->samples[i].metric->type))
            hash = hash_more(hash, text_of(decision->samples[i].metric->name),
                             (uint64_t)decision->samples[i].value);
    return decision->programmed_ms ? hash_more(hash, TEXT(""), (uint64_t)decision->programmed_ms)
                                   : hash;
}

// Events, lines and counts are those of the last decision, which no status remembers. Remembers
// them.
static bool is_same_report(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    if (decision->status)
        return false;
    uint64_t hash = report_hash(decision);
    if (!key->extra && !hash)
        return true;
    uint64_t before = key_extra(key)->report;
    key->extra->report = hash;
    return hash == before;
}

static void report_at_once(struct engine *engine, uint32_t id, const struct decision *decision)
{
    CLEANUP(report)
    struct report *report = is_same_report(engine, id, decision) ? NULL : report_new(decision);
    report_send(engine, id, report, engine->keys[id].object);
}

// What was refused is not written again before its time, nor by the reconciliation that reports the
// refusal, however late that comes: the first one that asks.
static bool must_wait_after_refusal(const struct engine *engine, const struct key *key)
{
    struct key_extra *extra = key->extra;
    if (!extra || !extra->refused)
        return false;
    bool is_untold = extra->is_refusal_unreported;
    extra->is_refusal_unreported = false;
    return is_untold || extra->refused_until_ms > loop_mono_ms(engine->loop);
}

// What was refused took effect all the same, or nothing of it is wanted any more.
static bool is_refusal_over(const struct key *key, const struct decision *decision)
{
    return key->extra && key->extra->refused && !decision->metadata_change_count &&
           !decision->object_count && !decision_adds_finalizer(key->object, decision) &&
           !decision_removes_finalizer(key->object, decision);
}

static void write_decision(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    if (!engine_may_write(engine) || key->is_gone)
        return;
    if (is_refusal_over(key, decision)) {
        key_forget_refusal(key); // the status of this decision still reports it
        key_wake(engine, id, QUEUE_USER);
        return;
    }
    if (key->extra && key->extra->write_not_before_ms > loop_mono_ms(engine->loop)) {
        key_after(engine, id, key->extra->write_not_before_ms);
        return;
    }
    if (must_wait_after_refusal(engine, key))
        key_after(engine, id, key->extra->refused_until_ms);
    else if (write_back_metadata(engine, id, decision) ||
             write_back_remove_finalizer(engine, id, decision) ||
             owned_objects_write(engine, id, decision))
        return;
    if (!write_back_status(engine, id, decision))
        report_at_once(engine, id, decision);
}

static enum reconcile_result reconcile_result(const struct decision *decision)
{
    if (decision->fault.fault != FAULT_NONE)
        return RECONCILE_ERROR;
    return decision->wake_ms ? RECONCILE_REQUEUE_AFTER : RECONCILE_SUCCESS;
}

static void count_reconcile(struct engine *engine, struct controller_state *state,
                            const struct decision *decision, int64_t begun_ms)
{
    int64_t took_ms = loop_mono_ms(engine->loop) - begun_ms;
    histogram_add(&state->reconcile_seconds, took_ms);
    histogram_add(&engine->work_seconds, took_ms);
    state->reconciles[reconcile_result(decision)]++;
    if (decision->fault.fault == FAULT_SPEC && !decision->fault.retry_ms)
        state->reconciles_terminal++;
}

static void report_start(const struct engine *engine, const struct controller *controller,
                         const struct object *object)
{
    const struct change_messages *messages = controller->messages;
    if (!messages || !messages->started || !log_has(engine->log, LOG_DEBUG))
        return;
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    log_line(engine->log, LOG_DEBUG, messages->started, LOG_TEXT(messages->object, name.at),
             LOG_END);
}

void reconcile_key(struct engine *engine, uint32_t id)
{
    struct controller_state *state = &engine->controllers[engine->keys[id].controller];
    struct decision decision = {0};
    char trace[33];
    if (!input_is_synced(engine, state->controller) ||
        !input_is_resolved(engine, state, key_subject(&engine->keys[id])))
        return;
    if (is_left_to_guard(engine, id)) {
        leave_to_guard(engine, id);
        return;
    }
    if (registry_awaits_plan(engine, id))
        return;
    int64_t begun_ms = loop_mono_ms(engine->loop);
    engine->keys[id].is_in_event_batch = false;
    engine_draw_trace(engine, trace);
    engine->reconciles_since_release++;
    engine->keys[id].is_seen = true;
    queue_cancel_timer(engine->queue, id);
    report_start(engine, state->controller, engine->keys[id].object);
    decide(engine, id, trace, &decision);
    decision_done(&decision);
    count_reconcile(engine, state, &decision, begun_ms);
    if (registry_awaits_plan(engine, id))
        return;
    forget_whole(engine, id);
    key_metrics_count(engine, id, &decision);
    samples_replace(engine, id, &decision);
    object_states_decide(engine, id, &decision);
    if (engine->dry_run)
        dry_run_remember(engine->dry_run, id, &decision);
    engine_guard_approve(engine, decision.approval);
    if (engine->keys[id].is_gone && !decision.claim_count && !decision.backend_count) {
        reconcile_forget(engine, id);
        return;
    }
    publish_decision(engine, id, &decision.publication);
    forget_previous_if_settled(engine, id);
    if (decision.wake_ms)
        key_after(engine, id,
                  loop_mono_ms(engine->loop) + decision.wake_ms - loop_unix_ms(engine->loop));
    if (!write_back_read_whole(engine, id, &decision))
        write_decision(engine, id, &decision);
}

// ---- the slice of work between two looks at the loop --------------------------------------------

static void retry_after_back_off(struct engine *engine)
{
    uint32_t claim;
    int64_t now_ms = loop_mono_ms(engine->loop);
    while (queue_pop(engine->back_offs, now_ms, &claim))
        claim_retry(engine, claim);
    int64_t next_ms = queue_next_ms(engine->back_offs);
    if (next_ms != INT64_MAX)
        loop_timer_set(engine->loop, &engine->back_off_timer,
                       next_ms > now_ms ? next_ms - now_ms : 0);
}

// While the store's queue of writes is full, no key is reconciled but urgent ones, and they only
// until the queue of urgent writes is full, too.
static bool is_stalled(const struct engine *engine, bool is_urgent)
{
    return engine->options.store && store_is_full(engine->options.store, is_urgent);
}

static bool next_key(struct engine *engine, uint32_t *id)
{
    int64_t now_ms = loop_mono_ms(engine->loop);
    if (!is_stalled(engine, false))
        return queue_pop(engine->queue, now_ms, id);
    return !is_stalled(engine, true) && queue_pop_urgent(engine->queue, now_ms, id);
}

static bool may_go_on(const struct engine *engine)
{
    return !is_stalled(engine, false) ||
           (!is_stalled(engine, true) && queue_has_urgent(engine->queue));
}

// Some of what the key reads may still come in the batch under way.
static bool is_part_of_event_batch(const struct engine *engine, uint32_t id)
{
    return engine->keys[id].is_in_event_batch || shared_model_of(engine, id);
}

static void take_reconciles(struct engine *engine)
{
    int64_t begun_ms = loop_mono_ms(engine->loop);
    uint32_t id;
    for (int i = 0; i < SLICE_KEYS; i++) {
        shared_models_settle(engine);
        if (!next_key(engine, &id))
            return;
        histogram_add(&engine->queue_seconds, queue_last_wait_ms(engine->queue));
        if (engine->keys[id].is_writing)
            engine->keys[id].is_dirty = true;
        else if (event_batch_is_awaited(engine) && is_part_of_event_batch(engine, id))
            event_batch_add(engine, id);
        else
            reconcile_key(engine, id);
        if (loop_mono_ms(engine->loop) - begun_ms > SLICE_MS)
            return;
    }
}

void engine_release_memory(void *context)
{
    struct engine *engine = context;
    if (engine->reconciles_since_release >= FLOOD_RECONCILES)
        loop_timer_set(engine->loop, &engine->release_timer, RELEASE_AFTER_IDLE_MS);
    engine->reconciles_since_release = 0;
    mem_release();
}

void engine_release_memory_soon(struct engine *engine)
{
    loop_timer_set(engine->loop, &engine->release_timer, RELEASE_AFTER_FLOOD_MS);
}

// Many reconciliations take much memory for a while. It goes back to the system when they are over,
// and once more when the connections that they opened are closed.
static void release_after_flood(struct engine *engine)
{
    if (engine->reconciles_since_release >= FLOOD_RECONCILES)
        engine_release_memory_soon(engine);
}

// When the wall clock leaps ahead no time has passed, so durations count from here. (A clock that
// is adjusted little by little counts as leapt after hours; then a wait is longer once.)
static void watch_clock(struct engine *engine)
{
    int64_t now_ms = loop_unix_ms(engine->loop);
    int64_t ahead_ms = now_ms - loop_mono_ms(engine->loop);
    if (ahead_ms - engine->clock_ahead_ms > CLOCK_LEAP_MS)
        engine->started_unix_ms = now_ms;
    else if (engine->clock_ahead_ms - ahead_ms <= CLOCK_LEAP_MS)
        return;
    engine->clock_ahead_ms = ahead_ms;
}

bool engine_is_decided(const struct engine *engine)
{
    return !engine->is_event_batch_open && !queue_depth(engine->queue) &&
           queue_next_ms(engine->crowded) == INT64_MAX && shared_models_are_settled(engine);
}

static void slice(void *context)
{
    struct engine *engine = context;
    engine->is_slice_scheduled = false;
    watch_clock(engine);
    event_batch_give_up(engine);
    retry_after_back_off(engine);
    registry_plan_crowded(engine);
    take_reconciles(engine);
    if (!engine->is_stopping)
        backends_pump(engine);
    catalogs_update(engine);
    engine_guard_judge_claims(engine);
    engine_guard_ask_approval(engine);
    backends_sweep(engine);
    release_after_flood(engine);
    int64_t next_ms = queue_next_ms(engine->queue);
    int64_t now_ms = loop_mono_ms(engine->loop);
    bool is_due = next_ms <= now_ms; // if the store is full, its store_sink.room goes on with it
    if (is_due && may_go_on(engine))
        engine_schedule(engine);
    else if (!is_due && next_ms != INT64_MAX)
        loop_timer_set(engine->loop, &engine->timer, next_ms - now_ms);
    if (engine->is_first_pass_due && engine_is_decided(engine)) {
        engine->is_first_pass_due = false;
        engine->is_first_pass_done = true;
        published_complete(engine->published);
        zone_files_tidy(engine);
        engine_release_memory(engine);
        engine_schedule(engine); // what waited for it, such as removals that are guarded
    }
    engine_maybe_stopped(engine);
    engine_maybe_rested(engine);
}

void engine_schedule(struct engine *engine)
{
    if (engine->is_slice_scheduled)
        return;
    engine->is_slice_scheduled = true;
    loop_defer(engine->loop, slice, engine);
}
