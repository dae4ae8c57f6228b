#include "controllers/intent/resolve.h"

#include "kinds/dnsupdaterecord/external_dns_render.h"
#include "kinds/external_name.h"
#include "kinds/node/node_kind.h"
#include "kinds/service/service_kind.h"

struct resolver {
    struct model_reader *reader;
    struct arena *arena;
    struct resolved *out;
    size_t record_capacity;
    size_t service_capacity;
};

// ---- the logical cloud and its clusters ---------------------------------------------------------

static void resolve_cloud(struct resolver *resolver)
{
    struct resolved *out = resolver->out;
    const struct object *cloud =
        model_find(resolver->reader, &logicalcloud_kind, out->namespace_,
                   text_of(emco_object_name(resolver->arena, out->publication.logical_cloud)));
    if (!cloud)
        return;
    logicalcloud_unpack(resolver->arena, object_spec(cloud), &out->cloud);
    out->has_cloud = text_equal(out->cloud.metadata.name, out->publication.logical_cloud);
    out->service_namespace = out->cloud.namespace_.len ? out->cloud.namespace_ : out->namespace_;
}

static uint64_t reach_of(struct arena *arena, const struct object *object)
{
    struct edgecluster_status status;
    edgecluster_status_unpack(arena, object_spec(object), object_managed(object), &status);
    const struct condition *reachable = conditions_find(&status.conditions, "Reachable");
    return reachable ? ((uint64_t)reachable->transition_s << 2) + reachable->status : 0;
}

static void resolve_cluster(struct resolver *resolver, const struct cluster_reference *reference,
                            struct resolved_cluster *cluster)
{
    struct arena *arena = resolver->arena;
    const char *name = edgecluster_object_name(arena, reference->provider, reference->cluster);
    const struct object *object =
        model_find(resolver->reader, &edgecluster_kind, (struct text){"", 0}, text_of(name));
    cluster->reference = reference;
    cluster->shown = arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(reference->provider),
                                  TEXT_ARGS(reference->cluster));
    if (!object)
        return;
    edgecluster_unpack(arena, object_spec(object), &cluster->edge);
    cluster->reach = reach_of(arena, object);
    cluster->is_there = text_equal(cluster->edge.provider, reference->provider) &&
                        text_equal(cluster->edge.metadata.name, reference->cluster);
    if (!cluster->is_there)
        cluster->edge = (struct edgecluster){0}; // it is another one
}

static void resolve_clusters(struct resolver *resolver)
{
    struct resolved *out = resolver->out;
    size_t count = out->has_cloud ? out->cloud.reference_count : 0;
    out->clusters = arena_new_array(resolver->arena, struct resolved_cluster, count + 1);
    for (size_t i = 0; i < count; i++)
        resolve_cluster(resolver, &out->cloud.references[i], &out->clusters[i]);
    out->cluster_count = count;
}

// ---- records ------------------------------------------------------------------------------------

static void set_fault(struct resolved_record *record, enum reason reason, const char *text)
{
    record->object = NULL;
    record->fault = reason;
    record->fault_text = text;
}

static bool is_allowed(const struct update_record *record, struct text project)
{
    for (size_t i = 0; i < record->allowed_project_count; i++)
        if (text_equal(record->allowed_projects[i], project))
            return true;
    return false;
}

static void decode_record(struct resolver *resolver, struct resolved_record *record)
{
    struct update_record *spec = arena_new_of(resolver->arena, struct update_record);
    struct update_record_status *status =
        arena_new_of(resolver->arena, struct update_record_status);
    update_record_unpack(resolver->arena, object_spec(record->object), spec);
    update_record_put_in_force(resolver->arena, spec);
    update_record_put_zones_in_force(resolver->arena, spec);
    update_record_status_unpack(object_spec(record->object), object_managed(record->object),
                                status);
    record->record = spec;
    record->status = status;
}

// One that another list brought already is not decoded again.
static void share_record(const struct resolver *resolver, struct resolved_record *record)
{
    for (size_t i = 0; i < resolver->out->record_count && !record->record; i++)
        if (resolver->out->records[i].object == record->object) {
            record->record = resolver->out->records[i].record;
            record->status = resolver->out->records[i].status;
        }
}

static const struct object *find_record(struct resolver *resolver, const struct kv_record *listed)
{
    struct text namespace_ = text_equal(listed->project, resolver->out->project)
                                 ? resolver->out->namespace_
                                 : model_namespace(resolver->reader, listed->project);
    if (!namespace_.len)
        return NULL;
    return model_find(resolver->reader, &dnsupdaterecord_kind, namespace_,
                      text_of(emco_object_name(resolver->arena, listed->record)));
}

static const char *list_text(const struct resolver *resolver, const struct resolved_record *record,
                             const struct kv_record *listed)
{
    struct arena *arena = resolver->arena;
    if (record->cluster == RESOLVED_CLOUD)
        return arena_printf(arena, "%s of logical cloud %.*s", listed->where,
                            TEXT_ARGS(resolver->out->publication.logical_cloud));
    return arena_printf(arena, "%s of cluster %s", listed->where,
                        resolver->out->clusters[record->cluster].shown);
}

