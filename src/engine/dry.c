#include <stdlib.h>
#include <string.h>

#include "dns/zone.h"
#include "engine/backend_state.h"

// What a dry run keeps: changes that would have been sent, and what is in the way of the rest.

struct planned {
    enum engine_act act;
    const char *backend;
    const char *server;
    struct record_set set;
    const struct object *object; // own reference
    const char *replaces;
};

// An object that would have been written. Own references.
struct planned_object {
    const struct object *owner;
    const struct object *before; // NULL: it was not there
    const struct object *after;  // NULL: it goes
};

struct obstacle {
    char *reason; // NULL: none
    char *message;
};

// What a key would have served.
struct planned_zone {
    uint8_t *apex; // NULL: nothing
    size_t apex_len;
    char *group;             // NULL: none
    const struct zone *zone; // own reference; NULL: what was served stays
};

struct dry_run {
    struct arena *arena;
    struct planned *planned;
    size_t planned_count;
    size_t planned_capacity;
    struct planned_object *objects;
    size_t object_count;
    size_t object_capacity;
    bool *has_made; // by key
    size_t made_capacity;
    struct obstacle *obstacles; // by key
    size_t obstacle_capacity;
    struct planned_zone *zones; // by key
    size_t zone_capacity;
    bool *may_stand; // by claim
    size_t may_stand_capacity;
};

struct dry_run *dry_run_new(void)
{
    struct dry_run *run = mem_new_of(struct dry_run);
    run->arena = arena_new();
    return run;
}

static void obstacle_clear(struct obstacle *obstacle)
{
    free(obstacle->reason);
    free(obstacle->message);
    *obstacle = (struct obstacle){0};
}

static void planned_zone_clear(struct planned_zone *planned)
{
    free(planned->apex);
    free(planned->group);
    zone_unref(planned->zone);
    *planned = (struct planned_zone){0};
}

static void planned_object_clear(struct planned_object *planned)
{
    object_unref(planned->owner);
    object_unref(planned->before);
    object_unref(planned->after);
}

void dry_run_free(struct dry_run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < run->planned_count; i++)
        object_unref(run->planned[i].object);
    for (size_t i = 0; i < run->object_count; i++)
        planned_object_clear(&run->objects[i]);
    free(run->objects);
    free(run->has_made);
    for (size_t i = 0; i < run->obstacle_capacity; i++)
        obstacle_clear(&run->obstacles[i]);
    free(run->planned);
    for (size_t i = 0; i < run->zone_capacity; i++)
        planned_zone_clear(&run->zones[i]);
    free(run->obstacles);
    free(run->zones);
    free(run->may_stand);
    arena_free(run->arena);
    free(run);
}

// ---- changes ------------------------------------------------------------------------------------

void dry_run_claim(struct dry_run *run, uint32_t claim, bool may_stand)
{
    mem_reserve(&run->may_stand, &run->may_stand_capacity, (size_t)claim + 1);
    run->may_stand[claim] = may_stand;
}

static bool was_there(const struct engine *engine, uint32_t id)
{
    return engine->dry_run ? engine->dry_run->may_stand[id]
                           : claim_may_stand(claim_get(engine, id));
}

static const char *replaced_by(const struct engine *engine, uint32_t id, enum change_op op)
{
    return op == CHANGE_SET ? claim_replaces(claim_get(engine, id)) : NULL;
}

static enum engine_act act_of(const struct engine *engine, uint32_t id, enum change_op op)
{
    if (op == CHANGE_REMOVE)
        return ENGINE_DELETE;
    return was_there(engine, id) || replaced_by(engine, id, op) ? ENGINE_UPDATE : ENGINE_CREATE;
}

struct engine_change engine_change_of(const struct engine *engine, uint32_t id, enum change_op op,
                                      const struct record_set *set)
{
    const struct claim *claim = claim_get(engine, id);
    const struct backend *backend = claim_backend(engine, claim);
    return (struct engine_change){
        .act = act_of(engine, id, op),
        .backend = backend ? backend->name : "",
        .server = engine->registries[claim_registry(claim)].url,
        .set = set,
        .object = claim_object(engine, claim),
        .replaces = replaced_by(engine, id, op),
    };
}

