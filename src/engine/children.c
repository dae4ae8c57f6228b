#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "engine/state.h"

enum {
    AT_ONCE = 64,     // of one key; the rest has its turn when these have ended
    UNSEEN_MS = 5000, // what was done is believed so long without an event that shows it
};

// What was done, and no snapshot has shown yet: it is not done again.
struct done {
    struct content_id id;
    int64_t until_ms;
    bool is_wanted; // by the verdict at hand
};

struct children {
    struct done *done;
    size_t count;
    size_t capacity;
    size_t left; // of those under way
    size_t
        next; // of the verdict's: the next round begins there, so that refused ones stop no other
    bool has_failed;
    struct error error; // of the first that did
};

struct child_write {
    struct engine *engine;
    struct child_write *next; // of all under way
    struct child_write *previous;
    uint32_t key;
    struct content_id id;
    struct told *told;
};

// ---- life ---------------------------------------------------------------------------------------

static struct children *children_of(struct key *key)
{
    struct key_extra *extra = key_extra(key);
    if (!extra->children)
        extra->children = mem_new_of(struct children);
    return extra->children;
}

void children_forget(struct children *children)
{
    if (!children)
        return;
    free(children->done);
    free(children);
}

static struct told *told_of(const struct child_want *child)
{
    if (!child->line)
        return NULL;
    struct verdict verdict = {.line_count = 1};
    verdict.lines[0] = *child->line;
    return told_new(&verdict);
}

static struct child_write *child_write_new(struct engine *engine, uint32_t key,
                                           const struct child_want *child, struct content_id known)
{
    struct child_write *write = mem_new_of(struct child_write);
    *write = (struct child_write){
        .engine = engine, .next = engine->child_writes, .key = key, .id = known};
    write->told = told_of(child);
    if (write->next)
        write->next->previous = write;
    engine->child_writes = write;
    engine->writes_in_flight++;
    return write;
}

static void child_write_free(struct child_write *write)
{
    free(write->told);
    free(write);
}

static void child_write_end(struct child_write *write)
{
    if (write->next)
        write->next->previous = write->previous;
    if (write->previous)
        write->previous->next = write->next;
    else
        write->engine->child_writes = write->next;
    child_write_free(write);
}

void children_free(struct engine *engine)
{
    for (struct child_write *write = engine->child_writes, *next; write; write = next) {
        next = write->next;
        child_write_free(write);
    }
    engine->child_writes = NULL;
}

// ---- what was done already ----------------------------------------------------------------------

static struct content_id id_of(const struct child_want *child)
{
    struct text version = child->seen ? object_version(child->seen) : TEXT("");
    const struct content_id parts[] = {
        content_id_of(child->key.namespace_.at, child->key.namespace_.len),
        content_id_of(child->key.name.at, child->key.name.len),
        content_id_of(version.at, version.len),
        content_id_of(child->seen ? child->seen->uid : NULL,
                      child->seen ? sizeof child->seen->uid : 0),
        value_content_id(child->tree),
    };
    return content_id_of(parts, sizeof parts);
}

static struct done *find_done(const struct children *children, struct content_id known)
{
    for (size_t i = 0; i < children->count; i++)
        if (content_id_equal(children->done[i].id, known))
            return &children->done[i];
    return NULL;
}

// Those that no verdict wants any more have been seen; a dry run never sees any.
static int64_t sweep_done(const struct engine *engine, struct children *children)
{
    size_t kept = 0;
    int64_t first_ms = 0;
    int64_t now_ms = loop_mono_ms(engine->loop);
    for (size_t i = 0; i < children->count; i++) {
        struct done *done = &children->done[i];
        if (!done->is_wanted || (!engine->dry_run && done->until_ms <= now_ms))
            continue;
        if (!first_ms || done->until_ms < first_ms)
            first_ms = done->until_ms;
        done->is_wanted = false;
        children->done[kept++] = *done;
    }
    children->count = kept;
    return first_ms;
}

static void mark_wanted(const struct children *children, const struct verdict *verdict,
                        const struct content_id *known)
{
    for (size_t i = 0; i < verdict->child_count; i++) {
        struct done *done = find_done(children, known[i]);
        if (done)
            done->is_wanted = true;
    }
}

// ---- writing ------------------------------------------------------------------------------------

static void end_all(struct engine *engine, uint32_t id, struct children *children)
{
    struct key *key = &engine->keys[id];
    key->is_writing = false;
    if (children->has_failed) {
        turn_write_failed(engine, id, &children->error, true);
    } else {
        key->extra->write_failures = 0;
        key_forget_refusal(key);
        key->is_dirty = true;
    }
    children->has_failed = false;
    if (key->is_dirty) {
        key->is_dirty = false;
        key_wake(engine, id, QUEUE_USER);
    }
}

static void remember_done(struct children *children, struct content_id known, int64_t until_ms)
{
    mem_reserve(&children->done, &children->capacity, children->count + 1);
    children->done[children->count++] = (struct done){.id = known, .until_ms = until_ms};
}

static void child_done(void *context, const struct store_reply *reply)
{
    struct child_write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct children *children = children_of(key);
    engine->writes_in_flight--;
    if (reply->is_ok) {
        remember_done(children, write->id, loop_mono_ms(engine->loop) + UNSEEN_MS);
        told_tell(engine, write->told, key->object);
    } else if (!children->has_failed) {
        children->has_failed = true;
        children->error = reply->error;
    }
    if (--children->left == 0)
        end_all(engine, write->key, children);
    child_write_end(write);
    engine_schedule(engine);
}

static void send(struct engine *engine, uint32_t id, const struct child_want *child,
                 struct content_id known)
{
    struct store *store = engine->options.store;
    struct key *key = &engine->keys[id];
    struct child_write *write = child_write_new(engine, id, child, known);
    key->is_writing = true;
    children_of(key)->left++;
    if (child->tree)
        store_put_child(store, &(struct store_child){child->key, child->tree, child->seen},
                        child_done, write);
    else
        store_drop_child(store, child->seen, child_done, write);
}

bool children_write(struct engine *engine, uint32_t id, const struct verdict *verdict)
{
    struct key *key = &engine->keys[id];
    size_t sent = 0;
    if (!verdict->child_count && !(key->extra && key->extra->children))
        return false;
    struct children *children = children_of(key);
    struct content_id *known =
        arena_new_array(engine->arena, struct content_id, verdict->child_count + 1);
    for (size_t i = 0; i < verdict->child_count; i++)
        known[i] = id_of(&verdict->children[i]);
    mark_wanted(children, verdict, known);
    int64_t first_ms = sweep_done(engine, children);
    size_t begin = children->next;
    for (size_t n = 0; n < verdict->child_count && sent < AT_ONCE; n++) {
        size_t i = (begin + n) % verdict->child_count;
        if (find_done(children, known[i]))
            continue;
        send(engine, id, &verdict->children[i], known[i]);
        children->next = i + 1;
        sent++;
    }
    if (!sent && first_ms && !engine->dry_run)
        key_after(engine, id, first_ms);
    return sent > 0;
}
