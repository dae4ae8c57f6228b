#include "model/model_cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "base/when.h"
#include "model/model_server_private.h"
#include "store/cluster/cluster.h"

#define NAMESPACE "signpost"
#define LEASE "signpost"

enum {
    // Long ones, as nothing but renewals would happen in most hours of a scenario.
    DURATION_MS = 300 * 1000,
    DEADLINE_MS = 250 * 1000,
    RETRY_MS = 60 * 1000,
    FOR_GOOD_S = 100 * 24 * 3600,
    IN_FLIGHT = 16,
};

void model_cluster_prepare(struct model_server *server)
{
    struct error err = {0};
    static const char yaml[] = "{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}";
    must(model_server_apply_yaml(server, text_of(yaml), &err));
}

static struct kube_access *access_new(void)
{
    struct arena *arena = arena_new();
    struct kube_access *access = arena_new_of(arena, struct kube_access);
    access->arena = arena;
    access->source = "the model";
    access->token = secret_new("model", 5);
    must(url_parse(&access->server, text_of(MODEL_CLUSTER_URL), NULL));
    return access;
}

static void no_owner(void *context, const struct error *err)
{
    (void)context;
    (void)err;
    must(false);
}

static struct store *open_cluster(const struct world *world, const struct store_kind *kinds,
                                  struct cluster_options *options, struct log *log)
{
    autofree struct store_kind *rows = mem_new_array(struct store_kind, options->kind_count + 1);
    for (size_t i = 0; i < options->kind_count; i++) {
        rows[i] = kinds[i];
        rows[i].is_by_name |= kinds[i].kind->is_secret;
        rows[i].is_required = !kinds[i].is_dispensable;
    }
    options->access = access_new();
    options->own_namespace = options->lease_namespace = NAMESPACE;
    options->instance = "signpost-0";
    options->kinds = rows;
    options->max_in_flight = IN_FLIGHT;
    return cluster_new(world, options, log);
}

struct store *model_cluster_new(const struct world *world, const struct store_kind *kinds,
                                size_t kind_count, const char *owner_id, struct log *log)
{
    struct cluster_options options = {.kind_count = kind_count,
                                      .lease_name = LEASE,
                                      .lease_duration_ms = DURATION_MS,
                                      .lease_renew_deadline_ms = DEADLINE_MS,
                                      .lease_retry_ms = RETRY_MS,
                                      .is_elected = true,
                                      .owner_id = owner_id,
                                      .failed = no_owner};
    return open_cluster(world, kinds, &options, log);
}

struct store *model_cluster_reader(const struct world *world, const struct store_kind *kinds,
                                   size_t kind_count)
{
    struct cluster_options options = {
        .kind_count = kind_count, .is_reading = true, .lease_name = LEASE};
    return open_cluster(world, kinds, &options, NULL);
}

// ---- the lease ----------------------------------------------------------------------------------

static void write_lease(struct model_server *server, const char *holder, int64_t duration_s)
{
    char now[WHEN_TEXT_MAX];
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct object_ref_key key = {&model_lease_kind, TEXT(NAMESPACE), TEXT(LEASE)};
    struct model_object *object = model_server_object(server, &key);
    struct value *tree = object ? model_object_read(object, arena) : value_make(arena, VALUE_MAP);
    struct value *spec = value_make(arena, VALUE_MAP);
    when_write(loop_unix_ms(model_server_loop(server)) / 1000, now);
    const char *renewed = arena_printf(arena, "%.19s.000000Z", now);
    value_set(spec, TEXT("holderIdentity"), value_make_text(arena, text_of(holder)));
    value_set(spec, TEXT("leaseDurationSeconds"), value_make_int(arena, duration_s));
    value_set(spec, TEXT("renewTime"), value_make_text(arena, text_of(renewed)));
    value_set(tree, TEXT("spec"), spec);
    if (object) {
        model_server_write(server, object, tree, arena);
        return;
    }
    value_set(tree, TEXT("apiVersion"), value_make_text(arena, TEXT("coordination.k8s.io/v1")));
    value_set(tree, TEXT("kind"), value_make_text(arena, TEXT("Lease")));
    value_set(model_metadata(tree, arena), TEXT("name"), value_make_text(arena, key.name));
    value_set(model_metadata(tree, arena), TEXT("namespace"),
              value_make_text(arena, key.namespace_));
    model_server_create(server, &key, tree, arena);
}

void model_cluster_take_lease(struct model_server *server)
{
    write_lease(server, "another", FOR_GOOD_S);
}

void model_cluster_free_lease(struct model_server *server)
{
    const struct object_ref_key key = {&model_lease_kind, TEXT(NAMESPACE), TEXT(LEASE)};
    if (model_server_object(server, &key))
        write_lease(server, "", 1);
}

static void ignore_event(void *context, const struct store_event *event)
{
    (void)context;
    (void)event;
}

static void ignore(void *context)
{
    (void)context;
}

static void ignore_synced(void *context, const struct kind *kind, bool is_synced, const char *why)
{
    (void)context;
    (void)kind;
    (void)is_synced;
    (void)why;
}

static void ignore_leading(void *context, bool is_leading)
{
    (void)context;
    (void)is_leading;
}

const struct store_sink model_deaf_sink = {.event = ignore_event,
                                           .batch_end = ignore,
                                           .synced = ignore_synced,
                                           .leading = ignore_leading,
                                           .fenced = ignore,
                                           .room = ignore};

void model_fill_even(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 0x5a, len);
}
