#include "engine/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/must.h"
#include "store/status.h"

enum {
    ROUNDS_MAX = 4,
    SLICE_KEYS = 8,
    SLICE_MS = 5,
    CLOCK_LEAP_MS = 5000,
    RACE_WAIT_MS = 5000,
    WRITE_RETRY_BASE_MS = 5,
    WRITE_RETRY_MAX_MS = 1000000,
    REFUSED_RETRY_MAX_MS = 60000,
    FLOOD_RECONCILES = 1000,
    FLOOD_REST_MS = 1000,
    IDLE_REST_MS = 150 * 1000, // connections that idle are closed by then
};

void engine_trace(struct engine *engine, char out[33])
{
    uint8_t octets[16];
    random_fill(engine->options.world->random, octets, sizeof octets);
    hex_encode(octets, sizeof octets, out);
}

// ---- deciding -----------------------------------------------------------------------------------

// For this reconciliation alone.
static void take_whole(struct engine *engine, uint32_t id, struct snapshot *snapshot)
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
        .owner_id = engine_owner_id(engine),
        .now_ms = loop_unix_ms(engine->loop),
        .started_ms = engine->started_unix_ms,
        .settings = engine->controllers[key->controller].settings,
        .trace = trace,
    };
    input_fill(engine, key->controller, snapshot);
    publish_fill_snapshot(engine, id, snapshot);
    registry_fill_receipts(engine, id, snapshot);
    take_whole(engine, id, snapshot);
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

static void drop_backend_secret(struct decision *decision)
{
    if (decision->backend)
        secret_unref(decision->backend->secret);
}

static void keep_backend(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    struct backend *old = key->extra ? key->extra->backend : NULL;
    struct backend *backend = NULL;
    struct error err = {0};
    if (decision->backend)
        backend_set(engine, decision->backend, id, &backend, &err);
    if (old && old != backend)
        backend_release(old);
    if (backend || key->extra)
        key_extra(key)->backend = backend;
}

// Decides until the receipts that the claims bring about have been seen.
static void decide(struct engine *engine, uint32_t id, const char *trace, struct decision *decision)
{
    const struct controller *controller =
        engine->controllers[engine->keys[id].controller].controller;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        struct snapshot snapshot;
        if (round)
            drop_backend_secret(decision);
        arena_reset(engine->arena);
        fill_snapshot(engine, id, trace, &snapshot);
        *decision = (struct decision){0};
        controller->decide(&snapshot, shared_model_of(engine, id), decision);
        keep_backend(engine, id, decision);
        if (!registry_submit(engine, id, decision->claims, decision->claim_count) ||
            registry_awaits_plan(engine, id))
            return;
    }
}

struct claim_want *decision_add_claim(struct decision *decision, struct arena *arena)
{
    if (decision->claim_count == decision->claim_capacity) {
        size_t capacity = decision->claim_capacity ? 2 * decision->claim_capacity : 4;
        struct claim_want *claims = arena_new_array(arena, struct claim_want, capacity);
        if (decision->claim_count)
            memcpy(claims, decision->claims, decision->claim_count * sizeof *claims);
        decision->claims = claims;
        decision->claim_capacity = capacity;
    }
    struct claim_want *claim = &decision->claims[decision->claim_count++];
    *claim = (struct claim_want){0};
    return claim;
}

void decision_note(struct decision *decision, bool is_warning, enum event_reason reason,
                   const char *text)
{
    if (decision->note_count < DECISION_NOTES_MAX)
        decision->notes[decision->note_count++] =
            (struct decision_note){is_warning, event_reason_name(reason), text};
}

// ---- writing ------------------------------------------------------------------------------------

// One store call of one key; what is to be told with its success.
struct write {
    struct engine *engine;
    struct write *next; // of all under way
    struct write *previous;
    uint32_t key;
    const struct object *object;
    struct report *report;
    bool wants_reconcile;
    bool is_ahead; // of talks, or of the status that is to tell it
    bool makes;    // an object:
    struct content_id made;
};

static struct write *write_new(struct engine *engine, uint32_t key, const struct decision *decision)
{
    struct write *write = mem_new_of(struct write);
    write->engine = engine;
    write->key = key;
    write->object = object_ref(engine->keys[key].object);
    write->next = engine->writes;
    if (write->next)
        write->next->previous = write;
    engine->writes = write;
    write->report = report_new(decision);
    engine->keys[key].is_writing = true;
    engine->writes_in_flight++;
    return write;
}

