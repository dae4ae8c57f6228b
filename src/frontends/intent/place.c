#include "frontends/intent/place.h"

#include <stdlib.h>
#include <string.h>

#include "base/labels.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/tree_body.h"

static const struct value_limits metadata_limits = {.octets = 64 * 1024, .depth = 4};

// ---- objects as trees ---------------------------------------------------------------------------

// A Namespace keeps what EMCO knows of a project in annotations.
static struct value *namespace_tree(struct arena *arena, const struct object *object)
{
    size_t count;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *annotations = value_make(arena, VALUE_MAP);
    const struct text_pair *pairs = namespace_annotations(arena, object_spec(object), &count);
    for (size_t i = 0; i < count; i++)
        value_set(annotations, pairs[i].key, value_make_text(arena, pairs[i].value));
    value_put(arena, tree, "metadata.name", value_make_text(arena, object_name(object)));
    value_put(arena, tree, "metadata.annotations", annotations);
    struct value *metadata =
        value_read_json(arena, text_map_find(pairs, count, TEXT(PROJECT_METADATA_ANNOTATION)),
                        &metadata_limits, NULL);
    bool is_map = metadata && metadata->type == VALUE_MAP;
    value_set(tree, TEXT("spec"), is_map ? metadata : value_make(arena, VALUE_MAP));
    struct text mark = labels_find(object_spec(object), TEXT(PROJECT_LABEL));
    if (mark.len)
        value_put(arena, tree, "metadata.labels[" PROJECT_LABEL "]", value_make_text(arena, mark));
    return tree;
}

static struct value *object_tree(struct arena *arena, const struct object *object)
{
    if (object->kind == &namespace_kind)
        return namespace_tree(arena, object);
    struct pack_reader in = pack_open(object_spec(object));
    struct value *tree = value_copy(arena, tree_unpack(arena, &in));
    const struct value *spec = value_find(tree, "spec");
    if (!spec || spec->type != VALUE_MAP)
        value_set(tree, TEXT("spec"), value_make(arena, VALUE_MAP));
    return tree;
}

static struct text item_name(const struct value *tree)
{
    struct text cluster = value_text_at(tree, "spec.cluster");
    bool is_cluster = cluster.len && value_text_at(tree, "spec.provider").len;
    return is_cluster ? cluster : emco_name_of(tree);
}

static bool is_leaving(const struct object *object)
{
    return object->deleted_s != 0;
}

static bool is_project(const struct object *object)
{
    return labels_find(object_spec(object), TEXT(PROJECT_LABEL)).len > 0;
}

struct text place_namespace(struct arena *arena, struct text project)
{
    return text_of(emco_object_name(arena, project));
}

// ---- coordinates --------------------------------------------------------------------------------

// The names behind the project's below which an object's EMCO name is unique: those of a group are
// two, those of a traffic group intent three.
static size_t coordinate_count(enum resource_id id)
{
    return id == RESOURCE_GROUP ? 2 : id == RESOURCE_TRAFFIC ? 3 : 0;
}

static bool has_coordinates(enum resource_id id, const struct text *names, const struct value *tree)
{
    static const char *const paths[] = {"spec.compositeApp", "spec.version",
                                        "spec.deploymentIntentGroup"};
    size_t count = coordinate_count(id);
    for (size_t i = 0; i < count && i < COUNT_OF(paths); i++)
        if (names[1 + i].at && !text_equal(value_text_at(tree, paths[i]), names[1 + i]))
            return false;
    if (id == RESOURCE_CLUSTER)
        return text_equal(value_text_at(tree, "spec.provider"), names[0]);
    return true;
}

struct text place_object_name(struct arena *arena, enum resource_id id, const struct text *names,
                              bool is_plain_taken)
{
    struct text own = names[resources[id].name_count - 1];
    size_t coordinates = coordinate_count(id);
    if (id == RESOURCE_CLUSTER)
        return text_of(edgecluster_object_name(arena, names[0], own));
    return text_of(is_plain_taken && coordinates
                       ? emco_object_name_below(arena, names + 1, coordinates, own)
                       : emco_object_name(arena, own));
}

// ---- finding ------------------------------------------------------------------------------------

// The resource of the object that has the item, and its own name.
static enum resource_id object_resource(enum resource_id id)
{
    return resources[id].list ? resources[id].parent : id;
}

static void take_object(struct arena *arena, enum resource_id id, const struct text *names,
                        const struct object *object, struct place *out)
{
    struct value *tree = object_tree(arena, object);
    out->object = object;
    out->tree = tree;
    if (!text_equal(item_name(tree), names[resources[id].name_count - 1]) ||
        !has_coordinates(id, names, tree)) {
        out->other = item_name(tree);
        return;
    }
    out->is_leaving = is_leaving(object);
    out->is_there = !out->is_leaving && (id != RESOURCE_PROJECT || is_project(object));
    out->map = value_find(tree, "spec");
}

