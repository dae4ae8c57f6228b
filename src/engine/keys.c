#include "engine/state.h"

#include <stdlib.h>

#include "base/digest.h"
#include "base/must.h"

struct identity {
    struct text namespace_;
    struct text name;
};

static bool key_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct engine *engine = context;
    const struct identity *identity = wanted;
    const struct object *object = engine->keys[id].object;
    return text_equal(object_name(object), identity->name) &&
           text_equal(object_namespace(object), identity->namespace_);
}

static uint64_t key_hash(const void *context, uint32_t id)
{
    const struct engine *engine = context;
    const struct object *object = engine->keys[id].object;
    return object_name_hash(object_namespace(object), object_name(object));
}

static const struct table_ops key_table_ops = {key_matches, key_hash};

static struct table *key_table(struct engine *engine, size_t controller)
{
    struct table *table = &engine->controllers[controller].keys;
    table->ops = &key_table_ops;
    table->context = engine;
    return table;
}

uint32_t key_find(struct engine *engine, size_t controller, struct text namespace_,
                  struct text name)
{
    const struct identity identity = {namespace_, name};
    return table_find(key_table(engine, controller), object_name_hash(namespace_, name), &identity);
}

uint32_t key_make(struct engine *engine, size_t controller, const struct object *object)
{
    uint32_t id = slots_take(&engine->key_slots);
    mem_reserve(&engine->keys, &engine->key_capacity, engine->key_slots.end);
    engine->keys[id] = (struct key){
        .object = object_ref(object), .first_claim = NO_ID, .controller = (uint8_t)controller};
    table_add(key_table(engine, controller),
              object_name_hash(object_namespace(object), object_name(object)), id);
    object_states_make(engine->object_states, id);
    return id;
}

void key_set_object(struct engine *engine, uint32_t id, const struct object *object)
{
    struct key *key = &engine->keys[id];
    const struct object *old = key->object;
    if (old == object)
        return;
    key->object = object_ref(object);
    object_unref(old);
}

const struct object *key_subject(const struct key *key)
{
    return key->is_gone && !key->object->is_lost ? NULL : key->object;
}

void key_forget_refusal(struct key *key)
{
    if (!key->extra || !key->extra->refused)
        return;
    free(key->extra->refused);
    key->extra->refused = NULL;
}

static void key_release(struct key *key)
{
    object_unref(key->object);
    key_forget_refusal(key);
    if (key->extra) {
        object_unref(key->extra->previous);
        free(key->extra->whole);
        free(key->extra->backends);
        owned_objects_forget(key->extra->owned_objects);
    }
    free(key->extra);
    *key = (struct key){.first_claim = NO_ID};
}

void key_forget(struct engine *engine, uint32_t id)
{
    struct key *key = &engine->keys[id];
    must(key->first_claim == NO_ID);
    key_metrics_forget(engine, id);
    samples_forget(engine, id);
    object_states_forget(engine->object_states, id);
    table_remove(key_table(engine, key->controller), key_hash(engine, id), id);
    queue_forget(engine->queue, id);
    key_release(key);
    slots_give(&engine->key_slots, id);
}

struct key_extra *key_extra(struct key *key)
{
    if (!key->extra)
        key->extra = mem_new_of(struct key_extra);
    return key->extra;
}

static bool is_urgent(const struct engine *engine, uint32_t id)
{
    return engine->controllers[engine->keys[id].controller].controller->is_urgent;
}

enum queue_level key_level(const struct engine *engine, uint32_t id, enum queue_level level)
{
    return level == QUEUE_USER && is_urgent(engine, id) ? QUEUE_URGENT : level;
}

void key_wake(struct engine *engine, uint32_t id, enum queue_level level)
{
    if (id == engine->submitting) {
        engine->has_woken_itself = true;
        return;
    }
    struct key *key = &engine->keys[id];
    bool is_early = key->is_seen || is_urgent(engine, id);
    if (key->is_writing)
        key->is_dirty = true;
    else
        queue_add(engine->queue, id, is_early ? key_level(engine, id, level) : QUEUE_BACKGROUND,
                  loop_mono_ms(engine->loop));
    engine_schedule(engine);
}

void keys_wake_all(struct engine *engine, size_t controller)
{
    for (uint32_t id = 0; id < engine->key_slots.end; id++)
        if (engine->keys[id].object && engine->keys[id].controller == controller)
            key_wake(engine, id, QUEUE_USER);
}

void key_after(struct engine *engine, uint32_t id, int64_t at_ms)
{
    queue_after(engine->queue, id, key_level(engine, id, QUEUE_USER), at_ms);
}

void keys_free(struct engine *engine)
{
    for (uint32_t id = 0; id < engine->key_slots.end; id++) {
        struct key *key = &engine->keys[id];
        if (key->extra)
            questions_set(engine, &key->extra->asking, id, NULL, 0);
        if (key->object)
            key_release(key);
    }
    free(engine->keys);
    slots_done(&engine->key_slots);
    for (size_t i = 0; i < engine->options.controller_count; i++)
        table_done(&engine->controllers[i].keys);
}