static void write_refused(struct engine *engine, uint32_t id, const struct error *error)
{
    struct key *key = &engine->keys[id];
    struct key_extra *extra = key_extra(key);
    int64_t delay = WRITE_RETRY_BASE_MS;
    struct buffer name = {0};
    if (!engine_may_write(engine))
        return; // whoever leads next, be it ourselves, looks at every key
    extra->write_failures = error->fault == extra->write_failure ? extra->write_failures + 1 : 1;
    extra->write_failure = error->fault;
    engine->write_retries++;
    for (unsigned i = 1; i < extra->write_failures && delay < WRITE_RETRY_MAX_MS; i++)
        delay *= 2;
    key->is_racing = error->fault == FAULT_RACE;
    if (key->is_racing)
        delay = RACE_WAIT_MS;
    if (error->fault == FAULT_AUTH && delay > REFUSED_RETRY_MAX_MS)
        delay = REFUSED_RETRY_MAX_MS;
    if (error->retry_ms > delay)
        delay = error->retry_ms;
    key_after(engine, id, loop_mono_ms(engine->loop) + delay);
    extra->write_not_before_ms = error->retry_ms ? loop_mono_ms(engine->loop) + delay : 0;
    if (error->fault == FAULT_RACE || (extra->write_failures & (extra->write_failures - 1)))
        return;
    object_write_name(&name, key->object);
    log_line(engine->log, LOG_ERROR, "cannot write to the store", LOG_TEXT("object", name.at),
             LOG_TEXT("error", error->text), LOG_INT("attempts", extra->write_failures), LOG_END);
    buffer_done(&name);
}

// The status is to tell it; the write itself is tried again later, or when the object changes.
static void remember_refusal(struct engine *engine, uint32_t id, const struct error *error)
{
    struct key_extra *extra = key_extra(&engine->keys[id]);
    int64_t delay_ms = WRITE_RETRY_BASE_MS;
    for (unsigned i = 1; i < extra->write_failures && delay_ms < REFUSED_RETRY_MAX_MS; i++)
        delay_ms *= 2;
    if (!extra->refused)
        extra->refused = mem_new_of(struct error);
    *extra->refused = *error;
    extra->refused_until_ms = loop_mono_ms(engine->loop) + delay_ms;
    extra->is_refusal_untold = true;
    key_wake(engine, id, QUEUE_USER);
}

static bool is_refusal(const struct error *error)
{
    return error->fault == FAULT_AUTH || error->fault == FAULT_SPEC;
}

static void write_free(struct write *write)
{
    object_unref(write->object);
    free(write->report);
    free(write);
}

static void write_end(struct write *write)
{
    if (write->next)
        write->next->previous = write->previous;
    if (write->previous)
        write->previous->next = write->next;
    else
        write->engine->writes = write->next;
    write_free(write);
}

void writes_free(struct engine *engine)
{
    for (struct write *write = engine->writes, *next; write; write = next) {
        next = write->next;
        write_free(write);
    }
    engine->writes = NULL;
}

// Nothing changed by it, and the next reconciliation would write the same again. (The last
// finalizer of one in deletion goes with the object.)
static bool is_in_vain(const struct write *write, const struct store_reply *reply)
{
    return write->is_ahead && write->wants_reconcile && reply->is_ok &&
           reply->object == write->object;
}

static void write_succeeded(struct write *write, const struct store_reply *reply)
{
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    if (reply->object && !key->is_gone)
        engine_file_written(engine, key->object, reply->object);
    if (key->extra)
        key->extra->write_failures = 0;
    if (write->is_ahead)
        key_forget_refusal(key);
    if (write->makes)
        key_extra(key)->made = write->made;
    report_tell(engine, write->report, write->object);
    key->is_dirty |= write->wants_reconcile;
}

void reconcile_write_failed(struct engine *engine, uint32_t id, const struct error *error,
                            bool is_ahead)
{
    write_refused(engine, id, error);
    if (is_ahead && is_refusal(error))
        remember_refusal(engine, id, error);
}

static void write_failed(struct write *write, const struct error *error)
{
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    reconcile_write_failed(engine, write->key, error, write->is_ahead);
    // Whoever wrote first was heard of before the reply: there is nothing to wait for.
    key->is_dirty |= key->is_racing && key->object != write->object;
}

static void write_done(void *context, const struct store_reply *reply)
{
    struct write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct error vain;
    key->is_writing = false;
    engine->writes_in_flight--;
    if (is_in_vain(write, reply)) {
        error_set(&vain, FAULT_SPEC, "Contended",
                  "an admission webhook or another manager takes out what is written");
        write_failed(write, &vain);
    } else if (reply->is_ok) {
        write_succeeded(write, reply);
    } else {
        write_failed(write, &reply->error);
    }
    if (key->is_dirty) {
        key->is_dirty = false;
        key_wake(engine, write->key, QUEUE_USER);
    }
    write_end(write);
    engine_schedule(engine);
}

