#include "engine/write_back.h"

#include <stdlib.h>

#include "base/backoff.h"
#include "store/status.h"

enum {
    RACE_WAIT_MS = 5000,
    WRITE_RETRY_BASE_MS = 5,
    WRITE_RETRY_MAX_MS = 1000000,
    REFUSED_RETRY_MAX_MS = 60000,
};

// One store call of one key; `report` is sent when it has succeeded.
struct write {
    struct link link; // of all under way
    struct engine *engine;
    uint32_t key;
    const struct object *object;
    struct report *report;
    bool wants_reconcile;
    bool is_write_ahead; // of exchanges, or of the status that is to report it
};

static struct write *write_new(struct engine *engine, uint32_t key, const struct decision *decision)
{
    struct write *write = mem_new_of(struct write);
    write->engine = engine;
    write->key = key;
    write->object = object_ref(engine->keys[key].object);
    list_prepend(&engine->writes, write);
    write->report = report_new(decision);
    engine->keys[key].is_writing = true;
    engine->writes_in_flight++;
    return write;
}

static bool is_refusal(const struct error *error)
{
    return error->fault == FAULT_AUTH || error->fault == FAULT_SPEC;
}

static int64_t retry_delay(const struct key_extra *extra, const struct error *error)
{
    return backoff_ms(WRITE_RETRY_BASE_MS,
                      is_refusal(error) ? REFUSED_RETRY_MAX_MS : WRITE_RETRY_MAX_MS,
                      extra->write_failures);
}

static void write_refused(struct engine *engine, uint32_t id, const struct error *error)
{
    struct key *key = &engine->keys[id];
    struct key_extra *extra = key_extra(key);
    struct buffer name = {0};
    if (!engine_may_write(engine))
        return; // whoever leads next, be it ourselves, looks at every key
    extra->write_failures = error->fault == extra->write_failure ? extra->write_failures + 1 : 1;
    extra->write_failure = error->fault;
    engine->write_retries++;
    int64_t delay = retry_delay(extra, error);
    key->is_racing = error->fault == FAULT_RACE;
    if (key->is_racing)
        delay = RACE_WAIT_MS;
    if (error->retry_ms > delay)
        delay = error->retry_ms;
    key_after(engine, id, loop_mono_ms(engine->loop) + delay);
    extra->write_not_before_ms = error->retry_ms ? loop_mono_ms(engine->loop) + delay : 0;
    if (error->fault == FAULT_RACE || (extra->write_failures & (extra->write_failures - 1)))
        return;
    object_write_name(&name, key->object);
    log_line(engine->log, LOG_ERROR, "cannot write to the store", LOG_TEXT("object", name.at),
             LOG_TEXT("error", error->text), LOG_INT("attempts", extra->write_failures), LOG_END);
    buffer_done(&name);
}

// The status is to report it; the write itself is tried again later, or when the object changes.
static void remember_refusal(struct engine *engine, uint32_t id, const struct error *error)
{
    struct key_extra *extra = key_extra(&engine->keys[id]);
    if (!extra->refused)
        extra->refused = mem_new_of(struct error);
    *extra->refused = *error;
    extra->refused_until_ms = loop_mono_ms(engine->loop) + retry_delay(extra, error);
    extra->is_refusal_unreported = true;
    key_wake(engine, id, QUEUE_USER);
}

static void write_free(struct write *write)
{
    object_unref(write->object);
    report_free(write->report);
    free(write);
}

static void write_end(struct write *write)
{
    list_remove(&write->engine->writes, write);
    write_free(write);
}

void writes_free(struct engine *engine)
{
    for (struct write *write; (write = list_take_first(&engine->writes));)
        write_free(write);
}

// Nothing changed by it, and the next reconciliation would write the same again. (The last
// finalizer of one in deletion goes with the object.)
static bool is_in_vain(const struct write *write, const struct store_reply *reply)
{
    return write->is_write_ahead && write->wants_reconcile && reply->is_ok &&
           reply->object == write->object;
}

static void write_succeeded(struct write *write, const struct store_reply *reply)
{
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    if (reply->object && !key->is_gone)
        engine_file_written(engine, key->object, reply->object);
    if (key->extra)
        key->extra->write_failures = 0;
    if (write->is_write_ahead)
        key_forget_refusal(key);
    report_send(engine, write->key, write->report, write->object);
    key->is_dirty |= write->wants_reconcile;
}

void reconcile_write_failed(struct engine *engine, uint32_t id, const struct error *error,
                            bool is_write_ahead)
{
    write_refused(engine, id, error);
    if (is_write_ahead && is_refusal(error))
        remember_refusal(engine, id, error);
}