void dry_run_add(struct dry_run *run, const struct engine_change *change)
{
    mem_reserve(&run->planned, &run->planned_capacity, run->planned_count + 1);
    run->planned[run->planned_count++] = (struct planned){
        .act = change->act,
        .backend = arena_copy_text(run->arena, change->backend),
        .server = arena_copy_text(run->arena, change->server),
        .set = record_set_copy(run->arena, change->set),
        .object = change->object ? object_ref(change->object) : NULL,
        .replaces = change->replaces ? arena_copy_text(run->arena, change->replaces) : NULL,
    };
}

// ---- objects ------------------------------------------------------------------------------------

static struct object *make_object(struct dry_run *run, const struct object_want *want)
{
    struct value *tree = value_copy(run->arena, want->tree);
    value_put(run->arena, tree, "metadata.name", value_make_text(run->arena, want->key.name));
    value_put(run->arena, tree, "metadata.namespace",
              value_make_text(run->arena, want->key.namespace_));
    return object_new(want->key.kind, NULL, tree);
}

static void remember_made(struct dry_run *run, uint32_t key)
{
    size_t before = run->made_capacity;
    mem_reserve(&run->has_made, &run->made_capacity, (size_t)key + 1);
    for (size_t i = before; i < run->made_capacity; i++)
        run->has_made[i] = false;
    run->has_made[key] = true;
}

bool dry_run_has_made(const struct dry_run *run, uint32_t key)
{
    return key < run->made_capacity && run->has_made[key];
}

void dry_run_write(struct engine *engine, uint32_t id, const struct object_want *want)
{
    struct dry_run *run = engine->dry_run;
    const struct key *key = &engine->keys[id];
    if (!want->seen)
        remember_made(run, id);
    mem_reserve(&run->objects, &run->object_capacity, run->object_count + 1);
    run->objects[run->object_count++] = (struct planned_object){
        .owner = key->object ? object_ref(key->object) : NULL,
        .before = want->seen ? object_ref(want->seen) : NULL,
        .after = want->tree ? make_object(run, want) : NULL,
    };
}

// ---- what is in the way -------------------------------------------------------------------------

static void remember_ready(struct obstacle *obstacle, const struct value *status)
{
    const struct value *ready = kind_find_condition(status, TEXT("Ready"));
    if (!ready || text_is(value_text_at(ready, "status"), "True"))
        return;
    obstacle->reason = text_dup(value_text_at(ready, "reason"));
    obstacle->message = text_dup(value_text_at(ready, "message"));
}

static const struct zone *zone_of(const struct publication *publication)
{
    if (publication->next)
        return publication->next;
    return publication->what == PUBLISH_ZONE ? publication->zone : NULL;
}

static bool is_kept(const struct publication *publication)
{
    return publication->what == PUBLISH_KEEP ||
           (publication->what == PUBLISH_UNAVAILABLE && publication->was_served);
}

static void remember_zone(struct dry_run *run, uint32_t key, const struct publication *publication)
{
    size_t before = run->zone_capacity;
    mem_reserve(&run->zones, &run->zone_capacity, (size_t)key + 1);
    for (size_t i = before; i < run->zone_capacity; i++)
        run->zones[i] = (struct planned_zone){0};
    struct planned_zone *planned = &run->zones[key];
    const struct zone *zone = zone_of(publication);
    planned_zone_clear(planned);
    if (!zone && !is_kept(publication))
        return;
    *planned = (struct planned_zone){
        .apex = mem_copy(publication->apex, publication->apex_len),
        .apex_len = publication->apex_len,
        .group = publication->group ? mem_copy_text(publication->group) : NULL,
        .zone = zone ? zone_ref(zone) : NULL,
    };
}

