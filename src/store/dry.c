#include "store/dry.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/must.h"
#include "base/table.h"
#include "base/when.h"
#include "store/cache.h"
#include "store/status.h"

// One write on its way to its reply.
struct attempt {
    struct link link;
    struct dry *dry;
    struct arena *arena;
    struct loop_timer timer;     // where nothing has to be read for it
    const struct object *object; // NULL: it is one that we make
    bool has_finalizer;          // afterwards
    struct metadata_change *metadata_changes;
    size_t metadata_change_count;
    const struct value *status; // to be patched; NULL: none
    store_done *done;
    void *context;
};

// A child that is in the cache alone.
struct made {
    const struct object *object;
    const struct value *tree;
};

struct dry {
    struct store store;
    struct store *below;
    struct loop *loop;
    struct store_sink sink;
    struct dry_waiter waiter;
    bool is_leading;
    LIST_OF(struct attempt) attempts;
    unsigned writes;
    struct arena *arena; // of the trees of what is made
    struct made *made;
    size_t made_count;
    size_t made_capacity;
    struct table by_name;  // of those
    struct object **taken; // out of the cache: the store below still knows them
    size_t taken_count;
    size_t taken_capacity;
};

static struct dry *of(struct store *store)
{
    return (struct dry *)store;
}

static const struct dry *of_const(const struct store *store)
{
    return (const struct dry *)store;
}

// ---- attempts -----------------------------------------------------------------------------------

static struct attempt *attempt_new(struct dry *dry, const struct object *object, store_done *done,
                                   void *context)
{
    struct attempt *attempt = mem_new_of(struct attempt);
    *attempt = (struct attempt){.dry = dry, .arena = arena_new(), .done = done, .context = context};
    attempt->object = object ? object_ref(object) : NULL;
    list_prepend(&dry->attempts, attempt);
    return attempt;
}

static void attempt_free(struct attempt *attempt)
{
    list_remove(&attempt->dry->attempts, attempt);
    loop_timer_cancel(attempt->dry->loop, &attempt->timer);
    object_unref(attempt->object);
    arena_free(attempt->arena);
    free(attempt);
}

static void attempt_answer(struct attempt *attempt, const struct store_reply *reply)
{
    attempt->done(attempt->context, reply);
    attempt_free(attempt);
}

static void attempt_soon(struct attempt *attempt, loop_call *call)
{
    attempt->timer = (struct loop_timer){.call = call, .context = attempt};
    loop_timer_set(attempt->dry->loop, &attempt->timer, 0);
}

// ---- what a write comes to ----------------------------------------------------------------------

static struct value *marks_in(struct attempt *attempt, struct value *tree, const char *name)
{
    struct value *metadata = value_find(tree, "metadata");
    struct value *map = value_find(metadata, name);
    if (!map) {
        map = value_make(attempt->arena, VALUE_MAP);
        value_set(metadata, text_of(name), map);
    }
    return map;
}

static void put_marks(struct attempt *attempt, struct value *tree)
{
    for (size_t i = 0; i < attempt->metadata_change_count; i++) {
        const struct metadata_change *mark = &attempt->metadata_changes[i];
        struct value *map = marks_in(attempt, tree, mark->is_label ? "labels" : "annotations");
        value_remove(map, mark->key);
        if (mark->value)
            value_set(map, text_of(mark->key),
                      value_make_text(attempt->arena, text_of(mark->value)));
    }
}

// A write that changes nothing leaves the version as it is; this one is another state.
static void renew_version(struct attempt *attempt, struct value *tree)
{
    const char *version = arena_printf(attempt->arena, "dry-%u", ++attempt->dry->writes);
    value_set(value_find(tree, "metadata"), TEXT("resourceVersion"),
              value_make_text(attempt->arena, text_of(version)));
}

static bool is_same_object(const struct object *a, const struct object *b)
{
    return !memcmp(a->uid, b->uid, sizeof a->uid);
}

static void answer_applied(struct attempt *attempt, const struct value *tree)
{
    struct store_reply reply = {.is_ok = true};
    struct value *copy = value_copy(attempt->arena, tree);
    put_marks(attempt, copy);
    if (attempt->status)
        value_set(copy, TEXT("status"),
                  status_patched(attempt->arena, attempt->object->kind, value_find(copy, "status"),
                                 attempt->status));
    renew_version(attempt, copy);
    struct object *next = object_new(attempt->object->kind, NULL, copy);
    next->has_finalizer = attempt->has_finalizer;
    next->has_other_finalizers = attempt->object->has_other_finalizers;
    reply.object = next;
    if (!is_same_object(next, attempt->object)) {
        reply = (struct store_reply){.object = NULL};
        error_set(&reply.error, FAULT_RACE, "Conflict", "the object was deleted and made again");
    }
    attempt_answer(attempt, &reply);
    object_unref(next);
}

