#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/inside.h"

enum { HELD_WATCHES_MAX = 32, HELD_LOOK_MS = 60 * 1000 };

static struct object_ref_key key_of(const struct held *held)
{
    return (struct object_ref_key){held->type->kind, text_of(held->namespace_),
                                   text_of(held->name)};
}

static const struct object *object_of(const struct held *held)
{
    struct object_ref_key key = key_of(held);
    return cache_find(held->cluster->store.cache, key.kind, key.namespace_, key.name);
}

static bool is_of(const struct held *held, const struct object_ref_key *key)
{
    return held->type->kind == key->kind && text_is(key->namespace_, held->namespace_) &&
           text_is(key->name, held->name);
}

static struct held *find(const struct cluster *cluster, const struct object_ref_key *key)
{
    list_each (held, &cluster->held)
        if (is_of(held, key))
            return held;
    return NULL;
}

static void become_known(struct held *held)
{
    struct cluster *cluster = held->cluster;
    struct object_ref_key key = key_of(held);
    cluster->sink.batch_end(cluster->sink.context);
    if (held->is_known)
        return;
    held->is_known = true;
    cluster->sink.known(cluster->sink.context, &key);
}

// Who waits for it may tell why.
static void become_unreadable(struct held *held)
{
    struct cluster *cluster = held->cluster;
    struct object_ref_key key = key_of(held);
    if (!held->is_known)
        cluster->sink.known(cluster->sink.context, &key);
}

static void drop_object(struct held *held)
{
    const struct object *object = object_of(held);
    if (object)
        file_gone(held->cluster, object);
}

// ---- by a watch ---------------------------------------------------------------------------------

static void on_pass_begin(void *context, bool is_back)
{
    struct held *held = context;
    held->is_met = false;
    held->is_back = is_back;
}

static void on_object(void *context, bool is_deleted, const struct value *tree)
{
    struct held *held = context;
    if (is_deleted) {
        file_deleted(held->cluster, held->type, tree);
        return;
    }
    held->is_met = true;
    file_object(held->cluster, held->type, tree, &(struct filing){.may_go_back = held->is_back});
}

static void on_pass_end(void *context, bool may_sweep)
{
    struct held *held = context;
    if (!held->is_met && !may_sweep)
        return;
    if (!held->is_met)
        drop_object(held);
    become_known(held);
}

static void on_batch_end(void *context)
{
    const struct held *held = context;
    held->cluster->sink.batch_end(held->cluster->sink.context);
}

static void on_forbidden(void *context)
{
    become_unreadable(context);
}

static void begin_watch(struct held *held)
{
    struct cluster *cluster = held->cluster;
    const struct watch_options options = {
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .kind = held->type->kind,
        .namespace_ = *held->namespace_ ? held->namespace_ : NULL,
        .name = held->name,
        .is_required = true,
        .is_once = cluster->options.is_reading,
        .memory = &cluster->memory,
    };
    const struct watch_sink sink = {.pass_begin = on_pass_begin,
                                    .pass_end = on_pass_end,
                                    .object = on_object,
                                    .batch_end = on_batch_end,
                                    .forbidden = on_forbidden,
                                    .context = held};
    held->watch = watch_new(&options, &sink);
    if (cluster->is_started)
        watch_start(held->watch);
}

// ---- by a look now and then ---------------------------------------------------------------------

// What it shows is the newest: versions that went back are those of a server that was restored.
static bool file_look(struct held *held, const struct api_reply *reply, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    if (api_reply_is_absent(reply)) {
        drop_object(held);
        return true;
    }
    if (!reply->is_ok) {
        *err = reply->error;
        return false;
    }
    const struct value *tree = value_read_json(arena, reply->body, &value_manifest_limits, err);
    if (tree)
        file_object(held->cluster, held->type, tree, &(struct filing){.may_go_back = true});
    return tree != NULL;
}

static void looked(void *context, const struct api_reply *reply)
{
    struct held *held = context;
    struct error err = {0};
    held->call = NULL;
    loop_timer_set(held->cluster->world.loop, &held->timer, HELD_LOOK_MS);
    bool ok = file_look(held, reply, &err);
    held->fault = err;
    if (ok)
        become_known(held);
    else if (err.fault == FAULT_AUTH)
        become_unreadable(held);
}

