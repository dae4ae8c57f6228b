#include "model/engine_inside.h"

#include "engine/backend_state.h"

bool engine_is_idle(const struct engine *engine)
{
    return !(engine->is_slice_scheduled || engine->exchange_count_all || engine->writes_in_flight ||
             queue_depth(engine->queue) || queue_depth(engine->back_offs) ||
             queue_next_ms(engine->crowded) != INT64_MAX) &&
           shared_models_are_settled(engine);
}

size_t engine_items(const struct engine *engine)
{
    size_t count = engine->by_name.count + engine->busy_names.count;
    for (const struct backend *backend = engine->backends; backend; backend = backend->next)
        count++;
    for (size_t i = 0; i < engine->registry_count; i++)
        count += engine->registries[i].refs > 0;
    for (size_t i = 0; i < engine->options.controller_count; i++) {
        const struct controller_state *state = &engine->controllers[i];
        count += state->keys.count + state->backend_join.by_text.count;
        for (size_t k = 0; k < state->controller->input_count; k++)
            count += state->joins[k].by_text.count;
    }
    return count;
}
