#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/inside.h"

enum { NAMED_WATCHES_MAX = 32, NAMED_LOOK_MS = 60 * 1000 };

static struct object_ref_key key_of(const struct named_watch *named)
{
    return (struct object_ref_key){named->type->kind, text_of(named->namespace_),
                                   text_of(named->name)};
}

static const struct object *object_of(const struct named_watch *named)
{
    struct object_ref_key key = key_of(named);
    return cache_find(named->cluster->store.cache, key.kind, key.namespace_, key.name);
}

static bool is_of(const struct named_watch *named, const struct object_ref_key *key)
{
    return named->type->kind == key->kind && text_is(key->namespace_, named->namespace_) &&
           text_is(key->name, named->name);
}

static struct named_watch *find_named(const struct cluster *cluster,
                                      const struct object_ref_key *key)
{
    list_each (named, &cluster->named)
        if (is_of(named, key))
            return named;
    return NULL;
}

static void become_known(struct named_watch *named)
{
    struct cluster *cluster = named->cluster;
    struct object_ref_key key = key_of(named);
    cluster->sink.batch_end(cluster->sink.context);
    if (named->is_known)
        return;
    named->is_known = true;
    cluster->sink.known(cluster->sink.context, &key);
}

// Who waits for it may tell why.
static void become_unreadable(struct named_watch *named)
{
    struct cluster *cluster = named->cluster;
    struct object_ref_key key = key_of(named);
    if (!named->is_known)
        cluster->sink.known(cluster->sink.context, &key);
}

static void drop_object(struct named_watch *named)
{
    const struct object *object = object_of(named);
    if (object)
        file_gone(named->cluster, object);
}

// ---- by a watch ---------------------------------------------------------------------------------

static void on_pass_begin(void *context, bool has_gone_back)
{
    struct named_watch *named = context;
    named->is_met = false;
    named->has_gone_back = has_gone_back;
}

static void on_object(void *context, bool is_deleted, const struct value *tree)
{
    struct named_watch *named = context;
    if (is_deleted) {
        file_deleted(named->cluster, named->type, tree);
        return;
    }
    named->is_met = true;
    file_object(named->cluster, named->type, tree,
                &(struct filing){.may_go_back = named->has_gone_back});
}

static void on_pass_end(void *context, bool may_sweep)
{
    struct named_watch *named = context;
    if (!named->is_met && !may_sweep)
        return;
    if (!named->is_met)
        drop_object(named);
    become_known(named);
}

static void on_batch_end(void *context)
{
    const struct named_watch *named = context;
    named->cluster->sink.batch_end(named->cluster->sink.context);
}

static void on_forbidden(void *context)
{
    become_unreadable(context);
}

static void begin_watch(struct named_watch *named)
{
    struct cluster *cluster = named->cluster;
    const struct watch_options options = {
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .kind = named->type->kind,
        .namespace_ = *named->namespace_ ? named->namespace_ : NULL,
        .name = named->name,
        .is_required = true,
        .is_once = cluster->options.is_reading,
        .memory = &cluster->memory,
    };
    const struct watch_sink sink = {.pass_begin = on_pass_begin,
                                    .pass_end = on_pass_end,
                                    .object = on_object,
                                    .batch_end = on_batch_end,
                                    .forbidden = on_forbidden,
                                    .context = named};
    named->watch = watch_new(&options, &sink);
    if (cluster->is_started)
        watch_start(named->watch);
}

// ---- by a look now and then ---------------------------------------------------------------------

// What it shows is the newest: versions that went back are those of a server that was restored.
static bool file_look(struct named_watch *named, const struct api_reply *reply, struct error *err)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    if (api_reply_is_absent(reply)) {
        drop_object(named);
        return true;
    }
    if (!reply->is_ok) {
        *err = reply->error;
        return false;
    }
    const struct value *tree = value_read_json(arena, reply->body, &value_manifest_limits, err);
    if (tree)
        file_object(named->cluster, named->type, tree, &(struct filing){.may_go_back = true});
    return tree != NULL;
}

static void handle_look(void *context, const struct api_reply *reply)
{
    struct named_watch *named = context;
    struct error err = {0};
    named->call = NULL;
    loop_timer_set(named->cluster->world.loop, &named->timer, NAMED_LOOK_MS);
    bool ok = file_look(named, reply, &err);
    named->fault = err;
    if (ok)
        become_known(named);
    else if (err.fault == FAULT_AUTH)
        become_unreadable(named);
}

