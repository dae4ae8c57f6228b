#include "controllers/intent/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/slots.h"
#include "base/table.h"
#include "controllers/intent/resolve.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/node/node_kind.h"
#include "kinds/service/service_kind.h"

// A name that a publication wants in a record; both as one hash.
struct wanted_name {
    uint64_t key;
    uint32_t publication;
    int32_t ttl_s;
};
struct used_record {
    const struct object *object; // referred to
    size_t names;                // 0: the record is listed, or drained, and has none
    bool is_listed;
    bool is_written;  // names of it may stand at the record's provider
    bool is_draining; // its names go, and that is not proven yet
};
// What a publication wants and what that stands on.
struct plan {
    const struct object *publication; // NULL: free
    bool is_dirty;
    bool is_changed;  // something that it looked up has another status
    uint64_t *inputs; // sorted
    size_t input_count;
    struct wanted_name *names; // by key
    size_t name_count;
    struct used_record *records;
    size_t record_count;
    char *share_group; // NULL: none
};
struct objects {
    const struct object **items; // NULL: free
    size_t capacity;
    struct slots slots;
    struct table table;
};
// Objects with a hash by which they are found: of where they belong, or of what must be theirs
// alone.
struct keyed {
    uint64_t key; // 0: none
    const struct object *object;
};
struct keyed_objects {
    struct keyed *items;
    size_t count;
    size_t capacity;
};

struct intent_model {
    struct objects objects; // of all kinds but publications
    struct plan *plans;
    size_t plan_capacity;
    struct slots plan_slots;
    struct table plan_table;   // by namespace and name
    struct wanted_name *names; // of all plans, by key; made anew by settle() where one changed
    size_t name_count;
    bool has_gone;                // a publication has
    struct keyed_objects awaited; // objects that settle() wakes; their keys do not count
    struct keyed_objects intents; // TrafficGroupIntents by namespace and coordinates
    struct keyed_objects owners;  // DNSUpdateRecords by owner id
    // ---- of the settling under way
    const struct shared_model_calls *calls;
};

// ---- hashes -------------------------------------------------------------------------------------

static uint64_t hash_of(const struct kind *kind, struct text namespace_, struct text name)
{
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(kind->name));
    content_hash_add_text(&hash, namespace_);
    content_hash_add_text(&hash, name);
    return content_hash_end(&hash).words[0];
}

static uint64_t object_hash(const struct object *object)
{
    return hash_of(object->kind, object_namespace(object), object_name(object));
}

// Of all objects of a kind in a namespace; no object has an empty name.
static uint64_t all_hash(const struct kind *kind, struct text namespace_)
{
    return hash_of(kind, namespace_, (struct text){"", 0});
}

static uint64_t coordinates_hash(struct text namespace_, const struct emco_coordinates *at)
{
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, namespace_);
    content_hash_add_text(&hash, at->composite_app);
    content_hash_add_text(&hash, at->version);
    content_hash_add_text(&hash, at->group);
    return content_hash_end(&hash).words[0];
}

static uint64_t name_key(const struct object *record, struct text name)
{
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, object_namespace(record));
    content_hash_add_text(&hash, object_name(record));
    content_hash_add_text(&hash, name);
    return content_hash_end(&hash).words[0];
}

static uint64_t intent_key(const struct object *object)
{
    struct trafficgroupintent intent;
    CLEANUP(arena) struct arena *arena = arena_new();
    trafficgroupintent_unpack(arena, object_spec(object), &intent);
    return coordinates_hash(object_namespace(object), &intent.coordinates);
}

// ---- tables -------------------------------------------------------------------------------------

static bool is_named(const struct object *object, const struct object_ref_key *key)
{
    return object->kind == key->kind && text_equal(object_name(object), key->name) &&
           text_equal(object_namespace(object), key->namespace_);
}

static bool object_matches(const void *context, uint32_t id, const void *wanted)
{
    return is_named(((const struct objects *)context)->items[id], wanted);
}

static uint64_t object_id_hash(const void *context, uint32_t id)
{
    return object_hash(((const struct objects *)context)->items[id]);
}

