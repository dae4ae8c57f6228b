#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/inside.h"

enum { IDENTITY_MAX = 253, VERSION_MAX = 128 };

// ---- one state ----------------------------------------------------------------------------------

static void report_event(struct cluster *cluster, enum store_event_type type,
                         const struct object *object, const struct object *old, bool is_initial)
{
    const struct store_event event = {
        .type = type, .object = object, .old = old, .is_initial = is_initial};
    cluster->sink.event(cluster->sink.context, &event);
}

struct identity {
    struct text namespace_;
    struct text name;
    struct text version;
    uint8_t uid[16];
};

// False: no object that a server would send.
static bool read_identity(const struct value *tree, struct identity *out)
{
    const struct value *metadata = value_find(tree, "metadata");
    struct text namespace_ = value_text_at(metadata, "namespace");
    *out = (struct identity){namespace_.at ? namespace_ : TEXT(""),
                             value_text_at(metadata, "name"),
                             value_text_at(metadata, "resourceVersion"),
                             {0}};
    object_uid_parse(value_text_at(metadata, "uid"), out->uid);
    return out->name.len && out->name.len <= IDENTITY_MAX && namespace_.len <= IDENTITY_MAX &&
           out->version.len && out->version.len <= VERSION_MAX;
}

static bool is_same_object(const struct object *object, const struct identity *identity)
{
    return !memcmp(object->uid, identity->uid, sizeof object->uid);
}

static bool is_older(struct text version, const struct object *than)
{
    uint64_t theirs;
    int64_t ours;
    return text_to_int64(version, &ours) && ours >= 0 && object_version_number(than, &theirs) &&
           (uint64_t)ours < theirs;
}

static bool is_known_state(const struct object *cached, const struct identity *identity,
                           bool may_go_back)
{
    if (!cached || !is_same_object(cached, identity))
        return false;
    return text_equal(object_version(cached), identity->version) ||
           (!may_go_back && is_older(identity->version, cached));
}

// The last state that was seen, as the final one: what was finished is not known.
static void report_lost(struct cluster *cluster, const struct object *object, bool is_initial)
{
    struct object *last = cache_make_graft(cluster->store.cache, object, object);
    last->is_lost = object->has_finalizer;
    report_event(cluster, STORE_DELETED, last, object, is_initial);
    object_unref(last);
}

void file_object(struct cluster *cluster, const struct store_kind *type, const struct value *tree,
                 const struct filing *how)
{
    struct identity identity;
    struct cache *cache = cluster->store.cache;
    if (!read_identity(tree, &identity))
        return;
    if (!store_selects(type, tree)) {
        file_deleted(cluster, type, tree);
        return;
    }
    const struct object *cached = cache_find(cache, type->kind, identity.namespace_, identity.name);
    if (how->is_reply && (!cached || !is_same_object(cached, &identity)))
        return;
    if (is_known_state(cached, &identity, how->may_go_back)) {
        if (!how->is_reply)
            cache_mark(cache, cached);
        return;
    }
    struct object *object = cache_make(cache, type->kind, type->finalizer, tree);
    const struct object *old =
        how->is_reply ? cache_replace(cache, object) : cache_put(cache, object);
    if (old && !is_same_object(old, &identity)) {
        report_lost(cluster, old, how->is_initial);
        object_unref(old);
        old = NULL;
    }
    if (!how->is_silent)
        report_event(cluster, old ? STORE_MODIFIED : STORE_ADDED, object, old, how->is_initial);
    object_unref(old);
}

void file_gone(struct cluster *cluster, const struct object *object)
{
    const struct object *taken = cache_take(cluster->store.cache, object->kind,
                                            object_namespace(object), object_name(object));
    struct object *last = cache_make_graft(cluster->store.cache, taken, taken);
    const struct store_event event = {
        .type = STORE_DELETED, .object = last, .old = taken, .is_inferred = true};
    last->is_lost = taken->has_finalizer;
    cluster->sink.event(cluster->sink.context, &event);
    object_unref(last);
    object_unref(taken);
}

void file_deleted(struct cluster *cluster, const struct store_kind *type, const struct value *tree)
{
    struct identity identity;
    if (!read_identity(tree, &identity))
        return;
    const struct object *cached =
        cache_find(cluster->store.cache, type->kind, identity.namespace_, identity.name);
    if (!cached || !is_same_object(cached, &identity))
        return;
    struct object *last = cache_make(cluster->store.cache, type->kind, type->finalizer, tree);
    last->is_lost = last->has_finalizer;
    const struct object *taken =
        cache_take(cluster->store.cache, type->kind, identity.namespace_, identity.name);
    report_event(cluster, STORE_DELETED, last, taken, false);
    object_unref(taken);
    object_unref(last);
}

// ---- what the watch brings ----------------------------------------------------------------------

static struct text scope_of(const struct feed *feed)
{
    return text_of(feed->namespace_);
}

// Many namespaces share one watch.
static bool is_watched(const struct feed *feed, const struct value *tree)
{
    const struct cluster *cluster = feed->cluster;
    struct text namespace_ = value_text_at(value_find(tree, "metadata"), "namespace");
    if (feed->namespace_ || !cluster->namespaces || !feed->type->kind->is_namespaced)
        return true;
    for (size_t i = 0; i < cluster->namespace_count; i++)
        if (text_is(namespace_, cluster->namespaces[i]))
            return true;
    return false;
}