static void look_once(void *context)
{
    struct named_watch *named = context;
    struct object_ref_key key = key_of(named);
    AUTO_BUFFER path = {0};
    api_path(&path, key.kind, key.namespace_, key.name, NULL);
    named->call =
        api_send(named->cluster->api, &(struct api_request){.method = "GET", .path = path.at},
                 handle_look, named);
}

// ---- wanting ------------------------------------------------------------------------------------

static size_t watch_count(const struct cluster *cluster)
{
    size_t count = 0;
    list_each (named, &cluster->named)
        count += named->watch != NULL;
    return count;
}

static void begin_named(struct named_watch *named)
{
    named->timer = (struct loop_timer){.call = look_once, .context = named};
    if (watch_count(named->cluster) < NAMED_WATCHES_MAX)
        begin_watch(named);
    else if (named->cluster->is_started)
        loop_timer_set(named->cluster->world.loop, &named->timer, 0);
}

static void named_watch_free(struct named_watch *named)
{
    watch_free(named->watch);
    if (named->call)
        api_cancel(named->cluster->api, named->call);
    loop_timer_cancel(named->cluster->world.loop, &named->timer);
    free(named->namespace_);
    free(named->name);
    free(named);
}

static void release_named(struct cluster *cluster, struct named_watch *named)
{
    if (--named->wants)
        return;
    // Its own watch may be what brought this about.
    list_remove(&cluster->named, named);
    list_prepend(&cluster->dropped, named);
    loop_timer_set(cluster->world.loop, &cluster->dropped_timer, 0);
}

// Nobody wants it: nobody is told.
static void forget_object(struct named_watch *named)
{
    struct object_ref_key key = key_of(named);
    if (!find_named(named->cluster, &key))
        object_unref(cache_take(named->cluster->store.cache, key.kind, key.namespace_, key.name));
}

void named_watch_sweep(void *context)
{
    struct cluster *cluster = context;
    for (struct named_watch *named; (named = list_take_first(&cluster->dropped));) {
        forget_object(named);
        named_watch_free(named);
    }
}

void named_watch_want(struct cluster *cluster, const struct object_ref_key *key, bool is_wanted)
{
    const struct store_kind *type = cluster_type(cluster, key->kind);
    if (!type || !type->is_by_name)
        return;
    struct named_watch *named = find_named(cluster, key);
    if (!is_wanted) {
        if (named)
            release_named(cluster, named);
        return;
    }
    if (!named) {
        named = mem_new_of(struct named_watch);
        named->cluster = cluster;
        named->type = type;
        named->namespace_ = text_dup(key->namespace_);
        named->name = text_dup(key->name);
        list_append(&cluster->named, named);
        begin_named(named);
    }
    named->wants++;
}

bool named_watch_knows(const struct cluster *cluster, const struct object_ref_key *key)
{
    const struct store_kind *type = cluster_type(cluster, key->kind);
    if (!type || !type->is_by_name)
        return true;
    const struct named_watch *named = find_named(cluster, key);
    return named && named->is_known;
}

const char *named_watch_unreadable(const struct cluster *cluster, const struct object_ref_key *key)
{
    const struct named_watch *named = find_named(cluster, key);
    if (!named || named->is_known)
        return NULL;
    if (named->watch)
        return watch_refusal(named->watch);
    return named->fault.fault == FAULT_AUTH ? named->fault.text : NULL;
}

// What was never read holds up who wants it, and nobody else: users may name what they like.
struct store_check named_watch_check(struct named_watch *named)
{
    struct store_check check = {
        .name = "held", .is_ok = named->fault.fault == FAULT_NONE, .text = named->fault.text};
    if (named->watch)
        check = watch_check(named->watch);
    check.is_advice = !named->is_known;
    return check;
}

void named_watch_start(struct cluster *cluster)
{
    list_each (named, &cluster->named) {
        if (named->watch)
            watch_start(named->watch);
        else
            loop_timer_set(cluster->world.loop, &named->timer, 0);
    }
}

void named_watch_done(struct cluster *cluster)
{
    named_watch_sweep(cluster);
    list_each (named, &cluster->named)
        named_watch_free(named);
}
