#include "store/cluster/owner_look.h"

#include <stdlib.h>

#include "base/memory.h"
#include "store/cluster/lease_object.h"
#include "store/owner.h"

enum { AGAIN_MS = 1000, FORBIDDEN = 403 };

struct owner_look {
    struct loop *loop;
    struct log *log;
    struct api *api;
    char *namespace_;
    char *name;
    char *scope;
    void (*done)(void *context, const char *owner_id, const struct error *err);
    void *context;
    bool is_at_namespace; // the Lease has none
    struct api_call *call;
    struct loop_timer timer;
};

static void ask(void *context);

static void ask_again(struct owner_look *look, int64_t delay_ms)
{
    look->timer = (struct loop_timer){.call = ask, .context = look, .handle = look->timer.handle};
    loop_timer_set(look->loop, &look->timer, delay_ms);
}

static void refuse(struct owner_look *look)
{
    struct error err = {0};
    if (look->is_at_namespace)
        error_set(&err, FAULT_AUTH, "Forbidden",
                  "the owner id is not known: add verb get on namespace kube-system, or give "
                  "--owner-id (SIGNPOST_OWNER_ID)");
    else
        error_set(&err, FAULT_AUTH, "Forbidden",
                  "the owner id is not known: add verb get on leases.coordination.k8s.io \"%s\" in "
                  "namespace %s, or give --owner-id (SIGNPOST_OWNER_ID)",
                  look->name, look->namespace_);
    look->done(look->context, NULL, &err);
}

static void derive(struct owner_look *look, const struct value *tree)
{
    char owner_id[OWNER_ID_MAX + 1];
    struct text uid = value_text_at(tree, "metadata.uid");
    if (!uid.len) {
        ask_again(look, AGAIN_MS);
        return;
    }
    owner_id_derive(uid, look->scope, owner_id);
    log_line(look->log, LOG_WARN, "no Lease is there to tell the owner id: it is derived",
             LOG_TEXT("lease", look->name), LOG_TEXT("namespace", look->namespace_),
             LOG_TEXT("owner", owner_id), LOG_END);
    look->done(look->context, owner_id, NULL);
}

static void take_lease(struct owner_look *look, const struct value *tree)
{
    char owner_id[OWNER_ID_MAX + 1];
    struct lease_object lease = {0};
    if (tree)
        lease_object_read(&lease, tree);
    if (lease.owner_id.len && owner_id_check(lease.owner_id, NULL)) {
        text_clean_into(owner_id, sizeof owner_id, lease.owner_id);
        look->done(look->context, owner_id, NULL);
        return;
    }
    look->is_at_namespace = true;
    ask_again(look, 0);
}

static void heard(void *context, const struct api_reply *reply)
{
    struct owner_look *look = context;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree =
        reply->is_ok ? value_read_json(arena, reply->body, &value_manifest_limits, NULL) : NULL;
    look->call = NULL;
    if (reply->status == FORBIDDEN)
        refuse(look);
    else if (!look->is_at_namespace && (tree || api_reply_is_absent(reply)))
        take_lease(look, tree);
    else if (tree)
        derive(look, tree);
    else
        ask_again(look, AGAIN_MS);
}

static void ask(void *context)
{
    struct owner_look *look = context;
    AUTO_BUFFER path = {0};
    if (look->is_at_namespace)
        buffer_add_text(&path, "/api/v1/namespaces/kube-system");
    else
        api_path(&path, &lease_kind, text_of(look->namespace_), text_of(look->name), NULL);
    const struct api_request request = {.method = "GET", .path = path.at};
    look->call = api_send(look->api, &request, heard, look);
}

struct owner_look *owner_look_new(const struct owner_look_options *options)
{
    struct owner_look *look = mem_new_of(struct owner_look);
    *look = (struct owner_look){
        .loop = options->world->loop,
        .log = options->log,
        .api = options->api,
        .namespace_ = mem_copy_text(options->namespace_),
        .name = mem_copy_text(options->name),
        .scope = mem_copy_text(options->namespaces),
        .done = options->done,
        .context = options->context,
    };
    ask_again(look, 0);
    return look;
}

void owner_look_free(struct owner_look *look)
{
    if (!look)
        return;
    loop_timer_cancel(look->loop, &look->timer);
    if (look->call)
        api_cancel(look->api, look->call);
    free(look->namespace_);
    free(look->name);
    free(look->scope);
    free(look);
}
