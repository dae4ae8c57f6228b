#include <stdio.h>
#include <string.h>

#include "frontends/intent/place.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/kv_pairs.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

// What stands below an item, and what refers to it: it is not deleted before those are.

enum { LINES_MAX = 50 };

void text_lines_add(struct text_lines *lines, const char *format, ...)
{
    va_list args;
    AUTO_BUFFER text = {0};
    if (lines->count == LINES_MAX)
        return;
    va_start(args, format);
    buffer_vprintf(&text, format, args);
    va_end(args);
    arena_reserve(lines->arena, &lines->items, &lines->capacity, lines->count + 1);
    lines->items[lines->count++] = arena_copy(lines->arena, buffer_text(&text).at, text.len);
}

// ---- the project's own --------------------------------------------------------------------------

struct link_pass {
    const struct engine *engine;
    struct text_lines *out;
    struct text namespace_; // of what is deleted
    struct text project;
    struct text name;     // EMCO name of what is deleted
    struct text provider; // of a cluster
    const struct object *record;
};

static bool is_in(const struct link_pass *pass, const struct object *object)
{
    return text_equal(object_namespace(object), pass->namespace_) && !object->deleted_s;
}

static struct dnspublication unpack_group(struct arena *arena, const struct object *object,
                                          struct dnspublication_status *status)
{
    struct dnspublication publication;
    dnspublication_unpack(arena, object_spec(object), object_managed(object), &publication, status);
    return publication;
}

static void add_group(const struct link_pass *pass, const struct dnspublication *publication)
{
    text_lines_add(pass->out, "deployment-intent-groups %.*s/%.*s/%.*s",
                   TEXT_ARGS(publication->coordinates.composite_app),
                   TEXT_ARGS(publication->coordinates.version),
                   TEXT_ARGS(publication->coordinates.group));
}

static void add_group_of_project(void *context, const struct object *object)
{
    const struct link_pass *pass = context;
    if (!is_in(pass, object))
        return;
    const struct dnspublication publication = unpack_group(pass->out->arena, object, NULL);
    add_group(pass, &publication);
}

// ---- children -----------------------------------------------------------------------------------

static void add_listed(const struct engine *engine, enum resource_id child,
                       const struct text *names, struct text_lines *out)
{
    size_t count;
    const struct place_item *items = place_list(engine, out->arena, child, names, &count);
    for (size_t i = 0; i < count; i++)
        text_lines_add(out, "%s %.*s", resources[child].route, TEXT_ARGS(items[i].name));
}

// Groups of a project stand below composite apps, which nobody posts.
void place_add_children(const struct engine *engine, enum resource_id id, const struct text *names,
                        struct text_lines *out)
{
    for (enum resource_id child = 0; child < RESOURCES; child++)
        if (resources[child].parent == id && child != id && child != RESOURCE_GROUP)
            add_listed(engine, child, names, out);
    if (id != RESOURCE_PROJECT)
        return;
    struct link_pass pass = {
        .engine = engine, .out = out, .namespace_ = place_namespace(out->arena, names[0])};
    engine_each_object(engine, &dnspublication_kind, add_group_of_project, &pass);
}

// ---- clouds -------------------------------------------------------------------------------------

static void add_group_of_cloud(void *context, const struct object *object)
{
    const struct link_pass *pass = context;
    if (!is_in(pass, object))
        return;
    const struct dnspublication publication = unpack_group(pass->out->arena, object, NULL);
    if (text_equal(publication.logical_cloud, pass->name))
        add_group(pass, &publication);
}

// ---- clusters -----------------------------------------------------------------------------------

static void add_cloud_with_cluster(void *context, const struct object *object)
{
    struct logicalcloud cloud;
    const struct link_pass *pass = context;
    logicalcloud_unpack(pass->out->arena, object_spec(object), &cloud);
    for (size_t i = 0; i < cloud.reference_count; i++)
        if (text_equal(cloud.references[i].provider, pass->provider) &&
            text_equal(cloud.references[i].cluster, pass->name))
            text_lines_add(pass->out, "cluster-references %.*s of logical cloud %.*s in %.*s",
                           TEXT_ARGS(cloud.references[i].metadata.name),
                           TEXT_ARGS(cloud.metadata.name), TEXT_ARGS(object_namespace(object)));
}

// ---- records ------------------------------------------------------------------------------------

