#include "model/model_server_private.h"

#include "base/must.h"

static const char kubectl[] = "kubectl-client-side-apply";

// ---- apply --------------------------------------------------------------------------------------

static bool is_in(const struct value *keys, struct text key)
{
    value_each (item, keys)
        if (text_equal(value_text(item), key))
            return true;
    return false;
}

static void carry_finalizer(struct value *metadata, struct text finalizer, struct arena *arena)
{
    struct value *list = value_find(metadata, "finalizers");
    if (!list) {
        list = value_make(arena, VALUE_LIST);
        value_set(metadata, TEXT("finalizers"), list);
    }
    value_append(list, value_make_text(arena, finalizer));
}

// What others wrote stays although the manifest does not name it.
static void carry_claims(struct model_object *object, const struct value *old, struct value *tree,
                         struct arena *arena)
{
    struct value *metadata = model_metadata(tree, arena);
    const struct value *named = model_claims_keys(arena, metadata);
    value_each (key, model_claims_keys(arena, old)) {
        if (is_in(named, key->text) || !model_claims_has(&object->claims, kubectl, key->text))
            continue;
        const struct text name = {key->text.at + 2, key->text.len - 2};
        const char *map = model_claims_map(key->text);
        if (!map) {
            carry_finalizer(metadata, name, arena);
            continue;
        }
        const struct value *kept = value_find_text(value_find(old, map), name);
        value_set(model_marks(tree, map, arena), name, value_copy(arena, kept));
    }
}

static void carry_over(struct model_object *object, const struct value *old, struct value *tree,
                       struct arena *arena)
{
    static const char *const fields[] = {
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "resourceVersion",
        "ownerReferences",
    };
    struct value *metadata = model_metadata(tree, arena);
    const struct value *old_metadata = value_find(old, "metadata");
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const struct value *kept = value_find(old_metadata, fields[i]);
        if (kept)
            value_set(metadata, text_of(fields[i]), value_copy(arena, kept));
    }
    carry_claims(object, old_metadata, tree, arena);
    if (value_find(old, "status") && !object->type->kind->has_their_status)
        value_set(tree, TEXT("status"), value_copy(arena, value_find(old, "status")));
}

// The tree as JSON shows it, so that old and new compare alike.
static struct value *as_stored(struct arena *arena, const struct value *tree)
{
    AUTO_BUFFER json = {0};
    value_write_json(&json, tree);
    const char *copy = arena_copy(arena, json.at, json.len);
    struct value *stored = value_read_json(arena, text_of(copy), &value_manifest_limits, NULL);
    must(stored != NULL);
    return stored;
}

static const struct kind *find_kind(struct model_server *server, const struct value *document)
{
    size_t count;
    bool is_known;
    const struct store_kind *kinds = model_server_kinds(server, &count);
    for (size_t i = 0; i < count; i++)
        if (kind_lookup(&kinds[i].kind, 1, document, &is_known))
            return kinds[i].kind;
    return NULL;
}

static void put(struct model_server *server, const struct object_ref_key *key, struct value *tree,
                struct arena *arena)
{
    struct model_object *object = model_server_object(server, key);
    const struct value *named = model_claims_keys(arena, model_metadata(tree, arena));
    if (!object) {
        object = model_server_create(server, key, tree, arena);
    } else {
        carry_over(object, model_object_read(object, arena), tree, arena);
        model_server_write(server, object, tree, arena);
    }
    for (size_t i = object->claims.count; i-- > 0;)
        if (text_is(text_of(object->claims.items[i].manager), kubectl))
            model_claims_drop(&object->claims, i);
    value_each (item, named)
        model_claims_add(&object->claims, kubectl, item->text, true);
}

bool model_server_apply(struct model_server *server, const struct value *document,
                        struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct kind *kind = find_kind(server, document);
    if (!kind)
        return error_set(err, FAULT_SPEC, "NotFound", "no such kind");
    if (!model_check(server, kind, document, arena, err))
        return false;
    struct value *tree = as_stored(arena, document);
    struct value *metadata = model_metadata(tree, arena);
    if (kind->is_namespaced && !value_find(metadata, "namespace"))
        value_set(metadata, TEXT("namespace"), value_make_text(arena, TEXT("default")));
    struct text namespace_ = kind->is_namespaced ? value_text_at(metadata, "namespace") : TEXT("");
    const struct object_ref_key key = {kind, namespace_, value_text_at(metadata, "name")};
    put(server, &key, tree, arena);
    return true;
}

bool model_server_apply_yaml(struct model_server *server, struct text yaml, struct error *err)
{
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(yaml, &value_manifest_limits);
    for (;;) {
        bool has;
        struct value *document;
        CLEANUP(arena) struct arena *arena = arena_new();
        if (!yaml_reader_next(reader, arena, &document, &has, err))
            return false;
        if (!has)
            return true;
        if (document && !model_server_apply(server, document, err))
            return false;
    }
}

// ---- the rest -----------------------------------------------------------------------------------

bool model_server_delete(struct model_server *server, const struct object_ref_key *key)
{
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    model_server_remove(server, object);
    return true;
}

bool model_server_lose(struct model_server *server, const struct object_ref_key *key)
{
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    model_server_vanish(server, object);
    return true;
}

static void write_as(struct model_server *server, struct model_object *object, const char *manager,
                     struct value *tree, struct arena *arena)
{
    const struct value *before = value_find(model_object_read(object, arena), "metadata");
    model_claims_follow(&object->claims, manager, before, value_find(tree, "metadata"));
    model_server_write(server, object, tree, arena);
}

bool model_server_annotate(struct model_server *server, const struct object_ref_key *key,
                           const char *annotation, const char *value)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    struct value *annotations = model_marks(tree, "annotations", arena);
    if (value)
        value_set(annotations, text_of(annotation), value_make_text(arena, text_of(value)));
    else
        value_remove(annotations, annotation);
    write_as(server, object, "kubectl-annotate", tree, arena);
    return true;
}

bool model_server_edit(struct model_server *server, const struct object_ref_key *key,
                       const char *path, const char *value)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    value_put_text(arena, tree, path, value);
    write_as(server, object, "kubectl-edit", tree, arena);
    return true;
}

bool model_server_judge(struct model_server *server, const struct object_ref_key *key,
                        const char *type, const char *condition)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    struct value *status = value_find(tree, "status");
    if (!status || !value_find(status, "conditions"))
        return false;
    struct value *conditions = value_copy(arena, value_find(status, "conditions"));
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("type"), value_make_text(arena, text_of(type)));
    value_set(map, TEXT("status"), value_make_text(arena, text_of(condition)));
    value_append(conditions, map);
    value_set(status, TEXT("conditions"), conditions);
    model_server_write(server, object, tree, arena);
    return true;
}

bool model_server_restore(struct model_server *server, const struct object_ref_key *key,
                          const struct value *status)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct model_object *object = model_server_object(server, key);
    if (!object)
        return false;
    struct value *tree = model_object_read(object, arena);
    value_set(tree, TEXT("status"), value_merge_patch(arena, value_find(tree, "status"), status));
    model_server_write(server, object, tree, arena);
    return true;
}
