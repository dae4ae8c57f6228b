#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "frontends/intent/change.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/emco_metadata.h"
#include "kinds/emco_name.h"

#define PARENT_MISSING "Cannot perform requested operation. Parent resource not found"
#define GONE "The requested resource not found"

enum { BODY_DEPTH = 32, BODY_NODES = 200000, RETRY_MS = 10 };

static bool is_post(const struct request *request)
{
    return !strcmp(request->method, "POST");
}

static bool is_flag(const struct request *request, const char *name, const char *value)
{
    return text_is(route_parameter(&request->route, name), value);
}

// ---- the body -----------------------------------------------------------------------------------

static void refuse_json(struct request *request, const struct error *error)
{
    bool is_broken = !strstr(error->text, "duplicate key") && !strstr(error->text, "too deep") &&
                     !strstr(error->text, "behind the document");
    answer_text(request, is_broken ? 422 : 400,
                "Invalid Input:", arena_printf(request->arena, "%s\n", error->text));
}

static bool check_name(struct request *request)
{
    const struct route *route = &request->route;
    struct text name = request->input.name;
    if (!name.len) {
        answer_text(request, 400,
                    is_post(request) ? "Missing name in POST request"
                                     : "Missing name in PUT request",
                    NULL);
        return false;
    }
    if (route->is_item && !text_equal(name, route->names[route->name_count - 1])) {
        answer_text(request, 400, "Mismatched name in PUT request", NULL);
        return false;
    }
    return true;
}

// Answers and returns false when the body is no document of the resource.
static bool read_body(struct request *request)
{
    struct error err = {0};
    struct findings findings = {.arena = request->arena};
    struct text body = http_exchange_body(request->exchange);
    const struct value_limits limits = {
        .octets = request->api->options.max_body_octets, .depth = BODY_DEPTH, .nodes = BODY_NODES};
    if (!text_trim(body).len) {
        answer_text(request, 400, "Empty body", NULL);
        return false;
    }
    const struct value *tree = value_read_json(request->arena, body, &limits, &err);
    if (!tree) {
        refuse_json(request, &err);
        return false;
    }
    document_read(request->route.resource, tree, &findings, &request->input);
    if (findings_errors(&findings)) {
        answer_findings(request, &findings, 0);
        return false;
    }
    request_warn(request, &findings, 0);
    if (!check_name(request))
        return false;
    request->name = request->input.name;
    if (!request->route.is_item)
        request->route.names[request->route.name_count] = request->name;
    return true;
}

// ---- the object that is wanted ------------------------------------------------------------------

static void put_text(struct arena *arena, struct value *map, const char *key, struct text text)
{
    value_set(map, text_of(key), value_make_text(arena, text));
}

// What stands in the path, and what other requests set.
static void complete_spec(struct request *request, const struct value *old, struct value *spec)
{
    const struct resource *resource = request->route.resource;
    const struct text *names = request->route.names;
    value_each (item, value_find(old, "spec"))
        if (document_is_kept(resource, item->key))
            value_set(spec, item->key, value_copy(request->arena, item));
    if (resource == &resource_cluster) {
        put_text(request->arena, spec, "provider", names[0]);
        put_text(request->arena, spec, "cluster", names[1]);
    }
    if (resource == &resource_group || resource == &resource_intent) {
        put_text(request->arena, spec, "compositeApp", names[1]);
        put_text(request->arena, spec, "version", names[2]);
        put_text(request->arena, spec, "deploymentIntentGroup", names[3]);
    }
}

static struct value *copy_annotations(struct request *request, const struct value *old)
{
    const struct value *annotations = value_at(old, "metadata.annotations", NULL);
    return annotations ? value_copy(request->arena, annotations)
                       : value_make(request->arena, VALUE_MAP);
}

