#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"
#include "store/cluster/write_private.h"
#include "store/put.h"

const struct write_form write_forms[] = {
    [WRITE_APPLY] = {"PATCH", NULL, "?fieldManager=signpost&force=true",
                     "application/apply-patch+yaml", RANK_AHEAD},
    [WRITE_STATUS] = {"PATCH", "status", "?fieldManager=signpost", "application/merge-patch+json",
                      RANK_BEHIND},
    [WRITE_REMOVE_FINALIZER] = {"PATCH", NULL, "?fieldManager=signpost",
                                "application/merge-patch+json", RANK_BEHIND},
    [WRITE_PUT] = {"PATCH", NULL, "?fieldManager=signpost&force=true",
                   "application/apply-patch+yaml", RANK_BEHIND},
    [WRITE_CREATE] = {"POST", NULL, "?fieldManager=signpost", "application/json", RANK_BEHIND},
    [WRITE_CHANGE] = {"PATCH", NULL, "?fieldManager=signpost", "application/merge-patch+json",
                      RANK_BEHIND},
    [WRITE_DROP] = {"DELETE", NULL, "", "application/json", RANK_BEHIND},
    [WRITE_SHARD_CREATE] = {"POST", NULL, "?fieldManager=signpost", "application/json", RANK_AHEAD},
    [WRITE_SHARD_CHANGE] = {"PATCH", NULL, "?fieldManager=signpost", "application/merge-patch+json",
                            RANK_AHEAD},
    [WRITE_SHARD_DROP] = {"DELETE", NULL, "", "application/json", RANK_AHEAD},
    [WRITE_GET] = {"GET", NULL, "", NULL, RANK_AHEAD},
};

bool write_is_of_shard(enum write_type type)
{
    return type >= WRITE_SHARD_CREATE && type <= WRITE_SHARD_DROP;
}

static struct write *write_new(struct cluster *cluster, enum write_type type,
                               const struct object_ref_key *key, store_done *done, void *context)
{
    struct buffer path = {0};
    struct write *write = mem_new_of(struct write);
    *write = (struct write){.cluster = cluster,
                            .type = type,
                            .rank = write_forms[type].rank,
                            .first_step = STEP_SEND,
                            .step = STEP_SEND,
                            .kind = cluster_type(cluster, key->kind),
                            .done = done,
                            .context = context};
    must(write->kind || type == WRITE_PUT || write_is_of_shard(type));
    bool is_new = type == WRITE_CREATE || type == WRITE_SHARD_CREATE;
    api_version_path(&path, key->kind, api_versions_find(&cluster->memory.api_versions, key->kind),
                     key->namespace_, is_new ? TEXT("") : key->name, write_forms[type].subresource);
    buffer_add_text(&path, write_forms[type].query);
    write->path = buffer_steal(&path);
    return write;
}

static struct write *write_to(struct cluster *cluster, enum write_type type,
                              const struct object *object, store_done *done, void *context)
{
    const struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    struct write *write = write_new(cluster, type, &key, done, context);
    write->object = object_ref(object);
    return write;
}

void writes_apply(struct cluster *cluster, const struct store_apply *apply, store_done *done,
                  void *context)
{
    struct write *write = write_to(cluster, WRITE_APPLY, apply->object, done, context);
    write->body = write_body_apply(write, apply);
    write->clear = write_body_clear(apply);
    writes_enqueue(write);
}

void writes_patch_status(struct cluster *cluster, const struct object *object,
                         const struct value *status, store_done *done, void *context)
{
    struct write *write = write_to(cluster, WRITE_STATUS, object, done, context);
    write->rank = object->kind->is_status_ahead ? RANK_URGENT : write->rank;
    write->body = write_body_json(status);
    write->first_step = write->step = object->has_foreign_status ? STEP_READ : STEP_SEND;
    writes_enqueue(write);
}

void writes_remove_finalizer(struct cluster *cluster, const struct object *object, store_done *done,
                             void *context)
{
    struct write *write = write_to(cluster, WRITE_REMOVE_FINALIZER, object, done, context);
    write->first_step = write->step = object->has_other_finalizers ? STEP_READ : STEP_SEND;
    writes_enqueue(write);
}

