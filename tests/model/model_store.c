#include "model/model_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "model/model_server_private.h"
#include "store/cache.h"
#include "store/status.h"

struct event {
    enum store_event_type type;
    struct object *object; // the new state, or the last one
    uint64_t version;
    int64_t due_ms;
    struct event *next;
};

struct answer {
    struct model_store *store;
    struct answer *next;
    struct answer *previous;
    struct loop_timer timer;
    store_done *done;
    void *context;
    struct error error;
    struct object *object; // state after the write, or NULL
    char *json;            // get: the whole object, or NULL
};

struct model_store {
    struct store store;
    struct model_server *server;
    struct model_watcher watcher;
    struct loop *loop;
    struct store_sink sink;
    bool is_listed;
    bool is_leading;
    uint64_t position; // how far the watch has told
    struct event *first;
    struct event *last;
    struct loop_timer timer;
    struct answer *answers;
};

static const struct store_ops model_ops;

static struct model_store *of(struct store *store)
{
    must(store->ops == &model_ops);
    return (struct model_store *)store;
}

// ---- watch --------------------------------------------------------------------------------------

static uint64_t version_of(const struct object *object)
{
    uint64_t version = 0;
    if (object)
        object_version_number(object, &version);
    return version;
}

static void tell_gone(struct model_store *self, struct object *object, bool is_initial)
{
    const struct object *old =
        cache_take(self->store.cache, object->kind, object_namespace(object), object_name(object));
    if (old) {
        const struct store_event event = {STORE_DELETED, object, old, is_initial};
        self->sink.event(self->sink.context, &event);
    }
    object_unref(old);
}

static void tell_state(struct model_store *self, struct object *object, bool is_initial)
{
    const struct object *now =
        cache_find(self->store.cache, object->kind, object_namespace(object), object_name(object));
    if (now && version_of(now) >= version_of(object)) // an echo of our own write
        return;
    const struct object *old = cache_put(self->store.cache, object_ref(object));
    const struct store_event event = {old ? STORE_MODIFIED : STORE_ADDED, object, old, is_initial};
    self->sink.event(self->sink.context, &event);
    object_unref(old);
}

static void tell_event(struct model_store *self, const struct event *event, bool is_initial)
{
    self->position = event->version;
    if (event->type == STORE_DELETED)
        tell_gone(self, event->object, is_initial);
    else
        tell_state(self, event->object, is_initial);
}

static void event_free(struct event *event)
{
    object_unref(event->object);
    free(event);
}

static void arm(struct model_store *self)
{
    if (!self->first)
        return;
    int64_t wait_ms = self->first->due_ms - loop_mono_ms(self->loop);
    loop_timer_set(self->loop, &self->timer, wait_ms > 0 ? wait_ms : 0);
}

static void tell_due(void *context)
{
    struct model_store *self = context;
    int64_t now_ms = loop_mono_ms(self->loop);
    while (self->first && self->first->due_ms <= now_ms) {
        struct event *event = self->first;
        self->first = event->next;
        if (!self->first)
            self->last = NULL;
        tell_event(self, event, false);
        event_free(event);
    }
    self->sink.batch_end(self->sink.context);
    arm(self);
}

static void changed(struct model_watcher *watcher, const struct model_event *change,
                    const struct model_object *object)
{
    struct model_store *self =
        (struct model_store *)((char *)watcher - offsetof(struct model_store, watcher));
    if (!object->state)
        return;
    object->state->is_lost =
        change->type == STORE_DELETED && object->state->has_finalizer && !object->state->deleted_s;
    struct event *event = mem_new_of(struct event);
    int64_t due_ms = loop_mono_ms(self->loop) + model_server_watch_ms(self->server);
    *event = (struct event){.type = change->type,
                            .object = object_ref(object->state),
                            .version = change->version,
                            .due_ms = due_ms};
    if (self->last && self->last->due_ms > due_ms)
        event->due_ms = self->last->due_ms;
    if (self->last)
        self->last->next = event;
    else
        self->first = event;
    self->last = event;
    if (self->first == event)
        arm(self);
}

// ---- the first list -----------------------------------------------------------------------------

static void tell_first(void *context, const struct model_object *object)
{
    struct model_store *self = context;
    if (!object->state)
        return;
    if (object->version > self->position)
        self->position = object->version;
    tell_state(self, object->state, true);
}

