#include "model/tap_store.h"

#include <stdlib.h>

#include "base/memory.h"

struct tap_store {
    struct store store;
    struct store *inner;
    struct store_sink sink;
    void (*noted)(void *context, const struct kube_event *note);
    void *context;
};

static struct store *inner_of(struct store *store)
{
    return ((struct tap_store *)store)->inner;
}

static bool tap_start(struct store *store, const struct store_sink *sink, struct error *err)
{
    ((struct tap_store *)store)->sink = *sink;
    return store_start(inner_of(store), sink, err);
}

void tap_store_set_synced(struct store *store, const struct kind *kind, bool is_synced)
{
    const struct tap_store *tap = (struct tap_store *)store;
    tap->sink.synced(tap->sink.context, kind, is_synced, is_synced ? "" : "the watch was lost");
}

static void tap_get(struct store *store, const struct object_ref_key *key, store_done *done,
                    void *context)
{
    store_get(inner_of(store), key, done, context);
}

static void tap_apply(struct store *store, const struct store_apply *apply, store_done *done,
                      void *context)
{
    store_apply(inner_of(store), apply, done, context);
}

static void tap_patch_status(struct store *store, const struct object *object,
                             const struct value *status, store_done *done, void *context)
{
    store_patch_status(inner_of(store), object, status, done, context);
}

static void tap_remove_finalizer(struct store *store, const struct object *object, store_done *done,
                                 void *context)
{
    store_remove_finalizer(inner_of(store), object, done, context);
}

static void tap_write_object(struct store *store, const struct store_object_write *write,
                             store_done *done, void *context)
{
    store_write_object(inner_of(store), write, done, context);
}

static void tap_read_shards(struct store *store, const char *label, const char *prefix,
                            store_done *done, void *context)
{
    store_read_shards(inner_of(store), label, prefix, done, context);
}

static void tap_put_shard(struct store *store, const struct store_shard_put *put, store_done *done,
                          void *context)
{
    store_put_shard(inner_of(store), put, done, context);
}

static void tap_drop_shard(struct store *store, const char *name, const char *version,
                           store_done *done, void *context)
{
    store_drop_shard(inner_of(store), name, version, done, context);
}

static void tap_publish_event(struct store *store, const struct kube_event *note)
{
    struct tap_store *tap = (struct tap_store *)store;
    if (tap->noted)
        tap->noted(tap->context, note);
    store_publish_event(tap->inner, note);
}

static size_t tap_checks(struct store *store, struct store_check *out, size_t capacity)
{
    return store_checks(inner_of(store), out, capacity);
}

static void tap_flush(struct store *store)
{
    store_flush(inner_of(store));
}

static void tap_free(struct store *store)
{
    store_free(inner_of(store));
    free(store);
}

static void tap_want(struct store *store, const struct object_ref_key *key, bool is_wanted)
{
    store_want(inner_of(store), key, is_wanted);
}

static bool tap_knows(const struct store *store, const struct object_ref_key *key)
{
    return store_knows(((const struct tap_store *)store)->inner, key);
}

static bool tap_may_write(const struct store *store)
{
    return store_may_write(((const struct tap_store *)store)->inner);
}

static bool tap_is_full(const struct store *store, bool is_urgent)
{
    return store_is_full(((const struct tap_store *)store)->inner, is_urgent);
}

static void tap_leave(struct store *store, void (*left)(void *context), void *context)
{
    store_leave(inner_of(store), left, context);
}

static void tap_write_metrics(const struct store *store, struct buffer *out)
{
    store_write_metrics(((const struct tap_store *)store)->inner, out);
}

static const char *tap_owner_id(const struct store *store)
{
    return store_owner_id(((const struct tap_store *)store)->inner);
}

static const struct store_ops tap_ops = {
    .start = tap_start,
    .get = tap_get,
    .apply = tap_apply,
    .patch_status = tap_patch_status,
    .remove_finalizer = tap_remove_finalizer,
    .write_object = tap_write_object,
    .read_shards = tap_read_shards,
    .put_shard = tap_put_shard,
    .drop_shard = tap_drop_shard,
    .publish_event = tap_publish_event,
    .checks = tap_checks,
    .flush = tap_flush,
    .free = tap_free,
    .want = tap_want,
    .knows = tap_knows,
    .may_write = tap_may_write,
    .is_full = tap_is_full,
    .leave = tap_leave,
    .write_metrics = tap_write_metrics,
    .owner_id = tap_owner_id,
};

struct store *tap_store_new(struct store *inner,
                            void (*noted)(void *context, const struct kube_event *note),
                            void *context)
{
    struct tap_store *tap = mem_new_of(struct tap_store);
    *tap = (struct tap_store){.store = {.ops = &tap_ops,
                                        .cache = inner->cache,
                                        .debounce_ms = inner->debounce_ms,
                                        .runs_workloads = inner->runs_workloads},
                              .inner = inner,
                              .noted = noted,
                              .context = context};
    return &tap->store;
}
