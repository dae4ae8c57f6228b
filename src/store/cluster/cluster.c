#include "store/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/metric.h"
#include "store/cluster/access.h"
#include "store/cluster/inside.h"
#include "store/cluster/owner_look.h"

enum { FLUSH_MS = 2000 };

static struct cluster *of(struct store *store)
{
    return (struct cluster *)store;
}

static const struct cluster *of_const(const struct store *store)
{
    return (const struct cluster *)store;
}

const struct store_kind *cluster_type(const struct cluster *cluster, const struct kind *kind)
{
    for (size_t i = 0; i < cluster->kind_count; i++)
        if (cluster->types[i].kind == kind)
            return &cluster->types[i];
    return NULL;
}

bool cluster_may_write_now(const struct cluster *cluster)
{
    return cluster->lease && lease_may_write(cluster->lease);
}

// ---- leading ------------------------------------------------------------------------------------

static void on_leading(void *context, bool is_leading)
{
    struct cluster *cluster = context;
    cluster->sink.leading(cluster->sink.context, is_leading);
}

// Who comes to lead acts on what it has seen: where a watch is down, or dead without a word,
// another may have led and ended what still stands in the cache.
static bool sees_all(void *context, int64_t free_ms)
{
    struct cluster *cluster = context;
    bool all = true;
    for (size_t i = 0; i < cluster->feed_count; i++) {
        watch_prove(cluster->feeds[i].watch, free_ms);
        if (!watch_is_behind(cluster->feeds[i].watch))
            continue;
        watch_hurry(cluster->feeds[i].watch);
        all = false;
    }
    return all;
}

static void on_fenced(void *context)
{
    struct cluster *cluster = context;
    writes_fence(cluster);
    cluster->sink.fenced(cluster->sink.context);
}

static void on_owner(void *context, const char *owner_id, const struct error *err)
{
    struct cluster *cluster = context;
    if (owner_id)
        log_line(cluster->log, LOG_INFO, "owner id", LOG_TEXT("owner", owner_id), LOG_END);
    else if (cluster->options.failed)
        cluster->options.failed(cluster->options.context, err);
}

// ---- operations ---------------------------------------------------------------------------------

// What is held by name needs no first pass: each object says for itself whether it is known.
static void report_by_name(void *context)
{
    struct cluster *cluster = context;
    for (size_t i = 0; i < cluster->kind_count; i++)
        if (cluster->types[i].is_by_name)
            cluster->sink.synced(cluster->sink.context, cluster->types[i].kind, true, "");
}

static void follow(struct cluster *cluster)
{
    if (cluster->access)
        access_start(cluster->access);
    for (size_t i = 0; i < cluster->feed_count; i++)
        watch_start(cluster->feeds[i].watch);
    named_watch_start(cluster);
    loop_timer_set(cluster->world.loop, &cluster->started_timer, 0);
}

static void owner_came(void *context, const char *owner_id, const struct error *err)
{
    struct cluster *cluster = context;
    if (owner_id)
        cluster->owner_id = mem_copy_text(owner_id);
    else
        cluster->owner_fault = *err;
    follow(cluster);
}

// What is ours elsewhere has to be known before the first object is told.
static void look_for_owner(struct cluster *cluster)
{
    cluster->owner_look = owner_look_new(&(struct owner_look_options){
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .namespace_ = cluster->lease_namespace,
        .name = cluster->lease_name,
        .namespaces = cluster->scope,
        .done = owner_came,
        .context = cluster,
    });
}

static bool cluster_start(struct store *store, const struct store_sink *sink, struct error *err)
{
    struct cluster *cluster = of(store);
    (void)err;
    cluster->sink = *sink;
    cluster->is_started = true;
    if (cluster->lease)
        lease_start(cluster->lease);
    if (cluster->lease_name && !cluster->owner_id)
        look_for_owner(cluster);
    else
        follow(cluster);
    return true;
}

static void cluster_get(struct store *store, const struct object_ref_key *key, store_done *done,
                        void *context)
{
    writes_get(of(store), key, done, context);
}

