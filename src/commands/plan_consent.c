#include "commands/plan_consent.h"

#include "commands/process.h"
#include "kinds/dnsplan/dnsplan.h"
#include "kinds/kinds.h"
#include "store/cluster/api.h"
#include "store/folder/folder.h"

enum { KINDS_MAX = 64, ABSENT = 404, REFUSED = 401 };

static bool refuse_absent(struct consent *consent, struct error *err)
{
    consent->is_refused = true;
    error_set(err, FAULT_SPEC, "NotFound",
              "there is no DNSPlan %s; `signpost status` lists those that there are",
              consent->name);
    err->status = ABSENT;
    return false;
}

// What is to be written, or NULL.
static const struct value *judge(struct consent *consent, const struct value *plan,
                                 struct error *err)
{
    struct text checksum = value_text_at(plan, "spec.checksum");
    struct text phase = value_text_at(plan, "status.phase");
    struct text backend = value_text_at(plan, "spec.class");
    bool is_open = !phase.len || text_is(phase, "Pending") || text_is(phase, "Approved");
    if (!is_open)
        error_set(err, FAULT_SPEC, "", "DNSPlan %s is %.*s: there is nothing to approve",
                  consent->name, TEXT_ARGS(phase));
    else if (!checksum.len || (consent->checksum && !text_is(checksum, consent->checksum)))
        error_set(err, FAULT_SPEC, "", "DNSPlan %s has another checksum", consent->name);
    else {
        struct value *patch = value_make(consent->arena, VALUE_MAP);
        consent->given = arena_copy(consent->arena, checksum.at, checksum.len);
        consent->backend = arena_copy(consent->arena, backend.at, backend.len);
        consent->removals = value_int_at(plan, "spec.counts.delete", 0);
        consent->was_given = text_equal(value_text_at(plan, "spec.approve"), checksum);
        value_put_text(consent->arena, patch, "spec.approve", consent->given);
        return patch;
    }
    consent->is_refused = true;
    return NULL;
}

// ---- in a folder --------------------------------------------------------------------------------

struct search {
    const char *name;
    const struct value *found;
};

static void look_at(void *context, const struct folder_entry *entry)
{
    struct search *search = context;
    if (entry->kind == &dnsplan_kind && !entry->is_gone &&
        text_is(value_text_at(entry->tree, "metadata.name"), search->name))
        search->found = entry->tree;
}

static bool consent_in_folder(struct consent *consent, struct error *err)
{
    const struct kind *judged[KINDS_MAX];
    struct store_kind rows[KINDS_MAX];
    struct search search = {.name = consent->name};
    const struct folder_options options = {
        .dir = option_text(consent->place->invocation, "dir"),
        .state_dir = option_text(consent->place->invocation, "state-dir"),
        .kinds = rows,
        .kind_count = kinds_of_manifests(judged),
    };
    for (size_t i = 0; i < options.kind_count; i++)
        rows[i] = (struct store_kind){.kind = judged[i]};
    if (!folder_read(&options, consent->arena, look_at, &search, err))
        return false;
    if (!search.found)
        return refuse_absent(consent, err);
    const struct object_ref_key key = {&dnsplan_kind, TEXT(""), text_of(consent->name)};
    const struct value *patch = judge(consent, search.found, err);
    return patch && (consent->was_given || folder_edit(&options, &key, patch, err));
}

// ---- in a cluster -------------------------------------------------------------------------------

struct exchange {
    struct consent *consent;
    struct process_world process;
    struct api *api;
    struct buffer path;
    bool is_writing;
    bool is_done; // as wanted
    struct error *error;
};

static void heard(void *context, const struct api_reply *reply);

static void end(struct exchange *exchange, bool is_done)
{
    exchange->is_done = is_done;
    loop_stop(exchange->process.world.loop);
}

// Only the very state that was looked at is approved.
static void write_patch(struct exchange *exchange, const struct value *plan,
                        const struct value *patch)
{
    AUTO_BUFFER body = {0};
    struct arena *arena = exchange->consent->arena;
    struct value *root = value_copy(arena, patch);
    value_put(arena, root, "metadata.resourceVersion",
              value_make_text(arena, value_text_at(plan, "metadata.resourceVersion")));
    value_write_json(&body, root);
    exchange->is_writing = true;
    api_send(exchange->api,
             &(struct api_request){.method = "PATCH",
                                   .path = exchange->path.at,
                                   .content_type = "application/merge-patch+json",
                                   .body = buffer_text(&body)},
             heard, exchange);
}

static void take_plan(struct exchange *exchange, const struct api_reply *reply)
{
    struct arena *arena = exchange->consent->arena;
    const struct value *plan =
        value_read_json(arena, reply->body, &value_manifest_limits, exchange->error);
    const struct value *patch = plan ? judge(exchange->consent, plan, exchange->error) : NULL;
    if (!patch || exchange->consent->was_given)
        end(exchange, patch != NULL);
    else
        write_patch(exchange, plan, patch);
}

static void heard(void *context, const struct api_reply *reply)
{
    struct exchange *exchange = context;
    if (reply->is_ok && !exchange->is_writing) {
        take_plan(exchange, reply);
        return;
    }
    if (reply->status == ABSENT)
        refuse_absent(exchange->consent, exchange->error);
    else if (!reply->is_ok)
        *exchange->error = reply->error;
    if (!reply->is_ok && (!reply->status || reply->status == REFUSED))
        api_blame(exchange->api, exchange->error);
    end(exchange, reply->is_ok);
}

static bool consent_in_cluster(struct consent *consent, struct error *err)
{
    struct configured_store place = *consent->place;
    struct exchange exchange = {.consent = consent, .error = err};
    struct kube_access *access = configured_store_access(&place, err);
    if (!access || !process_world_init(&exchange.process, place.invocation, err)) {
        kube_access_free(access);
        return false;
    }
    exchange.api = api_new(&exchange.process.world, exchange.process.log, access);
    api_path(&exchange.path, &dnsplan_kind, TEXT(""), text_of(consent->name), NULL);
    api_send(exchange.api, &(struct api_request){.method = "GET", .path = exchange.path.at}, heard,
             &exchange);
    loop_run(exchange.process.world.loop);
    api_free(exchange.api);
    buffer_done(&exchange.path);
    process_world_done(&exchange.process);
    return exchange.is_done;
}

bool plan_consent(struct consent *consent, struct error *err)
{
    if (!kind_is_name(text_of(consent->name)))
        return refuse_absent(consent, err);
    return consent->place->is_cluster ? consent_in_cluster(consent, err)
                                      : consent_in_folder(consent, err);
}
