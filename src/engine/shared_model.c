#include "engine/state.h"

#include <stdlib.h>

#include "engine/recorder.h"
#include "store/cache.h"

size_t shared_model_kind_count(const struct shared_model *shared_model)
{
    size_t count = 0;
    while (shared_model && shared_model->kinds[count])
        count++;
    return count;
}

static struct shared_model_state *find(struct engine *engine,
                                       const struct shared_model *shared_model)
{
    for (size_t i = 0; i < engine->shared_model_count; i++)
        if (engine->shared_models[i].shared_model == shared_model)
            return &engine->shared_models[i];
    return NULL;
}

static void time_came(void *context)
{
    struct shared_model_state *state = context;
    state->is_dirty = true;
    engine_schedule(state->engine);
}

static struct shared_model_state *add(struct engine *engine,
                                      const struct shared_model *shared_model, size_t place,
                                      const void *settings)
{
    struct shared_model_state *state = &engine->shared_models[engine->shared_model_count++];
    *state = (struct shared_model_state){
        .shared_model = shared_model,
        .settings = settings,
        .state = shared_model->make(settings),
        .timer = {.call = time_came, .context = state},
        .engine = engine,
        .place = place,
    };
    return state;
}

void shared_models_new(struct engine *engine)
{
    size_t count = engine->options.controller_count;
    engine->shared_models = mem_new_array(struct shared_model_state, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct controller_state *state = &engine->controllers[i];
        const struct shared_model *shared_model = state->controller->shared_model;
        if (!shared_model)
            continue;
        state->shared_model = find(engine, shared_model);
        if (!state->shared_model)
            state->shared_model = add(engine, shared_model, i, state->settings);
    }
}

void shared_models_free(struct engine *engine)
{
    for (size_t i = 0; i < engine->shared_model_count; i++) {
        struct shared_model_state *state = &engine->shared_models[i];
        loop_timer_cancel(engine->loop, &state->timer);
        state->shared_model->free(state->state);
    }
    free(engine->shared_models);
}

static bool has_kind(const struct shared_model *shared_model, const struct kind *kind)
{
    for (size_t i = 0; i < shared_model_kind_count(shared_model); i++)
        if (shared_model->kinds[i] == kind)
            return true;
    return false;
}

void shared_model_event(struct engine *engine, const struct object *object, bool is_gone)
{
    for (size_t i = 0; i < engine->shared_model_count; i++) {
        struct shared_model_state *state = &engine->shared_models[i];
        if (!has_kind(state->shared_model, object->kind))
            continue;
        recorder_add_put(engine->options.recorder, state->place, object, is_gone);
        if (is_gone)
            state->shared_model->remove(state->state, object);
        else
            state->shared_model->put(state->state, object);
        state->is_dirty = state->is_stale = true;
        engine_schedule(engine);
    }
}

bool shared_model_is_synced(const struct engine *engine, const struct shared_model *shared_model)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (!engine->kind_synced[i] && has_kind(shared_model, engine->kinds[i]))
            return false;
    return true;
}

void *shared_model_of(const struct engine *engine, uint32_t key)
{
    const struct shared_model_state *state =
        engine->controllers[engine->keys[key].controller].shared_model;
    return state ? state->state : NULL;
}

static bool is_kind_of_keys(const struct engine *engine, const struct shared_model_state *state,
                            const struct kind *kind)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].shared_model == state &&
            engine->controllers[i].controller->kind == kind)
            return true;
    return false;
}

static void put_object(void *context, const struct object *object)
{
    struct shared_model_state *state = context;
    recorder_add_put(state->engine->options.recorder, state->place, object, false);
    state->shared_model->put(state->state, object);
}

static void put_all(struct engine *engine, struct shared_model_state *state)
{
    for (const struct kind *const *kind = state->shared_model->kinds; *kind; kind++)
        if (!is_kind_of_keys(engine, state, *kind))
            cache_each(engine->options.store->cache, *kind, put_object, state);
    for (uint32_t id = 0; id < engine->key_slots.end; id++) {
        const struct key *key = &engine->keys[id];
        if (!key->object || key->is_gone ||
            engine->controllers[key->controller].shared_model != state)
            continue;
        put_object(state, key->object);
        publish_to_shared_model(engine, id);
    }
}

static void wake(void *context, const struct object *object)
{
    struct engine *engine = context;
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller *controller = engine->controllers[i].controller;
        if (controller->kind != object->kind || !engine->controllers[i].shared_model)
            continue;
        uint32_t id = key_find(engine, i, object_namespace(object), object_name(object));
        if (id != TABLE_NONE)
            key_wake(engine, id, controller->is_urgent ? QUEUE_USER : QUEUE_BACKGROUND);
    }
}

static void programmed(void *context, const struct object *object, int64_t took_ms)
{
    struct engine *engine = context;
    change_log_arrival(engine, object, took_ms);
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->kind == object->kind &&
            engine->controllers[i].shared_model)
            histogram_add(&engine->controllers[i].programmed_seconds, took_ms);
}

static void settle(struct engine *engine, struct shared_model_state *state)
{
    int64_t now_ms = loop_unix_ms(engine->loop);
    int64_t begun_ms = loop_mono_ms(engine->loop);
    const struct shared_model_calls calls = {wake, programmed, engine};
    state->is_dirty = false;
    recorder_add_settling(engine->options.recorder, state->place, now_ms);
    int64_t next_ms = state->shared_model->settle(state->state, now_ms, &calls);
    histogram_add(&state->settle_seconds, loop_mono_ms(engine->loop) - begun_ms);
    if (next_ms)
        loop_timer_set(engine->loop, &state->timer, next_ms > now_ms ? next_ms - now_ms : 0);
    else
        loop_timer_cancel(engine->loop, &state->timer);
}

void shared_model_renew(struct engine *engine, struct shared_model_state *state)
{
    state->shared_model->free(state->state);
    state->state = state->shared_model->make(state->settings);
    recorder_add_renewal(engine->options.recorder, state->place);
    put_all(engine, state);
    state->is_dirty = true;
    state->is_stale = false;
    engine_schedule(engine);
}

// Amid a batch what it works out would be of half a file, say.
void shared_models_settle(struct engine *engine)
{
    for (size_t i = 0; i < engine->shared_model_count && !event_batch_is_awaited(engine); i++) {
        struct shared_model_state *state = &engine->shared_models[i];
        if (!state->is_dirty || !shared_model_is_synced(engine, state->shared_model))
            continue;
        if (engine->options.renews_models && state->is_stale)
            shared_model_renew(engine, state);
        settle(engine, state);
    }
}

void shared_models_write_metrics(const struct engine *engine, struct buffer *out)
{
    for (size_t i = 0; i < engine->shared_model_count; i++) {
        const struct shared_model_state *state = &engine->shared_models[i];
        const struct shared_model *shared_model = state->shared_model;
        if (shared_model->seconds_metric) {
            metric_write_head(out, shared_model->seconds_metric, "histogram",
                              shared_model->seconds_help);
            metric_write_histogram(out, shared_model->seconds_metric, "", &state->settle_seconds);
        }
        if (shared_model->write_metrics)
            shared_model->write_metrics(state->state, out);
    }
}

bool shared_models_are_settled(const struct engine *engine)
{
    for (size_t i = 0; i < engine->shared_model_count; i++)
        if (engine->shared_models[i].is_dirty &&
            shared_model_is_synced(engine, engine->shared_models[i].shared_model))
            return false;
    return true;
}
