#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/must.h"
#include "model/model_api_private.h"

// ---- bodies and who sends them ------------------------------------------------------------------

static const char *header_of(const struct http_request *request, const char *name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (!strcasecmp(request->headers[i].name, name))
            return request->headers[i].value;
    return "";
}

static struct value *read_body(struct http_call *call, const struct http_request *request,
                               struct arena *arena)
{
    struct error err = {0};
    const char *copy =
        arena_copy(arena, request->body.at ? request->body.at : "", request->body.len);
    const struct text text = {copy, request->body.len};
    struct value *body = value_read_json(arena, text, &value_manifest_limits, &err);
    if (!body)
        model_refuse(call, &(struct model_status){.code = 400, .reason = "BadRequest"},
                     "the object provided is unrecognized: %s", err.text);
    return body;
}

static const char *manager_of(const struct model_target *target, struct arena *arena)
{
    struct text manager = target->query.manager;
    return manager.at ? arena_copy(arena, manager.at, manager.len) : "unknown";
}

// ---- guards -------------------------------------------------------------------------------------

static void refuse_precondition(struct http_call *call, const struct model_target *target,
                                const char *what, struct text wanted, struct text is)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    model_refuse(call, &(struct model_status){.code = 409, .reason = "Conflict", .about = target},
                 "Operation cannot be fulfilled on %s \"%.*s\": Precondition failed: %s in "
                 "precondition: %.*s, %s in object meta: %.*s",
                 model_resource_name(arena, target->row->kind), TEXT_ARGS(target->key.name), what,
                 TEXT_ARGS(wanted), what, TEXT_ARGS(is));
}

// To a patch the uid is a field like any other, and cannot be changed.
static void refuse_uid(struct http_call *call, const struct model_target *target, struct text uid)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct kind *kind = target->row->kind;
    const char *text =
        arena_printf(arena, "Invalid value: \"%.*s\": field is immutable", TEXT_ARGS(uid));
    model_refuse(call,
                 &(struct model_status){.code = 422,
                                        .reason = "Invalid",
                                        .about = target,
                                        .cause = "FieldValueInvalid",
                                        .cause_text = text,
                                        .cause_field = "metadata.uid"},
                 "%s%s%s \"%.*s\" is invalid: metadata.uid: %s", kind->name,
                 *kind->group ? "." : "", kind->group, TEXT_ARGS(target->key.name), text);
}

bool model_is_guarded(struct http_call *call, const struct model_target *target,
                      const struct value *given, const struct value *before)
{
    const struct value *now = value_find(before, "metadata");
    struct text uid = value_text_at(given, "uid");
    struct text version = value_text_at(given, "resourceVersion");
    bool is_other = uid.len && !text_equal(uid, value_text_at(now, "uid"));
    if (is_other && target->verb == VERB_PATCH) {
        refuse_uid(call, target, uid);
        return false;
    }
    if (is_other) {
        refuse_precondition(call, target, "UID", uid, value_text_at(now, "uid"));
        return false;
    }
    if (version.len && !text_equal(version, value_text_at(now, "resourceVersion"))) {
        model_refuse_stale(call, target);
        return false;
    }
    return true;
}

static bool holds(const struct value *list, struct text item)
{
    value_each (each, list)
        if (text_equal(value_text(each), item))
            return true;
    return false;
}

static bool keeps_finalizers(struct http_call *call, const struct model_change *change,
                             struct arena *arena)
{
    const struct value *before = value_find(change->before, "metadata");
    const struct value *after = value_find(change->after, "metadata");
    if (!value_find(before, "deletionTimestamp"))
        return true;
    value_each (item, value_find(after, "finalizers")) {
        if (holds(value_find(before, "finalizers"), value_text(item)))
            continue;
        model_refuse_invalid(
            call, change->target,
            arena_printf(arena,
                         "metadata.finalizers: Forbidden: no new finalizers can be added if the "
                         "object is being deleted, found new finalizers []string{\"%.*s\"}",
                         TEXT_ARGS(item->text)));
        return false;
    }
    return true;
}