static void applied(void *context, const struct store_reply *reply)
{
    struct attempt *attempt = context;
    if (reply->is_ok)
        answer_applied(attempt, reply->tree);
    else
        attempt_answer(attempt, &(struct store_reply){.error = reply->error});
}

static void answer_released(void *context)
{
    struct attempt *attempt = context;
    struct object *next = object_graft(attempt->object, attempt->object);
    next->has_finalizer = false;
    attempt_answer(attempt, &(struct store_reply){.is_ok = true, .object = next});
    object_unref(next);
}

static void answer_done(void *context)
{
    attempt_answer(context, &(struct store_reply){.is_ok = true});
}

static void answer_shard(void *context)
{
    struct attempt *attempt = context;
    const char *version = arena_printf(attempt->arena, "dry-%u", ++attempt->dry->writes);
    attempt_answer(attempt, &(struct store_reply){.is_ok = true, .version = version});
}

// ---- children -----------------------------------------------------------------------------------

static uint64_t hash_of(const struct object *object)
{
    return object_name_hash(object_namespace(object), object_name(object));
}

static bool made_matches(const void *context, uint32_t id, const void *key)
{
    const struct object *a = ((const struct dry *)context)->made[id].object;
    const struct object *b = key;
    return a->kind == b->kind && text_equal(object_name(a), object_name(b)) &&
           text_equal(object_namespace(a), object_namespace(b));
}

static uint64_t made_hash(const void *context, uint32_t id)
{
    return hash_of(((const struct dry *)context)->made[id].object);
}

static const struct table_ops made_ops = {made_matches, made_hash};

// NULL: it is no child that was made here.
static struct made *find_made(const struct dry *dry, const struct object *object)
{
    uint32_t id = table_find(&dry->by_name, hash_of(object), object);
    return id == TABLE_NONE ? NULL : &dry->made[id];
}

static void remember_made(struct dry *dry, struct object *object, const struct value *tree)
{
    struct made *made = find_made(dry, object);
    if (!made) {
        mem_reserve(&dry->made, &dry->made_capacity, dry->made_count + 1);
        must(dry->made);
        dry->made[dry->made_count] = (struct made){.object = object_ref(object)};
        table_add(&dry->by_name, hash_of(object), (uint32_t)dry->made_count);
        made = &dry->made[dry->made_count++];
    }
    made->tree = tree;
}

static const char *uid_of(struct arena *arena, const struct store_object_write *child)
{
    char uid[37];
    if (!child->seen)
        return arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(child->key.namespace_),
                            TEXT_ARGS(child->key.name));
    object_write_uid(child->seen, uid);
    return arena_copy_text(arena, uid);
}

static void put_text(struct arena *arena, struct value *tree, const char *path, struct text text)
{
    value_put_text(arena, tree, path, arena_copy(arena, text.at, text.len));
}

static struct object *make_child(struct dry *dry, const struct store_object_write *child)
{
    char when[WHEN_TEXT_MAX];
    struct arena *arena = dry->arena;
    const struct object *seen = child->seen;
    struct value *tree = value_copy(arena, child->tree);
    when_write(seen ? seen->created_s : loop_unix_ms(dry->loop) / 1000, when);
    put_text(arena, tree, "metadata.name", child->key.name);
    put_text(arena, tree, "metadata.namespace", child->key.namespace_);
    value_put_text(arena, tree, "metadata.uid", uid_of(arena, child));
    value_put_text(arena, tree, "metadata.resourceVersion",
                   arena_printf(arena, "dry-%u", ++dry->writes));
    put_text(arena, tree, "metadata.creationTimestamp", text_of(when));
    struct object *object = object_new(child->key.kind, NULL, tree);
    remember_made(dry, object, tree);
    return object;
}

static void report_event(const struct dry *dry, enum store_event_type type,
                         const struct object *object, const struct object *old)
{
    const struct store_event event = {.type = type, .object = object, .old = old};
    dry->sink.event(dry->sink.context, &event);
    dry->sink.batch_end(dry->sink.context);
}

static void keep_taken(struct dry *dry, const struct object *old)
{
    if (!old)
        return;
    mem_reserve(&dry->taken, &dry->taken_capacity, dry->taken_count + 1);
    dry->taken[dry->taken_count++] = object_ref(old);
    object_unref(old);
}

// The state of before the first change comes last.
static void put_back(struct dry *dry)
{
    for (size_t i = dry->taken_count; i-- > 0;)
        object_unref(cache_put(dry->store.cache, dry->taken[i]));
    free(dry->taken);
}