static void look(void *context)
{
    struct held *held = context;
    struct object_ref_key key = key_of(held);
    AUTO_BUFFER path = {0};
    api_path(&path, key.kind, key.namespace_, key.name, NULL);
    held->call = api_send(held->cluster->api,
                          &(struct api_request){.method = "GET", .path = path.at}, looked, held);
}

// ---- wanting ------------------------------------------------------------------------------------

static size_t watch_count(const struct cluster *cluster)
{
    size_t count = 0;
    list_each (held, &cluster->held)
        count += held->watch != NULL;
    return count;
}

static void begin(struct held *held)
{
    held->timer = (struct loop_timer){.call = look, .context = held};
    if (watch_count(held->cluster) < HELD_WATCHES_MAX)
        begin_watch(held);
    else if (held->cluster->is_started)
        loop_timer_set(held->cluster->world.loop, &held->timer, 0);
}

static void held_free(struct held *held)
{
    watch_free(held->watch);
    if (held->call)
        api_cancel(held->cluster->api, held->call);
    loop_timer_cancel(held->cluster->world.loop, &held->timer);
    free(held->namespace_);
    free(held->name);
    free(held);
}

static void release(struct cluster *cluster, struct held *held)
{
    if (--held->wants)
        return;
    // Its own watch may be what brought this about.
    list_remove(&cluster->held, held);
    list_prepend(&cluster->dropped, held);
    loop_timer_set(cluster->world.loop, &cluster->dropped_timer, 0);
}

// Nobody wants it: nobody is told.
static void forget_object(struct held *held)
{
    struct object_ref_key key = key_of(held);
    if (!find(held->cluster, &key))
        object_unref(cache_take(held->cluster->store.cache, key.kind, key.namespace_, key.name));
}

void held_sweep(void *context)
{
    struct cluster *cluster = context;
    for (struct held *held; (held = list_take_first(&cluster->dropped));) {
        forget_object(held);
        held_free(held);
    }
}

void held_want(struct cluster *cluster, const struct object_ref_key *key, bool is_wanted)
{
    const struct store_kind *type = cluster_type(cluster, key->kind);
    if (!type || !type->is_by_name)
        return;
    struct held *held = find(cluster, key);
    if (!is_wanted) {
        if (held)
            release(cluster, held);
        return;
    }
    if (!held) {
        held = mem_new_of(struct held);
        held->cluster = cluster;
        held->type = type;
        held->namespace_ = text_dup(key->namespace_);
        held->name = text_dup(key->name);
        list_append(&cluster->held, held);
        begin(held);
    }
    held->wants++;
}

bool held_knows(const struct cluster *cluster, const struct object_ref_key *key)
{
    const struct store_kind *type = cluster_type(cluster, key->kind);
    if (!type || !type->is_by_name)
        return true;
    const struct held *held = find(cluster, key);
    return held && held->is_known;
}

const char *held_unreadable(const struct cluster *cluster, const struct object_ref_key *key)
{
    const struct held *held = find(cluster, key);
    if (!held || held->is_known)
        return NULL;
    if (held->watch)
        return watch_refusal(held->watch);
    return held->fault.fault == FAULT_AUTH ? held->fault.text : NULL;
}

// What was never read holds up who wants it, and nobody else: users may name what they like.
struct store_check held_check(struct held *held)
{
    struct store_check check = {
        .name = "held", .is_ok = held->fault.fault == FAULT_NONE, .text = held->fault.text};
    if (held->watch)
        check = watch_check(held->watch);
    check.is_advice = !held->is_known;
    return check;
}

void held_start(struct cluster *cluster)
{
    list_each (held, &cluster->held) {
        if (held->watch)
            watch_start(held->watch);
        else
            loop_timer_set(cluster->world.loop, &held->timer, 0);
    }
}

void held_done(struct cluster *cluster)
{
    held_sweep(cluster);
    list_each (held, &cluster->held)
        held_free(held);
}
