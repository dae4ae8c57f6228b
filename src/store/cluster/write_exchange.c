#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/write_private.h"
#include "store/put.h"

enum {
    TRIES_MAX = 10,       // of a write that is told to wait
    LIMIT_MAX_MS = 60000, // as long as that is listened to
    LIMIT_MS = 1000,      // where the server names no time
};

// Nothing of the object comes back with the reply: the watch tells it.
static bool is_reported_by_watch(const struct write *write)
{
    return write->type >= WRITE_PUT && write->type <= WRITE_DROP;
}

// ---- requests -----------------------------------------------------------------------------------

static void replied(void *context, const struct api_reply *reply);

static void add_path(struct buffer *out, const struct cluster *cluster, const struct object *object)
{
    api_version_path(out, object->kind,
                     api_versions_find(&cluster->memory.api_versions, object->kind),
                     object_namespace(object), object_name(object), NULL);
}

static void send_read(struct write *write)
{
    AUTO_BUFFER path = {0};
    if (write->object)
        add_path(&path, write->cluster, write->object);
    else
        buffer_add(&path, write->path, strcspn(write->path, "?"));
    write->call = api_send(write->cluster->api,
                           &(struct api_request){.method = "GET", .path = path.at}, replied, write);
}

static void send_write(struct write *write, const struct value *tree)
{
    autofree char *body = write_body_next(write, tree);
    write->step = STEP_SEND;
    write->call =
        api_send(write->cluster->api,
                 &(struct api_request){.method = write_forms[write->type].method,
                                       .path = write->path,
                                       .content_type = write_forms[write->type].content_type,
                                       .body = text_of(body)},
                 replied, write);
}

static void send_make(struct write *write)
{
    autofree char *body = write_body_bare(write);
    write->step = STEP_MAKE;
    write->call =
        api_send(write->cluster->api,
                 &(struct api_request){.method = write_forms[WRITE_CREATE].method,
                                       .path = write->collection,
                                       .content_type = write_forms[WRITE_CREATE].content_type,
                                       .body = text_of(body)},
                 replied, write);
}

static void send_clear(struct write *write)
{
    AUTO_BUFFER path = {0};
    add_path(&path, write->cluster, write->object);
    buffer_add_text(&path, write_forms[WRITE_REMOVE_FINALIZER].query);
    write->step = STEP_CLEAR;
    write->call = api_send(
        write->cluster->api,
        &(struct api_request){.method = "PATCH",
                              .path = path.at,
                              .content_type = write_forms[WRITE_REMOVE_FINALIZER].content_type,
                              .body = text_of(write->clear)},
        replied, write);
}

void write_send(struct write *write)
{
    if (write->step == STEP_SEND)
        send_write(write, NULL);
    else
        send_read(write);
}

static void send_again(void *context)
{
    struct write *write = context;
    if (write_may_be_sent(write))
        write_send(write);
    else
        writes_refuse_standby(write);
}

// ---- replies ------------------------------------------------------------------------------------

// The cached state of the very object; NULL: it went, or another has its name.
static const struct object *cached(const struct write *write)
{
    const struct object *now =
        cache_find(write->cluster->store.cache, write->kind->kind, object_namespace(write->object),
                   object_name(write->object));
    return now && !memcmp(now->uid, write->object->uid, sizeof now->uid) ? now : NULL;
}

// The state that came back is filed, unless the stream told a newer one.
static void file_reply(struct write *write, const struct value *tree, bool is_silent)
{
    if (cached(write) && !feed_has_reported(write->cluster, write->kind, tree))
        file_object(write->cluster, write->kind, tree,
                    &(struct filing){.is_reply = true, .is_silent = is_silent});
}

static bool has_any(const struct value *there, const struct value *marks)
{
    value_each (item, marks)
        if (value_find_text(there, item->key))
            return true;
    return false;
}