static void answer_made(void *context)
{
    struct attempt *attempt = context;
    struct dry *dry = attempt->dry;
    struct object *object = object_ref(attempt->object);
    const struct object *old = cache_put(dry->store.cache, object);
    report_event(dry, old ? STORE_MODIFIED : STORE_ADDED, object, old);
    keep_taken(dry, old);
    attempt_answer(attempt, &(struct store_reply){.is_ok = true});
}

static void answer_dropped(void *context)
{
    struct attempt *attempt = context;
    struct dry *dry = attempt->dry;
    const struct object *seen = attempt->object;
    const struct object *old =
        cache_take(dry->store.cache, seen->kind, object_namespace(seen), object_name(seen));
    if (old)
        report_event(dry, STORE_DELETED, old, old);
    keep_taken(dry, old);
    attempt_answer(attempt, &(struct store_reply){.is_ok = true});
}

// ---- events -------------------------------------------------------------------------------------

static void on_event(void *context, const struct store_event *event)
{
    const struct dry *dry = context;
    dry->sink.event(dry->sink.context, event);
}

static void on_batch_end(void *context)
{
    const struct dry *dry = context;
    dry->sink.batch_end(dry->sink.context);
}

// Not before the store below was read: until then it does not know its owner id.
static void lead(struct dry *dry)
{
    if (dry->is_leading)
        return;
    dry->is_leading = true;
    dry->sink.leading(dry->sink.context, true);
}

static void on_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    struct dry *dry = context;
    if (is_synced)
        lead(dry);
    dry->sink.synced(dry->sink.context, kind, is_synced, why);
    if (!is_synced)
        dry->waiter.unsynced(dry->waiter.context, why);
}

static void on_installed(void *context, const struct kind *kind, bool is_installed)
{
    const struct dry *dry = context;
    if (dry->sink.installed)
        dry->sink.installed(dry->sink.context, kind, is_installed);
}

static void on_known(void *context, const struct object_ref_key *key)
{
    const struct dry *dry = context;
    dry->sink.known(dry->sink.context, key);
}

static void on_room(void *context)
{
    const struct dry *dry = context;
    dry->sink.room(dry->sink.context);
}

static void answer_made_applied(void *context)
{
    struct attempt *attempt = context;
    answer_applied(attempt, find_made(attempt->dry, attempt->object)->tree);
}

// ---- operations ---------------------------------------------------------------------------------

static void ignore_leading(void *context, bool is_leading)
{
    (void)context;
    (void)is_leading;
}

static void ignore(void *context)
{
    (void)context;
}

static bool dry_start(struct store *store, const struct store_sink *sink, struct error *err)
{
    struct dry *dry = of(store);
    const struct store_sink below = {.event = on_event,
                                     .batch_end = on_batch_end,
                                     .synced = on_synced,
                                     .installed = on_installed,
                                     .known = on_known,
                                     .leading = ignore_leading,
                                     .fenced = ignore,
                                     .writable = ignore,
                                     .room = on_room,
                                     .context = dry};
    dry->sink = *sink;
    return store_start(dry->below, &below, err);
}

static void dry_get(struct store *store, const struct object_ref_key *key, store_done *done,
                    void *context)
{
    store_get(of(store)->below, key, done, context);
}

// With the whole object, as it stands below or was made here.
static void answer_with_tree(struct attempt *attempt)
{
    const struct object *object = attempt->object;
    const struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    if (find_made(attempt->dry, object))
        attempt_soon(attempt, answer_made_applied);
    else
        store_get(attempt->dry->below, &key, applied, attempt);
}

static void copy_marks(struct attempt *attempt, const struct store_apply *apply)
{
    attempt->metadata_changes =
        arena_new_array(attempt->arena, struct metadata_change, apply->metadata_change_count + 1);
    for (size_t i = 0; i < apply->metadata_change_count; i++) {
        const struct metadata_change *given = &apply->metadata_changes[i];
        attempt->metadata_changes[attempt->metadata_change_count++] = (struct metadata_change){
            .key = arena_copy_text(attempt->arena, given->key),
            .value = given->value ? arena_copy_text(attempt->arena, given->value) : NULL,
            .is_label = given->is_label,
        };
    }
}

static void dry_apply(struct store *store, const struct store_apply *apply, store_done *done,
                      void *context)
{
    const struct object *object = apply->object;
    struct attempt *attempt = attempt_new(of(store), object, done, context);
    attempt->has_finalizer = object->has_finalizer || apply->add_finalizer;
    copy_marks(attempt, apply);
    answer_with_tree(attempt);
}

