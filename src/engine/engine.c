#include "engine/engine.h"
#include "engine/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "engine/backend_state.h"
#include "engine/write_back.h"
#include "store/cache.h"

enum { LEAVE_MS = 500 }; // from the stop on, its last exchange included

// ---- making -------------------------------------------------------------------------------------

static void add_kind(struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            return;
    engine->kinds[engine->kind_count++] = kind;
}

static size_t opener_of(const struct engine_options *options, size_t at)
{
    const struct controller *opener = controller_backends_of(options->controllers[at]);
    for (size_t i = 0; i <= at; i++)
        if (options->controllers[i] == opener)
            return i;
    must(false);
}

static void add_controllers(struct engine *engine)
{
    size_t kinds = 0;
    const struct engine_options *options = &engine->options;
    engine->controllers = mem_new_array(struct controller_state, options->controller_count + 1);
    for (size_t i = 0; i < options->controller_count; i++)
        kinds += 1 + options->controllers[i]->input_count +
                 shared_model_kind_count(options->controllers[i]->shared_model);
    engine->kinds = mem_new_array(const struct kind *, kinds + 1);
    engine->kind_synced = mem_new_array(bool, kinds + 1);
    engine->kind_unread = mem_new_array(char *, kinds + 1);
    engine->kind_missing = mem_new_array(bool, kinds + 1);
    for (size_t i = 0; i < options->controller_count; i++) {
        const struct controller *controller = options->controllers[i];
        struct controller_state *state = &engine->controllers[i];
        state->controller = controller;
        state->opener = opener_of(options, i);
        state->settings = options->settings ? options->settings[state->opener] : NULL;
        state->joins = mem_new_array(struct join, controller->input_count + 1);
        add_kind(engine, controller->kind);
        for (size_t g = 0; g < controller->input_count; g++)
            add_kind(engine, controller->inputs[g].kind);
        for (size_t k = 0; k < shared_model_kind_count(controller->shared_model); k++)
            add_kind(engine, controller->shared_model->kinds[k]);
    }
    recorder_begin(engine->options.recorder, engine->options.controllers,
                   engine->options.controller_count);
    shared_models_new(engine);
}

static void wake_timer(void *context)
{
    engine_schedule(context);
}

struct engine *engine_new(const struct engine_options *options)
{
    struct engine *engine = mem_new_of(struct engine);
    engine->options = *options;
    engine->loop = options->world->loop;
    engine->log = options->log;
    engine->arena = arena_new();
    engine->scratch = arena_new();
    engine->queue = queue_new();
    engine->back_offs = queue_new();
    engine->crowded = queue_new();
    engine->claim_slab = slab_new();
    engine->questions = questions_new(engine);
    engine->started_unix_ms = loop_unix_ms(engine->loop);
    engine->clock_ahead_ms = engine->started_unix_ms - loop_mono_ms(engine->loop);
    engine->timer = (struct loop_timer){.call = wake_timer, .context = engine};
    engine->event_batch_timer = (struct loop_timer){.call = wake_timer, .context = engine};
    engine->back_off_timer = (struct loop_timer){.call = wake_timer, .context = engine};
    engine->crowded_timer = (struct loop_timer){.call = wake_timer, .context = engine};
    engine->approval_timer = (struct loop_timer){.call = wake_timer, .context = engine};
    engine->release_timer = (struct loop_timer){.call = engine_release_memory, .context = engine};
    engine->submitting = NO_ID;
    engine->is_leading = !options->store;
    engine->dry_run = options->is_dry ? dry_run_new() : NULL;
    engine->object_states = options->keeps_states ? object_states_new() : NULL;
    engine->recent_changes = options->keeps_states ? recent_changes_new() : NULL;
    publish_new(engine);
    add_controllers(engine);
    return engine;
}