// A label or annotation that is to go, and that somebody else wrote, too.
static bool has_leftover(const struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    if (!write->clear || write->step == STEP_CLEAR)
        return false;
    const struct value *clear =
        value_read_json(arena, text_of(write->clear), &value_manifest_limits, NULL);
    return has_any(value_at(tree, "metadata.labels", NULL),
                   value_at(clear, "metadata.labels", NULL)) ||
           has_any(value_at(tree, "metadata.annotations", NULL),
                   value_at(clear, "metadata.annotations", NULL));
}

static void answer_shard(struct write *write, const struct value *tree)
{
    AUTO_BUFFER version = {0};
    struct text text = value_text_at(tree, "metadata.resourceVersion");
    buffer_add(&version, text.at, text.len);
    writes_answer(write, &(struct store_reply){.is_ok = true, .version = version.at});
}

static void succeed(struct write *write, const struct value *tree)
{
    struct store_reply reply = {.is_ok = true, .tree = tree};
    if (write->type == WRITE_GET) {
        writes_answer(write, &reply);
        return;
    }
    if (has_leftover(write, tree)) {
        send_clear(write);
        return;
    }
    writes_grow_window(write->cluster);
    if (write_is_of_shard(write->type)) {
        answer_shard(write, tree);
        return;
    }
    if (is_reported_by_watch(write)) {
        writes_answer(write, &(struct store_reply){.is_ok = true});
        return;
    }
    file_reply(write, tree, true);
    const struct object *now = cached(write);
    reply.object = now ? object_ref(now) : NULL;
    writes_answer(write, &reply);
    object_unref(reply.object);
}

static bool wait_and_try(struct write *write, const struct error *error)
{
    struct cluster *cluster = write->cluster;
    int64_t wait_ms = error->retry_ms ? error->retry_ms : LIMIT_MS;
    if (error->fault != FAULT_LIMIT || ++write->tries >= TRIES_MAX)
        return false;
    writes_shrink_window(&cluster->writes);
    write->step = write->first_step;
    wait_ms = wait_ms > LIMIT_MAX_MS ? LIMIT_MAX_MS : wait_ms;
    wait_ms += (int64_t)random_below(cluster->world.random, (uint64_t)wait_ms / 4 + 1);
    write->timer =
        (struct loop_timer){.call = send_again, .context = write, .handle = write->timer.handle};
    loop_timer_set(cluster->world.loop, &write->timer, wait_ms);
    return true;
}

// Whether it took effect is seen by reading; the asker decides afresh from that. What we make is
// simply made again.
static bool read_back(struct write *write, const struct api_reply *reply)
{
    if (!reply->is_fate_unknown || write->step == STEP_READ || !write->object)
        return false;
    write->error = mem_copy(&reply->error, sizeof reply->error);
    write->step = STEP_READ_BACK;
    send_read(write);
    return true;
}

static void was_read_back(struct write *write, const struct value *tree)
{
    struct cluster *cluster = write->cluster;
    if (tree) {
        file_reply(write, tree, false);
        cluster->sink.batch_end(cluster->sink.context);
    }
    writes_fail(write, write->error);
}

// `tree`: what stands there; NULL: something that is not read.
static bool is_ours(const struct write *write, const struct value *tree, struct error *error)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *wanted = write_body_wanted(arena, write);
    const struct metadata_change grant = {.key = write->grant_key, .value = write->grant_value};
    const struct store_object_write put = {
        .key = {write->put_kind ? write->put_kind : write->kind->kind,
                value_text_at(wanted, "metadata.namespace"),
                value_text_at(wanted, "metadata.name")},
        .tree = wanted,
        .is_unread = write->type == WRITE_PUT,
        .grant = write->grant_key ? &grant : NULL,
    };
    return (tree && put_is_ours(&put, tree)) || put_refuse(&put, error);
}

static void refuse_write(struct write *write, const struct error *error)
{
    free(steal(write->name)); // the text begins with it
    writes_fail(write, error);
}

// True if the object that has the name is to be read, so that our labels are put back on it where
// it is ours. A dry run writes nothing, whatever has the name.
static bool is_name_taken(const struct write *write, const struct api_reply *reply)
{
    return write->type == WRITE_CREATE && write->step == STEP_SEND && !reply->is_ok &&
           reply->error.status == 409 && !write->is_dry_run &&
           (write->kind->selectors[0] || !write->is_of_any_replica);
}

