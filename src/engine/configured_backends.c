#include <string.h>

#include "engine/backend_state.h"

enum { OPEN_MAX = 1000 };

static void open_backend(struct engine *engine, size_t controller, const struct backend_want *want,
                         struct question *question)
{
    struct backend *backend;
    struct error err = {0};
    if (!backend_set(engine, want, NO_ID, &backend, &err))
        log_line(engine->log, LOG_ERROR, "cannot use a backend", LOG_TEXT("backend", want->name),
                 LOG_TEXT("error", err.text), LOG_END);
    backend->controller = controller;
    backend->is_stale = false;
    question->backend = backend->name;
    questions_set(engine, &backend->asking, NO_ID, question, 1);
}

static void open_all(struct engine *engine, size_t number)
{
    const struct controller_state *state = &engine->controllers[number];
    if (!state->controller->open)
        return;
    struct arena *arena = arena_new();
    for (size_t at = 0; at < OPEN_MAX; at++) {
        struct backend_want want = {0};
        struct question question = {0};
        if (!state->controller->open(state->settings, at, arena, &want, &question))
            break;
        open_backend(engine, number, &want, &question);
        secret_unref(want.secret);
    }
    arena_free(arena);
}

static bool has_openers(const struct backend *backend,
                        bool (*is_so)(const struct engine *engine,
                                      const struct controller_state *state))
{
    const struct engine *engine = backend->engine;
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].opener == backend->controller &&
            is_so(engine, &engine->controllers[i]))
            return true;
    return false;
}

static bool is_unsynced(const struct engine *engine, const struct controller_state *state)
{
    (void)engine;
    return !state->is_synced;
}

bool backend_openers_are_synced(const struct backend *backend)
{
    return !has_openers(backend, is_unsynced);
}

static bool is_unread(const struct engine *engine, const struct controller_state *state)
{
    return input_why_unread(engine, state->controller->kind) != NULL;
}

bool backend_openers_may_read(const struct backend *backend)
{
    return !has_openers(backend, is_unread);
}

void backends_open(struct engine *engine)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        open_all(engine, i);
}

static void release_others(struct engine *engine, size_t number)
{
    for (struct backend *backend = engine->backends; backend; backend = backend->next)
        if (backend->controller == number && backend->is_stale)
            backend_release(backend);
}

static void wake_openers(struct engine *engine, size_t opener)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (engine->controllers[i].opener == opener)
            keys_wake_all(engine, i);
}

void engine_set_backends(struct engine *engine, const char *controller)
{
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        if (strcmp(engine->controllers[i].controller->name, controller))
            continue;
        for (struct backend *backend = engine->backends; backend; backend = backend->next)
            backend->is_stale = backend->controller == i;
        open_all(engine, i);
        release_others(engine, i);
        wake_openers(engine, i);
    }
}
