#include "engine/state.h"

#include <stdlib.h>

#include "store/cache.h"

size_t overview_kind_count(const struct overview *overview)
{
    size_t count = 0;
    while (overview && overview->kinds[count])
        count++;
    return count;
}

static struct overview_state *find(struct engine *engine, const struct overview *overview)
{
    for (size_t i = 0; i < engine->overview_count; i++)
        if (engine->overviews[i].overview == overview)
            return &engine->overviews[i];
    return NULL;
}

static void time_came(void *context)
{
    struct overview_state *state = context;
    state->is_dirty = true;
    engine_schedule(state->engine);
}

static struct overview_state *add(struct engine *engine, const struct overview *overview,
                                  const void *settings)
{
    struct overview_state *state = &engine->overviews[engine->overview_count++];
    *state = (struct overview_state){
        .overview = overview,
        .settings = settings,
        .state = overview->make(settings),
        .timer = {.call = time_came, .context = state},
        .engine = engine,
    };
    return state;
}

void overviews_new(struct engine *engine)
{
    size_t count = engine->options.controller_count;
    engine->overviews = mem_new_array(struct overview_state, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct controller_state *state = &engine->controllers[i];
        const struct overview *overview = state->controller->overview;
        if (!overview)
            continue;
        state->overview = find(engine, overview);
        if (!state->overview)
            state->overview = add(engine, overview, state->settings);
    }
}

void overviews_free(struct engine *engine)
{
    for (size_t i = 0; i < engine->overview_count; i++) {
        struct overview_state *state = &engine->overviews[i];
        loop_timer_cancel(engine->loop, &state->timer);
        state->overview->free(state->state);
    }
    free(engine->overviews);
}

static bool has_kind(const struct overview *overview, const struct kind *kind)
{
    for (size_t i = 0; i < overview_kind_count(overview); i++)
        if (overview->kinds[i] == kind)
            return true;
    return false;
}

void overview_event(struct engine *engine, const struct object *object, bool is_gone)
{
    for (size_t i = 0; i < engine->overview_count; i++) {
        struct overview_state *state = &engine->overviews[i];
        if (!has_kind(state->overview, object->kind))
            continue;
        if (is_gone)
            state->overview->remove(state->state, object);
        else
            state->overview->put(state->state, object);
        state->is_dirty = state->is_stale = true;
        engine_schedule(engine);
    }
}

bool overview_is_synced(const struct engine *engine, const struct overview *overview)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (!engine->kind_synced[i] && has_kind(overview, engine->kinds[i]))
            return false;
    return true;
}

void *overview_of(const struct engine *engine, uint32_t key)
{
    const struct overview_state *state = engine->controllers[engine->keys[key].controller].overview;
    return state ? state->state : NULL;
}

static void put_all(struct engine *engine, struct overview_state *state)
{
    for (uint32_t id = 0; id < engine->key_used; id++) {
        const struct key *key = &engine->keys[id];
        if (!key->object || key->is_gone || engine->controllers[key->controller].overview != state)
            continue;
        state->overview->put(state->state, key->object);
        publish_tell_overview(engine, id);
    }
}

static void wake(void *context, const struct object *object)
{
    struct engine *engine = context;
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller *controller = engine->controllers[i].controller;
        if (controller->kind != object->kind || !engine->controllers[i].overview)
            continue;
        uint32_t id = key_find(engine, i, object_namespace(object), object_name(object));
        if (id != TABLE_NONE)
            key_wake(engine, id, controller->is_urgent ? QUEUE_USER : QUEUE_BACKGROUND);
    }
}

static void programmed(void *context, const struct object *object, int64_t took_ms)
{
    struct engine *engine = context;
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].controller->kind == object->kind &&
            engine->controllers[i].overview)
            histogram_add(&engine->controllers[i].programmed_seconds, took_ms);
}

static void settle(struct engine *engine, struct overview_state *state)
{
    int64_t now_ms = loop_unix_ms(engine->loop);
    int64_t begun_ms = loop_mono_ms(engine->loop);
    const struct overview_calls calls = {wake, programmed, engine};
    state->is_dirty = false;
    int64_t next_ms = state->overview->settle(state->state, now_ms, &calls);
    histogram_add(&state->settle_seconds, loop_mono_ms(engine->loop) - begun_ms);
    if (next_ms)
        loop_timer_set(engine->loop, &state->timer, next_ms > now_ms ? next_ms - now_ms : 0);
    else
        loop_timer_cancel(engine->loop, &state->timer);
}

void overview_renew(struct engine *engine, struct overview_state *state)
{
    state->overview->free(state->state);
    state->state = state->overview->make(state->settings);
    put_all(engine, state);
    state->is_dirty = true;
    state->is_stale = false;
    engine_schedule(engine);
}

// Amid a batch what it works out would be of half a file, say.
void overviews_settle(struct engine *engine)
{
    for (size_t i = 0; i < engine->overview_count && !engine_awaits_batch(engine); i++) {
        struct overview_state *state = &engine->overviews[i];
        if (!state->is_dirty || !overview_is_synced(engine, state->overview))
            continue;
        if (engine->options.renews_models && state->is_stale)
            overview_renew(engine, state);
        settle(engine, state);
    }
}

void overviews_write_metrics(const struct engine *engine, struct buffer *out)
{
    for (size_t i = 0; i < engine->overview_count; i++) {
        const struct overview_state *state = &engine->overviews[i];
        const struct overview *overview = state->overview;
        if (overview->seconds_metric) {
            metric_write_head(out, overview->seconds_metric, "histogram", overview->seconds_help);
            metric_write_histogram(out, overview->seconds_metric, "", &state->settle_seconds);
        }
        if (overview->write_metrics)
            overview->write_metrics(state->state, out);
    }
}

bool overviews_are_settled(const struct engine *engine)
{
    for (size_t i = 0; i < engine->overview_count; i++)
        if (engine->overviews[i].is_dirty &&
            overview_is_synced(engine, engine->overviews[i].overview))
            return false;
    return true;
}