static void cluster_apply(struct store *store, const struct store_apply *apply, store_done *done,
                          void *context)
{
    writes_apply(of(store), apply, done, context);
}

static void cluster_patch_status(struct store *store, const struct object *object,
                                 const struct value *status, store_done *done, void *context)
{
    writes_patch_status(of(store), object, status, done, context);
}

static void cluster_remove_finalizer(struct store *store, const struct object *object,
                                     store_done *done, void *context)
{
    writes_remove_finalizer(of(store), object, done, context);
}

static void cluster_write_object(struct store *store, const struct store_object_write *write,
                                 store_done *done, void *context)
{
    writes_write_object(of(store), write, done, context);
}

static void cluster_read_shards(struct store *store, const char *label, const char *prefix,
                                store_done *done, void *context)
{
    shards_read(of(store), label, prefix, done, context);
}

static void cluster_put_shard(struct store *store, const struct store_shard_put *put,
                              store_done *done, void *context)
{
    writes_put_shard(of(store), put, done, context);
}

static void cluster_drop_shard(struct store *store, const char *name, const char *version,
                               store_done *done, void *context)
{
    writes_drop_shard(of(store), name, version, done, context);
}

static void publish_lease_event(struct cluster *cluster, const struct kube_event *event)
{
    struct kube_event noted = *event;
    struct object *lease = lease_object(cluster->lease);
    noted.regarding = lease;
    if (lease)
        kube_events_add(cluster->kube_events, &noted);
    object_unref(lease);
}

static void cluster_publish_event(struct store *store, const struct kube_event *event)
{
    if (event->regarding)
        kube_events_add(of(store)->kube_events, event);
    else if (of(store)->lease)
        publish_lease_event(of(store), event);
}

static void cluster_want(struct store *store, const struct object_ref_key *key, bool is_wanted)
{
    named_watch_want(of(store), key, is_wanted);
}

static bool cluster_knows(const struct store *store, const struct object_ref_key *key)
{
    return named_watch_knows(of_const(store), key);
}

static const char *cluster_unreadable(const struct store *store, const struct object_ref_key *key)
{
    return named_watch_unreadable(of_const(store), key);
}

static bool cluster_may_write(const struct store *store)
{
    return cluster_may_write_now(of_const(store));
}

static bool cluster_is_full(const struct store *store, bool is_urgent)
{
    return writes_are_full(of_const(store), is_urgent);
}

static void cluster_flush(struct store *store)
{
    (void)store;
}

// ---- leaving ------------------------------------------------------------------------------------

static void released(void *context)
{
    struct cluster *cluster = context;
    kube_events_flush(cluster->kube_events, FLUSH_MS, cluster->left, cluster->left_context);
}

static void cluster_leave(struct store *store, void (*left)(void *context), void *context)
{
    struct cluster *cluster = of(store);
    cluster->left = left;
    cluster->left_context = context;
    if (cluster->lease)
        lease_release(cluster->lease, released, cluster);
    else
        released(cluster);
}

static void cluster_free(struct store *store)
{
    struct cluster *cluster = of(store);
    writes_done(cluster);
    shards_done(cluster);
    named_watch_done(cluster);
    for (size_t i = 0; i < cluster->feed_count; i++)
        feed_done(&cluster->feeds[i]);
    lease_free(cluster->lease);
    owner_look_free(cluster->owner_look);
    kube_events_free(cluster->kube_events);
    access_free(cluster->access);
    api_free(cluster->api);
    loop_timer_cancel(cluster->world.loop, &cluster->started_timer);
    loop_timer_cancel(cluster->world.loop, &cluster->dropped_timer);
    cache_free(cluster->store.cache);
    for (size_t i = 0; i < cluster->namespace_count; i++)
        free(cluster->namespaces[i]);
    free(cluster->namespaces);
    free(cluster->feeds);
    free(cluster->types);
    free(cluster->own_namespace);
    free(cluster->holder);
    free(cluster->owner_id);
    free(cluster->lease_name);
    free(cluster->lease_namespace);
    free(cluster->address);
    free(cluster->scope);
    free(cluster);
}