void dry_run_remember(struct dry_run *run, uint32_t key, const struct decision *decision)
{
    remember_zone(run, key, &decision->publication);
    size_t before = run->obstacle_capacity;
    mem_reserve(&run->obstacles, &run->obstacle_capacity, (size_t)key + 1);
    for (size_t i = before; i < run->obstacle_capacity; i++)
        run->obstacles[i] = (struct obstacle){0};
    obstacle_clear(&run->obstacles[key]);
    remember_ready(&run->obstacles[key], decision->status);
    if (!decision->obstacle.reason)
        return;
    obstacle_clear(&run->obstacles[key]);
    run->obstacles[key].reason = mem_copy_text(decision->obstacle.reason);
    run->obstacles[key].message = mem_copy_text(decision->obstacle.text);
}

// ---- reporting ----------------------------------------------------------------------------------

// An object whose deletion is over is no obstacle.
static bool is_over(const struct object *object)
{
    return !object || (object->deleted_s && !object->has_finalizer);
}

static void each_obstacle(const struct engine *engine, const struct engine_plan_calls *calls)
{
    const struct dry_run *run = engine->dry_run;
    for (size_t id = 0; id < run->obstacle_capacity && id < engine->key_slots.end; id++) {
        const struct obstacle *obstacle = &run->obstacles[id];
        if (!obstacle->reason || is_over(engine->keys[id].object))
            continue;
        calls->obstacle(calls->context, &(struct engine_obstacle){.object = engine->keys[id].object,
                                                                  .reason = obstacle->reason,
                                                                  .message = obstacle->message});
    }
}

// Of a backend that does not list, changes are known though its settings are refused; what they
// replace may not be.
static const struct error *why_degraded(const struct backend *backend)
{
    const struct backend_view *view = &backend->view;
    if (backend->provider->lists && view->fault.fault != FAULT_NONE)
        return &view->fault;
    if (view->unavailable.fault != FAULT_NONE)
        return &view->unavailable;
    return !backend->provider->lists && view->answered_s && !view->is_answer_ok
               ? &view->answer_error
               : NULL;
}

static void report_degraded_backend(const struct backend *backend,
                                    const struct engine_plan_calls *calls)
{
    const struct error *error = why_degraded(backend);
    bool is_unread = backend->provider->lists &&
                     (backend->view.fault.fault != FAULT_NONE || backend_is_unread(backend));
    if (!error && !is_unread)
        return;
    calls->degraded(calls->context, &(struct engine_degraded_backend){.backend = backend->name,
                                                                      .server = backend->registry,
                                                                      .error = error,
                                                                      .is_unread = is_unread});
}

static void each_degraded_backend(const struct engine *engine,
                                  const struct engine_plan_calls *calls)
{
    for (const struct backend *backend = engine->backends; backend && calls->degraded;
         backend = backend->next)
        if (backend->provider)
            report_degraded_backend(backend, calls);
}

void engine_plan(const struct engine *engine, const struct engine_plan_calls *calls)
{
    const struct dry_run *run = engine->dry_run;
    for (size_t i = 0; i < run->planned_count; i++) {
        const struct planned *planned = &run->planned[i];
        calls->change(calls->context, &(struct engine_change){.act = planned->act,
                                                              .backend = planned->backend,
                                                              .server = planned->server,
                                                              .set = &planned->set,
                                                              .object = planned->object,
                                                              .replaces = planned->replaces});
    }
    for (size_t i = 0; calls->object && i < run->object_count; i++)
        calls->object(calls->context,
                      &(struct engine_object_change){run->objects[i].owner, run->objects[i].before,
                                                     run->objects[i].after});
    each_obstacle(engine, calls);
    each_degraded_backend(engine, calls);
}

void engine_plan_zones(const struct engine *engine,
                       void (*zone)(void *context, const struct engine_zone *zone), void *context)
{
    const struct dry_run *run = engine->dry_run;
    for (size_t id = 0; id < run->zone_capacity && id < engine->key_slots.end; id++) {
        const struct planned_zone *planned = &run->zones[id];
        const struct key *key = &engine->keys[id];
        if (!planned->apex || key->is_gone || is_over(key->object))
            continue;
        zone(context, &(struct engine_zone){.object = key->object,
                                            .apex = {planned->apex, planned->apex_len},
                                            .group = planned->group,
                                            .zone = planned->zone});
    }
}