static char *name_of(const struct object_ref_key *key)
{
    struct buffer name = {0};
    buffer_printf(&name, "%s %.*s%s%.*s", key->kind->name, TEXT_ARGS(key->namespace_),
                  key->namespace_.len ? "/" : "", TEXT_ARGS(key->name));
    return buffer_steal(&name);
}

static char *collection_of(const struct object_ref_key *key)
{
    struct buffer path = {0};
    api_path(&path, key->kind, key->namespace_, TEXT(""), NULL);
    buffer_add_text(&path, write_forms[WRITE_CREATE].query);
    return buffer_steal(&path);
}

static void put_unread(struct cluster *cluster, const struct store_object_write *put,
                       store_done *done, void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct write *write = write_new(cluster, WRITE_PUT, &put->key, done, context);
    write->name = name_of(&put->key);
    write->is_of_any_replica = put->is_of_any_replica;
    write->put_kind = put->key.kind;
    write->body = write_body_json(put_tree(arena, &put->key, put->tree));
    write->kept = value_count(put->kept) ? write_body_json(put->kept) : NULL;
    write->collection = collection_of(&put->key);
    if (put->grant) {
        write->grant_key = mem_copy_text(put->grant->key);
        write->grant_value = mem_copy_text(put->grant->value);
    }
    write->first_step = write->step = STEP_READ;
    writes_enqueue(write);
}

// The API server judges it, admission and quotas too, and stores nothing.
static void send_as_dry_run(struct write *write)
{
    struct buffer path = {0};
    buffer_printf(&path, "%s&dryRun=All", write->path);
    free(write->path);
    write->path = buffer_steal(&path);
    write->is_dry_run = true;
}

static void create_child(struct cluster *cluster, const struct store_object_write *child,
                         store_done *done, void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct write *write = write_new(cluster, WRITE_CREATE, &child->key, done, context);
    write->name = name_of(&child->key);
    write->is_of_any_replica = child->is_of_any_replica;
    write->body = write_body_json(put_tree(arena, &child->key, child->tree));
    if (child->is_dry_run)
        send_as_dry_run(write);
    writes_enqueue(write);
}

void writes_write_object(struct cluster *cluster, const struct store_object_write *wanted,
                         store_done *done, void *context)
{
    must(!wanted->is_dry_run || (wanted->tree && !wanted->is_unread));
    if (wanted->is_unread || !wanted->seen) {
        (wanted->is_unread ? put_unread : create_child)(cluster, wanted, done, context);
        return;
    }
    enum write_type type = wanted->tree ? WRITE_CHANGE : WRITE_DROP;
    struct write *write = write_to(cluster, type, wanted->seen, done, context);
    write->is_of_any_replica = wanted->is_of_any_replica;
    write->body = wanted->tree ? write_body_change(wanted) : write_body_drop(wanted->seen);
    if (wanted->is_dry_run)
        send_as_dry_run(write);
    writes_enqueue(write);
}

static struct write *write_to_shard(struct cluster *cluster, enum write_type type, const char *name,
                                    store_done *done, void *context)
{
    const struct object_ref_key key = {&shard_kind, text_of(cluster->own_namespace), text_of(name)};
    struct write *write = write_new(cluster, type, &key, done, context);
    write->name = name_of(&key);
    return write;
}

void writes_put_shard(struct cluster *cluster, const struct store_shard_put *put, store_done *done,
                      void *context)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    enum write_type type = put->version ? WRITE_SHARD_CHANGE : WRITE_SHARD_CREATE;
    struct write *write = write_to_shard(cluster, type, put->name, done, context);
    write->body = write_body_json(shard_body(arena, cluster->own_namespace, put));
    writes_enqueue(write);
}

void writes_drop_shard(struct cluster *cluster, const char *name, const char *version,
                       store_done *done, void *context)
{
    struct write *write = write_to_shard(cluster, WRITE_SHARD_DROP, name, done, context);
    write->body = write_body_drop_shard(version);
    writes_enqueue(write);
}

void writes_get(struct cluster *cluster, const struct object_ref_key *key, store_done *done,
                void *context)
{
    writes_enqueue(write_new(cluster, WRITE_GET, key, done, context));
}
