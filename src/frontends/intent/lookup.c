#include <stdlib.h>
#include <string.h>

#include "base/labels.h"
#include "frontends/intent/request.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/emco_name.h"
#include "kinds/kv_pairs.h"

enum { LIMIT_MAX = 1000, CANDIDATES = 2 };

const struct resource *holder_of(const struct resource *resource)
{
    return resource->form == RESOURCE_OBJECT ? resource : resource->parent;
}

// ---- projects -----------------------------------------------------------------------------------

struct project_search {
    struct arena *arena;
    struct text name;
    const struct object *found;
};

static bool is_project(struct arena *arena, const struct object *namespace_, struct text name)
{
    return labels_find(object_spec(namespace_), TEXT(DOCUMENT_PROJECT_LABEL)).at &&
           text_equal(emco_name_of(document_of(arena, namespace_)), name);
}

static void look_at_namespace(void *context, const struct object *object)
{
    struct project_search *search = context;
    if (!search->found && is_project(search->arena, object, search->name))
        search->found = object;
}

static const struct object *find_project(struct request *request, struct text name)
{
    struct project_search search = {request->arena, name, NULL};
    const struct engine *engine = request->api->options.engine;
    const struct object_ref_key key = {resource_project.kind, TEXT(""),
                                       text_of(emco_object_name(request->arena, name))};
    const struct object *plain = engine_find_object(engine, &key);
    if (plain && is_project(request->arena, plain, name))
        return plain;
    engine_each_object(engine, resource_project.kind, look_at_namespace, &search);
    return search.found;
}

struct text project_namespace(struct request *request)
{
    const struct object *project = find_project(request, request->route.names[0]);
    struct text name = project ? object_name(project) : (struct text){0};
    return project ? (struct text){arena_copy(request->arena, name.at, name.len), name.len} : name;
}

// ---- one object ---------------------------------------------------------------------------------

// The names that the object may have: the plain one, or that below its coordinates.
static size_t list_candidates(struct request *request, const struct resource *resource,
                              const char *out[CANDIDATES])
{
    struct arena *arena = request->arena;
    const struct text *names = request->route.names;
    if (resource == &resource_cluster) {
        out[0] = edgecluster_object_name(arena, names[0], names[1]);
        return 1;
    }
    if (resource == &resource_group) {
        out[0] = emco_object_name(arena, names[3]);
        out[1] = emco_object_name_below(arena, names + 1, 2, names[3]);
        return 2;
    }
    if (resource == &resource_intent) {
        out[0] = emco_object_name(arena, names[4]);
        out[1] = emco_object_name_below(arena, names + 1, 3, names[4]);
        return 2;
    }
    bool is_top = resource == &resource_project || resource == &resource_provider;
    out[0] = emco_object_name(arena, names[is_top ? 0 : 1]);
    return 1;
}

// Has the object the names of the path, all of them?
static bool is_of_path(struct request *request, const struct resource *resource,
                       const struct value *tree, size_t depth)
{
    const struct text *names = request->route.names;
    struct text own = document_name(resource->kind, tree);
    const struct value *spec = value_find(tree, "spec");
    const struct emco_coordinates at = emco_coordinates_decode(spec);
    if (resource == &resource_cluster)
        return text_equal(value_text_at(spec, "provider"), names[0]) &&
               (depth < 2 || text_equal(own, names[1]));
    if (resource == &resource_group)
        return text_equal(at.composite_app, names[1]) && text_equal(at.version, names[2]) &&
               (depth < 4 || text_equal(own, names[3]));
    if (resource == &resource_intent)
        return text_equal(at.composite_app, names[1]) && text_equal(at.version, names[2]) &&
               text_equal(at.group, names[3]) && (depth < 5 || text_equal(own, names[4]));
    bool is_top = resource == &resource_project || resource == &resource_provider;
    return depth < (is_top ? 1U : 2U) || text_equal(own, names[is_top ? 0 : 1]);
}

static bool try_candidate(struct request *request, const struct resource *resource,
                          struct found *out)
{
    const struct object *object = engine_find_object(request->api->options.engine, &out->key);
    if (!object)
        return true;
    struct value *tree = document_of(request->arena, object);
    bool is_it = is_of_path(request, resource, tree, ROUTE_NAMES_MAX) &&
                 (resource != &resource_project ||
                  is_project(request->arena, object, request->route.names[0]));
    if (is_it) {
        out->object = object;
        out->tree = tree;
    } else if (!out->stranger.at) {
        out->stranger = document_name(resource->kind, tree);
    }
    return is_it;
}