static void controllers_free(struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        struct controller_state *state = &engine->controllers[i];
        for (size_t g = 0; g < state->controller->input_count; g++)
            join_done(&state->joins[g]);
        join_done(&state->backend_join);
        key_metrics_done(&state->key_metrics);
        samples_done(&state->samples);
        free(state->joins);
    }
    free(engine->controllers);
    for (size_t i = 0; i < engine->kind_count; i++)
        free(engine->kind_unread[i]);
    free(engine->kinds);
    free(engine->kind_synced);
    free(engine->kind_unread);
    free(engine->kind_missing);
}

void engine_free(struct engine *engine)
{
    if (!engine)
        return;
    loop_timer_cancel(engine->loop, &engine->timer);
    loop_timer_cancel(engine->loop, &engine->event_batch_timer);
    loop_timer_cancel(engine->loop, &engine->back_off_timer);
    loop_timer_cancel(engine->loop, &engine->approval_timer);
    resync_stop(engine);
    loop_timer_cancel(engine->loop, &engine->release_timer);
    loop_timer_cancel(engine->loop, &engine->stop_timer);
    loop_timer_cancel(engine->loop, &engine->leave_timer);
    writes_free(engine);
    owned_objects_free(engine);
    frontend_writes_free(engine);
    publish_free(engine);
    shared_models_free(engine);
    backends_free(engine);
    ledger_calls_free(&engine->ledger_calls);
    busy_free(engine);
    registries_free(engine);
    loop_timer_cancel(engine->loop, &engine->crowded_timer);
    keys_free(engine);
    questions_free(engine->questions);
    controllers_free(engine);
    dry_run_free(engine->dry_run);
    object_states_free(engine->object_states);
    recent_changes_free(engine->recent_changes);
    queue_free(engine->queue);
    queue_free(engine->back_offs);
    queue_free(engine->crowded);
    arena_free(engine->arena);
    arena_free(engine->scratch);
    free(engine->event_batch);
    free(engine);
}

// ---- events of the store ------------------------------------------------------------------------

static bool is_same_to_us(const struct object *old, const struct object *new_)
{
    return object_has_same_spec(old, new_) && old->deleted_s == new_->deleted_s &&
           old->generation == new_->generation && old->is_lost == new_->is_lost &&
           !memcmp(old->uid, new_->uid, sizeof old->uid);
}

// Did somebody else write what is ours?
static bool has_foreign_write(const struct engine *engine, size_t controller,
                              const struct object *old, const struct object *new_)
{
    return engine->controllers[controller].controller->reads_own_writes &&
           !text_equal(object_managed(old), object_managed(new_));
}

// Somebody removed it, with all that we wrote there.
static bool has_lost_status(const struct object *old, const struct object *new_)
{
    return object_has_status(old) && !object_has_status(new_);
}

void event_batch_add(struct engine *engine, uint32_t id)
{
    mem_reserve(&engine->event_batch, &engine->event_batch_capacity, engine->event_batch_count + 1);
    engine->event_batch[engine->event_batch_count++] = id;
    engine->keys[id].is_in_event_batch = true;
}

static void remember_previous(struct engine *engine, uint32_t id, const struct object *new_)
{
    struct key *key = &engine->keys[id];
    if ((key->extra && key->extra->previous) || object_has_same_spec(key->object, new_) ||
        !registry_is_settled(engine, id))
        return;
    key_extra(key)->previous = object_ref(key->object);
}

