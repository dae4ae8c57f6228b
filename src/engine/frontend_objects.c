#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "engine/state.h"
#include "store/cache.h"

// How long a write that the store has confirmed waits for an event that shows it.
enum { UNSEEN_MS = 1000 };

struct frontend_write {
    struct link link; // of all under way
    struct engine *engine;
    char name[64]; // "frontend/<frontend>/<number>"
    const struct kind *kind;
    char *namespace_;
    char *object_name;
    bool is_removal;
    bool is_unread;
    const struct object *seen; // a reference of its own; or NULL
    engine_object_done *done;
    void *context;
    bool is_answered;  // the deadline came first
    bool is_confirmed; // the store has replied
    struct loop_timer timer;
};

// ---- reading ------------------------------------------------------------------------------------

static size_t find_kind(const struct engine *engine, const struct kind *kind)
{
    for (size_t i = 0; i < engine->kind_count; i++)
        if (engine->kinds[i] == kind)
            return i;
    return SIZE_MAX;
}

bool engine_knows_kind(const struct engine *engine, const struct kind *kind)
{
    size_t at = find_kind(engine, kind);
    return at != SIZE_MAX && engine->kind_synced[at] && !engine->kind_missing[at] &&
           !engine->kind_unread[at];
}

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

void engine_read_object(struct engine *engine, const struct object_ref_key *key, store_done *done,
                        void *context)
{
    store_get(engine->options.store, key, done, context);
}

// ---- answering ----------------------------------------------------------------------------------

static void free_write(struct frontend_write *write)
{
    loop_timer_cancel(write->engine->loop, &write->timer);
    object_unref(write->seen);
    free(write->namespace_);
    free(write->object_name);
    free(write);
}

static void end_write(struct frontend_write *write)
{
    list_remove(&write->engine->frontend_writes, write);
    free_write(write);
}

static struct object_ref_key key_of(const struct frontend_write *write)
{
    return (struct object_ref_key){write->kind, text_of(write->namespace_),
                                   text_of(write->object_name)};
}

static void answer_write(struct frontend_write *write, const struct error *error)
{
    const struct object_ref_key key = key_of(write);
    const struct engine_object_result result = {
        .is_ok = !error,
        .error = error,
        .object = error ? NULL : engine_find_object(write->engine, &key),
    };
    if (!write->is_answered)
        write->done(write->context, &result);
    write->is_answered = true;
}

static bool is_other_state(const struct object *a, const struct object *b)
{
    return memcmp(a->uid, b->uid, sizeof a->uid) != 0 ||
           !text_equal(object_version(a), object_version(b));
}

static bool is_shown(const struct frontend_write *write)
{
    const struct object_ref_key key = key_of(write);
    const struct object *now = engine_find_object(write->engine, &key);
    if (write->is_unread)
        return true;
    if (write->is_removal)
        return !now || now->deleted_s || memcmp(now->uid, write->seen->uid, sizeof now->uid) != 0;
    return now && (!write->seen || is_other_state(now, write->seen));
}

static struct frontend_write *find_shown(const struct engine *engine)
{
    for (struct frontend_write *write = list_first(&engine->frontend_writes); write;
         write = list_next(write))
        if (write->is_confirmed && is_shown(write))
            return write;
    return NULL;
}

void frontend_writes_look(struct engine *engine)
{
    for (struct frontend_write *write; (write = find_shown(engine));) {
        answer_write(write, NULL);
        end_write(write);
    }
}

// Before the store's reply: the frontend hears now, and the write goes on to its end. Behind it: an
// event that shows the write did not come, as nothing was changed by it.
static void write_time_is_over(void *context)
{
    struct frontend_write *write = context;
    struct error error = {0};
    if (write->is_confirmed) {
        answer_write(write, NULL);
        end_write(write);
        return;
    }
    error_set(&error, FAULT_AGAIN, "Timeout", "the store did not answer in time");
    answer_write(write, &error);
}

static void log_write(const struct frontend_write *write)
{
    const struct object_ref_key key = key_of(write);
    log_line(write->engine->log, LOG_INFO,
             write->is_removal ? "object is removed for a frontend"
                               : "object is written for a frontend",
             LOG_TEXT("request", write->name), LOG_TEXT("kind", key.kind->name),
             LOG_TEXT("namespace", *write->namespace_ ? write->namespace_ : NULL),
             LOG_TEXT("name", write->object_name), LOG_END);
}

static void write_done(void *context, const struct store_reply *reply)
{
    struct frontend_write *write = context;
    struct engine *engine = write->engine;
    engine->writes_in_flight--;
    write->is_confirmed = true;
    engine_schedule(engine);
    if (!reply->is_ok) {
        answer_write(write, &reply->error);
        end_write(write);
        return;
    }
    log_write(write);
    if (write->is_answered || is_shown(write)) {
        answer_write(write, NULL);
        end_write(write);
        return;
    }
    loop_timer_set(engine->loop, &write->timer, UNSEEN_MS);
}

// ---- asking -------------------------------------------------------------------------------------

static struct frontend_write *new_write(struct engine *engine,
                                        const struct engine_object_write *wanted,
                                        engine_object_done *done, void *context)
{
    struct frontend_write *write = mem_new_of(struct frontend_write);
    *write = (struct frontend_write){
        .engine = engine,
        .kind = wanted->key.kind,
        .namespace_ = text_dup(wanted->key.namespace_),
        .object_name = text_dup(wanted->key.name),
        .is_removal = !wanted->tree,
        .is_unread = find_kind(engine, wanted->key.kind) == SIZE_MAX,
        .seen = wanted->seen ? object_ref(wanted->seen) : NULL,
        .done = done,
        .context = context,
        .timer = {.call = write_time_is_over},
    };
    snprintf(write->name, sizeof write->name, "frontend/%s/%llu", wanted->frontend,
             (unsigned long long)++engine->frontend_write_count);
    write->timer.context = write;
    list_append(&engine->frontend_writes, write);
    return write;
}

void engine_write_object(struct engine *engine, const struct engine_object_write *wanted,
                         engine_object_done *done, void *context)
{
    must(wanted->tree || wanted->seen);
    struct frontend_write *write = new_write(engine, wanted, done, context);
    engine->writes_in_flight++;
    loop_timer_set(engine->loop, &write->timer, wanted->deadline_ms);
    store_write_object(engine->options.store,
                       &(struct store_object_write){.key = wanted->key,
                                                    .tree = wanted->tree,
                                                    .seen = wanted->seen,
                                                    .is_unread = write->is_unread},
                       write_done, write);
}

void frontend_writes_free(struct engine *engine)
{
    for (struct frontend_write *write; (write = list_take_first(&engine->frontend_writes));)
        free_write(write);
}