// ---- looking in ---------------------------------------------------------------------------------

static size_t cluster_checks(struct store *store, struct store_check *out, size_t capacity)
{
    struct cluster *cluster = of(store);
    size_t count = 0;
    if (count < capacity)
        out[count++] = api_check(cluster->api);
    if (cluster->lease && count < capacity)
        out[count++] = lease_check(cluster->lease);
    for (size_t i = 0; i < cluster->feed_count && count < capacity; i++)
        out[count++] = watch_check(cluster->feeds[i].watch);
    list_each (named, &cluster->named)
        if (count < capacity)
            out[count++] = named_watch_check(named);
    if (cluster->access)
        count += access_checks(cluster->access, out + count, capacity - count);
    return count;
}

struct family {
    const char *name;
    const char *type;
    const char *help;
    void (*write)(const struct watch_counts *counts, int64_t now_ms, const char *labels,
                  const char *name, struct buffer *out);
};

static void write_age(const struct watch_counts *counts, int64_t now_ms, const char *labels,
                      const char *name, struct buffer *out)
{
    if (counts->last_event_ms)
        buffer_printf(out, "%s{%s} %.3f\n", name, labels,
                      (double)(now_ms - counts->last_event_ms) / 1000.0);
}

static void write_relists(const struct watch_counts *counts, int64_t now_ms, const char *labels,
                          const char *name, struct buffer *out)
{
    (void)now_ms;
    for (int i = 0; i < RELIST_COUNT; i++)
        buffer_printf(out, "%s{%s,reason=\"%s\"} %llu\n", name, labels,
                      watch_relist_name((enum watch_relist)i),
                      (unsigned long long)counts->relists[i]);
}

static void write_deaths(const struct watch_counts *counts, int64_t now_ms, const char *labels,
                         const char *name, struct buffer *out)
{
    (void)now_ms;
    for (int i = 0; i < DEATH_COUNT; i++)
        buffer_printf(out, "%s{%s,how=\"%s\"} %llu\n", name, labels,
                      watch_death_name((enum watch_death)i), (unsigned long long)counts->deaths[i]);
}

static void write_skipped(const struct watch_counts *counts, int64_t now_ms, const char *labels,
                          const char *name, struct buffer *out)
{
    (void)now_ms;
    buffer_printf(out, "%s{%s} %llu\n", name, labels, (unsigned long long)counts->skipped);
}

static const struct family families[] = {
    {"signpost_watch_last_event_seconds", "gauge",
     "Seconds since the watch of the kind brought an event or a bookmark.", write_age},
    {"signpost_relists_total", "counter", "Passes through all objects of a kind after the first.",
     write_relists},
    {"signpost_watch_deaths_total", "counter", "Watches that ended otherwise than in time.",
     write_deaths},
    {"signpost_oversized_objects", "counter",
     "Objects that were skipped: over 2 MiB, or deeper than 128 levels.", write_skipped},
};

static void add_counts(struct watch_counts *total, const struct watch_counts *counts)
{
    for (int i = 0; i < RELIST_COUNT; i++)
        total->relists[i] += counts->relists[i];
    for (int i = 0; i < DEATH_COUNT; i++)
        total->deaths[i] += counts->deaths[i];
    total->skipped += counts->skipped;
    if (!total->last_event_ms || counts->last_event_ms < total->last_event_ms)
        total->last_event_ms = counts->last_event_ms;
}

// Watches of one kind in several namespaces are one series: the longest silence among them counts.
static void write_family(const struct cluster *cluster, const struct family *family,
                         struct buffer *out)
{
    char labels[128];
    metric_write_head(out, family->name, family->type, family->help);
    for (size_t i = 0; i < cluster->kind_count; i++) {
        struct watch_counts total = {0};
        for (size_t at = 0; at < cluster->feed_count; at++)
            if (cluster->feeds[at].type == &cluster->types[i])
                add_counts(&total, watch_counts(cluster->feeds[at].watch));
        snprintf(labels, sizeof labels, "kind=\"%s\"", cluster->types[i].kind->name);
        if (!cluster->types[i].is_by_name)
            family->write(&total, loop_mono_ms(cluster->world.loop), labels, family->name, out);
    }
}