static void key_event(struct engine *engine, size_t controller, const struct store_event *event)
{
    const struct object *object = event->object;
    uint32_t id = key_find(engine, controller, object_namespace(object), object_name(object));
    bool is_gone = event->type == STORE_DELETED;
    if (id == TABLE_NONE) {
        if (is_gone)
            return;
        id = key_make(engine, controller, object);
        input_index_key(engine, id, NULL, object);
        if (!engine->controllers[controller].shared_model)
            event_batch_add(engine, id);
        return;
    }
    struct key *key = &engine->keys[id];
    bool is_wanted = is_gone || key->is_gone || key->is_racing ||
                     has_lost_status(key->object, object) ||
                     has_foreign_write(engine, controller, key->object, object);
    bool is_changed = is_wanted || !is_same_to_us(key->object, object);
    key->is_racing = false;
    key->is_gone = is_gone;
    key->is_deletion_inferred = is_gone && event->is_inferred;
    input_index_key(engine, id, key->object, object);
    remember_previous(engine, id, object);
    key_set_object(engine, id, object);
    if (!is_changed)
        return;
    key_forget_refusal(key);
    if (is_wanted || !engine->controllers[controller].shared_model)
        event_batch_add(engine, id);
}

static void wake_readers(struct engine *engine, const struct object *old, const struct object *new_,
                         bool is_gone)
{
    bool is_same = old && !is_gone && is_same_to_us(old, new_);
    if (!is_same || !text_equal(object_managed(old), object_managed(new_)))
        input_wake(engine, old, new_, is_same);
}

// Keys that a batch of the store (a pass over a folder, a piece of a list) concerns get their
// reconciliations when it ends, and keys that read a shared model wait for it, too. Reading a large
// folder takes long: after so many milliseconds nobody waits any more.
enum { EVENT_BATCH_WAIT_MS = 2000 };

static void open_event_batch(struct engine *engine)
{
    if (engine->is_event_batch_open)
        return;
    engine->is_event_batch_open = true;
    engine->event_batch_since_ms = loop_mono_ms(engine->loop);
    loop_timer_set(engine->loop, &engine->event_batch_timer, EVENT_BATCH_WAIT_MS);
}

bool event_batch_is_awaited(const struct engine *engine)
{
    return engine->is_event_batch_open &&
           loop_mono_ms(engine->loop) - engine->event_batch_since_ms < EVENT_BATCH_WAIT_MS;
}

static void on_event(void *context, const struct store_event *event)
{
    struct engine *engine = context;
    bool is_gone = event->type == STORE_DELETED;
    open_event_batch(engine);
    arena_reset(engine->arena);
    input_index_object(engine, event->old, is_gone ? NULL : event->object);
    if (!event->is_initial)
        wake_readers(engine, event->old, event->object, is_gone);
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->kind == event->object->kind)
            key_event(engine, i, event);
    shared_model_event(engine, event->object, is_gone);
    frontend_writes_show(engine, event->object);
    if (!event_batch_is_awaited(engine))
        engine_schedule(engine);
}

static void key_file_written(struct engine *engine, size_t controller, const struct object *object,
                             bool is_same)
{
    uint32_t id = key_find(engine, controller, object_namespace(object), object_name(object));
    if (id == TABLE_NONE || engine->keys[id].is_gone)
        return;
    is_same = is_same && !has_foreign_write(engine, controller, engine->keys[id].object, object);
    input_index_key(engine, id, engine->keys[id].object, object);
    remember_previous(engine, id, object);
    key_set_object(engine, id, object);
    if (!is_same)
        key_wake(engine, id, QUEUE_USER);
}

// Somebody's change may have come back with it, and every controller of the kind keeps the object.
void engine_file_written(struct engine *engine, const struct object *old, const struct object *new_)
{
    if (old == new_)
        return;
    bool is_same = is_same_to_us(old, new_);
    const struct object *kept = object_ref(old);
    arena_reset(engine->arena);
    input_index_object(engine, kept, new_);
    wake_readers(engine, kept, new_, false);
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->kind == new_->kind)
            key_file_written(engine, i, new_, is_same);
    shared_model_event(engine, new_, false);
    object_unref(kept);
}

struct aged {
    const struct object *object;
    size_t opener; // whoever shares backends may claim the same names
    uint32_t id;
};

static int compare_aged(const void *a, const void *b)
{
    const struct aged *left = a;
    const struct aged *right = b;
    if (left->opener != right->opener)
        return left->opener < right->opener ? -1 : 1;
    return object_compare_age(left->object, right->object);
}

