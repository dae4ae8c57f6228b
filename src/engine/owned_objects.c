#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/state.h"

enum {
    AT_ONCE = 64,     // of one key; the rest has its reconciliation when these have ended
    UNSEEN_MS = 5000, // what was done is believed so long without an event that shows it
};

// What was done, and no snapshot has shown yet: it is not done again.
struct done {
    struct content_id id;
    int64_t until_ms;
    bool is_wanted; // by the decision at hand
};

struct owned_objects {
    struct done *done;
    size_t count;
    size_t capacity;
    size_t left; // of those under way
    size_t
        next; // of the decision's: the next round begins there, so that refused ones stop no other
    bool has_failed;
    struct error error; // of the first that did
};

struct owned_object_write {
    struct link link; // of all under way
    struct engine *engine;
    uint32_t key;
    struct content_id id;
    struct report *report;
};

// ---- life ---------------------------------------------------------------------------------------

static struct owned_objects *owned_objects_of(struct key *key)
{
    struct key_extra *extra = key_extra(key);
    if (!extra->owned_objects)
        extra->owned_objects = mem_new_of(struct owned_objects);
    return extra->owned_objects;
}

void owned_objects_forget(struct owned_objects *owned_objects)
{
    if (!owned_objects)
        return;
    free(owned_objects->done);
    free(owned_objects);
}

static struct report *report_of(const struct owned_object_want *owned_object)
{
    if (!owned_object->line)
        return NULL;
    struct decision decision = {.line_count = 1};
    decision.lines[0] = *owned_object->line;
    return report_new(&decision);
}

static struct owned_object_write *
owned_object_write_new(struct engine *engine, uint32_t key,
                       const struct owned_object_want *owned_object, struct content_id known)
{
    struct owned_object_write *write = mem_new_of(struct owned_object_write);
    *write = (struct owned_object_write){.engine = engine, .key = key, .id = known};
    write->report = report_of(owned_object);
    list_prepend(&engine->owned_object_writes, write);
    engine->writes_in_flight++;
    return write;
}

static void owned_object_write_free(struct owned_object_write *write)
{
    free(write->report);
    free(write);
}

static void owned_object_write_end(struct owned_object_write *write)
{
    list_remove(&write->engine->owned_object_writes, write);
    owned_object_write_free(write);
}

void owned_objects_free(struct engine *engine)
{
    for (struct owned_object_write *write; (write = list_take_first(&engine->owned_object_writes));)
        owned_object_write_free(write);
}

// ---- what was done already ----------------------------------------------------------------------

static struct content_id id_of(const struct owned_object_want *owned_object)
{
    struct text version = owned_object->seen ? object_version(owned_object->seen) : TEXT("");
    const struct content_id parts[] = {
        content_id_of(owned_object->key.namespace_.at, owned_object->key.namespace_.len),
        content_id_of(owned_object->key.name.at, owned_object->key.name.len),
        content_id_of(version.at, version.len),
        content_id_of(owned_object->seen ? owned_object->seen->uid : NULL,
                      owned_object->seen ? sizeof owned_object->seen->uid : 0),
        value_content_id(owned_object->tree),
    };
    return content_id_of(parts, sizeof parts);
}

static struct done *find_done(const struct owned_objects *owned_objects, struct content_id known)
{
    for (size_t i = 0; i < owned_objects->count; i++)
        if (content_id_equal(owned_objects->done[i].id, known))
            return &owned_objects->done[i];
    return NULL;
}

// Those that no decision wants any more have been seen; a dry run never sees any.
static int64_t sweep_done(const struct engine *engine, struct owned_objects *owned_objects)
{
    size_t kept = 0;
    int64_t first_ms = 0;
    int64_t now_ms = loop_mono_ms(engine->loop);
    for (size_t i = 0; i < owned_objects->count; i++) {
        struct done *done = &owned_objects->done[i];
        if (!done->is_wanted || (!engine->dry_run && done->until_ms <= now_ms))
            continue;
        if (!first_ms || done->until_ms < first_ms)
            first_ms = done->until_ms;
        done->is_wanted = false;
        owned_objects->done[kept++] = *done;
    }
    owned_objects->count = kept;
    return first_ms;
}