static bool is_micro_time(struct text text)
{
    return !text.at || (text.len == 27 && text.at[19] == '.' && text.at[26] == 'Z');
}

static bool has_good_times(struct http_call *call, const struct model_target *target,
                           const struct value *tree)
{
    if (target->key.kind != &model_lease_kind)
        return true;
    const struct value *spec = value_find(tree, "spec");
    if (is_micro_time(value_text_at(spec, "renewTime")) &&
        is_micro_time(value_text_at(spec, "acquireTime")))
        return true;
    model_refuse_invalid(call, target, "spec: Invalid value: a MicroTime has six digits");
    return false;
}

// The schema, where anything outside metadata and status is new.
static bool is_valid(struct http_call *call, const struct model_change *change, struct arena *arena)
{
    struct error err = {0};
    const struct kind *kind = change->target->row->kind;
    bool is_same = change->before && model_content(change->before) == model_content(change->after);
    if (!kind->field_count || is_same)
        return true;
    if (!model_check(call->api->server, kind, change->after, arena, &err)) {
        model_refuse_invalid(call, change->target, err.text);
        return false;
    }
    struct findings findings = {.arena = arena};
    if (change->before)
        kind_check_update(kind, change->before, change->after, &findings);
    if (!findings_errors(&findings))
        return true;
    model_refuse_invalid(call, change->target, findings_join(&findings, FINDING_ERROR));
    return false;
}

// ---- filing -------------------------------------------------------------------------------------

static void keep_field(struct value *map, const struct value *old, const char *field,
                       struct arena *arena)
{
    const struct value *kept = value_find(old, field);
    if (kept)
        value_set(map, text_of(field), value_copy(arena, kept));
    else
        value_remove(map, field);
}

// What a client cannot change.
static void protect(const struct model_change *change, struct arena *arena)
{
    static const char *const fields[] = {
        "name",       "namespace",         "uid",
        "generation", "creationTimestamp", "deletionTimestamp",
        "selfLink",   "resourceVersion",   "deletionGracePeriodSeconds",
    };
    struct value *metadata = model_metadata(change->after, arena);
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        keep_field(metadata, value_find(change->before, "metadata"), fields[i], arena);
    if (!value_count(value_find(metadata, "finalizers")))
        value_remove(metadata, "finalizers");
    if (change->target->row->kind->has_status)
        keep_field(change->after, change->before, "status", arena);
}

// Of a change by way of /status nothing but the status stays.
static struct value *only_status(const struct model_change *change, struct arena *arena)
{
    struct value *after = value_copy(arena, change->before);
    keep_field(after, change->after, "status", arena);
    return after;
}

void model_file_change(struct http_call *call, const struct model_change *change,
                       struct arena *arena)
{
    struct model_change real = *change;
    struct model_server *server = call->api->server;
    struct model_object *object = model_server_object(server, &change->target->key);
    must(object != NULL);
    if (change->target->sub.len)
        real.after = only_status(change, arena);
    else
        protect(&real, arena);
    if (!keeps_finalizers(call, &real, arena) || !is_valid(call, &real, arena) ||
        !has_good_times(call, change->target, real.after))
        return;
    if (change->target->query.is_dry) {
        model_answer_tree(call, 200, real.after);
        return;
    }
    if (!change->target->sub.len && !change->is_apply)
        model_claims_follow(&object->claims, change->manager, value_find(real.before, "metadata"),
                            value_find(real.after, "metadata"));
    object->written++;
    model_server_write(server, object, real.after, arena);
    model_answer_json(call, 200, object->json);
}

static void claim_all(struct model_object *object, const struct value *tree, const char *manager,
                      bool is_apply, struct arena *arena)
{
    value_each (key, model_claims_keys(arena, value_find(tree, "metadata")))
        model_claims_add(&object->claims, manager, key->text, is_apply);
}