static bool adds_finalizer(const struct object *object, const struct decision *decision)
{
    return decision->finalizer == FINALIZER_ADD && !object->has_finalizer;
}

static bool removes_finalizer(const struct object *object, const struct decision *decision)
{
    return decision->finalizer == FINALIZER_REMOVE && object->has_finalizer;
}

static bool write_ahead(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    bool adds = adds_finalizer(object, decision);
    if (!adds && !decision->mark_count)
        return false;
    struct store_mark marks[DECISION_MARKS_MAX];
    for (size_t i = 0; i < decision->mark_count; i++)
        marks[i] = (struct store_mark){decision->marks[i].key, decision->marks[i].value,
                                       decision->marks[i].is_label};
    struct write *write = write_new(engine, id, decision);
    write->wants_reconcile = write->is_ahead = true;
    store_apply(engine->options.store,
                &(struct store_apply){.object = object,
                                      .add_finalizer = adds,
                                      .marks = marks,
                                      .mark_count = decision->mark_count},
                write_done, write);
    return true;
}

static bool write_finalizer_away(struct engine *engine, uint32_t id,
                                 const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    if (!removes_finalizer(object, decision))
        return false;
    struct write *write = write_new(engine, id, decision);
    write->wants_reconcile = !object->deleted_s;
    write->is_ahead = true;
    store_remove_finalizer(engine->options.store, object, write_done, write);
    return true;
}

// Of this state of the key's object: whatever comes in between, another leader say, makes it new.
static struct content_id want_id(const struct object *object, const struct object_want *want)
{
    struct text version = object_version(object);
    const struct content_id parts[] = {value_content_id(want->tree), value_content_id(want->kept),
                                       content_id_of(want->name.at, want->name.len),
                                       content_id_of(version.at, version.len)};
    return content_id_of(parts, sizeof parts);
}

static bool write_object(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    const struct object_want *want = decision->object;
    if (!want)
        return false;
    struct content_id made = want_id(key->object, want);
    if (key->extra && content_id_equal(key->extra->made, made))
        return false;
    struct write *write = write_new(engine, id, &(struct decision){0});
    write->wants_reconcile = write->is_ahead = true;
    write->makes = true;
    write->made = made;
    store_put(engine->options.store,
              &(struct store_put){.key = {want->kind, want->namespace_, want->name},
                                  .tree = want->tree,
                                  .kept = want->kept,
                                  .grant = want->grant},
              write_done, write);
    return true;
}

static void whole_read(void *context, const struct store_reply *reply)
{
    struct write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct buffer json = {0};
    key->is_writing = key->is_dirty = false;
    engine->writes_in_flight--;
    key_extra(key)->was_read = true;
    if (reply->is_ok && reply->tree) {
        value_write_json(&json, reply->tree);
        key->extra->whole = buffer_steal(&json);
    }
    key_wake(engine, write->key, QUEUE_USER);
    write_end(write);
    engine_schedule(engine);
}

static bool read_whole(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    const struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    if (!decision->wants_whole || engine->keys[id].is_gone)
        return false;
    struct write *write = write_new(engine, id, &(struct decision){0});
    store_get(engine->options.store, &key, whole_read, write);
    return true;
}

// The status as it would be stored: fields that go leave no trace.
static struct content_id stored_id(struct arena *arena, const struct kind *kind,
                                   const struct value *status)
{
    struct value *kept = value_make(arena, VALUE_MAP);
    value_each (item, status) {
        if (item->type == VALUE_NULL || status_is_bulk(kind, item->key))
            continue;
        struct value *link = arena_new_of(arena, struct value);
        *link = *item;
        link->next = NULL;
        value_set(kept, item->key, link);
    }
    return value_content_id(kept);
}

static bool write_status(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    if (!decision->status ||
        content_id_equal(stored_id(engine->arena, object->kind, decision->status),
                         object->status_id))
        return false;
    struct write *write = write_new(engine, id, decision);
    store_patch_status(engine->options.store, object, decision->status, write_done, write);
    return true;
}

// ---- a reconciliation ---------------------------------------------------------------------------

static void reconcile_forget(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    registry_submit(engine, id, NULL, 0);
    if (key->extra && key->extra->backend)
        backend_release(key->extra->backend);
    input_index_key(engine, id, key->object, NULL);
    publish_forget(engine, id);
    key_forget(engine, id);
}