static void check_listed(const struct resolver *resolver, struct resolved_record *record,
                         const struct kv_record *listed)
{
    const char *where = list_text(resolver, record, listed);
    bool is_foreign = !text_equal(listed->project, resolver->out->project);
    if (listed->fault == KV_NOT_TEXT)
        set_fault(record, REASON_NOT_A_STRING,
                  arena_printf(resolver->arena, "%s is no text", where));
    else if (listed->fault)
        set_fault(record, REASON_RECORD_NOT_FOUND,
                  arena_printf(resolver->arena,
                               "%s names no record: write its name, or its project, / and its name",
                               where));
    else if (!record->object || !text_equal(record->record->name, listed->record))
        set_fault(record, REASON_RECORD_NOT_FOUND,
                  arena_printf(resolver->arena, "%s: there is no DNSUpdateRecord %s", where,
                               record->shown));
    else if (is_foreign && !is_allowed(record->record, resolver->out->project))
        set_fault(record, REASON_RECORD_NOT_ALLOWED,
                  arena_printf(resolver->arena,
                               "%s: DNSUpdateRecord %s does not have project %.*s in "
                               "spec.allowedProjects",
                               where, record->shown, TEXT_ARGS(resolver->out->project)));
}

static bool cloud_lists(const struct resolved *out, const struct object *object)
{
    for (size_t i = 0; i < out->record_count && object; i++)
        if (out->records[i].cluster == RESOLVED_CLOUD && out->records[i].object == object)
            return true;
    return false;
}

static void add_listed(struct resolver *resolver, size_t cluster, const struct kv_record *listed)
{
    struct resolved *out = resolver->out;
    struct arena *arena = resolver->arena;
    struct resolved_record record = {.cluster = cluster, .project = listed->project, .shown = ""};
    if (!listed->fault) {
        record.object = find_record(resolver, listed);
        record.shown = text_equal(listed->project, out->project)
                           ? arena_copy(arena, listed->record.at, listed->record.len)
                           : arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(listed->project),
                                          TEXT_ARGS(listed->record));
    }
    if (record.object)
        share_record(resolver, &record);
    if (record.object && !record.record)
        decode_record(resolver, &record);
    check_listed(resolver, &record, listed);
    if (cluster != RESOLVED_CLOUD && cloud_lists(out, record.object))
        set_fault(&record, REASON_SCOPE_CONFLICT,
                  arena_printf(arena,
                               "%s: logical cloud %.*s lists DNSUpdateRecord %s, too, and that "
                               "counts: take it out of one of the lists",
                               list_text(resolver, &record, listed),
                               TEXT_ARGS(out->publication.logical_cloud), record.shown));
    arena_reserve(arena, &out->records, &resolver->record_capacity, out->record_count + 1);
    out->records[out->record_count++] = record;
}

static void add_list(struct resolver *resolver, size_t cluster, const struct kv_sets *sets)
{
    size_t count;
    const struct kv_record *listed =
        kv_record_list(resolver->arena, sets, resolver->out->project, &count);
    for (size_t i = 0; i < count; i++)
        add_listed(resolver, cluster, &listed[i]);
}

static void resolve_records(struct resolver *resolver)
{
    struct resolved *out = resolver->out;
    if (out->has_cloud)
        add_list(resolver, RESOLVED_CLOUD, &out->cloud.kv);
    for (size_t i = 0; i < out->cluster_count; i++)
        if (out->clusters[i].is_there)
            add_list(resolver, i, &out->clusters[i].edge.kv);
}

// ---- TTLs ---------------------------------------------------------------------------------------

// A name has one TTL in a record, also if several clusters list that: external-dns puts endpoints
// together only if all but their targets is the same.
static int64_t cluster_ttl(const struct resolved *out, const struct object *object)
{
    for (size_t i = 0; i < out->record_count; i++) {
        const struct resolved_record *record = &out->records[i];
        if (record->object != object || record->cluster == RESOLVED_CLOUD)
            continue;
        int64_t ttl_s = kv_sets_ttl(&out->clusters[record->cluster].edge.kv);
        if (ttl_s)
            return ttl_s;
    }
    return 0;
}

static int64_t record_ttl(const struct resolved *out, const struct resolved_record *record)
{
    int64_t ttl_s = record->record->ttl_s;
    if (!ttl_s && record->cluster != RESOLVED_CLOUD)
        ttl_s = cluster_ttl(out, record->object);
    if (!ttl_s)
        ttl_s = kv_sets_ttl(&out->cloud.kv);
    return ttl_s ? ttl_s : TTL_DEFAULT_S;
}

// What stands on the whole list.
static void finish_record(struct resolver *resolver, struct resolved_record *record)
{
    record->ttl_s = record_ttl(resolver->out, record);
    record->label = update_record_label(resolver->arena, record->project, record->record->name);
}

static void finish_records(struct resolver *resolver)
{
    struct resolved *out = resolver->out;
    for (size_t i = 0; i < out->record_count; i++)
        if (!out->records[i].fault)
            finish_record(resolver, &out->records[i]);
}

