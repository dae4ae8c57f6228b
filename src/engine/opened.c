#include <string.h>

#include "engine/state.h"

enum { OPEN_MAX = 1000 };

static void open_lane(struct engine *engine, size_t controller, const struct lane_want *want,
                      const struct question *question)
{
    struct lane *lane;
    struct error err = {0};
    if (!lane_set(engine, want, NO_ID, &lane, &err))
        log_line(engine->log, LOG_ERROR, "cannot use a backend", LOG_TEXT("lane", want->name),
                 LOG_TEXT("error", err.text), LOG_END);
    lane->controller = controller;
    lane->is_stale = false;
    lane_ask(lane, question);
}

static void open_all(struct engine *engine, size_t number)
{
    const struct controller_state *state = &engine->controllers[number];
    if (!state->controller->open)
        return;
    struct arena *arena = arena_new();
    for (size_t at = 0; at < OPEN_MAX; at++) {
        struct lane_want want = {0};
        struct question question = {0};
        if (!state->controller->open(state->settings, at, arena, &want, &question))
            break;
        open_lane(engine, number, &want, &question);
        secret_unref(want.secret);
    }
    arena_free(arena);
}

static bool has_openers(const struct lane *lane,
                        bool (*is_so)(const struct engine *engine,
                                      const struct controller_state *state))
{
    const struct engine *engine = lane->engine;
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].opener == lane->controller &&
            is_so(engine, &engine->controllers[i]))
            return true;
    return false;
}

static bool is_unsynced(const struct engine *engine, const struct controller_state *state)
{
    (void)engine;
    return !state->is_synced;
}

bool lane_openers_are_synced(const struct lane *lane)
{
    return !has_openers(lane, is_unsynced);
}

static bool is_unread(const struct engine *engine, const struct controller_state *state)
{
    return gather_why_unread(engine, state->controller->kind) != NULL;
}

bool lane_openers_may_read(const struct lane *lane)
{
    return !has_openers(lane, is_unread);
}

void lanes_open(struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        open_all(engine, i);
}

static void release_others(struct engine *engine, size_t number)
{
    for (struct lane *lane = engine->lanes; lane; lane = lane->next)
        if (lane->controller == number && lane->is_stale)
            lane_release(lane);
}

static void wake_openers(struct engine *engine, size_t opener)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].opener == opener)
            keys_wake_all(engine, i);
}

void engine_set_lanes(struct engine *engine, const char *controller)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        if (strcmp(engine->controllers[i].controller->name, controller))
            continue;
        for (struct lane *lane = engine->lanes; lane; lane = lane->next)
            lane->is_stale = lane->controller == i;
        open_all(engine, i);
        release_others(engine, i);
        wake_openers(engine, i);
    }
}