// The oldest first, so that a name's rightful holder claims it before others ask for it.
static void queue_by_age(struct engine *engine, const uint32_t *ids, size_t count,
                         enum queue_level level)
{
    struct aged *aged = mem_new_array(struct aged, count + 1);
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        const struct key *key = &engine->keys[ids[i]];
        size_t opener = engine->controllers[key->controller].opener;
        if (key->object) // else it had its last reconciliation amid a late batch
            aged[known++] = (struct aged){key->object, opener, ids[i]};
    }
    qsort(aged, known, sizeof *aged, compare_aged);
    for (size_t i = 0; i < known; i++) {
        struct key *key = &engine->keys[aged[i].id];
        if (key->is_writing)
            key->is_dirty = true;
        else
            queue_add(engine->queue, aged[i].id, key_level(engine, aged[i].id, level),
                      loop_mono_ms(engine->loop));
    }
    free(aged);
    engine_schedule(engine);
}

static void queue_event_batch(struct engine *engine)
{
    enum queue_level level = engine_is_synced(engine) ? QUEUE_USER : QUEUE_BACKGROUND;
    queue_by_age(engine, engine->event_batch, engine->event_batch_count, level);
    engine->event_batch_count = 0;
    mem_relax(&engine->event_batch, &engine->event_batch_capacity);
}

static void on_batch_end(void *context)
{
    struct engine *engine = context;
    engine->is_event_batch_open = false;
    loop_timer_cancel(engine->loop, &engine->event_batch_timer);
    queue_event_batch(engine);
}

void event_batch_give_up(struct engine *engine)
{
    // Before all kinds are read nothing is decided, and then the oldest objects come first.
    if (engine->event_batch_count && engine_is_synced(engine) && !event_batch_is_awaited(engine))
        queue_event_batch(engine);
}

static bool all_kinds_synced(const struct engine *engine)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (!engine->kind_synced[i])
            return false;
    return true;
}

static void queue_those(struct engine *engine,
                        bool (*is_wanted)(const struct controller_state *controller))
{
    uint32_t *ids = mem_new_array(uint32_t, (size_t)engine->key_slots.end + 1);
    size_t count = 0;
    for (uint32_t id = 0; id < engine->key_slots.end; id++)
        if (engine->keys[id].object && is_wanted(&engine->controllers[engine->keys[id].controller]))
            ids[count++] = id;
    queue_by_age(engine, ids, count, QUEUE_BACKGROUND);
    free(ids);
}

static bool is_any(const struct controller_state *controller)
{
    (void)controller;
    return true;
}

static bool is_due(const struct controller_state *controller)
{
    return controller->is_due;
}

// Each controller begins when all kinds that it reads are synced, whatever others wait for.
static void queue_newly_synced(struct engine *engine)
{
    bool is_any_new = false;
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        struct controller_state *state = &engine->controllers[i];
        bool is_synced = input_is_synced(engine, state->controller);
        state->is_due = is_synced && !state->is_synced;
        state->is_synced = is_synced;
        is_any_new |= state->is_due;
    }
    if (is_any_new)
        queue_those(engine, is_due);
}

static void set_kind_synced(struct engine *engine, size_t at, bool is_synced, const char *why)
{
    engine->kind_synced[at] = is_synced;
    free(engine->kind_unread[at]);
    engine->kind_unread[at] = is_synced && why && *why ? mem_copy_text(why) : NULL;
}

// Whether a kind can be read changes what is decided, even if there are no objects of it.
static void queue_readers(struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        engine->controllers[i].is_due = engine->controllers[i].is_synced &&
                                        controller_reads(engine->controllers[i].controller, kind);
    queue_those(engine, is_due);
}

static void on_installed(void *context, const struct kind *kind, bool is_installed)
{
    struct engine *engine = context;
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            engine->kind_missing[i] = !is_installed;
    queue_readers(engine, kind);
}