// ---- services -----------------------------------------------------------------------------------

static void add_service(struct resolver *resolver, const struct trafficgroupintent *group,
                        const struct inbound_intent *intent)
{
    struct error err;
    AUTO_BUFFER name = {0};
    struct resolved *out = resolver->out;
    struct resolved_service service = {.group = group, .intent = intent};
    if (external_name_write(&name, intent->external_name, &err))
        service.name = (struct text){arena_copy(resolver->arena, name.at, name.len), name.len};
    else
        service.fault = arena_copy_text(resolver->arena, err.text);
    arena_reserve(resolver->arena, &out->services, &resolver->service_capacity,
                  out->service_count + 1);
    out->services[out->service_count++] = service;
}

static void resolve_services(struct resolver *resolver)
{
    size_t count;
    struct arena *arena = resolver->arena;
    const struct object *const *intents =
        model_intents(resolver->reader, resolver->out->namespace_,
                      &resolver->out->publication.coordinates, &count);
    for (size_t i = 0; i < count; i++) {
        struct trafficgroupintent *group = arena_new_of(arena, struct trafficgroupintent);
        trafficgroupintent_unpack(arena, object_spec(intents[i]), group);
        for (size_t at = 0; at < group->inbound_count; at++)
            if (inbound_intent_is_published(&group->inbound[at]))
                add_service(resolver, group, &group->inbound[at]);
    }
}

// Services and Nodes of the cluster that we run in say which addresses there are.
static void note_addresses(struct resolver *resolver)
{
    for (size_t i = 0; i < resolver->out->cluster_count; i++)
        if (resolver->out->clusters[i].edge.is_local) {
            model_note_all(resolver->reader, &service_kind, resolver->out->service_namespace);
            model_note_all(resolver->reader, &node_kind, (struct text){"", 0});
            return;
        }
}

void resolve_publication(struct model_reader *reader, const struct object *publication,
                         struct resolved *out)
{
    struct resolver resolver = {.reader = reader, .arena = reader->arena, .out = out};
    *out = (struct resolved){.namespace_ = object_namespace(publication)};
    dnspublication_unpack(reader->arena, object_spec(publication), (struct text){0},
                          &out->publication, NULL);
    out->project = model_project(reader, out->namespace_);
    resolve_cloud(&resolver);
    resolve_clusters(&resolver);
    resolve_records(&resolver);
    finish_records(&resolver);
    resolve_services(&resolver);
    note_addresses(&resolver);
}

// ---- which is published where -------------------------------------------------------------------

bool resolved_is_placed(const struct resolved *resolved, const struct resolved_service *service,
                        size_t cluster)
{
    const struct dnspublication *publication = &resolved->publication;
    const struct cluster_reference *reference = resolved->clusters[cluster].reference;
    for (size_t i = 0; i < publication->placement_count; i++) {
        const struct placement *placement = &publication->placements[i];
        for (size_t at = 0; at < placement->cluster_count; at++)
            if (text_equal(placement->app, service->intent->app) &&
                text_equal(placement->clusters[at].provider, reference->provider) &&
                text_equal(placement->clusters[at].cluster, reference->cluster))
                return true;
    }
    return !publication->placement_count;
}

bool resolved_is_published(const struct resolved *resolved, const struct resolved_service *service,
                           const struct resolved_record *record)
{
    return service->name.len && !record->fault &&
           (record->cluster == RESOLVED_CLOUD ||
            resolved_is_placed(resolved, service, record->cluster));
}

const char *resolved_list_faults(struct arena *arena, const struct resolved *resolved,
                                 enum reason *first)
{
    enum { SHOWN_MAX = 4 };
    AUTO_BUFFER out = {0};
    size_t count = 0;
    for (size_t i = 0; i < resolved->record_count; i++) {
        const struct resolved_record *record = &resolved->records[i];
        if (!record->fault)
            continue;
        if (!count)
            *first = record->fault;
        if (count++ < SHOWN_MAX)
            buffer_printf(&out, "%s%s", count > 1 ? "; " : "", record->fault_text);
    }
    if (count > SHOWN_MAX)
        buffer_printf(&out, "; and %zu more", count - SHOWN_MAX);
    return count ? arena_copy(arena, out.at, out.len) : NULL;
}

// ---- names of a status --------------------------------------------------------------------------

bool resolved_may_stand(const struct published_name *name)
{
    return name->state != NAME_ADDRESS_PENDING && name->state != NAME_CONFLICT &&
           name->state != NAME_INVALID;
}

bool resolved_is_name_of(struct model_reader *reader, const struct resolved *resolved,
                         const struct published_name *name, const struct published_record *record)
{
    struct text project;
    struct text rest = name->record;
    bool is_foreign = rest.len && memchr(rest.at, '/', rest.len) && text_cut(&rest, '/', &project);
    struct text namespace_ = is_foreign ? model_namespace(reader, project) : resolved->namespace_;
    return text_equal(namespace_, record->namespace_) &&
           text_is(record->name, emco_object_name(reader->arena, rest));
}