static void mark_wanted(const struct owned_objects *owned_objects, const struct decision *decision,
                        const struct content_id *known)
{
    for (size_t i = 0; i < decision->owned_object_count; i++) {
        struct done *done = find_done(owned_objects, known[i]);
        if (done)
            done->is_wanted = true;
    }
}

// ---- writing ------------------------------------------------------------------------------------

static void end_all(struct engine *engine, uint32_t id, struct owned_objects *owned_objects)
{
    struct key *key = &engine->keys[id];
    key->is_writing = false;
    if (owned_objects->has_failed) {
        reconcile_write_failed(engine, id, &owned_objects->error, true);
    } else {
        key->extra->write_failures = 0;
        key_forget_refusal(key);
        key->is_dirty = true;
    }
    owned_objects->has_failed = false;
    if (key->is_dirty) {
        key->is_dirty = false;
        key_wake(engine, id, QUEUE_USER);
    }
}

static void remember_done(struct owned_objects *owned_objects, struct content_id known,
                          int64_t until_ms)
{
    mem_reserve(&owned_objects->done, &owned_objects->capacity, owned_objects->count + 1);
    owned_objects->done[owned_objects->count++] = (struct done){.id = known, .until_ms = until_ms};
}

static void owned_object_done(void *context, const struct store_reply *reply)
{
    struct owned_object_write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct owned_objects *owned_objects = owned_objects_of(key);
    engine->writes_in_flight--;
    if (reply->is_ok) {
        remember_done(owned_objects, write->id, loop_mono_ms(engine->loop) + UNSEEN_MS);
        report_send(engine, write->report, key->object);
    } else if (!owned_objects->has_failed) {
        owned_objects->has_failed = true;
        owned_objects->error = reply->error;
    }
    if (--owned_objects->left == 0)
        end_all(engine, write->key, owned_objects);
    owned_object_write_end(write);
    engine_schedule(engine);
}

static void send(struct engine *engine, uint32_t id, const struct owned_object_want *owned_object,
                 struct content_id known)
{
    struct store *store = engine->options.store;
    struct key *key = &engine->keys[id];
    struct owned_object_write *write = owned_object_write_new(engine, id, owned_object, known);
    key->is_writing = true;
    owned_objects_of(key)->left++;
    if (owned_object->tree)
        store_put_owned_object(
            store,
            &(struct store_owned_object){owned_object->key, owned_object->tree, owned_object->seen},
            owned_object_done, write);
    else
        store_drop_owned_object(store, owned_object->seen, owned_object_done, write);
}

bool owned_objects_write(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    size_t sent = 0;
    if (!decision->owned_object_count && !(key->extra && key->extra->owned_objects))
        return false;
    struct owned_objects *owned_objects = owned_objects_of(key);
    struct content_id *known =
        arena_new_array(engine->arena, struct content_id, decision->owned_object_count + 1);
    for (size_t i = 0; i < decision->owned_object_count; i++)
        known[i] = id_of(&decision->owned_objects[i]);
    mark_wanted(owned_objects, decision, known);
    int64_t first_ms = sweep_done(engine, owned_objects);
    size_t begin = owned_objects->next;
    for (size_t n = 0; n < decision->owned_object_count && sent < AT_ONCE; n++) {
        size_t i = (begin + n) % decision->owned_object_count;
        if (find_done(owned_objects, known[i]))
            continue;
        send(engine, id, &decision->owned_objects[i], known[i]);
        owned_objects->next = i + 1;
        sent++;
    }
    if (!sent && first_ms && !engine->dry_run)
        key_after(engine, id, first_ms);
    return sent > 0;
}