static struct value *make_project(struct request *request, const struct found *found)
{
    AUTO_BUFFER hash = {0};
    AUTO_BUFFER json = {0};
    struct arena *arena = request->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *annotations = copy_annotations(request, found->tree);
    struct value *labels = value_make(arena, VALUE_MAP);
    emco_hash_write(&hash, DOCUMENT_PROJECT_DIGITS, &request->name, 1);
    value_write_json(&json, request->input.part);
    put_text(arena, annotations, EMCO_NAME_ANNOTATION, request->name);
    put_text(arena, annotations, DOCUMENT_METADATA_ANNOTATION,
             text_of(arena_copy(arena, json.at, json.len)));
    if (!found->object)
        put_text(arena, annotations, DOCUMENT_CREATED_ANNOTATION, TEXT("true"));
    put_text(arena, labels, DOCUMENT_PROJECT_LABEL, text_of(arena_copy(arena, hash.at, hash.len)));
    value_put(arena, tree, "metadata.name", value_make_text(arena, found->key.name));
    value_put(arena, tree, "metadata.annotations", annotations);
    value_put(arena, tree, "metadata.labels", labels);
    return tree;
}

static struct value *make_object(struct request *request, const struct found *found)
{
    struct arena *arena = request->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *annotations = copy_annotations(request, found->tree);
    struct value *spec = value_copy(arena, request->input.part);
    bool has_own_name =
        request->route.resource == &resource_cluster || text_equal(found->key.name, request->name);
    if (!has_own_name)
        put_text(arena, annotations, EMCO_NAME_ANNOTATION, request->name);
    complete_spec(request, found->tree, spec);
    if (request->route.resource == &resource_record)
        credentials_refer(request, found, spec);
    value_put(arena, tree, "metadata.name", value_make_text(arena, found->key.name));
    value_put(arena, tree, "metadata.annotations", annotations);
    value_put(arena, tree, "spec", spec);
    return tree;
}

// The parent's object with the entry in its list, or, if `part` is NULL, without it.
static struct value *make_parent(struct request *request, const struct found *found,
                                 const struct value *old, const struct value *part)
{
    struct arena *arena = request->arena;
    struct value *tree = value_copy(arena, found->tree);
    struct value *list = value_make(arena, VALUE_LIST);
    value_each (entry, value_find(value_find(found->tree, "spec"), request->route.resource->list)) {
        const struct value *kept = entry == old ? part : entry;
        if (kept)
            value_append(list, value_copy(arena, kept));
    }
    if (!old && part)
        value_append(list, value_copy(arena, part));
    value_set(value_find(tree, "spec"), text_of(request->route.resource->list), list);
    return tree;
}

static bool check_tree(struct request *request, const struct found *found, const struct value *tree,
                       size_t index)
{
    struct arena *arena = request->arena;
    AUTO_BUFFER version = {0};
    struct findings findings = {.arena = arena};
    struct findings about = {.arena = arena};
    const struct kind *kind = found->key.kind;
    struct value *whole = value_copy(arena, tree);
    kind_api_version(&version, kind);
    put_text(arena, whole, "apiVersion", text_of(arena_copy(arena, version.at, version.len)));
    put_text(arena, whole, "kind", text_of(kind->name));
    if (kind->is_namespaced)
        value_put(arena, whole, "metadata.namespace",
                  value_make_text(arena, found->key.namespace_));
    kind_check(kind, whole, &findings);
    size_t shapes = findings.count;
    if (kind->validate)
        kind->validate(whole, &findings);
    findings_drop_echoes(&findings, shapes);
    for (size_t i = 0; i < findings.count; i++)
        if (document_is_about(request->route.resource, index, findings.items[i].path))
            findings_add(&about, findings.items[i].level, findings.items[i].path, "%s",
                         findings.items[i].text);
    if (findings_errors(&about)) {
        answer_findings(request, &about, index);
        return false;
    }
    request_warn(request, &about, index);
    return true;
}

static bool check_project(struct request *request)
{
    static const struct {
        const char *key;
        size_t max;
    } rows[] = {{"description", EMCO_DESCRIPTION_MAX},
                {"userData1", EMCO_USER_DATA_MAX},
                {"userData2", EMCO_USER_DATA_MAX}};
    struct findings findings = {.arena = request->arena};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (value_text(value_find(request->input.part, rows[i].key)).len > rows[i].max)
            findings_add_at(&findings, FINDING_ERROR,
                            arena_printf(request->arena, "spec.%s", rows[i].key),
                            "must have at most %zu octets", rows[i].max);
    if (!findings.count)
        return true;
    answer_findings(request, &findings, 0);
    return false;
}