static void on_pass_begin(void *context, bool has_gone_back)
{
    struct feed *feed = context;
    feed->has_gone_back = has_gone_back;
    cache_begin_pass(feed->cluster->store.cache, feed->type->kind, scope_of(feed));
}

static void sweep_unmarked(struct feed *feed)
{
    const struct object *object;
    uint32_t cursor = 0;
    while ((object = cache_unmarked(feed->cluster->store.cache, feed->type->kind, scope_of(feed),
                                    &cursor)))
        file_gone(feed->cluster, object);
}

static bool is_kind_synced(const struct cluster *cluster, const struct kind *kind)
{
    for (size_t i = 0; i < cluster->feed_count; i++)
        if (cluster->feeds[i].type->kind == kind && !cluster->feeds[i].was_synced)
            return false;
    return true;
}

// Why not all of the kind is known although nobody need wait for it; "": all of it is.
static const char *why_unread(const struct cluster *cluster, const struct kind *kind)
{
    for (size_t i = 0; i < cluster->feed_count; i++) {
        const struct feed *feed = &cluster->feeds[i];
        const char *why = watch_refusal(feed->watch);
        if (feed->type->kind == kind && feed->is_unread)
            return why ? why : "not read yet";
    }
    return "";
}

static void become_synced(struct feed *feed, bool is_unread)
{
    struct cluster *cluster = feed->cluster;
    const struct kind *kind = feed->type->kind;
    if (feed->was_synced && (is_unread || !feed->is_unread))
        return;
    feed->was_synced = true;
    feed->is_unread = is_unread;
    if (is_kind_synced(cluster, kind))
        cluster->sink.synced(cluster->sink.context, kind, true, why_unread(cluster, kind));
}

static void set_missing(struct feed *feed, bool is_missing)
{
    const struct store_sink *sink = &feed->cluster->sink;
    if (feed->is_missing == is_missing)
        return;
    feed->is_missing = is_missing;
    if (sink->installed)
        sink->installed(sink->context, feed->type->kind, !is_missing);
}

static void on_pass_end(void *context, bool may_sweep)
{
    struct feed *feed = context;
    struct cluster *cluster = feed->cluster;
    feed->has_gone_back = false;
    if (may_sweep)
        sweep_unmarked(feed);
    cluster->sink.batch_end(cluster->sink.context);
    set_missing(feed, false);
    become_synced(feed, false);
}

// Who reads the kind need not wait for it; of a kind that was there once everything stays.
static void on_missing(void *context)
{
    set_missing(context, true);
    become_synced(context, false);
}

static void on_forbidden(void *context)
{
    struct feed *feed = context;
    become_synced(feed, true);
}

static void on_object(void *context, bool is_deleted, const struct value *tree)
{
    struct feed *feed = context;
    if (!is_watched(feed, tree))
        return;
    if (is_deleted)
        file_deleted(feed->cluster, feed->type, tree);
    else
        file_object(
            feed->cluster, feed->type, tree,
            &(struct filing){.is_initial = !feed->was_synced, .may_go_back = feed->has_gone_back});
}

static void on_batch_end(void *context)
{
    const struct feed *feed = context;
    feed->cluster->sink.batch_end(feed->cluster->sink.context);
}

void feed_open(struct cluster *cluster, struct feed *feed, const struct store_kind *type,
               const char *namespace_)
{
    *feed = (struct feed){
        .cluster = cluster,
        .type = type,
        .namespace_ = namespace_ ? mem_copy_text(namespace_) : NULL,
    };
    const struct watch_options options = {
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .kind = type->kind,
        .namespace_ = feed->namespace_,
        .labels = type->selectors[1] ? NULL : type->selectors[0],
        .is_required = type->is_required,
        .is_dispensable = type->is_dispensable,
        .is_once = cluster->options.is_reading,
        .memory = &cluster->memory,
    };
    const struct watch_sink sink = {.pass_begin = on_pass_begin,
                                    .pass_end = on_pass_end,
                                    .object = on_object,
                                    .batch_end = on_batch_end,
                                    .missing = on_missing,
                                    .forbidden = type->is_dispensable ? on_forbidden : NULL,
                                    .context = feed};
    feed->watch = watch_new(&options, &sink);
}

void feed_done(struct feed *feed)
{
    watch_free(feed->watch);
    free(feed->namespace_);
}

bool feed_has_reported(const struct cluster *cluster, const struct store_kind *type,
                       const struct value *tree)
{
    struct identity identity;
    int64_t version, position;
    for (size_t i = 0; i < cluster->feed_count; i++) {
        const struct feed *feed = &cluster->feeds[i];
        struct text namespace_ = value_text_at(value_find(tree, "metadata"), "namespace");
        if (feed->type != type || (feed->namespace_ && !text_is(namespace_, feed->namespace_)))
            continue;
        return read_identity(tree, &identity) && text_to_int64(identity.version, &version) &&
               text_to_int64(watch_position(feed->watch), &position) && version <= position;
    }
    return false;
}
