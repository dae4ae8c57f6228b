#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "controllers/intent/model_private.h"

// What the model says of names and of records.

// The hash of the owner id that a record asks for by itself; 0: it gets one of its own.
uint64_t model_owner_key(const struct object *object)
{
    struct update_record record;
    CLEANUP(arena) struct arena *arena = arena_new();
    update_record_unpack(arena, object_spec(object), &record);
    struct text owner = update_record_owner(&record);
    return owner.len ? hash_octets(owner.at, owner.len) : 0;
}

static bool is_shared(const struct plan *a, const struct plan *b)
{
    return a->share_group && b->share_group && !strcmp(a->share_group, b->share_group) &&
           text_equal(object_namespace(a->publication), object_namespace(b->publication));
}

// Does the name stand for the publication itself?
static bool has_standing(const struct intent_model *model, uint32_t plan, uint64_t key)
{
    for (size_t at = model_find_names(model, key);
         at < model->name_count && model->names[at].key == key; at++)
        if (model->names[at].publication == plan && model->names[at].stands_by)
            return true;
    return false;
}

// Of another publication whose record has the name at the server, so that it must go there first;
// NULL: there is none.
static const struct wanted_name *find_standing(const struct intent_model *model, uint32_t plan,
                                               const struct object *record, uint64_t key)
{
    uint64_t own = model_hash(&dnsupdaterecord_kind, object_namespace(record), object_name(record));
    for (size_t at = model_find_names(model, key);
         at < model->name_count && model->names[at].key == key; at++)
        if (model->names[at].publication != plan && model->names[at].stands_by &&
            model->names[at].stands_by != own)
            return has_standing(model, plan, key) ? NULL : &model->names[at];
    return NULL;
}

// The oldest of the publications older than that one that want the name; NULL: there is none.
static const struct wanted_name *find_first(const struct intent_model *model,
                                            const struct object *publication, uint64_t key)
{
    const struct wanted_name *first = NULL;
    const struct object *holder = publication;
    for (size_t at = model_find_names(model, key);
         at < model->name_count && model->names[at].key == key; at++) {
        const struct object *other = model->plans[model->names[at].publication].publication;
        if (model->names[at].stands_by || object_compare_age(other, holder) >= 0)
            continue;
        first = &model->names[at];
        holder = other;
    }
    return first;
}

const struct object *intent_model_holder(const struct model_reader *reader,
                                         const struct object *publication,
                                         const struct record_name *name, int64_t *ttl_s)
{
    const struct intent_model *model = reader->model;
    uint32_t id = model_find_plan(model, publication);
    uint64_t key = model_name_key(reader->arena, name);
    must(id != TABLE_NONE);
    const struct wanted_name *first = find_first(model, publication, key);
    if (!first)
        first = find_standing(model, id, name->object, key);
    if (!first)
        return NULL;
    if (first->stands_by || !is_shared(&model->plans[first->publication], &model->plans[id]))
        return model->plans[first->publication].publication;
    *ttl_s = first->ttl_s;
    return NULL;
}

static bool is_drained_by(const struct plan *plan, const struct object *record)
{
    for (size_t i = 0; i < plan->record_count; i++)
        if (plan->records[i].is_draining &&
            text_equal(object_name(plan->records[i].object), object_name(record)) &&
            text_equal(object_namespace(plan->records[i].object), object_namespace(record)))
            return true;
    return false;
}

bool intent_model_is_taken(const struct model_reader *reader, const struct object *publication,
                           const struct record_name *name)
{
    const struct intent_model *model = reader->model;
    uint64_t key = model_name_key(reader->arena, name);
    uint32_t id = model_find_plan(model, publication);
    for (size_t at = model_find_names(model, key);
         at < model->name_count && model->names[at].key == key; at++)
        if (model->names[at].publication != id && !model->names[at].stands_by &&
            !is_drained_by(&model->plans[model->names[at].publication], name->object))
            return true;
    return false;
}

const struct object *intent_model_find_publication(const struct intent_model *model,
                                                   struct text namespace_, struct text name)
{
    const struct object_ref_key key = {&dnspublication_kind, namespace_, name};
    uint32_t id =
        table_find(&model->plan_table, model_hash(&dnspublication_kind, namespace_, name), &key);
    return id == TABLE_NONE ? NULL : model->plans[id].publication;
}

static int compare_users(const void *a, const void *b)
{
    const struct record_user *left = a;
    const struct record_user *right = b;
    const struct text lefts[] = {left->project, left->composite_app, left->version, left->group};
    const struct text rights[] = {right->project, right->composite_app, right->version,
                                  right->group};
    for (size_t i = 0; i < COUNT_OF(lefts); i++) {
        int order = text_compare(lefts[i], rights[i]);
        if (order)
            return order;
    }
    return 0;
}

static struct record_user make_user(struct model_reader *reader, const struct plan *plan,
                                    const struct used_record *used)
{
    struct dnspublication publication;
    const struct object *object = plan->publication;
    dnspublication_unpack(reader->arena, object_spec(object), (struct text){0}, &publication, NULL);
    return (struct record_user){
        .namespace_ = object_namespace(object),
        .name = object_name(object),
        .project = model_project(reader, object_namespace(object)),
        .composite_app = publication.coordinates.composite_app,
        .version = publication.coordinates.version,
        .group = publication.coordinates.group,
        .names = used->names,
        .is_written = used->is_written,
        .is_draining = used->is_draining,
        .is_awaited = used->is_awaited,
        .is_carried = used->is_carried,
        .failure = used->failure,
        .failure_reason = used->failure_reason,
    };
}

static void add_users(struct model_reader *reader, const struct plan *plan,
                      const struct object *record, struct record_user *users,
                      struct record_view *out)
{
    for (size_t i = 0; i < plan->record_count; i++) {
        const struct used_record *used = &plan->records[i];
        if (!text_equal(object_name(used->object), object_name(record)) ||
            !text_equal(object_namespace(used->object), object_namespace(record)))
            continue;
        out->listed += used->is_listed;
        if (used->is_listed)
            out->lister = plan->publication;
        if (used->names || used->is_draining || used->is_written)
            users[out->user_count++] = make_user(reader, plan, used);
    }
}

static const struct object *older_owner(const struct intent_model *model,
                                        const struct object *record)
{
    const struct object *oldest = NULL;
    uint64_t key = model_owner_key(record);
    for (size_t i = 0; key && i < model->owners.count; i++) {
        const struct keyed *other = &model->owners.items[i];
        if (other->key == key && object_compare_age(other->object, record) < 0 &&
            (!oldest || object_compare_age(other->object, oldest) < 0))
            oldest = other->object;
    }
    return oldest;
}

void intent_model_record(const void *state, struct arena *arena, const struct object *record,
                         struct record_view *out)
{
    const struct intent_model *model = state;
    struct model_reader reader = {.model = model, .arena = arena};
    struct record_user *users =
        arena_new_array(arena, struct record_user, model->plan_slots.end + 1);
    *out =
        (struct record_view){.users = users,
                             .project = model_project(&reader, object_namespace(record)),
                             .owner_holder = older_owner(model, record),
                             .is_ending = model_namespace_ends(&reader, object_namespace(record))};
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        if (model->plans[id].publication)
            add_users(&reader, &model->plans[id], record, users, out);
    qsort(users, out->user_count, sizeof *users, compare_users);
}
