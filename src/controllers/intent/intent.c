#include "controllers/intent/intent_controller.h"

#include "controllers/intent/edge_cluster.h"
#include "controllers/intent/model.h"
#include "controllers/intent/native.h"
#include "controllers/intent/publication.h"
#include "controllers/intent/update_record.h"
#include "kinds/clusterprovider/clusterprovider_kind.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/namespace/namespace_kind.h"
#include "kinds/node/node_kind.h"
#include "kinds/service/service_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

// What the controller of publications reads and may do. What it does begins in publication.c.

const struct intent_settings intent_defaults = {.version = EXTERNAL_DNS_VERSION};

// ---- inputs -------------------------------------------------------------------------------------

// The shared model has all of them: they are read, and no snapshot has them.
static void look_up_nothing(const struct object *subject, struct strings *out)
{
    (void)subject;
    (void)out;
}

static void index_endpoint(const struct object *object, struct strings *out)
{
    struct dnsendpoint endpoint;
    dnsendpoint_unpack(out->arena, object_spec(object), &endpoint);
    struct text publication = text_map_find(endpoint.annotations, endpoint.annotation_count,
                                            TEXT(INTENT_PUBLICATION_ANNOTATION));
    if (publication.len)
        strings_add(out, "%.*s", TEXT_ARGS(publication));
}

static void index_shared(const struct object *object, struct strings *out)
{
    struct dnsendpoint endpoint;
    dnsendpoint_unpack(out->arena, object_spec(object), &endpoint);
    struct text group = text_map_find(endpoint.annotations, endpoint.annotation_count,
                                      TEXT(INTENT_SHARE_ANNOTATION));
    if (group.len)
        strings_add(out, "%.*s", TEXT_ARGS(group));
}

static void look_up_shared(const struct object *subject, struct strings *out)
{
    struct dnspublication publication;
    dnspublication_unpack(out->arena, object_spec(subject), (struct text){0}, &publication, NULL);
    if (publication.share_group.len)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(subject)),
                    TEXT_ARGS(publication.share_group));
}

static void look_up_endpoints(const struct object *subject, struct strings *out)
{
    strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(subject)),
                TEXT_ARGS(object_name(subject)));
}

static const struct input inputs[PUBLICATION_INPUTS] = {
    [PUBLICATION_ENDPOINTS] = {.kind = &dnsendpoint_kind,
                               .labels = INTENT_RECORD_LABEL,
                               .index_keys = index_endpoint,
                               .lookup_keys = look_up_endpoints,
                               .reads_own_writes = true,
                               .is_optional = true},
    [PUBLICATION_SHARED] = {.kind = &dnsendpoint_kind,
                            .labels = INTENT_RECORD_LABEL,
                            .index_keys = index_shared,
                            .lookup_keys = look_up_shared,
                            .is_optional = true},
    [PUBLICATION_UPDATE_RECORDS] = {.kind = &dnsupdaterecord_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_CLOUDS] = {.kind = &logicalcloud_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_CLUSTERS] = {.kind = &edgecluster_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_INTENTS] = {.kind = &trafficgroupintent_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_NAMESPACES] = {.kind = &namespace_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_SERVICES] = {.kind = &service_kind, .lookup_keys = look_up_nothing},
    [PUBLICATION_NODES] = {.kind = &node_kind, .lookup_keys = look_up_nothing, .is_optional = true},
    [PUBLICATION_PROVIDERS] = {.kind = &clusterprovider_kind,
                               .lookup_keys = look_up_nothing,
                               .is_optional = true},
};

static void look_up_backends(const struct object *subject, struct strings *out)
{
    struct dnspublication publication;
    struct dnspublication_status status;
    dnspublication_unpack(out->arena, object_spec(subject), object_managed(subject), &publication,
                          &status);
    for (size_t i = 0; i < status.record_count; i++)
        for (size_t at = 0; at < NATIVE_ZONES_MAX; at++)
            strings_add(out, "%s",
                        native_backend_name(out->arena, status.records[i].namespace_,
                                            status.records[i].name, at));
}
static const struct backend_input backends = {.lookup_keys = look_up_backends};

// ---- the controller -----------------------------------------------------------------------------

static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const change[] = {"get", "list", "watch", "patch", NULL};
static const char *const write[] = {"create", "patch", "delete", NULL};
static const char *const patch[] = {"patch", NULL};
static const char *const keep[] = {"get", "create", "patch", NULL};
static const char *const create[] = {"create", NULL};