// ---- writing ------------------------------------------------------------------------------------

static void answer_written(struct request *request, const struct object *object)
{
    const struct resource *resource = request->route.resource;
    const struct value *part = object ? document_of(request->arena, object) : NULL;
    if (request->status == 202 || request->status == 204) {
        answer_empty(request, request->status);
        return;
    }
    if (part && resource->form != RESOURCE_OBJECT)
        part = document_find_entry(resource, part, request->name, NULL);
    if (part)
        request->shown = document_show(request->arena, resource, part);
    answer_json(request, request->status, request->shown, request->status == 201);
}

static void answer_late(struct request *request, const struct error *error)
{
    if (is_post(request) && !request->route.action && error->fault == FAULT_RACE)
        answer_text(request, 409, request->route.resource->exists, NULL);
    else
        answer_error(request, error);
}

static void written(void *context, const struct engine_object_result *result)
{
    struct request *request = context;
    bool is_race = !result->is_ok && result->error->fault == FAULT_RACE;
    if (is_race && request->tries + 1 < TRIES_MAX && request->exchange) {
        loop_timer_set(request->api->options.world->loop, &request->timer,
                       RETRY_MS << request->tries++);
        return;
    }
    if (!result->is_ok)
        answer_late(request, result->error);
    else if (request->input.secrets && result->object)
        credentials_write(request, result->object, answer_written);
    else
        answer_written(request, result->object);
}

static void write_tree(struct request *request, const struct found *found, const struct value *tree)
{
    struct value *old = found->tree ? value_copy(request->arena, found->tree) : NULL;
    if (found->key.kind == resource_project.kind && old)
        value_remove(old, "spec");
    struct engine_object_write write = {
        .frontend = "rest",
        .key = found->key,
        .tree = found->object && tree ? document_patch(request->arena, old, tree) : tree,
        .seen = found->object,
        .deadline_ms = WRITE_MS,
    };
    engine_write_object(request->api->options.engine, &write, written, request);
}

// A change that changes nothing is not written.
static void store_tree(struct request *request, const struct found *found, struct value *tree,
                       const struct value *part)
{
    const struct resource *resource = request->route.resource;
    request->status = request->was_there ? 200 : 201;
    if (resource != &resource_project)
        request->shown = document_show(request->arena, resource, part);
    if (is_flag(request, "dryRun", "All")) {
        answer_json(request, 200, tree, false);
        return;
    }
    if (found->tree && !request->input.secrets && resource != &resource_project &&
        value_equal(found->tree, tree))
        answer_written(request, found->object);
    else
        write_tree(request, found, tree);
}

// ---- preconditions ------------------------------------------------------------------------------

static bool meets_etag(struct request *request, const char *header, const struct value *part)
{
    AUTO_BUFFER body = {0};
    AUTO_BUFFER etag = {0};
    if (!strcmp(header, "*"))
        return part != NULL;
    if (!part)
        return false;
    body_of(&body, document_show(request->arena, request->route.resource, part));
    etag_write(&etag, buffer_text(&body));
    return strstr(header, etag.at) != NULL;
}

// Answers and returns false when If-Match or If-None-Match is not met.
static bool check_preconditions(struct request *request, const struct value *part)
{
    const char *match = http_exchange_header(request->exchange, "If-Match", 0);
    const char *none = http_exchange_header(request->exchange, "If-None-Match", 0);
    if ((!match || meets_etag(request, match, part)) && (!none || !meets_etag(request, none, part)))
        return true;
    answer_text(request, 412, "Precondition failed", NULL);
    return false;
}

// ---- POST and PUT -------------------------------------------------------------------------------

static void project_made(void *context, const struct engine_object_result *result)
{
    struct request *request = context;
    if (result->is_ok || result->error->fault == FAULT_RACE)
        serve_request(request);
    else
        answer_error(request, result->error);
}