static void on_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    struct engine *engine = context;
    bool was_synced = all_kinds_synced(engine);
    bool was_read = !input_why_unread(engine, kind);
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            set_kind_synced(engine, i, is_synced, why);
    if (was_read != !input_why_unread(engine, kind))
        queue_readers(engine, kind);
    if (!is_synced && was_synced)
        log_line(engine->log, LOG_WARN, "objects cannot be read; nothing is changed until they can",
                 LOG_TEXT("kind", kind->name), LOG_TEXT("error", why), LOG_END);
    queue_newly_synced(engine);
    if (!was_synced && all_kinds_synced(engine))
        engine->is_first_pass_due = !engine->is_first_pass_done;
    engine_schedule(engine);
}

static void on_leading(void *context, bool is_leading)
{
    struct engine *engine = context;
    if (engine->is_leading == is_leading)
        return;
    engine->is_leading = is_leading;
    log_line(engine->log, LOG_INFO, is_leading ? "leading" : "standing by", LOG_END);
    backends_lead(engine, is_leading);
    secondaries_lead(engine->secondaries, is_leading);
    engine->are_catalogs_dirty = true;
    engine->led_since_s = loop_unix_ms(engine->loop) / 1000;
    engine->led_since_ms = loop_mono_ms(engine->loop);
    if (is_leading)
        queue_those(engine, is_any);
    if (engine->options.leading)
        engine->options.leading(engine->options.context, is_leading);
}

static void on_fenced(void *context)
{
    struct engine *engine = context;
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        exchanges_abort(backend);
}

static void on_known(void *context, const struct object_ref_key *key)
{
    input_wake_identity(context, key);
}

static void on_room(void *context)
{
    frontend_writes_send(context);
    engine_schedule(context);
}

static void on_writable(void *context)
{
    struct engine *engine = context;
    for (uint32_t id = 0; id < engine->key_slots.end; id++) {
        struct key_extra *extra = engine->keys[id].extra;
        if (!extra || !extra->write_failures)
            continue;
        extra->write_failures = 0;
        key_wake(engine, id, QUEUE_USER);
    }
}

bool engine_start(struct engine *engine, struct error *err)
{
    const struct store_sink sink = {.event = on_event,
                                    .batch_end = on_batch_end,
                                    .synced = on_synced,
                                    .installed = on_installed,
                                    .known = on_known,
                                    .leading = on_leading,
                                    .fenced = on_fenced,
                                    .writable = on_writable,
                                    .room = on_room,
                                    .context = engine};
    engine->is_started = true;
    backends_open(engine);
    resync_start(engine);
    return store_start(engine->options.store, &sink, err);
}

// ---- leaving ------------------------------------------------------------------------------------

static void stopped(void *context)
{
    struct engine *engine = context;
    void (*call)(void *) = engine->stopped;
    engine->stopped = NULL;
    loop_timer_cancel(engine->loop, &engine->stop_timer);
    loop_timer_cancel(engine->loop, &engine->leave_timer);
    if (call)
        call(engine->stopped_context);
}

void engine_maybe_stopped(struct engine *engine)
{
    if (!engine->is_stopping || !engine->stopped || engine->exchange_count_all ||
        engine->writes_in_flight || queue_depth(engine->queue) || backends_leave(engine))
        return;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend->ledger && !ledger_keeper_is_idle(backend->ledger))
            return;
    stopped(engine);
}

static void leave_late(void *context)
{
    backends_leave_late(context);
    engine_schedule(context);
}

