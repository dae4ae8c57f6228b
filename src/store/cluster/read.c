#include "store/cluster/read.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/url.h"
#include "store/cluster/api.h"
#include "store/cluster/cluster.h"
#include "store/cluster/watch.h"

// One list of one kind, in one namespace or everywhere.
struct source {
    struct cluster_read *read;
    const struct kind *kind;
    struct watch *watch;
    bool is_complete;
    bool is_left_out; // then it is complete, too
};

struct cluster_read {
    struct cluster_read_options options;
    struct api *api;
    struct watch_memory memory;
    struct source *sources;
    size_t count;
    struct loop_timer timer;
    bool is_over;
};

static void end_reading(struct cluster_read *read, const struct error *err)
{
    if (read->is_over)
        return;
    read->is_over = true;
    read->options.done(read->options.context, err);
}

static void end_if_complete(struct cluster_read *read)
{
    struct error err;
    bool is_empty = true;
    for (size_t i = 0; i < read->count; i++) {
        if (!read->sources[i].is_complete)
            return;
        is_empty = is_empty && read->sources[i].is_left_out;
    }
    error_set(&err, FAULT_AUTH, "",
              "none of the kinds of Signpost is installed there and may be read");
    end_reading(read, is_empty ? &err : NULL);
}

// ---- what comes ---------------------------------------------------------------------------------

static void ignore_begin(void *context, bool has_gone_back)
{
    (void)context;
    (void)has_gone_back;
}

static void ignore_batch(void *context)
{
    (void)context;
}

static void complete_source(void *context, bool may_sweep)
{
    struct source *source = context;
    (void)may_sweep;
    source->is_complete = true;
    end_if_complete(source->read);
}

static void leave_out(void *context)
{
    struct source *source = context;
    const struct cluster_read *read = source->read;
    const char *refusal = watch_refusal(source->watch);
    if (source->is_complete || read->is_over)
        return;
    source->is_complete = source->is_left_out = true;
    if (refusal)
        read->options.left_out(read->options.context, source->kind, refusal);
    end_if_complete(source->read);
}

static bool is_wanted(const struct cluster_read *read, const struct value *tree)
{
    const char *const *namespaces = read->options.namespaces;
    struct text namespace_ = value_text_at(tree, "metadata.namespace");
    if (!namespaces || !namespace_.len)
        return true;
    for (; *namespaces; namespaces++)
        if (text_is(namespace_, *namespaces))
            return true;
    return false;
}

static void report_object(void *context, bool is_deleted, const struct value *tree)
{
    const struct source *source = context;
    const struct cluster_read *read = source->read;
    if (!is_deleted && !source->is_complete && !read->is_over && is_wanted(read, tree))
        read->options.object(read->options.context, source->kind, tree);
}

// ---- time ---------------------------------------------------------------------------------------

static void time_is_over(void *context)
{
    struct cluster_read *read = context;
    struct error err;
    error_set(&err, FAULT_AGAIN, "", "the cluster did not answer in time");
    for (size_t i = 0; i < read->count; i++) {
        struct store_check check = watch_check(read->sources[i].watch);
        if (!read->sources[i].is_complete && !check.is_ok)
            error_set(&err, FAULT_AGAIN, "", "%s: %s", check.name, check.text);
    }
    end_reading(read, &err);
}

// ---- life ---------------------------------------------------------------------------------------

static void add_source(struct cluster_read *read, const struct kind *kind, const char *namespace_)
{
    struct source *source = &read->sources[read->count++];
    *source = (struct source){.read = read, .kind = kind};
    const struct watch_options options = {
        .world = read->options.world,
        .log = read->options.log,
        .api = read->api,
        .kind = kind,
        .namespace_ = namespace_,
        .is_once = true,
        .memory = &read->memory,
    };
    const struct watch_sink sink = {
        .pass_begin = ignore_begin,
        .pass_end = complete_source,
        .object = report_object,
        .batch_end = ignore_batch,
        .missing = leave_out,
        .forbidden = leave_out,
        .context = source,
    };
    source->watch = watch_new(&options, &sink);
}

static void add_sources(struct cluster_read *read, const struct kind *kind)
{
    const char *const *namespaces = read->options.namespaces;
    size_t count = 0;
    while (namespaces && namespaces[count])
        count++;
    if (!kind->is_namespaced || !count || count > CLUSTER_NAMESPACES_MAX) {
        add_source(read, kind, NULL);
        return;
    }
    for (size_t i = 0; i < count; i++)
        add_source(read, kind, namespaces[i]);
}

struct cluster_read *cluster_read_new(const struct cluster_read_options *options)
{
    struct cluster_read *read = mem_new_of(struct cluster_read);
    read->options = *options;
    read->api = api_new(options->world, options->log, options->access);
    read->sources = mem_new_array(struct source, options->kind_count * CLUSTER_NAMESPACES_MAX + 1);
    for (size_t i = 0; i < options->kind_count; i++)
        add_sources(read, options->kinds[i]);
    for (size_t i = 0; i < read->count; i++)
        watch_start(read->sources[i].watch);
    read->timer = (struct loop_timer){.call = time_is_over, .context = read};
    loop_timer_set(options->world->loop, &read->timer, options->timeout_ms);
    return read;
}

void cluster_read_free(struct cluster_read *read)
{
    if (!read)
        return;
    for (size_t i = 0; i < read->count; i++)
        watch_free(read->sources[i].watch);
    api_free(read->api);
    loop_timer_cancel(read->options.world->loop, &read->timer);
    free(read->sources);
    free(read);
}
