#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/secret.h"
#include "engine/state.h"
#include "store/cache.h"

// What frontends read of the store, and the single objects that they write there. A write waits for
// room in the store's write window, then for the store's answer, then for the event that shows it.

enum { SHOWN_MS = 2000 }; // a write that changes nothing brings no event

struct frontend_write {
    struct link link; // of all that are not answered, or not ended
    struct engine *engine;
    char *namespace_;
    char *name;
    const struct kind *kind;
    char *tree;                // JSON; NULL: the object goes
    char *kept;                // JSON; NULL: none are
    const struct object *seen; // own reference
    bool is_dry_run;
    bool is_unread;
    bool is_of_body;  // it changes more than metadata
    bool is_sent;     // and the store has not answered
    bool is_stored;   // what is missing is the event
    bool is_answered; // the deadline came first
    struct loop_timer timer;
    engine_write_done *done;
    void *context;
};

// ---- reading ------------------------------------------------------------------------------------

const struct object *engine_find_object(const struct engine *engine,
                                        const struct object_ref_key *key)
{
    return cache_find(engine->options.store->cache, key->kind, key->namespace_, key->name);
}

void engine_each_object(const struct engine *engine, const struct kind *kind,
                        void (*call)(void *context, const struct object *object), void *context)
{
    cache_each(engine->options.store->cache, kind, call, context);
}

void engine_get_object(struct engine *engine, const struct object_ref_key *key, store_done *done,
                       void *context)
{
    store_get(engine->options.store, key, done, context);
}

// ---- life of a write ----------------------------------------------------------------------------

static char *copy_as_json(const struct value *tree)
{
    struct buffer json = {0};
    if (!tree)
        return NULL;
    value_write_json(&json, tree);
    return buffer_steal(&json);
}

static bool changes_body(const struct value *tree)
{
    value_each (member, tree)
        if (!text_is(member->key, "metadata"))
            return true;
    return false;
}

static struct frontend_write *write_new(struct engine *engine,
                                        const struct engine_object_write *wanted)
{
    struct frontend_write *write = mem_new_of(struct frontend_write);
    *write = (struct frontend_write){
        .engine = engine,
        .namespace_ = text_dup(wanted->key.namespace_),
        .name = text_dup(wanted->key.name),
        .kind = wanted->key.kind,
        .tree = copy_as_json(wanted->tree),
        .kept = copy_as_json(wanted->kept),
        .seen = wanted->seen ? object_ref(wanted->seen) : NULL,
        .is_dry_run = wanted->is_dry_run,
        .is_unread = wanted->is_unread,
        .is_of_body = changes_body(wanted->tree),
    };
    return write;
}

static void write_free(struct frontend_write *write)
{
    loop_timer_cancel(write->engine->loop, &write->timer);
    if (write->tree)
        secret_wipe(write->tree, strlen(write->tree));
    free(write->tree);
    free(write->kept);
    free(write->namespace_);
    free(write->name);
    object_unref(write->seen);
    free(write);
}

void frontend_writes_free(struct engine *engine)
{
    for (struct frontend_write *write; (write = list_take_first(&engine->frontend_writes));)
        write_free(write);
}

static struct object_ref_key key_of(const struct frontend_write *write)
{
    return (struct object_ref_key){write->kind, text_of(write->namespace_), text_of(write->name)};
}

static const struct object *state_of(const struct frontend_write *write)
{
    const struct object_ref_key key = key_of(write);
    return engine_find_object(write->engine, &key);
}

static void end_write(struct frontend_write *write)
{
    struct engine *engine = write->engine;
    list_remove(&engine->frontend_writes, write);
    engine->writes_in_flight--;
    write_free(write);
    frontend_writes_send(engine);
    engine_schedule(engine);
}

static void answer_write(struct frontend_write *write, const struct error *error)
{
    const struct engine_write_result result = {.is_ok = !error,
                                               .error = error ? *error : (struct error){0},
                                               .object = error ? NULL : state_of(write)};
    engine_write_done *done = write->done;
    void *context = write->context;
    bool is_answered = write->is_answered;
    write->is_answered = true;
    if (!is_answered)
        done(context, &result);
}

// ---- what the store answers ---------------------------------------------------------------------

