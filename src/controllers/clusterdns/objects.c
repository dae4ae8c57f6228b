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

// The subject stands for what is stored of it, and is among them before it is stored: an admission
// review decides on it as it is to be.
static const struct object **list_objects(const struct reconcile *reconcile, size_t *count)
{
    const struct input_objects *stored = &reconcile->in->inputs[INPUT_DNSES];
    const struct object *subject = reconcile->in->subject;
    const struct object **all =
        arena_new_array(reconcile->arena, const struct object *, stored->count + 1);
    bool is_stored = false;
    for (*count = 0; *count < stored->count; ++*count) {
        const struct object *object = stored->objects[*count];
        bool is_subject = text_equal(object_name(object), object_name(subject));
        all[*count] = is_subject ? subject : object;
        is_stored |= is_subject;
    }
    if (!is_stored)
        all[(*count)++] = subject;
    return all;
}

void collect_objects(struct reconcile *reconcile)
{
    size_t count;
    const struct object **all = list_objects(reconcile, &count);
    reconcile->objects = arena_new_array(reconcile->arena, struct merge_object, count);
    reconcile->own_at = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (is_main(all[i]) && !all[i]->deleted_s)
            add_object(reconcile, all[i]);
    if (!reconcile->object_count)
        return;
    for (size_t i = 0; reconcile->settings->has_fragments && i < count; i++)
        if (!is_main(all[i]) && !all[i]->deleted_s)
            add_object(reconcile, all[i]);
}
