#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "engine/write_back.h"

enum {
    AT_ONCE = 64,     // of one key; the rest has its reconciliation when these have ended
    UNSEEN_MS = 5000, // what was done is believed so long without an event that shows it
};

// What was done, and no snapshot has shown yet: it is not done again.
struct done {
    struct content_id id;
    int64_t until_ms; // INT64_MAX: no snapshot will show it
    bool is_wanted;   // by the decision at hand
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

struct object_write {
    struct link link; // of all under way
    struct engine *engine;
    uint32_t key;
    struct content_id id;
    bool is_unread;
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

static bool is_unread(const struct engine *engine, const struct key *key,
                      const struct object_want *want)
{
    return !controller_reads(engine->controllers[key->controller].controller, want->key.kind);
}

static struct report *report_of(const struct object_want *want)
{
    struct decision decision = {.event_count = want->event != NULL,
                                .line_count = want->line != NULL};
    if (want->event)
        decision.events[0] = *want->event;
    if (want->line)
        decision.lines[0] = *want->line;
    return report_new(&decision);
}

static struct object_write *object_write_new(struct engine *engine, uint32_t key,
                                             const struct object_want *want,
                                             struct content_id known)
{
    struct object_write *write = mem_new_of(struct object_write);
    *write = (struct object_write){.engine = engine, .key = key, .id = known};
    write->is_unread = is_unread(engine, &engine->keys[key], want);
    write->report = report_of(want);
    list_prepend(&engine->object_writes, write);
    engine->writes_in_flight++;
    return write;
}

static void object_write_free(struct object_write *write)
{
    report_free(write->report);
    free(write);
}

static void object_write_end(struct object_write *write)
{
    list_remove(&write->engine->object_writes, write);
    object_write_free(write);
}

void owned_objects_free(struct engine *engine)
{
    for (struct object_write *write; (write = list_take_first(&engine->object_writes));)
        object_write_free(write);
}

// ---- what was done already ----------------------------------------------------------------------

// An object of a kind that nobody reads counts as written for this state of the key's object: when
// that changes, it is written again.
static struct content_id id_of(const struct engine *engine, const struct key *key,
                               const struct object_want *want)
{
    const struct object *state = is_unread(engine, key, want) ? key->object : want->seen;
    struct text version = state ? object_version(state) : TEXT("");
    const struct content_id parts[] = {
        content_id_of(want->key.kind->plural, strlen(want->key.kind->plural)),
        content_id_of(want->key.namespace_.at, want->key.namespace_.len),
        content_id_of(want->key.name.at, want->key.name.len),
        content_id_of(version.at, version.len),
        content_id_of(want->seen ? want->seen->uid : NULL, want->seen ? sizeof want->seen->uid : 0),
        value_content_id(want->tree),
        value_content_id(want->kept),
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

// Drops what no decision wants any more, and what was believed without an event for long enough; a
// dry run gets no event, ever.
static int64_t sweep_done(const struct engine *engine, struct owned_objects *owned_objects)
{
    size_t kept = 0;
    int64_t first_ms = INT64_MAX;
    int64_t now_ms = loop_mono_ms(engine->loop);
    for (size_t i = 0; i < owned_objects->count; i++) {
        struct done *done = &owned_objects->done[i];
        if (!done->is_wanted || (!engine->dry_run && done->until_ms <= now_ms))
            continue;
        if (done->until_ms < first_ms)
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
    for (size_t i = 0; i < decision->object_count; i++) {
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

static void remember_done(struct owned_objects *owned_objects, const struct object_write *write)
{
    int64_t now_ms = loop_mono_ms(write->engine->loop);
    mem_reserve(&owned_objects->done, &owned_objects->capacity, owned_objects->count + 1);
    owned_objects->done[owned_objects->count++] = (struct done){
        .id = write->id, .until_ms = write->is_unread ? INT64_MAX : now_ms + UNSEEN_MS};
}

static void object_done(void *context, const struct store_reply *reply)
{
    struct object_write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct owned_objects *owned_objects = owned_objects_of(key);
    engine->writes_in_flight--;
    if (reply->is_ok) {
        remember_done(owned_objects, write);
        report_send(engine, write->key, write->report, key->object);
    } else if (!owned_objects->has_failed) {
        owned_objects->has_failed = true;
        owned_objects->error = reply->error;
    }
    if (--owned_objects->left == 0)
        end_all(engine, write->key, owned_objects);
    object_write_end(write);
    engine_schedule(engine);
}

static void send(struct engine *engine, uint32_t id, const struct object_want *want,
                 struct content_id known)
{
    struct key *key = &engine->keys[id];
    struct object_write *write = object_write_new(engine, id, want, known);
    must(want->tree || want->seen);
    if (engine->dry_run)
        dry_run_write(engine, id, want);
    key->is_writing = true;
    owned_objects_of(key)->left++;
    store_write_object(engine->options.store,
                       &(struct store_object_write){.key = want->key,
                                                    .tree = want->tree,
                                                    .seen = want->seen,
                                                    .is_unread = write->is_unread,
                                                    .kept = want->kept,
                                                    .grant = want->grant},
                       object_done, write);
}

bool owned_objects_write(struct engine *engine, uint32_t id, const struct decision *decision)
{
    struct key *key = &engine->keys[id];
    size_t sent = 0;
    if (!decision->object_count && !(key->extra && key->extra->owned_objects))
        return false;
    struct owned_objects *owned_objects = owned_objects_of(key);
    struct content_id *known =
        arena_new_array(engine->arena, struct content_id, decision->object_count + 1);
    for (size_t i = 0; i < decision->object_count; i++)
        known[i] = id_of(engine, key, &decision->objects[i]);
    mark_wanted(owned_objects, decision, known);
    int64_t first_ms = sweep_done(engine, owned_objects);
    size_t begin = owned_objects->next;
    for (size_t n = 0; n < decision->object_count && sent < AT_ONCE; n++) {
        size_t i = (begin + n) % decision->object_count;
        if (find_done(owned_objects, known[i]))
            continue;
        send(engine, id, &decision->objects[i], known[i]);
        owned_objects->next = i + 1;
        sent++;
    }
    if (!sent && first_ms < INT64_MAX && !engine->dry_run)
        key_after(engine, id, first_ms);
    return sent > 0;
}