static void list(void *context)
{
    struct model_store *self = context;
    size_t count;
    size_t own_count;
    const struct store_kind *kinds = model_server_kinds(self->server, &count, &own_count);
    self->is_listed = true;
    self->timer = (struct loop_timer){.call = tell_due, .context = self};
    model_server_watch(self->server, &self->watcher);
    model_server_each(self->server, tell_first, self);
    self->sink.batch_end(self->sink.context);
    for (size_t i = 0; i < own_count; i++)
        self->sink.synced(self->sink.context, kinds[i].kind, true, "");
    self->sink.leading(self->sink.context, self->is_leading);
}

static bool model_start(struct store *store, const struct store_sink *sink, struct error *err)
{
    struct model_store *self = of(store);
    (void)err;
    self->sink = *sink;
    self->timer = (struct loop_timer){.call = list, .context = self};
    loop_timer_set(self->loop, &self->timer, model_server_reply_ms(self->server));
    return true;
}

// ---- replies ------------------------------------------------------------------------------------

static void answer_free(struct answer *answer)
{
    if (answer->next)
        answer->next->previous = answer->previous;
    if (answer->previous)
        answer->previous->next = answer->next;
    else
        answer->store->answers = answer->next;
    object_unref(answer->object);
    free(answer->json);
    free(answer);
}

// Files what the reply shows if it is newer than what the watch has told.
static const struct object *file_reply(struct model_store *self, struct object *object)
{
    struct text namespace_ = object_namespace(object);
    struct text name = object_name(object);
    const struct object *now = cache_find(self->store.cache, object->kind, namespace_, name);
    uint64_t version = version_of(object);
    bool is_gone = object->deleted_s && !object->has_finalizer;
    if (now && version > self->position && version > version_of(now) && !is_gone) {
        object_unref(cache_put(self->store.cache, object_ref(object)));
        return object;
    }
    return now && !memcmp(now->uid, object->uid, sizeof now->uid) ? now : NULL;
}

static void give_answer(void *context)
{
    struct answer *answer = context;
    struct model_store *self = answer->store;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct store_reply reply = {.is_ok = answer->error.fault == FAULT_NONE, .error = answer->error};
    if (answer->json)
        reply.tree = value_read_json(arena, text_of(answer->json), &value_manifest_limits, NULL);
    if (answer->object)
        reply.object = file_reply(self, answer->object);
    store_done *done = answer->done;
    void *done_context = answer->context;
    answer_free(answer);
    done(done_context, &reply);
}

static struct answer *answer_new(struct model_store *self, store_done *done, void *context)
{
    struct answer *answer = mem_new_of(struct answer);
    answer->store = self;
    answer->done = done;
    answer->context = context;
    answer->next = self->answers;
    if (answer->next)
        answer->next->previous = answer;
    self->answers = answer;
    answer->timer = (struct loop_timer){.call = give_answer, .context = answer};
    loop_timer_set(self->loop, &answer->timer, model_server_reply_ms(self->server));
    return answer;
}

static bool meet_fault(struct answer *answer, enum model_fault fault)
{
    switch (fault) {
    case MODEL_FAILS:
        error_set(&answer->error, FAULT_AGAIN, "ServerError", "the API server answered 500");
        answer->error.status = 500;
        return true;
    case MODEL_LOSES:
        error_set(&answer->error, FAULT_AGAIN, "ServerError", "the connection was reset");
        return false;
    case MODEL_CONFLICT:
        error_set(&answer->error, FAULT_RACE, "Conflict", "the object has been modified");
        answer->error.status = 409;
        return true;
    case MODEL_LIMIT:
        error_set(&answer->error, FAULT_LIMIT, "TooManyRequests", "the API server is busy");
        answer->error.status = 429;
        answer->error.retry_ms = 2000;
        return true;
    case MODEL_MISSING:
        loop_timer_cancel(answer->store->loop, &answer->timer);
        loop_stop(answer->store->loop);
        return false;
    case MODEL_UNREACHABLE:
    case MODEL_SILENT:
    case MODEL_UNAVAILABLE:
    case MODEL_STARTING:
    case MODEL_UNAUTHORIZED:
    case MODEL_FORBIDDEN:
    case MODEL_EXPIRED:
        break;
    }
    return false;
}

