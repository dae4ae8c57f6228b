#include "frontends/intent/item.h"

#include "frontends/intent/place.h"

// ---- objects ------------------------------------------------------------------------------------

static void put_identity(struct arena *arena, const struct item *item, struct value *next)
{
    static const char *const coordinates[] = {"spec.compositeApp", "spec.version",
                                              "spec.deploymentIntentGroup"};
    const struct text *names = item->names;
    struct text own = names[resources[item->id].name_count - 1];
    value_put(arena, next, "metadata.name", value_make_text(arena, item->object_name));
    if (item->id == RESOURCE_CLUSTER) {
        value_put(arena, next, "spec.provider", value_make_text(arena, names[0]));
        value_put(arena, next, "spec.cluster", value_make_text(arena, own));
    } else if (!text_equal(own, item->object_name)) {
        value_put(arena, next, ITEM_NAME_PATH, value_make_text(arena, own));
    }
    bool has_coordinates = item->id == RESOURCE_GROUP || item->id == RESOURCE_TRAFFIC;
    for (size_t i = 0; has_coordinates && i < COUNT_OF(coordinates); i++)
        value_put(arena, next, coordinates[i], value_make_text(arena, names[1 + i]));
}

static void keep_hidden(struct arena *arena, const struct resource *resource,
                        const struct value *spec, struct value *map)
{
    static const char *const of_body[] = {"description", "userData1", "userData2", "extra"};
    value_each (item, spec) {
        bool is_of_body = text_is(item->key, resource->rename.object) && resource->rename.object;
        for (size_t i = 0; i < COUNT_OF(of_body); i++)
            is_of_body |= text_is(item->key, of_body[i]);
        if (!is_of_body && resource_hides(resource, item->key.at, item->key.len))
            value_set(map, item->key, value_copy(arena, item));
    }
    const struct value *kubeconfig = value_find(spec, "kubeconfigSecret");
    if (kubeconfig && !value_find(map, "kubeconfigSecret"))
        value_set(map, TEXT("kubeconfigSecret"), value_copy(arena, kubeconfig));
}

static struct built_item build_object(struct arena *arena, const struct item *item)
{
    struct value *next = item->now ? value_copy(arena, item->now) : value_make(arena, VALUE_MAP);
    if (item->now)
        keep_hidden(arena, &resources[item->id], value_find(item->now, "spec"), item->fields);
    value_set(next, TEXT("spec"), item->fields);
    put_identity(arena, item, next);
    return (struct built_item){.next = next, .map = item->fields, .path = "spec"};
}

// ---- entries of lists ---------------------------------------------------------------------------

static struct value *make_entry(struct arena *arena, const struct item *item)
{
    const struct resource *resource = &resources[item->id];
    struct text name = item->names[resource->name_count - 1];
    struct value *entry = value_make(arena, VALUE_MAP);
    if (!resource->hidden)
        return value_make_text(arena, name);
    value_put(arena, entry, "name", value_make_text(arena, name));
    value_each (field, item->fields)
        value_set(entry, field->key, value_copy(arena, field));
    return entry;
}

// Copies the list with the entry in its place; a new one comes last.
static struct built_item build_entry(struct arena *arena, const struct item *item)
{
    const char *list = resources[item->id].list;
    struct value *entry = make_entry(arena, item);
    struct value *next = value_copy(arena, item->now);
    struct value *entries = value_make(arena, VALUE_LIST);
    size_t index = 0;
    bool is_put = false;
    value_each (there, value_list_at(value_find(item->now, "spec"), list)) {
        bool is_it = there == item->entry;
        value_append(entries, is_it ? entry : value_copy(arena, there));
        is_put |= is_it;
        index += !is_put;
    }
    if (!is_put)
        value_append(entries, entry);
    value_set(value_find(next, "spec"), text_of(list), entries);
    return (struct built_item){
        .next = next, .map = entry, .path = arena_printf(arena, "spec.%s[%zu]", list, index)};
}

// ---- public -------------------------------------------------------------------------------------

struct built_item item_build(struct arena *arena, const struct item *item)
{
    return (resources[item->id].list ? build_entry : build_object)(arena, item);
}

struct value *item_project_namespace(struct arena *arena, struct text project,
                                     const struct value *tree)
{
    AUTO_BUFFER hash = {0};
    AUTO_BUFFER metadata = {0};
    struct value *next = value_make(arena, VALUE_MAP);
    const struct value *annotations = value_at(tree, "metadata.annotations", NULL);
    struct value *kept =
        annotations ? value_copy(arena, annotations) : value_make(arena, VALUE_MAP);
    value_put(arena, next, "metadata.annotations", kept);
    emco_hash_write(&hash, 10, &project, 1);
    value_put_text(arena, next, "metadata.labels[" PROJECT_LABEL "]",
                   arena_copy_text(arena, hash.at));
    value_put(arena, next, ITEM_NAME_PATH, value_make_text(arena, project));
    value_write_json(&metadata, value_find(tree, "spec"));
    value_put_text(arena, next, "metadata.annotations[" PROJECT_METADATA_ANNOTATION "]",
                   arena_copy_text(arena, metadata.at));
    return next;
}