static void write_failed(struct write *write, const struct error *error)
{
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    reconcile_write_failed(engine, write->key, error, write->is_write_ahead);
    // The event of whoever wrote first came before the reply: there is nothing to wait for.
    key->is_dirty |= key->is_racing && key->object != write->object;
}

static void write_done(void *context, const struct store_reply *reply)
{
    struct write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct error vain;
    key->is_writing = false;
    engine->writes_in_flight--;
    if (is_in_vain(write, reply)) {
        error_set(&vain, FAULT_SPEC, "Contended",
                  "an admission webhook or another manager takes out what is written");
        write_failed(write, &vain);
    } else if (reply->is_ok) {
        write_succeeded(write, reply);
    } else {
        write_failed(write, &reply->error);
    }
    if (key->is_dirty) {
        key->is_dirty = false;
        key_wake(engine, write->key, QUEUE_USER);
    }
    write_end(write);
    engine_schedule(engine);
}

bool decision_adds_finalizer(const struct object *object, const struct decision *decision)
{
    return decision->finalizer == FINALIZER_ADD && !object->has_finalizer;
}

bool decision_removes_finalizer(const struct object *object, const struct decision *decision)
{
    return decision->finalizer == FINALIZER_REMOVE && object->has_finalizer;
}

bool write_back_metadata(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    bool adds = decision_adds_finalizer(object, decision);
    if (!adds && !decision->metadata_change_count)
        return false;
    struct metadata_change metadata_changes[DECISION_METADATA_CHANGES_MAX];
    for (size_t i = 0; i < decision->metadata_change_count; i++)
        metadata_changes[i] = (struct metadata_change){decision->metadata_changes[i].key,
                                                       decision->metadata_changes[i].value,
                                                       decision->metadata_changes[i].is_label};
    struct write *write = write_new(engine, id, decision);
    write->wants_reconcile = write->is_write_ahead = true;
    store_apply(engine->options.store,
                &(struct store_apply){.object = object,
                                      .add_finalizer = adds,
                                      .metadata_changes = metadata_changes,
                                      .metadata_change_count = decision->metadata_change_count},
                write_done, write);
    return true;
}

bool write_back_remove_finalizer(struct engine *engine, uint32_t id,
                                 const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    if (!decision_removes_finalizer(object, decision))
        return false;
    struct write *write = write_new(engine, id, decision);
    write->wants_reconcile = !object->deleted_s;
    write->is_write_ahead = true;
    store_remove_finalizer(engine->options.store, object, write_done, write);
    return true;
}

static void whole_read(void *context, const struct store_reply *reply)
{
    struct write *write = context;
    struct engine *engine = write->engine;
    struct key *key = &engine->keys[write->key];
    struct buffer json = {0};
    key->is_writing = key->is_dirty = false;
    engine->writes_in_flight--;
    key_extra(key)->was_read = true;
    if (reply->is_ok && reply->tree) {
        value_write_json(&json, reply->tree);
        key->extra->whole = buffer_steal(&json);
    }
    key_wake(engine, write->key, QUEUE_USER);
    write_end(write);
    engine_schedule(engine);
}

bool write_back_read_whole(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    const struct object_ref_key key = {object->kind, object_namespace(object), object_name(object)};
    if (!decision->wants_whole || engine->keys[id].is_gone)
        return false;
    struct write *write = write_new(engine, id, &(struct decision){0});
    store_get(engine->options.store, &key, whole_read, write);
    return true;
}

// Returns what a merge patch leaves of a map: fields that are null leave no trace. With a `kind`
// the map is a whole status, and what is bulk in it is left out, too.
static struct value *stored_fields(struct arena *arena, const struct kind *kind,
                                   const struct value *map)
{
    struct value *kept = value_make(arena, VALUE_MAP);
    value_each (item, map) {
        if (item->type == VALUE_NULL || (kind && status_is_bulk(kind, item->key)))
            continue;
        struct value *link = item->type == VALUE_MAP ? stored_fields(arena, NULL, item)
                                                     : arena_new_of(arena, struct value);
        if (item->type != VALUE_MAP)
            *link = *item;
        link->next = NULL;
        value_set(kept, item->key, link);
    }
    return kept;
}

bool write_back_status(struct engine *engine, uint32_t id, const struct decision *decision)
{
    const struct object *object = engine->keys[id].object;
    if (!decision->status || content_id_equal(value_content_id(stored_fields(
                                                  engine->arena, object->kind, decision->status)),
                                              object->status_id))
        return false;
    struct write *write = write_new(engine, id, decision);
    store_patch_status(engine->options.store, object, decision->status, write_done, write);
    return true;
}