// Makes the Namespace of the project that is missing. False: it is not to be made.
static bool make_missing_project(struct request *request)
{
    struct found found;
    struct text name = request->name;
    bool needs_project = request->route.resource->kind->is_namespaced &&
                         request->route.resource->parent == &resource_project;
    if (!request->api->options.makes_projects || !needs_project || request->tries >= TRIES_MAX)
        return false;
    find_item(request, &resource_project, &found);
    if (found.object || found.stranger.at)
        return false;
    struct document_input input = request->input;
    request->tries++;
    request->input.part = value_make(request->arena, VALUE_MAP);
    request->name = request->route.names[0];
    const struct engine_object_write write = {.frontend = "rest",
                                              .key = found.key,
                                              .tree = make_project(request, &found),
                                              .deadline_ms = WRITE_MS};
    request->input = input;
    request->name = name;
    engine_write_object(request->api->options.engine, &write, project_made, request);
    return true;
}

static void refuse_stranger(struct request *request, const struct found *found)
{
    answer_text(request, 409, request->route.resource->exists,
                arena_printf(request->arena, "%.*s and %.*s would both be object %.*s\n",
                             TEXT_ARGS(found->stranger), TEXT_ARGS(request->name),
                             TEXT_ARGS(found->key.name)));
}

static void change_entry(struct request *request, const struct found *found)
{
    size_t index;
    const struct value *old =
        document_find_entry(request->route.resource, found->tree, request->name, &index);
    request->was_there = old != NULL;
    if (old && is_post(request)) {
        answer_text(request, 409, request->route.resource->exists, NULL);
        return;
    }
    if (!check_preconditions(request, old))
        return;
    struct value *tree = make_parent(request, found, old, request->input.part);
    if (check_tree(request, found, tree, index))
        store_tree(request, found, tree, request->input.part);
}

// May what the record says of places change, and with whose consent? Answers when not.
static bool may_move(struct request *request, const struct found *found, struct value *tree)
{
    bool are_children;
    AUTO_BUFFER users = {0};
    if (request->route.resource != &resource_record || !found->tree ||
        !record_is_moved(found->tree, tree))
        return true;
    write_referrers(request, found, &users, &are_children);
    if (!users.len)
        return true;
    if (is_flag(request, "move", "drain")) {
        put_text(request->arena, value_at(tree, "metadata.annotations", NULL), MOVE_ANNOTATION,
                 TEXT("drain"));
        return true;
    }
    answer_text(request, 409,
                "PinnedChange: the record is in use, and its names would move to another place; "
                "?move=drain consents to that",
                arena_copy(request->arena, users.at, users.len));
    return false;
}

static void change_object(struct request *request, const struct found *found)
{
    const struct resource *resource = request->route.resource;
    bool is_project = resource == &resource_project;
    request->was_there = found->object != NULL;
    if (found->object && is_post(request)) {
        answer_text(request, 409, resource->exists, NULL);
        return;
    }
    if (!found->object && found->stranger.at) {
        refuse_stranger(request, found);
        return;
    }
    if (!check_preconditions(request, found->tree))
        return;
    if (is_project && !check_project(request))
        return;
    struct value *tree = (is_project ? make_project : make_object)(request, found);
    if (is_project || (check_tree(request, found, tree, 0) && may_move(request, found, tree)))
        store_tree(request, found, tree, tree);
}

void change_item(struct request *request)
{
    struct found found;
    const struct resource *resource = request->route.resource;
    if (!request->exchange) {
        request_free(request);
        return;
    }
    if (!request->input.part && !read_body(request))
        return;
    if (!has_parents(request, resource)) {
        if (!make_missing_project(request))
            answer_text(request, 409, PARENT_MISSING, NULL);
        return;
    }
    find_item(request, holder_of(resource), &found);
    if (resource->form == RESOURCE_OBJECT)
        change_object(request, &found);
    else
        change_entry(request, &found);
}

// ---- DELETE -------------------------------------------------------------------------------------

static bool is_published(struct request *request, const struct found *found)
{
    struct dnspublication publication;
    struct dnspublication_status status = {0};
    if (request->route.resource != &resource_group)
        return false;
    dnspublication_unpack(request->arena, object_spec(found->object), object_managed(found->object),
                          &publication, &status);
    return status.state != DNSPUBLICATION_CREATED && status.state != DNSPUBLICATION_APPROVED &&
           status.state != DNSPUBLICATION_TERMINATED;
}

