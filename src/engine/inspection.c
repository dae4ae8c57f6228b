#include "engine/inspection.h"

#include <stdlib.h>
#include <string.h>

#include "engine/backend_state.h"

static struct backend_state make_state(const struct backend *backend,
                                       const struct back_offs *back_offs)
{
    int64_t wait_ms = backend->blocked_until_ms - loop_mono_ms(backend->engine->loop);
    return (struct backend_state){
        .view = &backend->view,
        .provider = backend->provider ? backend->provider->name : NULL,
        .claims = backend->claim_count,
        .due = backend->due_count,
        .in_flight = backend->in_flight + backend->reading,
        .backing_off = back_offs[backend->number].count,
        .next_ms = back_offs[backend->number].next_ms,
        .wait_ms = wait_ms > 0 ? wait_ms : 0,
        .failures = backend->transport_failures,
    };
}

void engine_each_backend(struct engine *engine,
                         void (*call)(void *context, const struct backend_state *state),
                         void *context)
{
    autofree struct back_offs *back_offs =
        mem_new_array(struct back_offs, engine->backend_count + 1);
    claims_count_back_offs(engine, back_offs);
    for (const struct backend *backend = engine->backends; backend; backend = backend->next) {
        const struct backend_state state = make_state(backend, back_offs);
        if (!backend->is_released)
            call(context, &state);
    }
}

bool engine_runs(const struct engine *engine, const char *controller)
{
    for (size_t i = 0; i < engine->options.controller_count; i++)
        if (!strcmp(engine->options.controllers[i]->name, controller))
            return true;
    return false;
}

size_t engine_zone_servers(const struct engine *engine, struct dname apex,
                           const struct server_view **servers)
{
    return secondaries_views(engine->secondaries, apex, servers);
}
