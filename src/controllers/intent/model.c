#include "controllers/intent/model_private.h"

#include <stdlib.h>

#include "kinds/namespace/namespace_kind.h"
#include "kinds/node/node_kind.h"
#include "kinds/service/service_kind.h"

// Events, settling, and what is woken by it.

// ---- plans by name ------------------------------------------------------------------------------

static bool plan_matches(const void *context, uint32_t id, const void *wanted)
{
    return model_is_named(((const struct intent_model *)context)->plans[id].publication, wanted);
}

static uint64_t plan_id_hash(const void *context, uint32_t id)
{
    return model_object_hash(((const struct intent_model *)context)->plans[id].publication);
}

static const struct table_ops plan_ops = {plan_matches, plan_id_hash};

uint32_t model_find_plan(const struct intent_model *model, const struct object *publication)
{
    const struct object_ref_key key = model_key_of(publication);
    return table_find(&model->plan_table, model_object_hash(publication), &key);
}

static struct plan *add_plan(struct intent_model *model, const struct object *publication)
{
    uint32_t id = slots_take(&model->plan_slots);
    mem_reserve(&model->plans, &model->plan_capacity, model->plan_slots.end);
    model->plans[id] = (struct plan){.publication = object_ref(publication), .is_dirty = true};
    table_add(&model->plan_table, model_object_hash(publication), id);
    return &model->plans[id];
}

static void put_publication(struct intent_model *model, const struct object *publication)
{
    uint32_t id = model_find_plan(model, publication);
    if (id == TABLE_NONE) {
        add_plan(model, publication);
        return;
    }
    struct plan *plan = &model->plans[id];
    const struct object *old = plan->publication;
    plan->publication = object_ref(publication);
    plan->is_dirty = true;
    object_unref(old);
}

// ---- events -------------------------------------------------------------------------------------

static bool plan_reads(const struct plan *plan, uint64_t hash)
{
    return plan->input_count &&
           bsearch(&hash, plan->inputs, plan->input_count, sizeof hash, model_compare_hashes);
}

// All plans that looked that up are to be made anew, or only woken.
static void touch(struct intent_model *model, uint64_t hash, bool is_replanned)
{
    for (uint32_t id = 0; id < model->plan_slots.end; id++) {
        struct plan *plan = &model->plans[id];
        if (!plan->publication || !plan_reads(plan, hash))
            continue;
        plan->is_dirty |= is_replanned;
        plan->is_changed = true;
    }
}

static void touch_object(struct intent_model *model, const struct object *object, bool is_replanned)
{
    touch(model, model_object_hash(object), is_replanned);
    touch(model, model_all_hash(object->kind, object_namespace(object)), is_replanned);
}

static void await(struct intent_model *model, const struct object *object)
{
    keyed_add(&model->awaited, 0, object);
}

// All records of that owner id are to hear of the others.
static void await_owners(struct intent_model *model, uint64_t key)
{
    for (size_t i = 0; key && i < model->owners.count; i++)
        if (model->owners.items[i].key == key)
            await(model, model->owners.items[i].object);
}

static void put_record(struct intent_model *model, const struct object *record)
{
    uint64_t old = keyed_remove(&model->owners, record);
    uint64_t key = model_owner_key(record);
    keyed_add(&model->owners, key, record);
    if (key == old)
        return;
    await_owners(model, old);
    await_owners(model, key);
}

static void put_intent(struct intent_model *model, const struct object *intent)
{
    touch(model, keyed_remove(&model->intents, intent), true);
    uint64_t key = model_intent_key(intent);
    keyed_add(&model->intents, key, intent);
    touch(model, key, true);
}

static void put(void *state, const struct object *object)
{
    struct intent_model *model = state;
    if (object->kind == &dnspublication_kind) {
        put_publication(model, object);
        return;
    }
    if (object->kind == &trafficgroupintent_kind) {
        put_intent(model, object);
        return;
    }
    bool is_same = model_put_object(&model->objects, object);
    if (object->kind == &dnsupdaterecord_kind) {
        put_record(model, object);
        if (!is_same)
            await(model, object);
    }
    touch_object(model, object, !is_same);
}

// ---- settling -----------------------------------------------------------------------------------

static void collect_names(struct intent_model *model)
{
    size_t count = 0;
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        count += model->plans[id].name_count;
    free(model->names);
    model->names = mem_new_array(struct wanted_name, count + 1);
    model->name_count = 0;
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        for (size_t i = 0; i < model->plans[id].name_count; i++)
            model->names[model->name_count++] = model->plans[id].names[i];
    qsort(model->names, model->name_count, sizeof *model->names, model_compare_wanted);
}