// ---- writes -------------------------------------------------------------------------------------

typedef void write_call(struct model_object *object, struct value *tree, struct arena *arena,
                        const void *what, struct error *err);

struct write_plan {
    enum model_write write;
    const struct object *seen;
    bool is_guarded_by_version;
    write_call *call;
    const void *what;
};

static void race(struct error *err, const char *text)
{
    error_set(err, FAULT_RACE, "Conflict", "%s", text);
    err->status = 409;
}

static bool guard(const struct write_plan *plan, const struct model_object *object,
                  struct error *err)
{
    if (!object) {
        error_set(err, FAULT_RACE, "NotFound", "the object is gone");
        err->status = plan->is_guarded_by_version ? 404 : 409;
        return false;
    }
    if (memcmp(plan->seen->uid, object->state->uid, sizeof plan->seen->uid)) {
        race(err, "uid mismatch");
        return false;
    }
    if (plan->is_guarded_by_version &&
        !text_equal(object_version(object->state), object_version(plan->seen))) {
        race(err, "the object has been modified");
        return false;
    }
    return true;
}

static void carry_out(struct model_store *self, const struct write_plan *plan,
                      struct answer *answer)
{
    struct error refused = {0};
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct object_ref_key key = {plan->seen->kind, object_namespace(plan->seen),
                                       object_name(plan->seen)};
    struct model_object *object = model_server_object(self->server, &key);
    if (!guard(plan, object, &refused)) {
        answer->error = refused;
        return;
    }
    struct value *tree = model_object_read(object, arena);
    plan->call(object, tree, arena, plan->what, &refused);
    if (refused.fault != FAULT_NONE) {
        answer->error = refused;
        return;
    }
    model_server_write(self->server, object, tree, arena);
    if (answer->error.fault == FAULT_NONE)
        answer->object = object_ref(object->state);
}

static void write_object(struct store *store, const struct write_plan *plan, store_done *done,
                         void *context)
{
    struct model_store *self = of(store);
    enum model_fault fault;
    struct answer *answer = answer_new(self, done, context);
    if (model_server_take_fault(self->server, plan->write, &fault) && meet_fault(answer, fault))
        return;
    carry_out(self, plan, answer);
}

static struct value *child(struct arena *arena, struct value *map, const char *key,
                           enum value_type type)
{
    struct value *found = value_find(map, key);
    if (!found) {
        found = value_make(arena, type);
        value_set(map, text_of(key), found);
    }
    return found;
}

static bool has_finalizer(const struct value *list, const char *finalizer)
{
    value_each (item, list)
        if (text_is(value_text(item), finalizer))
            return true;
    return false;
}

static void do_apply(struct model_object *object, struct value *tree, struct arena *arena,
                     const void *what, struct error *err)
{
    const struct store_apply *apply = what;
    const char *finalizer = object->type->finalizer;
    struct value *metadata = value_find(tree, "metadata");
    if (apply->add_finalizer && !has_finalizer(value_find(metadata, "finalizers"), finalizer)) {
        if (value_find(metadata, "deletionTimestamp")) {
            error_set(err, FAULT_SPEC, "Invalid",
                      "no new finalizers can be added if the object is being deleted");
            err->status = 422;
            return;
        }
        value_append(child(arena, metadata, "finalizers", VALUE_LIST),
                     value_make_text(arena, text_of(finalizer)));
        const char *key = arena_printf(arena, "f:%s", finalizer);
        model_claims_add(&object->claims, "signpost", text_of(key), true);
    }
    for (size_t i = 0; i < apply->annotation_count; i++) {
        struct value *annotations = child(arena, metadata, "annotations", VALUE_MAP);
        const struct store_annotation *annotation = &apply->annotations[i];
        const char *key = arena_printf(arena, "a:%s", annotation->key);
        model_claims_add(&object->claims, "signpost", text_of(key), true);
        if (annotation->value)
            value_set(annotations, text_of(annotation->key),
                      value_make_text(arena, text_of(annotation->value)));
        else
            value_remove(annotations, annotation->key);
    }
}

static void model_apply(struct store *store, const struct store_apply *apply, store_done *done,
                        void *context)
{
    write_object(store,
                 &(struct write_plan){
                     .write = MODEL_APPLY, .seen = apply->object, .call = do_apply, .what = apply},
                 done, context);
}