// A status that is written meanwhile makes a new version of the object, too, which a folder shows
// before it has read the file again.
static bool is_after(const struct object *now, const struct frontend_write *write)
{
    const struct object *seen = write->seen;
    if (write->is_of_body && seen->generation)
        return now->generation != seen->generation;
    return !text_equal(object_version(now), object_version(seen));
}

// Does the cache show what was written? Of an object that finalizers keep, the deletion.
static bool is_shown(const struct frontend_write *write)
{
    const struct object *now = state_of(write);
    if (write->is_unread || write->is_dry_run)
        return true;
    if (!write->tree)
        return !now || now->deleted_s || memcmp(now->uid, write->seen->uid, sizeof now->uid) != 0;
    return now && (!write->seen || is_after(now, write));
}

static void show_write(struct frontend_write *write)
{
    answer_write(write, NULL);
    end_write(write);
}

static void shown_too_late(void *context)
{
    show_write(context);
}

static void write_stored(void *context, const struct store_reply *reply)
{
    struct frontend_write *write = context;
    write->is_sent = false;
    if (!reply->is_ok) {
        answer_write(write, &reply->error);
        end_write(write);
        return;
    }
    write->is_stored = true;
    if (write->is_answered || is_shown(write)) {
        show_write(write);
        return;
    }
    loop_timer_cancel(write->engine->loop, &write->timer);
    write->timer.call = shown_too_late;
    loop_timer_set(write->engine->loop, &write->timer, SHOWN_MS);
}

void frontend_writes_show(struct engine *engine, const struct object *object)
{
    list_each (write, &engine->frontend_writes)
        if (write->is_stored && write->kind == object->kind &&
            text_is(object_name(object), write->name) &&
            text_is(object_namespace(object), write->namespace_) && is_shown(write))
            show_write(write);
}

// ---- sending ------------------------------------------------------------------------------------

static void send_write(struct frontend_write *write)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct store_object_write wanted = {.key = key_of(write),
                                        .seen = write->seen,
                                        .is_dry_run = write->is_dry_run,
                                        .is_unread = write->is_unread,
                                        .is_of_any_replica = true};
    if (write->tree)
        wanted.tree = value_read_json(arena, text_of(write->tree), &value_own_limits, NULL);
    if (write->kept)
        wanted.kept = value_read_json(arena, text_of(write->kept), &value_own_limits, NULL);
    must(wanted.tree || !write->tree);
    write->is_sent = true;
    store_write_object(write->engine->options.store, &wanted, write_stored, write);
}

static bool is_same_object(const struct frontend_write *a, const struct frontend_write *b)
{
    return a->kind == b->kind && !strcmp(a->name, b->name) && !strcmp(a->namespace_, b->namespace_);
}

// Until the cache shows what was written before, a state that was seen says nothing.
static bool is_blocked(const struct frontend_write *write)
{
    list_each (before, &write->engine->frontend_writes) {
        if (before == write)
            return false;
        if (is_same_object(before, write))
            return true;
    }
    return false;
}

void frontend_writes_send(struct engine *engine)
{
    list_each (write, &engine->frontend_writes) {
        if (store_is_full(engine->options.store, false))
            return;
        // What has failed is still here while its asker hears it, who may write something else.
        if (!write->is_sent && !write->is_stored && !write->is_answered && !is_blocked(write))
            send_write(write);
    }
}

// What is not sent yet never will be; of what is under way nobody can say what comes of it.
static void write_is_late(void *context)
{
    struct frontend_write *write = context;
    struct error error = {0};
    error_set(&error, FAULT_AGAIN, "Timeout", "the store did not answer in time");
    answer_write(write, &error);
    if (!write->is_sent)
        end_write(write);
}

void engine_write_object(struct engine *engine, const struct engine_object_write *wanted,
                         engine_write_done *done, void *context)
{
    must(wanted->tree || (wanted->seen && !wanted->is_unread));
    struct frontend_write *write = write_new(engine, wanted);
    write->done = done;
    write->context = context;
    write->timer = (struct loop_timer){.call = write_is_late, .context = write};
    list_append(&engine->frontend_writes, write);
    engine->writes_in_flight++;
    loop_timer_set(engine->loop, &write->timer, wanted->deadline_ms);
    frontend_writes_send(engine);
}