static void read_taken(struct write *write)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER path = {0};
    struct text name = value_text_at(write_body_wanted(arena, write), "metadata.name");
    buffer_printf(&path, "%.*s/%.*s%s", (int)strcspn(write->path, "?"), write->path,
                  TEXT_ARGS(name), write_forms[WRITE_CHANGE].query);
    free(write->path);
    write->path = buffer_steal(&path);
    write->first_step = write->step = STEP_READ;
    send_read(write);
}

// `patch`: the labels that somebody took off what we made.
static void send_labels(struct write *write, const struct value *tree, const struct value *patch)
{
    free(write->body);
    write->body = write_body_json(patch);
    write->type = WRITE_CHANGE;
    write->first_step = STEP_SEND;
    send_write(write, tree);
}

// Where no selector matches what has the name, no event will ever show it.
static void name_was_taken(struct write *write, const struct value *tree)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct error error = {0};
    const struct value *wanted = write_body_wanted(arena, write);
    struct value *labels = write->is_of_any_replica
                               ? NULL
                               : put_labels_back(arena, wanted, tree, put_was_written(tree));
    if (labels) {
        write_body_guard(arena, labels, tree);
        send_labels(write, tree, labels);
    } else if (!put_has_labels(wanted, tree) && !store_selects(write->kind, tree)) {
        is_ours(write, NULL, &error);
        refuse_write(write, &error);
    } else {
        error_set(&error, FAULT_RACE, "Conflict", "already exists");
        error.status = 409;
        writes_fail(write, &error);
    }
}

// Others wrote there: the body is made beside that, if it still is the state that was seen.
static void was_read(struct write *write, const struct value *tree)
{
    struct error error = {0};
    if (write->type == WRITE_CREATE) {
        name_was_taken(write, tree);
        return;
    }
    if (write->type == WRITE_PUT && !is_ours(write, tree, &error)) {
        refuse_write(write, &error);
        return;
    }
    struct text version = value_text_at(value_find(tree, "metadata"), "resourceVersion");
    if (write->object && !text_equal(version, object_version(write->object))) {
        error_set(&error, FAULT_RACE, "Conflict",
                  "the object has been modified; decide again from its latest version");
        error.status = 409;
        writes_fail(write, &error);
        return;
    }
    send_write(write, tree);
}

static void unreadable(struct write *write)
{
    struct error error;
    error_set(&error, FAULT_AGAIN, "ServerError", "the reply of the API server is not JSON");
    writes_fail(write, &error);
}

static bool is_dropped(const struct write *write, const struct api_reply *reply)
{
    bool is_drop = write->type == WRITE_DROP || write->type == WRITE_SHARD_DROP;
    return is_drop && write->step == STEP_SEND && !reply->is_ok && reply->error.status == 404;
}

// What is to be made is not there.
static bool is_absent(const struct write *write, const struct api_reply *reply)
{
    return write->type == WRITE_PUT && write->step == STEP_READ && !reply->is_ok &&
           reply->error.status == 404;
}

static void replied(void *context, const struct api_reply *reply)
{
    struct write *write = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    write->call = NULL;
    const struct value *tree =
        reply->is_ok ? value_read_json(arena, reply->body, &value_manifest_limits, NULL) : NULL;
    if (write->step == STEP_READ_BACK)
        was_read_back(write, tree);
    else if (is_absent(write, reply))
        send_make(write);
    else if (is_dropped(write, reply))
        succeed(write, NULL);
    else if (!reply->is_ok && (wait_and_try(write, &reply->error) || read_back(write, reply)))
        return;
    else if (is_name_taken(write, reply))
        read_taken(write);
    else if (!reply->is_ok)
        writes_fail(write, &reply->error);
    else if (!tree)
        unreadable(write);
    else if (write->step == STEP_READ)
        was_read(write, tree);
    else if (write->step == STEP_MAKE)
        send_write(write, tree);
    else
        succeed(write, tree);
}