static void cluster_write_metrics(const struct store *store, struct buffer *out)
{
    const struct cluster *cluster = of_const(store);
    for (size_t i = 0; i < COUNT_OF(families); i++)
        write_family(cluster, &families[i], out);
    api_write_metrics(cluster->api, out);
    if (cluster->lease)
        lease_write_metrics(cluster->lease, out);
    kube_events_write_metrics(cluster->kube_events, out);
}

// A reader has no lease, but was told, or has looked.
static const char *cluster_owner_id(const struct store *store)
{
    const struct cluster *cluster = of_const(store);
    return cluster->lease ? lease_owner_id(cluster->lease) : cluster->owner_id;
}

static const char *cluster_owner_fault(const struct store *store)
{
    const struct cluster *cluster = of_const(store);
    return cluster->owner_fault.fault == FAULT_NONE ? NULL : cluster->owner_fault.text;
}

static const struct store_ops cluster_ops = {
    .start = cluster_start,
    .get = cluster_get,
    .apply = cluster_apply,
    .patch_status = cluster_patch_status,
    .remove_finalizer = cluster_remove_finalizer,
    .write_object = cluster_write_object,
    .read_shards = cluster_read_shards,
    .put_shard = cluster_put_shard,
    .drop_shard = cluster_drop_shard,
    .publish_event = cluster_publish_event,
    .checks = cluster_checks,
    .flush = cluster_flush,
    .free = cluster_free,
    .want = cluster_want,
    .knows = cluster_knows,
    .unreadable = cluster_unreadable,
    .may_write = cluster_may_write,
    .is_full = cluster_is_full,
    .leave = cluster_leave,
    .write_metrics = cluster_write_metrics,
    .owner_id = cluster_owner_id,
    .owner_fault = cluster_owner_fault,
};

// ---- opening ------------------------------------------------------------------------------------

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Of sorted names; NULL follows the last.
static size_t drop_doubles(char **names, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        char *name = steal(names[i]);
        if (kept && !strcmp(names[kept - 1], name))
            free(name);
        else
            names[kept++] = name;
    }
    return kept;
}

static void keep_namespaces(struct cluster *cluster, const char *const *namespaces)
{
    struct buffer scope = {0};
    size_t count = 0;
    while (namespaces && namespaces[count])
        count++;
    cluster->namespaces = count ? mem_new_array(char *, count + 1) : NULL;
    for (size_t i = 0; i < count; i++)
        cluster->namespaces[i] = mem_copy_text(namespaces[i]);
    if (count)
        qsort(cluster->namespaces, count, sizeof *cluster->namespaces, compare_names);
    count = drop_doubles(cluster->namespaces, count);
    cluster->namespace_count = count;
    for (size_t i = 0; i < count; i++)
        buffer_printf(&scope, "%s%s", i ? "," : "", cluster->namespaces[i]);
    cluster->scope = buffer_steal(&scope);
}

static void keep_kinds(struct cluster *cluster, const struct store_kind *kinds, size_t count)
{
    cluster->types = mem_new_array(struct store_kind, count + 1);
    cluster->kind_count = count;
    for (size_t i = 0; i < count; i++)
        cluster->types[i] = kinds[i];
}

static bool has_watch_each(const struct cluster *cluster, const struct store_kind *type)
{
    return type->kind->is_namespaced && cluster->namespace_count &&
           cluster->namespace_count <= CLUSTER_NAMESPACES_MAX;
}

static void open_feeds(struct cluster *cluster)
{
    size_t most = cluster->kind_count * CLUSTER_NAMESPACES_MAX;
    cluster->feeds = mem_new_array(struct feed, most + 1);
    for (size_t i = 0; i < cluster->kind_count; i++) {
        const struct store_kind *type = &cluster->types[i];
        size_t count = has_watch_each(cluster, type) ? cluster->namespace_count : 1;
        for (size_t n = 0; !type->is_by_name && n < count; n++)
            feed_open(cluster, &cluster->feeds[cluster->feed_count++], type,
                      has_watch_each(cluster, type) ? cluster->namespaces[n] : NULL);
    }
}