static bool plan_matches(const void *context, uint32_t id, const void *wanted)
{
    return is_named(((const struct intent_model *)context)->plans[id].publication, wanted);
}

static uint64_t plan_id_hash(const void *context, uint32_t id)
{
    return object_hash(((const struct intent_model *)context)->plans[id].publication);
}

static const struct table_ops object_ops = {object_matches, object_id_hash};
static const struct table_ops plan_ops = {plan_matches, plan_id_hash};

static struct object_ref_key key_of(const struct object *object)
{
    return (struct object_ref_key){object->kind, object_namespace(object), object_name(object)};
}

static uint32_t find_object(const struct objects *objects, const struct object_ref_key *key)
{
    return table_find(&objects->table, hash_of(key->kind, key->namespace_, key->name), key);
}

static uint32_t find_plan(const struct intent_model *model, const struct object *publication)
{
    const struct object_ref_key key = key_of(publication);
    return table_find(&model->plan_table, object_hash(publication), &key);
}

// Puts a state in place of the one before, and says whether that was the same but for its status.
static bool put_object(struct objects *objects, const struct object *object)
{
    const struct object_ref_key key = key_of(object);
    uint32_t id = find_object(objects, &key);
    if (id == TABLE_NONE) {
        id = slots_take(&objects->slots);
        mem_reserve(&objects->items, &objects->capacity, objects->slots.end);
        objects->items[id] = object_ref(object);
        table_add(&objects->table, object_hash(object), id);
        return false;
    }
    const struct object *old = objects->items[id];
    bool is_same = object_has_same_spec(old, object);
    objects->items[id] = object_ref(object);
    object_unref(old);
    return is_same;
}

static void remove_object(struct objects *objects, const struct object *object)
{
    const struct object_ref_key key = key_of(object);
    uint32_t id = find_object(objects, &key);
    if (id == TABLE_NONE)
        return;
    const struct object *old = objects->items[id];
    table_remove(&objects->table, object_hash(old), id);
    objects->items[id] = NULL;
    slots_give(&objects->slots, id);
    object_unref(old);
}

// ---- plans --------------------------------------------------------------------------------------

static void drop_records(struct plan *plan)
{
    for (size_t i = 0; i < plan->record_count; i++)
        object_unref(plan->records[i].object);
    free(plan->records);
    plan->records = NULL;
    plan->record_count = 0;
}

static void plan_clear(struct plan *plan)
{
    drop_records(plan);
    free(plan->inputs);
    free(plan->names);
    free(plan->share_group);
    plan->inputs = NULL;
    plan->names = NULL;
    plan->share_group = NULL;
    plan->input_count = plan->name_count = 0;
}

static void plan_done(struct plan *plan)
{
    plan_clear(plan);
    object_unref(plan->publication);
    *plan = (struct plan){0};
}

static struct plan *add_plan(struct intent_model *model, const struct object *publication)
{
    uint32_t id = slots_take(&model->plan_slots);
    mem_reserve(&model->plans, &model->plan_capacity, model->plan_slots.end);
    model->plans[id] = (struct plan){.publication = object_ref(publication), .is_dirty = true};
    table_add(&model->plan_table, object_hash(publication), id);
    return &model->plans[id];
}