// An object that has another's name by chance gives way to one that is called after all its
// coordinates.
static void find_object(const struct engine *engine, struct arena *arena, enum resource_id id,
                        const struct text *names, struct place *out)
{
    const struct object *object;
    *out = (struct place){.key = {.kind = resources[id].kind, .namespace_ = TEXT("")}};
    if (out->key.kind->is_namespaced)
        out->key.namespace_ = place_namespace(arena, names[0]);
    out->key.name = place_object_name(arena, id, names, false);
    if ((object = engine_find_object(engine, &out->key)))
        take_object(arena, id, names, object, out);
    if (!coordinate_count(id) || out->is_there || out->is_leaving)
        return;
    const struct object_ref_key plain = out->key;
    out->key.name = place_object_name(arena, id, names, true);
    object = engine_find_object(engine, &out->key);
    if (object || out->other.at) {
        *out = (struct place){.key = out->key};
        if (object)
            take_object(arena, id, names, object, out);
        return;
    }
    out->key = plain;
}

static struct value *find_entry(struct value *map, const char *list, struct text name)
{
    const struct value *entries = value_list_at(map, list);
    value_each (entry, entries)
        if (text_equal(entry->type == VALUE_TEXT ? entry->text : value_text_at(entry, "name"),
                       name))
            return entry;
    return NULL;
}

void place_find(const struct engine *engine, struct arena *arena, enum resource_id id,
                const struct text *names, struct place *out)
{
    const struct resource *resource = &resources[id];
    find_object(engine, arena, object_resource(id), names, out);
    if (!resource->list)
        return;
    out->map = out->is_there ? find_entry(out->map, resource->list, names[resource->name_count - 1])
                             : NULL;
    out->is_there = out->map != NULL;
}

bool place_has_parents(const struct engine *engine, struct arena *arena, enum resource_id id,
                       const struct text *names, enum resource_id *missing)
{
    struct place place;
    enum resource_id parent = resources[id].parent;
    if (parent == id)
        return true;
    if (!place_has_parents(engine, arena, parent, names, missing))
        return false;
    place_find(engine, arena, parent, names, &place);
    if (!place.is_there && missing)
        *missing = parent;
    return place.is_there;
}

// ---- lists --------------------------------------------------------------------------------------

struct listing_pass {
    struct arena *arena;
    enum resource_id id;
    const struct text *names;
    struct text namespace_; // absent: of a cluster-scoped kind
    struct place_item *items;
    size_t count;
    size_t capacity;
};

static void add_item(struct listing_pass *pass, struct text name, struct value *map,
                     const struct place *place)
{
    arena_reserve(pass->arena, &pass->items, &pass->capacity, pass->count + 1);
    pass->items[pass->count++] = (struct place_item){name, map, *place};
}

static void list_object(void *context, const struct object *object)
{
    struct listing_pass *pass = context;
    if (is_leaving(object) ||
        (pass->namespace_.at && !text_equal(object_namespace(object), pass->namespace_)) ||
        (pass->id == RESOURCE_PROJECT && !is_project(object)))
        return;
    struct value *tree = object_tree(pass->arena, object);
    if (!has_coordinates(pass->id, pass->names, tree))
        return;
    const struct place place = {
        .key = {object->kind, object_namespace(object), object_name(object)},
        .object = object,
        .tree = tree,
        .map = value_find(tree, "spec"),
        .is_there = true};
    add_item(pass, item_name(tree), place.map, &place);
}

static int compare_items(const void *a, const void *b)
{
    return text_compare(((const struct place_item *)a)->name, ((const struct place_item *)b)->name);
}

struct place_item *place_list(const struct engine *engine, struct arena *arena, enum resource_id id,
                              const struct text *names, size_t *count)
{
    const struct resource *resource = &resources[id];
    struct listing_pass pass = {.arena = arena, .id = id, .names = names};
    struct place parent;
    if (resource->kind->is_namespaced)
        pass.namespace_ = place_namespace(arena, names[0]);
    if (resource->list) {
        place_find(engine, arena, resource->parent, names, &parent);
        value_each (entry, value_list_at(parent.map, resource->list))
            add_item(&pass, entry->type == VALUE_TEXT ? entry->text : value_text_at(entry, "name"),
                     entry, &parent);
    } else {
        engine_each_object(engine, resource->kind, list_object, &pass);
    }
    if (pass.count)
        qsort(pass.items, pass.count, sizeof *pass.items, compare_items);
    *count = pass.count;
    return pass.items;
}