static void open_lease(struct cluster *cluster, const struct cluster_options *options)
{
    char uuid[37];
    struct buffer holder = {0};
    random_uuid(cluster->world.random, uuid);
    buffer_printf(&holder, "%s_%s", options->instance, uuid);
    cluster->holder = buffer_steal(&holder);
    const struct lease_options lease = {
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .namespace_ = options->lease_namespace,
        .name = options->lease_name,
        .holder = cluster->holder,
        .duration_ms = options->lease_duration_ms,
        .renew_deadline_ms = options->lease_renew_deadline_ms,
        .retry_ms = options->lease_retry_ms,
        .is_elected = options->is_elected,
        .owner_id = options->owner_id,
        .namespaces = cluster->scope,
    };
    const struct lease_sink sink = {
        .leading = on_leading,
        .fenced = on_fenced,
        .owner = on_owner,
        .may_take = sees_all,
        .context = cluster,
    };
    cluster->lease = lease_new(&lease, &sink);
}

// Of a reader: where the owner id is kept.
static void keep_lease_name(struct cluster *cluster, const struct cluster_options *options)
{
    if (!options->lease_name)
        return;
    cluster->lease_name = mem_copy_text(options->lease_name);
    cluster->lease_namespace = mem_copy_text(options->lease_namespace);
}

static void on_refused(void *context, const char *method, const char *path)
{
    const struct cluster *cluster = context;
    access_doubt(cluster->access, method, path);
}

static void open_access(struct cluster *cluster, const struct cluster_options *options)
{
    const struct access_options access = {
        .world = &cluster->world,
        .log = cluster->log,
        .api = cluster->api,
        .rights = options->rights,
        .own_namespace = options->own_namespace,
        .lease_namespace = options->lease_namespace,
        .namespaces = (const char *const *)cluster->namespaces,
    };
    if (!options->rights)
        return;
    cluster->access = access_new(&access);
    api_watch_refusals(cluster->api, on_refused, cluster);
}

struct store *cluster_new(const struct world *world, const struct cluster_options *options,
                          struct log *log)
{
    struct buffer address = {0};
    struct cluster *cluster = mem_new_of(struct cluster);
    cluster->store =
        (struct store){.ops = &cluster_ops, .cache = cache_new(), .runs_workloads = true};
    cluster->world = *world;
    cluster->log = log;
    cluster->options = *options;
    cluster->owner_id = options->owner_id ? mem_copy_text(options->owner_id) : NULL;
    url_write(&address, &options->access->server);
    cluster->address = buffer_steal(&address);
    cluster->own_namespace = mem_copy_text(options->own_namespace);
    cluster->api = api_new(world, log, options->access);
    cluster->kube_events =
        kube_events_new(world, log, cluster->api, &cluster->memory.api_versions, options->instance);
    cluster->writes.window = options->max_in_flight;
    cluster->writes.tokens = options->burst;
    cluster->writes.filled_ms = loop_mono_ms(world->loop);
    cluster->started_timer = (struct loop_timer){.call = report_by_name, .context = cluster};
    cluster->dropped_timer = (struct loop_timer){.call = named_watch_sweep, .context = cluster};
    keep_namespaces(cluster, options->namespaces);
    keep_kinds(cluster, options->kinds, options->kind_count);
    if (!options->is_reading)
        open_lease(cluster, options);
    else
        keep_lease_name(cluster, options);
    open_access(cluster, options);
    open_feeds(cluster);
    return &cluster->store;
}

const char *cluster_address(const struct store *store)
{
    return of_const(store)->address;
}

struct api *cluster_api(struct store *store)
{
    return of(store)->api;
}

const struct lease *cluster_lease(const struct store *store)
{
    return of_const(store)->lease;
}

void cluster_reload(struct store *store)
{
    api_reload(of(store)->api);
}