void engine_stop(struct engine *engine, int64_t deadline_ms, void (*call)(void *context),
                 void *context)
{
    engine->is_stopping = true;
    resync_stop(engine);
    questions_stop(engine->questions);
    engine->stopped = call;
    engine->stopped_context = context;
    for (struct backend *backend = engine->backends; backend; backend = backend->next) {
        loop_timer_cancel(engine->loop, &backend->timer);
        exchanges_end_waiting(backend);
    }
    engine->stop_timer = (struct loop_timer){.call = stopped, .context = engine};
    loop_timer_set(engine->loop, &engine->stop_timer, deadline_ms);
    engine->leave_timer = (struct loop_timer){.call = leave_late, .context = engine};
    loop_timer_set(engine->loop, &engine->leave_timer, LEAVE_MS);
    engine_schedule(engine);
}

void engine_write_cut(const struct engine *engine, struct buffer *out)
{
    for (const struct backend *backend = engine->backends; backend; backend = backend->next) {
        size_t count = backend->in_flight + backend->reading;
        if (count)
            buffer_printf(out, "%s%s: %zu exchange%s", out->len ? ", " : "", backend->name, count,
                          count > 1 ? "s" : "");
    }
    if (engine->writes_in_flight)
        buffer_printf(out, "%s%zu write%s to the store", out->len ? ", " : "",
                      engine->writes_in_flight, engine->writes_in_flight > 1 ? "s" : "");
}

// ---- looking in ---------------------------------------------------------------------------------

bool engine_is_synced(const struct engine *engine)
{
    return all_kinds_synced(engine) && engine->is_first_pass_done;
}

// Had its reconciliation, and what it had to write was written, or refused for good.
static bool is_key_at_rest(const struct key *key)
{
    const struct key_extra *extra = key->extra;
    if (!key->object)
        return true;
    return key->is_seen && !(extra && extra->write_failures && !extra->refused);
}

static bool is_at_rest(const struct engine *engine)
{
    if (!engine_is_synced(engine) || engine->exchange_count_all || engine->writes_in_flight ||
        engine->is_slice_scheduled || engine->is_event_batch_open || queue_depth(engine->queue) ||
        queue_next_ms(engine->crowded) != INT64_MAX || questions_are_awaited(engine))
        return false;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend_is_unread(backend) && !backend_is_unavailable(backend))
            return false;
    for (uint32_t id = 0; id < engine->key_slots.end; id++)
        if (!is_key_at_rest(&engine->keys[id]))
            return false;
    return true;
}

void engine_maybe_rested(struct engine *engine)
{
    if (engine->options.rested && is_at_rest(engine))
        engine->options.rested(engine->options.context);
}

bool engine_may_write(const struct engine *engine)
{
    const struct store *store = engine->options.store;
    return engine->is_leading && (!store || store_may_write(store));
}

bool engine_is_leading(const struct engine *engine)
{
    return engine->is_leading;
}

bool engine_open_backend(struct engine *engine, const struct backend_want *want, struct error *err)
{
    struct backend *backend;
    return backend_set(engine, want, NO_ID, &backend, err);
}

const struct backend_view *engine_backend(const struct engine *engine, const char *name)
{
    const struct backend *backend = backend_find(engine, name);
    return backend ? &backend->view : NULL;
}

static struct store_check check_of_engine(const struct engine *engine)
{
    if (!all_kinds_synced(engine) && engine->is_first_pass_done)
        return (struct store_check){
            .name = "synced", .text = "objects cannot be read; nothing is changed until they can"};
    if (!all_kinds_synced(engine))
        return (struct store_check){.name = "synced", .text = "the first list is not complete"};
    if (!engine->is_first_pass_done)
        return (struct store_check){.name = "synced", .text = "the first pass is not complete"};
    return (struct store_check){.name = "synced", .is_ok = true, .text = ""};
}

size_t engine_checks(struct engine *engine, struct store_check *out, size_t capacity)
{
    size_t count = 0;
    if (!engine->options.store || !capacity)
        return 0;
    out[count++] = check_of_engine(engine);
    count += engine_guard_checks(engine, out + count, capacity - count);
    return count + store_checks(engine->options.store, out + count, capacity - count);
}
