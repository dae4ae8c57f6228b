#include "base/memory.h"
#include "base/must.h"
#include "store/cluster/write_private.h"
#include "store/put.h"
#include "store/status.h"

char *write_body_json(const struct value *value)
{
    struct buffer json = {0};
    value_write_json(&json, value);
    return buffer_steal(&json);
}

static void put_uid(struct arena *arena, struct value *root, const struct object *object)
{
    char uid[37];
    object_write_uid(object, uid);
    value_put_text(arena, root, "metadata.uid", arena_copy_text(arena, uid));
}

static void put_version(struct arena *arena, struct value *root, const struct object *object)
{
    value_put(arena, root, "metadata.resourceVersion",
              value_make_text(arena, object_version(object)));
}

static const char *mark_path(struct arena *arena, const struct metadata_change *mark)
{
    return arena_printf(arena, "metadata.%s[%s]", mark->is_label ? "labels" : "annotations",
                        mark->key);
}

static void put_identity(struct arena *arena, struct value *root, const struct cluster *cluster,
                         const struct object *object)
{
    AUTO_BUFFER version = {0};
    api_versions_write(&version, &cluster->memory.api_versions, object->kind);
    value_put_text(arena, root, "apiVersion", arena_copy_text(arena, version.at));
    value_put_text(arena, root, "kind", object->kind->name);
    value_put(arena, root, "metadata.name", value_make_text(arena, object_name(object)));
    if (object_namespace(object).len)
        value_put(arena, root, "metadata.namespace",
                  value_make_text(arena, object_namespace(object)));
    put_uid(arena, root, object);
}

char *write_body_apply(const struct write *write, const struct store_apply *apply)
{
    const struct store_kind *kind = write->kind;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    put_identity(arena, root, write->cluster, apply->object);
    for (size_t i = 0; i < apply->metadata_change_count; i++)
        if (apply->metadata_changes[i].value)
            value_put_text(arena, root, mark_path(arena, &apply->metadata_changes[i]),
                           apply->metadata_changes[i].value);
    if (kind->finalizer && (apply->add_finalizer || apply->object->has_finalizer))
        value_put_texts(arena, root, "metadata.finalizers",
                        (const char *const[]){kind->finalizer, NULL});
    return write_body_json(root);
}

// NULL: none is to go.
char *write_body_clear(const struct store_apply *apply)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    bool is_empty = true;
    put_uid(arena, root, apply->object);
    for (size_t i = 0; i < apply->metadata_change_count; i++) {
        if (apply->metadata_changes[i].value)
            continue;
        value_put(arena, root, mark_path(arena, &apply->metadata_changes[i]),
                  value_make(arena, VALUE_NULL));
        is_empty = false;
    }
    return is_empty ? NULL : write_body_json(root);
}

// `tree`: the object as it stands, or NULL when nothing of others is in the way.
static char *finalizer_body(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *kept = value_make(arena, VALUE_LIST);
    put_version(arena, root, write->object);
    value_each (item, value_find(value_find(tree, "metadata"), "finalizers"))
        if (!text_is(value_text(item), write->kind->finalizer))
            value_append(kept, value_copy(arena, item));
    value_put(arena, root, "metadata.finalizers",
              value_count(kept) ? kept : value_make(arena, VALUE_NULL));
    return write_body_json(root);
}

// What is wanted, with the conditions of others in their places.
static struct value *beside_others(struct arena *arena, const struct kind *kind,
                                   const struct value *tree, const struct value *wanted)
{
    struct value *patch = value_make(arena, VALUE_MAP);
    struct value *result = status_patched(arena, kind, value_find(tree, "status"), wanted);
    value_each (item, wanted) {
        const struct value *now = value_find_text(result, item->key);
        value_set(patch, item->key, now ? value_copy(arena, now) : value_make(arena, VALUE_NULL));
    }
    return patch;
}

struct value *write_body_wanted(struct arena *arena, const struct write *write)
{
    struct value *wanted =
        value_read_json(arena, text_of(write->body), &value_manifest_limits, NULL);
    must(wanted != NULL);
    return wanted;
}

static char *status_body(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_make(arena, VALUE_MAP);
    struct value *wanted = write_body_wanted(arena, write);
    put_version(arena, root, write->object);
    value_put(arena, root, "status",
              tree ? beside_others(arena, write->kind->kind, tree, wanted) : wanted);
    return write_body_json(root);
}

void write_body_guard(struct arena *arena, struct value *body, const struct value *tree)
{
    static const char *const guards[] = {"metadata.uid", "metadata.resourceVersion"};
    for (size_t i = 0; i < COUNT_OF(guards); i++)
        value_put(arena, body, guards[i], value_make_text(arena, value_text_at(tree, guards[i])));
}

static char *put_body(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *wanted = write_body_wanted(arena, write);
    write_body_guard(arena, wanted, tree);
    if (write->kept)
        put_keep(arena, wanted,
                 value_read_json(arena, text_of(write->kept), &value_manifest_limits, NULL), tree);
    return write_body_json(wanted);
}

// Whose it is, and nothing else: what is applied later is ours by that alone, and can go again.
char *write_body_bare(const struct write *write)
{
    static const char *const heads[] = {"apiVersion", "kind", "metadata.name", "metadata.namespace",
                                        "metadata.ownerReferences"};
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *wanted = write_body_wanted(arena, write);
    struct value *bare = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        const struct value *head = value_at(wanted, heads[i], NULL);
        if (head)
            value_put(arena, bare, heads[i], value_copy(arena, head));
    }
    return write_body_json(bare);
}

char *write_body_next(const struct write *write, const struct value *tree)
{
    if (write->type == WRITE_STATUS)
        return status_body(write, tree);
    if (write->type == WRITE_REMOVE_FINALIZER)
        return finalizer_body(write, tree);
    if (write->type == WRITE_PUT)
        return put_body(write, tree);
    return write->body ? mem_copy_text(write->body) : NULL;
}

char *write_body_change(const struct store_object_write *child)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *root = value_copy(arena, child->tree);
    put_version(arena, root, child->seen);
    return write_body_json(root);
}

static struct value *make_delete_options(struct arena *arena)
{
    struct value *options = value_make(arena, VALUE_MAP);
    value_put_text(arena, options, "apiVersion", "v1");
    value_put_text(arena, options, "kind", "DeleteOptions");
    return options;
}

char *write_body_drop(const struct object *seen)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *options = make_delete_options(arena);
    char uid[37];
    object_write_uid(seen, uid);
    value_put_text(arena, options, "preconditions.uid", arena_copy_text(arena, uid));
    value_put(arena, options, "preconditions.resourceVersion",
              value_make_text(arena, object_version(seen)));
    value_put_text(arena, options, "propagationPolicy", "Background");
    return write_body_json(options);
}

char *write_body_drop_shard(const char *version)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *options = make_delete_options(arena);
    value_put_text(arena, options, "preconditions.resourceVersion", version);
    return write_body_json(options);
}