// The first of those that have the key.
size_t model_find_names(const struct intent_model *model, uint64_t key)
{
    size_t low = 0;
    size_t high = model->name_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->names[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Others that want one of those names may have it now, or may not any more.
static void touch_rivals(struct intent_model *model, const struct wanted_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t at = model_find_names(model, names[i].key);
             at < model->name_count && model->names[at].key == names[i].key; at++)
            model->plans[model->names[at].publication].is_changed = true;
}

static void await_records(struct intent_model *model, const struct plan *plan)
{
    for (size_t i = 0; i < plan->record_count; i++)
        await(model, plan->records[i].object);
}

static void replan(struct intent_model *model, uint32_t id, struct arena *arena)
{
    struct plan *plan = &model->plans[id];
    await_records(model, plan);
    struct wanted_name *old = steal(plan->names);
    size_t old_count = plan->name_count;
    plan->name_count = 0;
    model_plan_make(model, id, arena);
    await_records(model, plan);
    touch_rivals(model, old, old_count); // by the names of before this settling
    free(old);
    arena_reset(arena);
}

static void wake_all(struct intent_model *model)
{
    const struct shared_model_calls *calls = model->calls;
    for (uint32_t id = 0; id < model->plan_slots.end; id++) {
        struct plan *plan = &model->plans[id];
        if (!plan->publication || !plan->is_changed)
            continue;
        plan->is_changed = false;
        calls->wake(calls->context, plan->publication);
    }
    for (size_t i = 0; i < model->awaited.count; i++)
        calls->wake(calls->context, model->awaited.items[i].object);
    keyed_clear(&model->awaited);
}

static int64_t settle(void *state, int64_t now_ms, const struct shared_model_calls *calls)
{
    struct intent_model *model = state;
    bool is_replanned = false;
    CLEANUP(arena) struct arena *arena = arena_new();
    (void)now_ms;
    model->calls = calls;
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        if (model->plans[id].is_dirty) {
            replan(model, id, arena);
            is_replanned = true;
        }
    if (is_replanned || model->has_gone) {
        collect_names(model);
        for (uint32_t id = 0; id < model->plan_slots.end; id++)
            if (model->plans[id].is_changed)
                touch_rivals(model, model->plans[id].names, model->plans[id].name_count);
    }
    model->has_gone = false;
    wake_all(model);
    return 0;
}

static void remove_publication(struct intent_model *model, const struct object *publication)
{
    uint32_t id = model_find_plan(model, publication);
    if (id == TABLE_NONE)
        return;
    struct plan *plan = &model->plans[id];
    await_records(model, plan);
    touch_rivals(model, plan->names, plan->name_count);
    table_remove(&model->plan_table, model_object_hash(plan->publication), id);
    model_plan_done(plan);
    slots_give(&model->plan_slots, id);
    model->has_gone = true;
}

static void remove_(void *state, const struct object *object)
{
    struct intent_model *model = state;
    if (object->kind == &dnspublication_kind) {
        remove_publication(model, object);
        return;
    }
    if (object->kind == &trafficgroupintent_kind) {
        touch(model, keyed_remove(&model->intents, object), true);
        return;
    }
    if (object->kind == &dnsupdaterecord_kind)
        await_owners(model, keyed_remove(&model->owners, object));
    model_remove_object(&model->objects, object);
    touch_object(model, object, true);
}
// ---- making -------------------------------------------------------------------------------------

static void *make(const void *settings)
{
    struct intent_model *model = mem_new_of(struct intent_model);
    (void)settings;
    model->objects.table = (struct table){.ops = &model_object_ops, .context = &model->objects};
    model->plan_table = (struct table){.ops = &plan_ops, .context = model};
    return model;
}

static void model_free(void *state)
{
    struct intent_model *model = state;
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        model_plan_done(&model->plans[id]);
    for (uint32_t id = 0; id < model->objects.slots.end; id++)
        object_unref(model->objects.items[id]);
    keyed_done(&model->intents);
    keyed_done(&model->owners);
    keyed_done(&model->awaited);
    table_done(&model->objects.table);
    table_done(&model->plan_table);
    slots_done(&model->objects.slots);
    slots_done(&model->plan_slots);
    free(model->objects.items);
    free(model->plans);
    free(model->names);
    free(model);
}

static const struct kind *const model_kinds[] = {&dnspublication_kind,
                                                 &dnsupdaterecord_kind,
                                                 &trafficgroupintent_kind,
                                                 &logicalcloud_kind,
                                                 &edgecluster_kind,
                                                 &namespace_kind,
                                                 &service_kind,
                                                 &node_kind,
                                                 NULL};

const struct shared_model intent_shared_model = {
    .kinds = model_kinds,
    .make = make,
    .free = model_free,
    .put = put,
    .remove = remove_,
    .settle = settle,
    .seconds_metric = "signpost_intent_resolve_seconds",
    .seconds_help = "How long it took to work out which publications a batch of changes concerns.",
};