static void put_publication(struct intent_model *model, const struct object *publication)
{
    uint32_t id = find_plan(model, publication);
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

// ---- objects with a key -------------------------------------------------------------------------

static void keyed_add(struct keyed_objects *objects, uint64_t key, const struct object *object)
{
    mem_reserve(&objects->items, &objects->capacity, objects->count + 1);
    objects->items[objects->count++] = (struct keyed){key, object_ref(object)};
}

// Returns the key that it had; 0: it was not there.
static uint64_t keyed_remove(struct keyed_objects *objects, const struct object *object)
{
    const struct object_ref_key wanted = key_of(object);
    for (size_t i = 0; i < objects->count; i++) {
        struct keyed found = objects->items[i];
        if (!is_named(found.object, &wanted))
            continue;
        objects->items[i] = objects->items[--objects->count];
        object_unref(found.object);
        return found.key;
    }
    return 0;
}

static void keyed_clear(struct keyed_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        object_unref(objects->items[i].object);
    objects->count = 0;
}

static void keyed_done(struct keyed_objects *objects)
{
    keyed_clear(objects);
    free(objects->items);
}

static int compare_names(const void *a, const void *b)
{
    return text_compare(object_name(*(const struct object *const *)a),
                        object_name(*(const struct object *const *)b));
}

// ---- looking up ---------------------------------------------------------------------------------

static void note(struct model_reader *reader, uint64_t hash)
{
    arena_reserve(reader->arena, &reader->inputs, &reader->input_capacity, reader->input_count + 1);
    reader->inputs[reader->input_count++] = hash;
}

const struct object *model_find(struct model_reader *reader, const struct kind *kind,
                                struct text namespace_, struct text name)
{
    const struct object_ref_key key = {kind, namespace_, name};
    uint32_t id = find_object(&reader->model->objects, &key);
    note(reader, hash_of(kind, namespace_, name));
    return id == TABLE_NONE ? NULL : reader->model->objects.items[id];
}

void model_note_all(struct model_reader *reader, const struct kind *kind, struct text namespace_)
{
    note(reader, all_hash(kind, namespace_));
}

const struct object *const *model_nodes(struct model_reader *reader, size_t *count)
{
    const struct objects *objects = &reader->model->objects;
    const struct object **nodes =
        arena_new_array(reader->arena, const struct object *, objects->slots.end + 1);
    *count = 0;
    for (uint32_t id = 0; id < objects->slots.end; id++)
        if (objects->items[id] && objects->items[id]->kind == &node_kind)
            nodes[(*count)++] = objects->items[id];
    model_note_all(reader, &node_kind, (struct text){"", 0});
    return nodes;
}

const struct object *const *model_intents(struct model_reader *reader, struct text namespace_,
                                          const struct emco_coordinates *coordinates, size_t *count)
{
    const struct intent_model *model = reader->model;
    uint64_t key = coordinates_hash(namespace_, coordinates);
    const struct object **found =
        arena_new_array(reader->arena, const struct object *, model->intents.count + 1);
    note(reader, key);
    *count = 0;
    for (size_t i = 0; i < model->intents.count; i++)
        if (model->intents.items[i].key == key)
            found[(*count)++] = model->intents.items[i].object;
    qsort(found, *count, sizeof *found, compare_names);
    return found;
}

static struct text annotated_name(struct model_reader *reader, const struct object *namespace_)
{
    size_t count;
    const struct text_pair *annotations =
        namespace_annotations(reader->arena, object_spec(namespace_), &count);
    return text_map_find(annotations, count, TEXT(EMCO_NAME_ANNOTATION));
}

struct text model_project(struct model_reader *reader, struct text namespace_)
{
    const struct object *object =
        model_find(reader, &namespace_kind, (struct text){"", 0}, namespace_);
    struct text name = object ? annotated_name(reader, object) : (struct text){0};
    if (!name.len)
        name = namespace_;
    return (struct text){arena_copy(reader->arena, name.at, name.len), name.len};
}

struct text model_namespace(struct model_reader *reader, struct text project)
{
    struct text namespace_ = text_of(emco_object_name(reader->arena, project));
    struct text name = model_project(reader, namespace_);
    return text_equal(name, project) ? namespace_ : (struct text){0};
}

// ---- events -------------------------------------------------------------------------------------

static int compare_words(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool plan_reads(const struct plan *plan, uint64_t hash)
{
    return bsearch(&hash, plan->inputs, plan->input_count, sizeof hash, compare_words);
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
    touch(model, object_hash(object), is_replanned);
    touch(model, all_hash(object->kind, object_namespace(object)), is_replanned);
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

// The hash of the owner id that a record asks for by itself; 0: it gets one of its own.
static uint64_t owner_key(const struct object *object)
{
    struct update_record record;
    CLEANUP(arena) struct arena *arena = arena_new();
    update_record_unpack(arena, object_spec(object), &record);
    struct text owner = record.has_pinned ? record.pinned.owner_id
                        : record.adopt_owner.len
                            ? record.adopt_owner
                            : update_record_text(&record, PARAMETER_TXT_OWNER_ID);
    bool is_made = !record.has_pinned && !record.adopt_owner.len && text_is(owner, "default");
    return is_made || !owner.len ? 0 : hash_octets(owner.at, owner.len);
}

static void put_record(struct intent_model *model, const struct object *record)
{
    uint64_t old = keyed_remove(&model->owners, record);
    uint64_t key = owner_key(record);
    keyed_add(&model->owners, key, record);
    if (key == old)
        return;
    await_owners(model, old);
    await_owners(model, key);
}

static void put_intent(struct intent_model *model, const struct object *intent)
{
    touch(model, keyed_remove(&model->intents, intent), true);
    uint64_t key = intent_key(intent);
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
    bool is_same = put_object(&model->objects, object);
    if (object->kind == &dnsupdaterecord_kind)
        put_record(model, object);
    touch_object(model, object, !is_same);
}

// ---- settling -----------------------------------------------------------------------------------

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted_name *left = a;
    const struct wanted_name *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    return (left->publication > right->publication) - (left->publication < right->publication);
}

static struct used_record *use_record(struct plan *plan, const struct object *object)
{
    for (size_t i = 0; i < plan->record_count; i++)
        if (plan->records[i].object == object)
            return &plan->records[i];
    plan->records = mem_resize(plan->records, plan->record_count + 1, sizeof *plan->records);
    struct used_record *used = &plan->records[plan->record_count++];
    *used = (struct used_record){.object = object_ref(object)};
    return used;
}

static const struct object *find_record(struct model_reader *reader, struct text namespace_,
                                        struct text name)
{
    return model_find(reader, &dnsupdaterecord_kind, namespace_, name);
}

// Records at whose providers names may stand, as the status has written ahead.
static void use_written_records(struct plan *plan, struct model_reader *reader,
                                const struct dnspublication_status *status)
{
    for (size_t i = 0; i < status->record_count; i++) {
        const struct published_record *written = &status->records[i];
        const struct object *object = find_record(reader, written->namespace_, written->name);
        if (!object)
            continue;
        struct used_record *used = use_record(plan, object);
        used->is_written = true;
        used->is_draining = written->draining_since_s != 0;
    }
}

static bool is_written(const struct dnspublication_status *status, const struct object *record)
{
    for (size_t i = 0; i < status->record_count; i++)
        if (!status->records[i].draining_since_s &&
            text_equal(status->records[i].namespace_, object_namespace(record)) &&
            text_equal(status->records[i].name, object_name(record)))
            return true;
    return false;
}

static size_t count_names(const struct resolved *resolved)
{
    return resolved->service_count * resolved->record_count;
}

static void plan_names(struct plan *plan, uint32_t id, const struct resolved *resolved,
                       const struct resolved_record *record)
{
    struct used_record *used = use_record(plan, record->object);
    for (size_t i = 0; i < resolved->service_count; i++) {
        const struct resolved_service *service = &resolved->services[i];
        if (!resolved_is_published(resolved, service, record))
            continue;
        used->names++;
        plan->names[plan->name_count++] = (struct wanted_name){
            name_key(record->object, service->name), id, (int32_t)record->ttl_s};
    }
}

// A name that several services or clusters have counts once.
static void sort_names(struct plan *plan)
{
    size_t kept = 0;
    qsort(plan->names, plan->name_count, sizeof *plan->names, compare_wanted);
    for (size_t i = 0; i < plan->name_count; i++)
        if (!kept || plan->names[kept - 1].key != plan->names[i].key)
            plan->names[kept++] = plan->names[i];
    plan->name_count = kept;
}

static void make_plan(struct intent_model *model, uint32_t id, struct arena *arena)
{
    struct resolved resolved;
    struct dnspublication publication;
    struct dnspublication_status status;
    struct plan *plan = &model->plans[id];
    struct model_reader reader = {.model = model, .arena = arena};
    const struct object *object = plan->publication;
    resolve_publication(&reader, object, &resolved);
    dnspublication_unpack(arena, object_spec(object), object_managed(object), &publication,
                          &status);
    plan_clear(plan);
    use_written_records(plan, &reader, &status);
    plan->names = mem_new_array(struct wanted_name, count_names(&resolved) + 1);
    bool is_wanted = publication.desired == DNSPUBLICATION_WANTS_INSTANTIATED && !object->deleted_s;
    for (size_t i = 0; i < resolved.record_count; i++) {
        const struct resolved_record *record = &resolved.records[i];
        if (record->fault)
            continue;
        use_record(plan, record->object)->is_listed = true;
        if (is_wanted || is_written(&status, record->object))
            plan_names(plan, id, &resolved, record);
    }
    sort_names(plan);
    if (publication.share_group.len)
        plan->share_group = text_dup(publication.share_group);
    plan->input_count = reader.input_count;
    plan->inputs = mem_copy(reader.inputs, reader.input_count * sizeof *reader.inputs);
    qsort(plan->inputs, plan->input_count, sizeof *plan->inputs, compare_words);
    plan->is_dirty = false;
    plan->is_changed = true;
}

static void gather_names(struct intent_model *model)
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
    qsort(model->names, model->name_count, sizeof *model->names, compare_wanted);
}

// The first of those that have the key.
static size_t find_names(const struct intent_model *model, uint64_t key)
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
        for (size_t at = find_names(model, names[i].key);
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
    make_plan(model, id, arena);
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
        gather_names(model);
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
    uint32_t id = find_plan(model, publication);
    if (id == TABLE_NONE)
        return;
    struct plan *plan = &model->plans[id];
    await_records(model, plan);
    touch_rivals(model, plan->names, plan->name_count);
    table_remove(&model->plan_table, object_hash(plan->publication), id);
    plan_done(plan);
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
    remove_object(&model->objects, object);
    touch_object(model, object, true);
}

// ---- making -------------------------------------------------------------------------------------

static void *make(const void *settings)
{
    struct intent_model *model = mem_new_of(struct intent_model);
    (void)settings;
    model->objects.table = (struct table){.ops = &object_ops, .context = &model->objects};
    model->plan_table = (struct table){.ops = &plan_ops, .context = model};
    return model;
}

static void model_free(void *state)
{
    struct intent_model *model = state;
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        plan_done(&model->plans[id]);
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

// ---- names and records --------------------------------------------------------------------------

static bool is_shared(const struct plan *a, const struct plan *b)
{
    return a->share_group && b->share_group && !strcmp(a->share_group, b->share_group) &&
           text_equal(object_namespace(a->publication), object_namespace(b->publication));
}

const struct object *intent_model_holder(const struct intent_model *model,
                                         const struct object *publication,
                                         const struct object *record, struct text name,
                                         int64_t *ttl_s)
{
    const struct plan *first = NULL;
    uint64_t key = name_key(record, name);
    uint32_t id = find_plan(model, publication);
    must(id != TABLE_NONE);
    for (size_t at = find_names(model, key); at < model->name_count && model->names[at].key == key;
         at++) {
        const struct plan *other = &model->plans[model->names[at].publication];
        bool is_older = object_compare_age(other->publication, publication) < 0;
        if (!is_older || (first && object_compare_age(other->publication, first->publication) > 0))
            continue;
        if (!is_shared(other, &model->plans[id]))
            return other->publication;
        first = other;
        *ttl_s = model->names[at].ttl_s;
    }
    return NULL;
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
        .is_draining = used->is_draining,
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
        if (used->names || used->is_draining || used->is_written)
            users[out->user_count++] = make_user(reader, plan, used);
    }
}

static const struct object *older_owner(const struct intent_model *model,
                                        const struct object *record)
{
    const struct object *oldest = NULL;
    uint64_t key = owner_key(record);
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
    *out = (struct record_view){.users = users,
                                .project = model_project(&reader, object_namespace(record)),
                                .owner_holder = older_owner(model, record)};
    for (uint32_t id = 0; id < model->plan_slots.end; id++)
        if (model->plans[id].publication)
            add_users(&reader, &model->plans[id], record, users, out);
    qsort(users, out->user_count, sizeof *users, compare_users);
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
