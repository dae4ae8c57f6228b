#include "controllers/clusterdns/reconcile.h"

// The main object first, then fragments by age; one that is going has no zones any more.

static bool is_main(const struct object *object)
{
    return text_is(object_name(object), DNS_MAIN_NAME);
}

static void add_object(struct reconcile *reconcile, const struct object *object)
{
    struct merge_object *added = &reconcile->objects[reconcile->object_count];
    if (text_equal(object_name(object), reconcile->in->name))
        reconcile->own_at = reconcile->object_count;
    added->name = object_name(object);
    dns_unpack(reconcile->arena, object_spec(object), &added->spec);
    reconcile->object_count++;
}

void collect_objects(struct reconcile *reconcile)
{
    const struct input_objects *objects = &reconcile->in->inputs[INPUT_DNSES];
    reconcile->objects = arena_new_array(reconcile->arena, struct merge_object, objects->count + 1);
    reconcile->own_at = SIZE_MAX;
    for (size_t i = 0; i < objects->count; i++)
        if (is_main(objects->objects[i]) && !objects->objects[i]->deleted_s)
            add_object(reconcile, objects->objects[i]);
    if (!reconcile->object_count)
        return;
    for (size_t i = 0; reconcile->settings->has_fragments && i < objects->count; i++)
        if (!is_main(objects->objects[i]) && !objects->objects[i]->deleted_s)
            add_object(reconcile, objects->objects[i]);
}