bool find_item(struct request *request, const struct resource *resource, struct found *out)
{
    const char *candidates[CANDIDATES];
    size_t count = list_candidates(request, resource, candidates);
    *out = (struct found){.key = {.kind = resource->kind, .namespace_ = TEXT("")}};
    if (resource == &resource_project) {
        out->object = find_project(request, request->route.names[0]);
        out->key.name = text_of(candidates[0]);
        if (!out->object)
            return try_candidate(request, resource, out), true;
        out->tree = document_of(request->arena, out->object);
        out->key.name = value_text_at(out->tree, "metadata.name");
        return true;
    }
    if (resource->kind->is_namespaced)
        out->key.namespace_ = project_namespace(request);
    if (resource->kind->is_namespaced && !out->key.namespace_.at)
        return false;
    for (size_t i = 0; i < count; i++) {
        out->key.name = text_of(candidates[i]);
        out->stranger = (struct text){0};
        if (try_candidate(request, resource, out))
            return true;
    }
    return true;
}

bool has_parents(struct request *request, const struct resource *resource)
{
    struct found parent;
    for (const struct resource *at = resource->parent; at; at = at->parent)
        if (!find_item(request, at, &parent) || !parent.object)
            return false;
    return true;
}

// ---- lists --------------------------------------------------------------------------------------

struct listed {
    struct text name;
    const struct value *part;
};
struct listing {
    struct request *request;
    struct text namespace_;
    struct listed *items;
    size_t count;
    size_t capacity;
};

static void list_part(struct listing *listing, const struct value *part)
{
    arena_reserve(listing->request->arena, &listing->items, &listing->capacity, listing->count + 1);
    listing->items[listing->count++] =
        (struct listed){document_part_name(listing->request->route.resource, part), part};
}

static void list_object(void *context, const struct object *object)
{
    struct listing *listing = context;
    struct request *request = listing->request;
    const struct resource *resource = request->route.resource;
    if (object->deleted_s || !text_equal(object_namespace(object), listing->namespace_))
        return;
    if (resource == &resource_project &&
        !labels_find(object_spec(object), TEXT(DOCUMENT_PROJECT_LABEL)).at)
        return;
    const struct value *tree = document_of(request->arena, object);
    if (is_of_path(request, resource, tree,
                   resource == &resource_project ? 0 : request->route.name_count))
        list_part(listing, tree);
}

static int compare_listed(const void *a, const void *b)
{
    return text_compare(((const struct listed *)a)->name, ((const struct listed *)b)->name);
}

static bool collect(struct request *request, struct listing *out)
{
    const struct resource *resource = request->route.resource;
    struct found holder;
    *out = (struct listing){.request = request, .namespace_ = TEXT("")};
    if (!has_parents(request, resource))
        return false;
    if (resource->form == RESOURCE_OBJECT) {
        if (resource->kind->is_namespaced)
            out->namespace_ = project_namespace(request);
        engine_each_object(request->api->options.engine, resource->kind, list_object, out);
    } else {
        find_item(request, holder_of(resource), &holder);
        value_each (entry, value_find(value_find(holder.tree, "spec"), resource->list))
            list_part(out, entry);
    }
    if (out->count)
        qsort(out->items, out->count, sizeof *out->items, compare_listed);
    return true;
}

// 0: the parameter is wrong.
static size_t page_limit(const struct request *request)
{
    int64_t limit = LIMIT_MAX;
    struct text given = route_parameter(&request->route, "limit");
    if (!given.at)
        return SIZE_MAX;
    return text_to_int64(given, &limit) && limit >= 1 && limit <= LIMIT_MAX ? (size_t)limit : 0;
}

static const char *next_page(struct request *request, size_t limit, struct text last)
{
    AUTO_BUFFER path = {0};
    route_write_path(&path, &request->route, (struct text){0});
    return arena_printf(request->arena, "<%s?limit=%zu&continue=%.*s>; rel=\"next\"", path.at,
                        limit, TEXT_ARGS(last));
}

void list_items(struct request *request)
{
    struct listing listing;
    const char *next = NULL;
    struct value *list = value_make(request->arena, VALUE_LIST);
    struct text after = route_parameter(&request->route, "continue");
    size_t limit = page_limit(request);
    if (!limit) {
        answer_text(request, 400, "Invalid Input:", "limit: must be 1 to 1000\n");
        return;
    }
    if (!collect(request, &listing)) {
        answer_text(request, 404, request->route.resource->parent->not_found, NULL);
        return;
    }
    for (size_t i = 0; i < listing.count; i++) {
        if (after.at && text_compare(listing.items[i].name, after) <= 0)
            continue;
        if (value_count(list) == limit) {
            next = next_page(request, limit, listing.items[i - 1].name);
            break;
        }
        value_append(list,
                     document_show(request->arena, request->route.resource, listing.items[i].part));
    }
    answer_list(request, list, next);
}

// ---- who needs it -------------------------------------------------------------------------------

struct referrers {
    struct request *request;
    const struct found *found;
    struct buffer *out;
    bool are_children;
};

static void add_referrer(struct referrers *referrers, const struct object *object)
{
    const struct value *tree = document_of(referrers->request->arena, object);
    buffer_printf(referrers->out, "%s %.*s\n", object->kind->name,
                  TEXT_ARGS(document_name(object->kind, tree)));
}