static bool lists_record(const struct link_pass *pass, const struct kv_sets *sets,
                         struct text project)
{
    size_t count;
    const struct kv_record *records = kv_record_list(pass->out->arena, sets, project, &count);
    for (size_t i = 0; i < count; i++)
        if (!records[i].fault && text_equal(records[i].project, pass->project) &&
            text_equal(records[i].record, pass->name))
            return true;
    return false;
}

static struct text project_of(const struct link_pass *pass, struct text namespace_)
{
    size_t count;
    const struct object_ref_key key = {&namespace_kind, TEXT(""), namespace_};
    const struct object *object = engine_find_object(pass->engine, &key);
    if (!object)
        return namespace_;
    const struct text_pair *pairs =
        namespace_annotations(pass->out->arena, object_spec(object), &count);
    struct text name = text_map_find(pairs, count, TEXT(EMCO_NAME_ANNOTATION));
    return name.len ? name : namespace_;
}

static void add_cloud_with_record(void *context, const struct object *object)
{
    struct logicalcloud cloud;
    const struct link_pass *pass = context;
    if (object->deleted_s)
        return;
    logicalcloud_unpack(pass->out->arena, object_spec(object), &cloud);
    if (lists_record(pass, &cloud.kv, project_of(pass, object_namespace(object))))
        text_lines_add(pass->out, "kv-pairs " KV_RECORD_LIST " of logical cloud %.*s in %.*s",
                       TEXT_ARGS(cloud.metadata.name), TEXT_ARGS(object_namespace(object)));
}

// A cluster's list is for whoever uses it: a bare name may be meant for any project.
static void add_cluster_with_record(void *context, const struct object *object)
{
    struct edgecluster cluster;
    const struct link_pass *pass = context;
    if (object->deleted_s)
        return;
    edgecluster_unpack(pass->out->arena, object_spec(object), &cluster);
    if (lists_record(pass, &cluster.kv, pass->project))
        text_lines_add(pass->out, "kv-pairs " KV_RECORD_LIST " of cluster %.*s/%.*s",
                       TEXT_ARGS(cluster.provider), TEXT_ARGS(cluster.metadata.name));
}

static void add_user(void *context, const struct object *object)
{
    struct dnspublication_status status;
    const struct link_pass *pass = context;
    const struct dnspublication publication = unpack_group(pass->out->arena, object, &status);
    for (size_t i = 0; i < status.record_count; i++)
        if (text_equal(status.records[i].namespace_, object_namespace(pass->record)) &&
            text_equal(status.records[i].name, object_name(pass->record)))
            add_group(pass, &publication);
}

void place_add_users(const struct engine *engine, const struct object *record,
                     struct text_lines *out)
{
    struct link_pass pass = {.engine = engine, .out = out, .record = record};
    engine_each_object(engine, &dnspublication_kind, add_user, &pass);
}

static bool retains_names(struct arena *arena, const struct object *object)
{
    struct update_record record;
    update_record_unpack(arena, object_spec(object), &record);
    return update_record_why_names_stay(&record);
}

void place_add_retaining(const struct engine *engine, const struct object *group,
                         struct text_lines *out)
{
    struct dnspublication_status status;
    unpack_group(out->arena, group, &status);
    for (size_t i = 0; i < status.record_count; i++) {
        const struct object_ref_key key = {&dnsupdaterecord_kind, status.records[i].namespace_,
                                           status.records[i].name};
        const struct object *record = engine_find_object(engine, &key);
        if (record && retains_names(out->arena, record))
            text_lines_add(out, "DNS update record %.*s", TEXT_ARGS(key.name));
    }
}

// ---- referrers ----------------------------------------------------------------------------------

void place_add_referrers(const struct engine *engine, enum resource_id id, const struct text *names,
                         const struct place *place, struct text_lines *out)
{
    struct link_pass pass = {.engine = engine,
                             .out = out,
                             .namespace_ = place_namespace(out->arena, names[0]),
                             .project = names[0],
                             .provider = names[0],
                             .name = names[resources[id].name_count - 1]};
    if (id == RESOURCE_CLOUD)
        engine_each_object(engine, &dnspublication_kind, add_group_of_cloud, &pass);
    if (id == RESOURCE_CLUSTER)
        engine_each_object(engine, &logicalcloud_kind, add_cloud_with_cluster, &pass);
    if (id != RESOURCE_RECORD)
        return;
    engine_each_object(engine, &logicalcloud_kind, add_cloud_with_record, &pass);
    engine_each_object(engine, &edgecluster_kind, add_cluster_with_record, &pass);
    place_add_users(engine, place->object, out);
}