void model_file_new(struct http_call *call, const struct model_target *target, struct value *tree,
                    const char *manager, bool is_apply, struct arena *arena)
{
    struct model_server *server = call->api->server;
    const struct model_change change = {.target = target, .after = tree};
    struct value *metadata = model_metadata(tree, arena);
    value_remove(metadata, "resourceVersion");
    value_remove(metadata, "deletionTimestamp");
    value_set(metadata, TEXT("name"), value_make_text(arena, target->key.name));
    if (target->row->kind->is_namespaced)
        value_set(metadata, TEXT("namespace"), value_make_text(arena, target->key.namespace_));
    if (!is_valid(call, &change, arena) || !has_good_times(call, target, tree))
        return;
    if (target->query.is_dry) {
        model_answer_tree(call, 201, tree);
        return;
    }
    struct model_object *object = model_server_create(server, &target->key, tree, arena);
    claim_all(object, tree, manager, is_apply, arena);
    model_answer_json(call, 201, object->json);
}

// ---- create -------------------------------------------------------------------------------------

static void review(struct http_call *call, struct value *tree, struct arena *arena)
{
    const struct value *attributes = value_at(tree, "spec.resourceAttributes", NULL);
    struct text sub = value_text_at(attributes, "subresource");
    const char *verb = arena_printf(arena, "%.*s", TEXT_ARGS(value_text_at(attributes, "verb")));
    const char *resource =
        arena_printf(arena, "%.*s%s%.*s", TEXT_ARGS(value_text_at(attributes, "resource")),
                     sub.len ? "/" : "", TEXT_ARGS(sub));
    bool is_denied = model_api_is_denied(call->api, verb, text_of(resource));
    struct value *status = value_make(arena, VALUE_MAP);
    value_set(status, TEXT("allowed"), value_make_bool(arena, !is_denied));
    value_set(tree, TEXT("status"), status);
    model_answer_tree(call, 201, tree);
}

static struct text name_for(struct model_api *api, const struct value *metadata,
                            struct arena *arena)
{
    struct text name = value_text_at(metadata, "name");
    struct text start = value_text_at(metadata, "generateName");
    if (name.len || !start.len)
        return name;
    return text_of(
        arena_printf(arena, "%.*s%05llu", TEXT_ARGS(start), (unsigned long long)++api->names));
}

void model_handle_create(struct http_call *call, const struct model_target *target,
                         const struct http_request *request, struct arena *arena)
{
    struct model_target named = *target;
    struct value *tree = read_body(call, request, arena);
    if (!tree)
        return;
    if (target->key.kind == &model_review_kind) {
        review(call, tree, arena);
        return;
    }
    named.key.name = name_for(call->api, value_find(tree, "metadata"), arena);
    if (!named.key.name.len) {
        model_refuse_invalid(call, target,
                             "metadata.name: Required value: name or generateName "
                             "is required");
        return;
    }
    if (model_server_object(call->api->server, &named.key)) {
        model_refuse(
            call, &(struct model_status){.code = 409, .reason = "AlreadyExists", .about = &named},
            "%s \"%.*s\" already exists", model_resource_name(arena, target->row->kind),
            TEXT_ARGS(named.key.name));
        return;
    }
    model_file_new(call, &named, tree, manager_of(target, arena), false, arena);
}

// ---- update -------------------------------------------------------------------------------------

void model_handle_update(struct http_call *call, const struct model_target *target,
                         const struct http_request *request, struct arena *arena)
{
    const struct model_object *object = model_server_object(call->api->server, &target->key);
    struct value *tree = read_body(call, request, arena);
    if (!tree)
        return;
    if (!object) {
        model_refuse_missing(call, target);
        return;
    }
    const struct value *given = value_find(tree, "metadata");
    if (!value_text_at(given, "resourceVersion").len) {
        model_refuse_invalid(call, target,
                             "metadata.resourceVersion: Invalid value: 0: must be "
                             "specified for an update");
        return;
    }
    struct value *before = model_object_read(object, arena);
    if (model_is_guarded(call, target, given, before))
        model_file_change(call,
                          &(struct model_change){.target = target,
                                                 .before = before,
                                                 .after = tree,
                                                 .manager = manager_of(target, arena)},
                          arena);
}