// What is written ahead is shown, for more stands on it.
static void dry_patch_status(struct store *store, const struct object *object,
                             const struct value *status, store_done *done, void *context)
{
    struct attempt *attempt = attempt_new(of(store), object, done, context);
    if (!object->kind->is_status_ahead) {
        attempt_soon(attempt, answer_done);
        return;
    }
    attempt->status = value_copy(attempt->arena, status);
    attempt->has_finalizer = object->has_finalizer;
    answer_with_tree(attempt);
}

static void dry_remove_finalizer(struct store *store, const struct object *object, store_done *done,
                                 void *context)
{
    attempt_soon(attempt_new(of(store), object, done, context), answer_released);
}

static void dry_write_object(struct store *store, const struct store_object_write *write,
                             store_done *done, void *context)
{
    struct dry *dry = of(store);
    if (write->is_unread || write->is_dry_run) {
        attempt_soon(attempt_new(dry, NULL, done, context), answer_done);
    } else if (!write->tree) {
        attempt_soon(attempt_new(dry, write->seen, done, context), answer_dropped);
    } else {
        struct object *object = make_child(dry, write);
        attempt_soon(attempt_new(dry, object, done, context), answer_made);
        object_unref(object);
    }
}

static void dry_read_shards(struct store *store, const char *label, const char *prefix,
                            store_done *done, void *context)
{
    store_read_shards(of(store)->below, label, prefix, done, context);
}

static void dry_put_shard(struct store *store, const struct store_shard_put *put, store_done *done,
                          void *context)
{
    (void)put;
    attempt_soon(attempt_new(of(store), NULL, done, context), answer_shard);
}

static void dry_drop_shard(struct store *store, const char *name, const char *version,
                           store_done *done, void *context)
{
    (void)name;
    (void)version;
    attempt_soon(attempt_new(of(store), NULL, done, context), answer_done);
}

static void dry_publish_event(struct store *store, const struct kube_event *note)
{
    (void)store;
    (void)note;
}

static size_t dry_checks(struct store *store, struct store_check *out, size_t capacity)
{
    return store_checks(of(store)->below, out, capacity);
}

static void dry_want(struct store *store, const struct object_ref_key *key, bool is_wanted)
{
    store_want(of(store)->below, key, is_wanted);
}

static bool dry_knows(const struct store *store, const struct object_ref_key *key)
{
    return store_knows(of_const(store)->below, key);
}

static const char *dry_unreadable(const struct store *store, const struct object_ref_key *key)
{
    return store_unreadable(of_const(store)->below, key);
}

static bool dry_is_full(const struct store *store, bool is_urgent)
{
    return store_is_full(of_const(store)->below, is_urgent);
}

static void dry_flush(struct store *store)
{
    (void)store;
}

static void dry_free(struct store *store)
{
    struct dry *dry = of(store);
    put_back(dry);
    store_free(dry->below);
    list_each (attempt, &dry->attempts)
        attempt_free(attempt);
    for (size_t i = 0; i < dry->made_count; i++)
        object_unref(dry->made[i].object);
    table_done(&dry->by_name);
    arena_free(dry->arena);
    free(dry->made);
    free(dry);
}

static const char *dry_owner_id(const struct store *store)
{
    return store_owner_id(of_const(store)->below);
}

static const char *dry_owner_fault(const struct store *store)
{
    return store_owner_fault(of_const(store)->below);
}

static const struct store_ops dry_ops = {
    .start = dry_start,
    .get = dry_get,
    .apply = dry_apply,
    .patch_status = dry_patch_status,
    .remove_finalizer = dry_remove_finalizer,
    .write_object = dry_write_object,
    .read_shards = dry_read_shards,
    .put_shard = dry_put_shard,
    .drop_shard = dry_drop_shard,
    .publish_event = dry_publish_event,
    .checks = dry_checks,
    .flush = dry_flush,
    .free = dry_free,
    .want = dry_want,
    .knows = dry_knows,
    .unreadable = dry_unreadable,
    .is_full = dry_is_full,
    .owner_id = dry_owner_id,
    .owner_fault = dry_owner_fault,
};

struct store *dry_new(const struct world *world, struct store *below,
                      const struct dry_waiter *waiter)
{
    struct dry *dry = mem_new_of(struct dry);
    *dry = (struct dry){
        .store = {.ops = &dry_ops, .cache = below->cache, .runs_workloads = below->runs_workloads},
        .below = below,
        .loop = world->loop};
    dry->waiter = *waiter;
    dry->arena = arena_new();
    dry->by_name = (struct table){.ops = &made_ops, .context = dry};
    return &dry->store;
}