static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "dnspublications",
     .verbs = change,
     .scope = RIGHT_OBJECTS,
     .why = "What is to be published, and the finalizer by which it is removed again."},
    {.group = DNS_GROUP,
     .resource = "dnspublications/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "What became of each name."},
    {.group = DNS_GROUP,
     .resource = "logicalclouds",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "Clusters that a project uses, and the records that they list."},
    {.group = DNS_GROUP,
     .resource = "trafficgroupintents",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "The services that get names."},
    {.group = DNS_GROUP,
     .resource = "edgeclusters",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Addresses and records of each cluster."},
    {.group = DNS_GROUP,
     .resource = "clusterproviders",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Under whose name clusters stand."},
    {.group = DNS_GROUP,
     .resource = "dnsupdaterecords",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "By which providers names are published."},
    {.group = "externaldns.k8s.io",
     .resource = "dnsendpoints",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .why = "Which names stand, and whether external-dns has read them."},
    {.group = "externaldns.k8s.io",
     .resource = "dnsendpoints",
     .verbs = write,
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .why = "The names, as external-dns reads them."},
    {.group = "",
     .resource = "namespaces",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .why = "Which project a namespace is."},
    {.group = "",
     .resource = "services",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "The addresses of services in this cluster."},
    {.group = "",
     .resource = "nodes",
     .verbs = follow,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "The addresses of services that are reached through nodes."},
#define WRITTEN_BY_API(resource_, scope_, why_)                                                    \
    {                                                                                              \
        .group = DNS_GROUP, .resource = (resource_), .verbs = write, .scope = (scope_),            \
        .is_dispensable = true, .why = (why_)                                                      \
    }
    WRITTEN_BY_API("dnsupdaterecords", RIGHT_OBJECTS, "What the REST API is asked to write."),
    WRITTEN_BY_API("logicalclouds", RIGHT_OBJECTS, "The same."),
    WRITTEN_BY_API("trafficgroupintents", RIGHT_OBJECTS, "The same."),
    WRITTEN_BY_API("dnspublications", RIGHT_OBJECTS, "The same."),
    WRITTEN_BY_API("edgeclusters", RIGHT_CLUSTER, "The same."),
    WRITTEN_BY_API("clusterproviders", RIGHT_CLUSTER, "The same."),
    {.group = "",
     .resource = "namespaces",
     .verbs = write,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Projects of the REST API."},
    {.group = "",
     .resource = "secrets",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .is_dispensable = true,
     .why = "Where secrets go that stand in what the REST API is asked to write."},
    {.group = "authentication.k8s.io",
     .resource = "tokenreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Who asks the REST API."},
    {.group = "authorization.k8s.io",
     .resource = "subjectaccessreviews",
     .verbs = create,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "Whether they may."},
    {0},
};

static bool check_version(const char *const *items, struct error *err)
{
    unsigned minor;
    enum external_dns_support support = external_dns_release_read(text_of(items[0]), &minor);
    if (support == EXTERNAL_DNS_SUPPORTED || support == EXTERNAL_DNS_TOO_NEW)
        return true;
    return error_set(err, FAULT_SPEC, NULL,
                     "%s is no release of external-dns from v0.%d.0 on, such as v0.22.0", items[0],
                     EXTERNAL_DNS_OLDEST);
}

const struct controller_setting intent_setting_rows[INTENT_SETTINGS] = {
    {.name = "external-dns-version",
     .type = SETTING_TEXT,
     .fallback = EXTERNAL_DNS_VERSION,
     .placeholder = "VERSION",
     .check = check_version,
     .doc = "Release of external-dns for records without spec.version.",
     .offset = offsetof(struct intent_settings, version)},
    {.name = "external-dns-image",
     .type = SETTING_TEXT,
     .placeholder = "IMAGE",
     .doc = "Image of external-dns for records without spec.image; without one there is no "
            "Deployment.",
     .offset = offsetof(struct intent_settings, image)},
};

static const struct dependency dependencies[] = {
    {.type = BRINGS_CONTROLLER, .controller = &update_record_controller},
    {.type = BRINGS_CONTROLLER, .controller = &edge_cluster_controller},
    {.type = DEPENDS_END},
};

const struct controller intent_controller = {
    .name = "intent",
    .kind = &dnspublication_kind,
    .finalizer = INTENT_PUBLICATION_FINALIZER,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .backends = &backends,
    .decide = publication_decide,
    .shared_model = &intent_shared_model,
    .dependencies = dependencies,
    .reads_own_writes = true,
    .rights = rights,
    .settings = intent_setting_rows,
    .setting_count = INTENT_SETTINGS,
    .settings_size = sizeof(struct intent_settings),
    .metrics = intent_metrics,
    .metric_count = INTENT_METRICS,
};