static bool lists_record(struct request *request, const struct value *tree, struct text project,
                         struct text record)
{
    size_t count;
    const struct kv_sets sets = kv_sets_decode(request->arena, value_list_at(tree, "spec.kvPairs"));
    const struct kv_record *records = kv_record_list(request->arena, &sets, project, &count);
    for (size_t i = 0; i < count; i++)
        if (text_equal(records[i].project, request->route.names[0]) &&
            text_equal(records[i].record, record))
            return true;
    return false;
}

static struct text project_of_namespace(struct request *request, struct text namespace_)
{
    const struct object_ref_key key = {resource_project.kind, TEXT(""), namespace_};
    const struct object *object = engine_find_object(request->api->options.engine, &key);
    return object ? emco_name_of(document_of(request->arena, object)) : namespace_;
}

static void look_for_record(void *context, const struct object *object)
{
    struct referrers *referrers = context;
    struct request *request = referrers->request;
    const struct value *tree = document_of(request->arena, object);
    struct text project = project_of_namespace(request, object_namespace(object));
    if (lists_record(request, tree, project, request->route.names[1]))
        add_referrer(referrers, object);
}

static void look_for_cloud(void *context, const struct object *object)
{
    struct referrers *referrers = context;
    const struct value *tree = document_of(referrers->request->arena, object);
    if (text_equal(object_namespace(object), referrers->found->key.namespace_) &&
        text_equal(value_text_at(tree, "spec.logicalCloud"), referrers->request->route.names[1]))
        add_referrer(referrers, object);
}

static void look_for_cluster(void *context, const struct object *object)
{
    struct referrers *referrers = context;
    const struct text *names = referrers->request->route.names;
    const struct value *tree = document_of(referrers->request->arena, object);
    value_each (reference, value_list_at(tree, "spec.clusterReferences"))
        if (text_equal(value_text_at(reference, "clusterProvider"), names[0]) &&
            text_equal(value_text_at(reference, "cluster"), names[1])) {
            add_referrer(referrers, object);
            return;
        }
}

static void look_for_child(void *context, const struct object *object)
{
    struct referrers *referrers = context;
    const struct resource *resource = referrers->request->route.resource;
    const struct text *names = referrers->request->route.names;
    const struct value *tree = document_of(referrers->request->arena, object);
    const struct emco_coordinates at = emco_coordinates_decode(value_find(tree, "spec"));
    bool is_below = false;
    if (resource == &resource_project)
        is_below = text_equal(object_namespace(object), referrers->found->key.name);
    else if (resource == &resource_provider)
        is_below = text_equal(value_text_at(tree, "spec.provider"), names[0]);
    else
        is_below = text_equal(object_namespace(object), referrers->found->key.namespace_) &&
                   text_equal(at.composite_app, names[1]) && text_equal(at.version, names[2]) &&
                   text_equal(at.group, names[3]);
    if (!is_below)
        return;
    referrers->are_children = true;
    add_referrer(referrers, object);
}

static void look_for_entries(struct referrers *referrers)
{
    for (const struct resource *const *at = resources; *at; at++) {
        const struct value *list =
            (*at)->parent == referrers->request->route.resource && (*at)->list
                ? value_find(value_find(referrers->found->tree, "spec"), (*at)->list)
                : NULL;
        value_each (entry, list) {
            referrers->are_children = true;
            buffer_printf(referrers->out, "%s %.*s\n", (*at)->list,
                          TEXT_ARGS(document_part_name(*at, entry)));
        }
    }
}

void write_referrers(struct request *request, const struct found *found, struct buffer *out,
                     bool *are_children)
{
    static const struct {
        const struct resource *resource; // that is to go
        const struct resource *reader;   // whose objects may need it
        void (*look)(void *context, const struct object *object);
    } rows[] = {
        {&resource_project, &resource_record, look_for_child},
        {&resource_project, &resource_cloud, look_for_child},
        {&resource_project, &resource_group, look_for_child},
        {&resource_project, &resource_intent, look_for_child},
        {&resource_provider, &resource_cluster, look_for_child},
        {&resource_group, &resource_intent, look_for_child},
        {&resource_record, &resource_cloud, look_for_record},
        {&resource_record, &resource_cluster, look_for_record},
        {&resource_cloud, &resource_group, look_for_cloud},
        {&resource_cluster, &resource_cloud, look_for_cluster},
    };
    struct referrers referrers = {request, found, out, false};
    look_for_entries(&referrers);
    for (size_t i = 0; i < COUNT_OF(rows) && !referrers.are_children; i++)
        if (rows[i].resource == request->route.resource)
            engine_each_object(request->api->options.engine, rows[i].reader->kind, rows[i].look,
                               &referrers);
    *are_children = referrers.are_children;
}
