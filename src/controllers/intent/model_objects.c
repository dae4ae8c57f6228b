#include <stdlib.h>

#include "controllers/intent/model_private.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/node/node_kind.h"

// The objects that the model has, and how they are found.

// ---- hashes -------------------------------------------------------------------------------------

uint64_t model_hash(const struct kind *kind, struct text namespace_, struct text name)
{
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(kind->name));
    content_hash_add_text(&hash, namespace_);
    content_hash_add_text(&hash, name);
    return content_hash_end(&hash).words[0];
}

uint64_t model_object_hash(const struct object *object)
{
    return model_hash(object->kind, object_namespace(object), object_name(object));
}

// Of all objects of a kind in a namespace; no object has an empty name.
uint64_t model_all_hash(const struct kind *kind, struct text namespace_)
{
    return model_hash(kind, namespace_, (struct text){"", 0});
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

uint64_t model_intent_key(const struct object *object)
{
    struct trafficgroupintent intent;
    CLEANUP(arena) struct arena *arena = arena_new();
    trafficgroupintent_unpack(arena, object_spec(object), &intent);
    return coordinates_hash(object_namespace(object), &intent.coordinates);
}
// ---- tables -------------------------------------------------------------------------------------

bool model_is_named(const struct object *object, const struct object_ref_key *key)
{
    return object->kind == key->kind && text_equal(object_name(object), key->name) &&
           text_equal(object_namespace(object), key->namespace_);
}

static bool object_matches(const void *context, uint32_t id, const void *wanted)
{
    return model_is_named(((const struct objects *)context)->items[id], wanted);
}

static uint64_t object_id_hash(const void *context, uint32_t id)
{
    return model_object_hash(((const struct objects *)context)->items[id]);
}

const struct table_ops model_object_ops = {object_matches, object_id_hash};

struct object_ref_key model_key_of(const struct object *object)
{
    return (struct object_ref_key){object->kind, object_namespace(object), object_name(object)};
}

static uint32_t find_object(const struct objects *objects, const struct object_ref_key *key)
{
    return table_find(&objects->table, model_hash(key->kind, key->namespace_, key->name), key);
}

bool model_put_object(struct objects *objects, const struct object *object)
{
    const struct object_ref_key key = model_key_of(object);
    uint32_t id = find_object(objects, &key);
    if (id == TABLE_NONE) {
        id = slots_take(&objects->slots);
        mem_reserve(&objects->items, &objects->capacity, objects->slots.end);
        objects->items[id] = object_ref(object);
        table_add(&objects->table, model_object_hash(object), id);
        return false;
    }
    const struct object *old = objects->items[id];
    bool is_same = object_has_same_spec(old, object) && old->deleted_s == object->deleted_s;
    objects->items[id] = object_ref(object);
    object_unref(old);
    return is_same;
}

void model_remove_object(struct objects *objects, const struct object *object)
{
    const struct object_ref_key key = model_key_of(object);
    uint32_t id = find_object(objects, &key);
    if (id == TABLE_NONE)
        return;
    const struct object *old = objects->items[id];
    table_remove(&objects->table, model_object_hash(old), id);
    objects->items[id] = NULL;
    slots_give(&objects->slots, id);
    object_unref(old);
}
// ---- objects with a key -------------------------------------------------------------------------

void keyed_add(struct keyed_objects *objects, uint64_t key, const struct object *object)
{
    mem_reserve(&objects->items, &objects->capacity, objects->count + 1);
    objects->items[objects->count++] = (struct keyed){key, object_ref(object)};
}

uint64_t keyed_remove(struct keyed_objects *objects, const struct object *object)
{
    const struct object_ref_key wanted = model_key_of(object);
    for (size_t i = 0; i < objects->count; i++) {
        struct keyed found = objects->items[i];
        if (!model_is_named(found.object, &wanted))
            continue;
        objects->items[i] = objects->items[--objects->count];
        object_unref(found.object);
        return found.key;
    }
    return 0;
}

void keyed_clear(struct keyed_objects *objects)
{
    for (size_t i = 0; i < objects->count; i++)
        object_unref(objects->items[i].object);
    objects->count = 0;
}

void keyed_done(struct keyed_objects *objects)
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
    note(reader, model_hash(kind, namespace_, name));
    return id == TABLE_NONE ? NULL : reader->model->objects.items[id];
}

void model_note_all(struct model_reader *reader, const struct kind *kind, struct text namespace_)
{
    note(reader, model_all_hash(kind, namespace_));
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

int64_t model_namespace_ends(struct model_reader *reader, struct text namespace_)
{
    const struct object *object =
        model_find(reader, &namespace_kind, (struct text){"", 0}, namespace_);
    return object ? object->deleted_s : 0;
}

struct text model_namespace(struct model_reader *reader, struct text project)
{
    struct text namespace_ = text_of(emco_object_name(reader->arena, project));
    struct text name = model_project(reader, namespace_);
    return text_equal(name, project) ? namespace_ : (struct text){0};
}