static void do_patch_status(struct model_object *object, struct value *tree, struct arena *arena,
                            const void *what, struct error *err)
{
    (void)err;
    value_set(tree, TEXT("status"),
              value_copy(arena, status_patched(arena, object->type->kind,
                                               value_find(tree, "status"), what)));
}

static void model_patch_status(struct store *store, const struct object *object,
                               const struct value *status, store_done *done, void *context)
{
    write_object(store,
                 &(struct write_plan){.write = MODEL_PATCH_STATUS,
                                      .seen = object,
                                      .is_guarded_by_version = true,
                                      .call = do_patch_status,
                                      .what = status},
                 done, context);
}

static void do_remove_finalizer(struct model_object *object, struct value *tree,
                                struct arena *arena, const void *what, struct error *err)
{
    struct value *metadata = value_find(tree, "metadata");
    struct value *kept = value_make(arena, VALUE_LIST);
    (void)what;
    (void)err;
    value_each (item, value_find(metadata, "finalizers"))
        if (!text_is(value_text(item), object->type->finalizer))
            value_append(kept, value_copy(arena, item));
    if (value_count(kept))
        value_set(metadata, TEXT("finalizers"), kept);
    else
        value_remove(metadata, "finalizers");
}

static void model_remove_finalizer(struct store *store, const struct object *object,
                                   store_done *done, void *context)
{
    write_object(store,
                 &(struct write_plan){.write = MODEL_REMOVE_FINALIZER,
                                      .seen = object,
                                      .is_guarded_by_version = true,
                                      .call = do_remove_finalizer},
                 done, context);
}

static void model_get(struct store *store, const struct object_ref_key *key, store_done *done,
                      void *context)
{
    struct model_store *self = of(store);
    struct answer *answer = answer_new(self, done, context);
    const struct model_object *object = model_server_object(self->server, key);
    if (object) {
        answer->json = mem_copy_text(object->json->at);
        return;
    }
    error_set(&answer->error, FAULT_RACE, "NotFound", "the object is gone");
    answer->error.status = 404;
}

// ---- the rest -----------------------------------------------------------------------------------

static void model_note(struct store *store, const struct store_note *note)
{
    (void)store;
    (void)note;
}

static size_t model_checks(struct store *store, struct store_check *out, size_t capacity)
{
    (void)store;
    if (capacity)
        out[0] = (struct store_check){.name = "api-server", .is_ok = true, .text = ""};
    return capacity ? 1 : 0;
}

static void model_flush(struct store *store)
{
    (void)store;
}

static void model_free(struct store *store)
{
    struct model_store *self = of(store);
    model_server_unwatch(self->server, &self->watcher);
    loop_timer_cancel(self->loop, &self->timer);
    while (self->first) {
        struct event *next = self->first->next;
        event_free(self->first);
        self->first = next;
    }
    while (self->answers) {
        struct answer *answer = self->answers;
        loop_timer_cancel(self->loop, &answer->timer);
        answer_free(answer);
        must(self->answers != answer);
    }
    cache_free(self->store.cache);
    free(self);
}

static const struct store_ops model_ops = {
    .start = model_start,
    .get = model_get,
    .apply = model_apply,
    .patch_status = model_patch_status,
    .remove_finalizer = model_remove_finalizer,
    .note = model_note,
    .checks = model_checks,
    .flush = model_flush,
    .free = model_free,
};

struct store *model_store_new(struct model_server *server)
{
    struct model_store *self = mem_new_of(struct model_store);
    self->store = (struct store){.ops = &model_ops, .cache = cache_new()};
    self->server = server;
    self->loop = model_server_loop(server);
    self->watcher.changed = changed;
    self->is_leading = true;
    return &self->store;
}

void model_store_set_leading(struct store *store, bool is_leading)
{
    struct model_store *self = of(store);
    self->is_leading = is_leading;
    if (self->is_listed)
        self->sink.leading(self->sink.context, is_leading);
    if (self->is_listed && !is_leading)
        self->sink.fenced(self->sink.context);
}

void model_store_set_synced(struct store *store, const struct kind *kind, bool is_synced)
{
    struct model_store *self = of(store);
    self->sink.synced(self->sink.context, kind, is_synced, is_synced ? "" : "the watch was lost");
}