// Nobody saw it go: what it had at a backend that tells what stands there is looked through by the
// next list, and by the guard.
static bool leave_to_guard(struct engine *engine, uint32_t id)
{
    const struct key *key = &engine->keys[id];
    size_t opener = engine->controllers[key->controller].opener;
    if (!key->is_missed || !engine->controllers[opener].controller->open)
        return false;
    backends_list_anew(engine, opener);
    reconcile_forget(engine, id);
    return true;
}

static void settle_previous(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    if (!key->extra || !key->extra->previous || !registry_is_settled(engine, id))
        return;
    object_unref(key->extra->previous);
    key->extra->previous = NULL;
}

static void ask_question(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct key *key = &engine->keys[id];
    if (decision->question && key->extra && key->extra->backend)
        backend_ask(key->extra->backend, decision->question);
}

static uint64_t hash_more(uint64_t hash, struct text text)
{
    uint64_t mixed[] = {hash, hash_octets(text.at, text.len)};
    return hash_octets(mixed, sizeof mixed);
}

static uint64_t told_hash(const struct decision *decision)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < decision->note_count; i++)
        hash = hash_more(hash, text_of(decision->notes[i].text));
    for (size_t i = 0; i < decision->line_count; i++) {
        const struct log_attr *attrs = decision->lines[i].attrs;
        hash = hash_more(hash, text_of(decision->lines[i].message));
        for (; attrs && attrs->type != LOG_ATTR_END; attrs++)
            hash = hash_more(hash, attrs->text);
    }
    return hash;
}

// Without a status that remembers it, a decision says the same again at every reconciliation.
static bool is_told(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    if (decision->status || key->object->kind->has_status)
        return false;
    uint64_t hash = told_hash(decision);
    if (!key->extra && !hash)
        return true;
    uint64_t before = key_extra(key)->report;
    key->extra->report = hash;
    return hash == before;
}

static void tell_at_once(struct engine *engine, uint32_t id, const struct decision *decision)
{
    autofree struct report *report = is_told(engine, id, decision) ? NULL : report_new(decision);
    report_tell(engine, report, engine->keys[id].object);
}

// At least until a reconciliation has told it, however late that came.
static bool hold_back(const struct engine *engine, const struct key *key)
{
    struct key_extra *extra = key->extra;
    if (!extra || !extra->refused)
        return false;
    bool is_untold = extra->is_refusal_untold;
    extra->is_refusal_untold = false;
    return is_untold || extra->refused_until_ms > loop_mono_ms(engine->loop);
}

// What was refused took effect all the same, or nothing of it is wanted any more.
static bool is_refusal_over(const struct key *key, const struct decision *decision)
{
    return key->extra && key->extra->refused && !decision->mark_count && !decision->object &&
           !decision->owned_object_count && !adds_finalizer(key->object, decision) &&
           !removes_finalizer(key->object, decision);
}