// Signpost removes the Namespaces that it made; from others it takes what makes them a project.
static struct value *bare_namespace(struct request *request, const struct found *found)
{
    static const char *const keys[] = {EMCO_NAME_ANNOTATION, DOCUMENT_METADATA_ANNOTATION};
    struct arena *arena = request->arena;
    const struct value *annotations = value_at(found->tree, "metadata.annotations", NULL);
    if (value_find(annotations, DOCUMENT_CREATED_ANNOTATION))
        return NULL;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *nulls = value_make(arena, VALUE_MAP);
    struct value *labels = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        value_set(nulls, text_of(keys[i]), value_make(arena, VALUE_NULL));
    value_set(labels, TEXT(DOCUMENT_PROJECT_LABEL), value_make(arena, VALUE_NULL));
    value_put(arena, tree, "metadata.annotations", nulls);
    value_put(arena, tree, "metadata.labels", labels);
    return tree;
}

static void delete_object(struct request *request, const struct found *found)
{
    bool are_children = false;
    AUTO_BUFFER referrers = {0};
    write_referrers(request, found, &referrers, &are_children);
    if (referrers.len || is_published(request, found)) {
        const char *first =
            are_children ? "Cannot delete parent without deleting child references first"
                         : "Cannot delete without deleting or updating referencing resources first";
        answer_text(request, 409, first,
                    referrers.len ? referrers.at : "it is instantiated: terminate it first\n");
        return;
    }
    const struct engine_object_write write = {
        .frontend = "rest",
        .key = found->key,
        .tree =
            request->route.resource == &resource_project ? bare_namespace(request, found) : NULL,
        .seen = found->object,
        .deadline_ms = WRITE_MS,
    };
    engine_write_object(request->api->options.engine, &write, written, request);
}

void delete_item(struct request *request)
{
    struct found found;
    const struct resource *resource = request->route.resource;
    const struct value *part;
    request->status = 204;
    request->name = request->route.names[request->route.name_count - 1];
    if (!request->exchange) {
        request_free(request);
        return;
    }
    bool is_there = has_parents(request, resource) &&
                    find_item(request, holder_of(resource), &found) && found.object;
    if (!is_there) {
        answer_text(request, 404, GONE, NULL);
        return;
    }
    bool is_object = resource->form == RESOURCE_OBJECT;
    part = is_object ? found.tree : document_find_entry(resource, found.tree, request->name, NULL);
    if (!part)
        answer_text(request, 404, GONE, NULL);
    else if (!check_preconditions(request, part))
        return;
    else if (is_object)
        delete_object(request, &found);
    else
        write_tree(request, &found, make_parent(request, &found, part, NULL));
}

// ---- the life of a deployment intent group ------------------------------------------------------

static struct value *make_action(struct request *request, const struct found *found)
{
    static const struct {
        const char *action;
        const char *desired;
    } rows[] = {{"instantiate", "Instantiated"}, {"terminate", "Terminated"}};
    struct arena *arena = request->arena;
    struct value *tree = value_copy(arena, found->tree);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(request->route.action, rows[i].action))
            value_put_text(arena, tree, "spec.desired", rows[i].desired);
    if (!strcmp(request->route.action, "update"))
        value_put_int(arena, tree, "spec.update", value_int_at(tree, "spec.update", 0) + 1);
    if (!strcmp(request->route.action, "approve")) {
        struct value *annotations = copy_annotations(request, tree);
        put_text(arena, annotations, DNSPUBLICATION_APPROVED_ANNOTATION, TEXT("true"));
        value_put(arena, tree, "metadata.annotations", annotations);
    }
    return tree;
}

void act_on_item(struct request *request)
{
    struct found found;
    request->status = 202;
    if (!find_item(request, request->route.resource, &found) || !found.object) {
        answer_text(request, 404, request->route.resource->not_found, NULL);
        return;
    }
    struct value *tree = make_action(request, &found);
    if (value_equal(tree, found.tree))
        answer_empty(request, 202);
    else
        write_tree(request, &found, tree);
}
