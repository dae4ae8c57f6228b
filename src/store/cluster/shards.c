#include "store/cluster/shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "store/cluster/inside.h"
#include "store/put.h"

enum {
    LIST_ITEMS = 8,                     // each of 1 MiB at most, and its metadata
    LIST_OCTETS_MAX = 24 * 1024 * 1024, // JSON takes up to two octets for one
    SHARDS_MAX = 4096,
};

static const struct value_limits limits = {
    .octets = LIST_OCTETS_MAX, .depth = 32, .nodes = 64 * 1024};

const struct kind shard_kind = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .is_namespaced = true,
    .is_foreign = true,
};

const struct kube_right shard_rights[] = {
    {.group = "",
     .resource = "configmaps",
     .verbs = (const char *const[]){"list", "create", "patch", "delete", NULL},
     .scope = RIGHT_OWN_NAMESPACE,
     .why = "Ledgers: what is ours at servers whose records carry no mark."},
    {0},
};

// All pages of one ledger, list by list.
struct shard_read {
    struct link link;
    struct cluster *cluster;
    char *label;
    char *prefix;
    struct arena *arena; // what was read
    struct store_shard *shards;
    size_t count;
    size_t capacity;
    struct api_call *call;
    store_done *done;
    void *context;
};

// ---- writing ------------------------------------------------------------------------------------

struct value *shard_body(struct arena *arena, const char *own_namespace,
                         const struct store_shard_put *put)
{
    const struct object_ref_key key = {&shard_kind, text_of(own_namespace), text_of(put->name)};
    struct value *ours = value_make(arena, VALUE_MAP);
    struct value *data = value_make(arena, VALUE_MAP);
    value_put_text(arena, ours, "metadata.labels[" STORE_SHARD_LABEL "]", put->label);
    value_set(data, TEXT(STORE_SHARD_KEY), value_make_text(arena, put->text));
    value_set(ours, TEXT("data"), data);
    if (!put->version)
        return put_tree(arena, &key, ours);
    value_put_text(arena, ours, "metadata.resourceVersion", put->version);
    return ours;
}

// ---- reading ------------------------------------------------------------------------------------

static void read_free(struct shard_read *read)
{
    if (read->call)
        api_cancel(read->cluster->api, read->call);
    arena_free(read->arena);
    free(read->shards);
    free(read->label);
    free(read->prefix);
    free(read);
}

static void answer(struct shard_read *read, const struct store_reply *reply)
{
    list_remove(&read->cluster->shard_reads, read);
    read->done(read->context, reply);
    read_free(read);
}

static void fail(struct shard_read *read, const struct error *error)
{
    struct store_reply reply = {.error = *error};
    error_prefix(&reply.error, "ConfigMaps %s*: ", read->prefix);
    answer(read, &reply);
}

static struct text copied(struct shard_read *read, struct text text)
{
    return (struct text){arena_copy(read->arena, text.at, text.len), text.len};
}

static void take(struct shard_read *read, const struct value *item)
{
    struct text name = value_text_at(item, "metadata.name");
    if (!text_starts(name, read->prefix))
        return;
    mem_reserve(&read->shards, &read->capacity, read->count + 1);
    read->shards[read->count++] = (struct store_shard){
        .name = copied(read, name),
        .version = copied(read, value_text_at(item, "metadata.resourceVersion")),
        .text = copied(read, value_text(value_find(value_find(item, "data"), STORE_SHARD_KEY))),
    };
}

static void send(struct shard_read *read, struct text next);

static void take_list(struct shard_read *read, const struct value *tree)
{
    struct error error;
    struct text next = value_text_at(tree, "metadata.continue");
    value_each (item, value_find(tree, "items"))
        take(read, item);
    if (read->count > SHARDS_MAX) {
        error_set(&error, FAULT_SPEC, "LedgerUnreadable", "there are more than %d", SHARDS_MAX);
        fail(read, &error);
    } else if (next.len) {
        send(read, next);
    } else {
        answer(read, &(struct store_reply){
                         .is_ok = true, .shards = read->shards, .shard_count = read->count});
    }
}

static void replied(void *context, const struct api_reply *reply)
{
    struct shard_read *read = context;
    struct error error;
    CLEANUP(arena) struct arena *arena = arena_new();
    read->call = NULL;
    if (!reply->is_ok) {
        fail(read, &reply->error);
        return;
    }
    const struct value *tree = value_read_json(arena, reply->body, &limits, NULL);
    if (tree) {
        take_list(read, tree);
        return;
    }
    error_set(&error, FAULT_AGAIN, "ServerError", "the reply of the API server is not JSON");
    fail(read, &error);
}

static void send(struct shard_read *read, struct text next)
{
    AUTO_BUFFER path = {0};
    api_path(&path, &shard_kind, text_of(read->cluster->own_namespace), TEXT(""), NULL);
    buffer_printf(&path, "?limit=%d&labelSelector=", LIST_ITEMS);
    api_query_escape(&path, TEXT(STORE_SHARD_LABEL));
    if (read->label) {
        api_query_escape(&path, TEXT("="));
        api_query_escape(&path, text_of(read->label));
    }
    if (next.len) {
        buffer_add_text(&path, "&continue=");
        api_query_escape(&path, next);
    }
    read->call = api_send(
        read->cluster->api,
        &(struct api_request){.method = "GET", .path = path.at, .max_body_octets = LIST_OCTETS_MAX},
        replied, read);
}

void shards_read(struct cluster *cluster, const char *label, const char *prefix, store_done *done,
                 void *context)
{
    struct shard_read *read = mem_new_of(struct shard_read);
    *read = (struct shard_read){.cluster = cluster,
                                .label = label ? mem_copy_text(label) : NULL,
                                .prefix = mem_copy_text(prefix),
                                .arena = arena_new(),
                                .done = done,
                                .context = context};
    list_prepend(&cluster->shard_reads, read);
    send(read, TEXT(""));
}

void shards_done(struct cluster *cluster)
{
    list_each (read, &cluster->shard_reads)
        read_free(read);
}