static void write_decision(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    if (!engine_may_write(engine) || key->is_gone)
        return;
    if (is_refusal_over(key, decision)) {
        key_forget_refusal(key);
        key_wake(engine, id, QUEUE_USER);
        return;
    }
    if (key->extra && key->extra->write_not_before_ms > loop_mono_ms(engine->loop)) {
        key_after(engine, id, key->extra->write_not_before_ms);
        return;
    }
    if (hold_back(engine, key))
        key_after(engine, id, key->extra->refused_until_ms);
    else if (write_ahead(engine, id, decision) || write_finalizer_away(engine, id, decision) ||
             write_object(engine, id, decision) || owned_objects_write(engine, id, decision))
        return;
    if (!write_status(engine, id, decision))
        tell_at_once(engine, id, decision);
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

static void tell_start(const struct engine *engine, const struct controller *controller,
                       const struct object *object)
{
    const struct change_messages *words = controller->words;
    if (!words || !words->started || !log_has(engine->log, LOG_DEBUG))
        return;
    AUTO_BUFFER name = {0};
    object_write_name(&name, object);
    log_line(engine->log, LOG_DEBUG, words->started, LOG_TEXT(words->object, name.at), LOG_END);
}

void reconcile_key(struct engine *engine, uint32_t id)
{
    struct controller_state *state = &engine->controllers[engine->keys[id].controller];
    struct decision decision = {0};
    char trace[33];
    if (!input_is_synced(engine, state->controller) ||
        !input_is_told(engine, state->controller, key_subject(&engine->keys[id])) ||
        leave_to_guard(engine, id) || registry_awaits_plan(engine, id))
        return;
    int64_t begun_ms = loop_mono_ms(engine->loop);
    engine->keys[id].is_told = false;
    engine_trace(engine, trace);
    engine->reconciles_since_release++;
    engine->keys[id].is_seen = true;
    queue_cancel_timer(engine->queue, id);
    tell_start(engine, state->controller, engine->keys[id].object);
    decide(engine, id, trace, &decision);
    drop_backend_secret(&decision);
    count_reconcile(engine, state, &decision, begun_ms);
    if (registry_awaits_plan(engine, id))
        return;
    forget_whole(engine, id);
    key_metrics_count(engine, id, &decision);
    if (engine->dry_run)
        dry_run_note(engine->dry_run, id, &decision);
    holds_approve(engine, decision.approval);
    if (engine->keys[id].is_gone && !decision.claim_count && !decision.backend) {
        reconcile_forget(engine, id);
        return;
    }
    publish_decision(engine, id, &decision.publication);
    ask_question(engine, id, &decision);
    settle_previous(engine, id);
    if (decision.wake_ms)
        key_after(engine, id,
                  loop_mono_ms(engine->loop) + decision.wake_ms - loop_unix_ms(engine->loop));
    if (!read_whole(engine, id, &decision))
        write_decision(engine, id, &decision);
}

// ---- the slice of work between two looks at the loop --------------------------------------------

static void ring_backoffs(struct engine *engine)
{
    uint32_t claim;
    int64_t now_ms = loop_mono_ms(engine->loop);
    while (queue_pop(engine->due, now_ms, &claim))
        claim_retry(engine, claim);
    int64_t next_ms = queue_next_ms(engine->due);
    if (next_ms != INT64_MAX)
        loop_timer_set(engine->loop, &engine->due_timer, next_ms > now_ms ? next_ms - now_ms : 0);
}

// Reconciliations that would lead to more writes wait for those that wait already.
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

// What it reads is told in part.
static bool is_part_of_batch(const struct engine *engine, uint32_t id)
{
    return engine->keys[id].is_told || shared_model_of(engine, id);
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
        else if (engine_awaits_batch(engine) && is_part_of_batch(engine, id))
            engine_batch_add(engine, id);
        else
            reconcile_key(engine, id);
        if (loop_mono_ms(engine->loop) - begun_ms > SLICE_MS)
            return;
    }
}

void engine_release(void *context)
{
    struct engine *engine = context;
    if (engine->reconciles_since_release >= FLOOD_RECONCILES)
        loop_timer_set(engine->loop, &engine->release_timer, IDLE_REST_MS);
    engine->reconciles_since_release = 0;
    mem_release();
}

void engine_release_soon(struct engine *engine)
{
    loop_timer_set(engine->loop, &engine->release_timer, FLOOD_REST_MS);
}

// What a flood of reconciliations, exchanges and writes took for a while goes back when it is over,
// and what its connections took when those are closed.
static void watch_flood(struct engine *engine)
{
    if (engine->reconciles_since_release >= FLOOD_RECONCILES)
        engine_release_soon(engine);
}

// A wall clock that leaps ahead has let no time pass: what waits for some begins anew. (One that is
// adjusted little by little gets there as well, after hours; the wait is longer once.)
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
    return !engine->is_batch_open && !queue_depth(engine->queue) &&
           queue_next_ms(engine->crowded) == INT64_MAX && shared_models_are_settled(engine);
}

static void slice(void *context)
{
    struct engine *engine = context;
    engine->is_turning = false;
    watch_clock(engine);
    engine_give_up_batch(engine);
    ring_backoffs(engine);
    registry_plan_crowded(engine);
    take_reconciles(engine);
    if (!engine->is_stopping)
        for (struct backend *backend = engine->backends; backend; backend = backend->next)
            backend_pump(backend);
    catalogs_update(engine);
    holds_ask(engine);
    backends_sweep(engine);
    watch_flood(engine);
    int64_t next_ms = queue_next_ms(engine->queue);
    int64_t now_ms = loop_mono_ms(engine->loop);
    bool is_due = next_ms <= now_ms; // and told to go on by the store, if that is full
    if (is_due && may_go_on(engine))
        engine_schedule(engine);
    else if (!is_due && next_ms != INT64_MAX)
        loop_timer_set(engine->loop, &engine->timer, next_ms - now_ms);
    if (engine->is_first_pass_due && engine_is_decided(engine)) {
        engine->is_first_pass_due = false;
        engine->is_first_pass_done = true;
        published_complete(engine->published);
        zone_files_tidy(engine);
        engine_release(engine);
    }
    engine_maybe_stopped(engine);
    engine_maybe_rested(engine);
}

void engine_schedule(struct engine *engine)
{
    if (engine->is_turning)
        return;
    engine->is_turning = true;
    loop_defer(engine->loop, slice, engine);
}