// ---- delete -------------------------------------------------------------------------------------

static void answer_deleted(struct http_call *call, const struct model_target *target,
                           const struct value *before)
{
    AUTO_BUFFER out = {0};
    buffer_printf(&out,
                  "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                  "\"Success\",\"details\":{\"name\":\"%.*s\",\"group\":\"%s\",\"kind\":\"%s\","
                  "\"uid\":\"%.*s\"}}\n",
                  TEXT_ARGS(target->key.name), target->row->kind->group, target->row->kind->plural,
                  TEXT_ARGS(value_text_at(before, "metadata.uid")));
    model_answer_text(call, 200, out.at);
    call->content_type = "application/json";
}

void model_handle_delete(struct http_call *call, const struct model_target *target,
                         const struct http_request *request, struct arena *arena)
{
    struct model_server *server = call->api->server;
    struct model_object *object = model_server_object(server, &target->key);
    const struct value *options = request->body.len ? read_body(call, request, arena) : NULL;
    if (request->body.len && !options)
        return;
    if (!object) {
        model_refuse_missing(call, target);
        return;
    }
    const struct value *before = model_object_read(object, arena);
    if (!model_is_guarded(call, target, value_find(options, "preconditions"), before))
        return;
    if (!target->query.is_dry)
        model_server_remove(server, object);
    if (value_count(value_at(before, "metadata.finalizers", NULL)))
        model_answer_json(call, 200, object->json);
    else
        answer_deleted(call, target, before);
}

// ---- patch --------------------------------------------------------------------------------------

static void merge(struct http_call *call, const struct model_target *target, struct value *patch,
                  struct arena *arena)
{
    const struct model_object *object = model_server_object(call->api->server, &target->key);
    if (!object) {
        model_refuse_missing(call, target);
        return;
    }
    struct value *before = model_object_read(object, arena);
    if (!model_is_guarded(call, target, value_find(patch, "metadata"), before))
        return;
    struct value *after = value_merge_patch(arena, model_object_read(object, arena), patch);
    model_file_change(call,
                      &(struct model_change){.target = target,
                                             .before = before,
                                             .after = after,
                                             .manager = manager_of(target, arena)},
                      arena);
}

static void edit(struct http_call *call, const struct model_target *target, struct value *patch,
                 struct arena *arena)
{
    const struct model_object *object = model_server_object(call->api->server, &target->key);
    if (!object) {
        model_refuse_missing(call, target);
        return;
    }
    struct value *before = model_object_read(object, arena);
    struct value *after = model_object_read(object, arena);
    if (!model_json_patch(after, patch, arena)) {
        model_refuse(call, &(struct model_status){.code = 422, .reason = "Invalid"},
                     "the server rejected our request due to an error in our request");
        return;
    }
    if (model_is_guarded(call, target, value_find(after, "metadata"), before))
        model_file_change(call,
                          &(struct model_change){.target = target,
                                                 .before = before,
                                                 .after = after,
                                                 .manager = manager_of(target, arena)},
                          arena);
}

void model_handle_patch(struct http_call *call, const struct model_target *target,
                        const struct http_request *request, struct arena *arena)
{
    static const struct {
        const char *type;
        void (*call)(struct http_call *call, const struct model_target *target, struct value *patch,
                     struct arena *arena);
    } types[] = {
        {"application/apply-patch+yaml", model_apply},
        {"application/merge-patch+json", merge},
        {"application/json-patch+json", edit},
    };
    const char *type = header_of(request, "Content-Type");
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        if (strncmp(type, types[i].type, strlen(types[i].type)) != 0)
            continue;
        struct value *patch = read_body(call, request, arena);
        if (patch)
            types[i].call(call, target, patch, arena);
        return;
    }
    model_refuse(call, &(struct model_status){.code = 415, .reason = "UnsupportedMediaType"},
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json-patch+json, application/merge-patch+json, "
                 "application/apply-patch+yaml");
}
