#include "base/must.h"
#include "kinds/clusterprovider/clusterprovider_kind.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/dnspublication/dnspublication_kind.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/edgecluster/edgecluster_kind.h"
#include "kinds/external_name.h"
#include "kinds/kinds.h"
#include "kinds/logicalcloud/logicalcloud_kind.h"
#include "kinds/record/record_kind.h"
#include "kinds/secret/secret_kind.h"
#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"
#include "kinds/zone/zone_kind.h"
#include "kinds/zonefile/zonefile_kind.h"
#include "store/object.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len);

static void check_record(struct arena *arena, const struct value *tree, const struct object *object)
{
    struct dnsrecord decoded, unpacked;
    struct dnsrecord_managed ours;
    struct record_set set;
    dnsrecord_decode(arena, tree, &decoded);
    dnsrecord_unpack(arena, object_spec(object), object_managed(object), &unpacked, &ours);
    must(text_equal(decoded.type, unpacked.type) && text_equal(decoded.domain, unpacked.domain) &&
         text_equal(decoded.subdomain, unpacked.subdomain) && decoded.ttl_s == unpacked.ttl_s &&
         text_equal(decoded.class_name, unpacked.class_name) &&
         decoded.priority == unpacked.priority && decoded.value_count == unpacked.value_count);
    for (size_t i = 0; i < decoded.value_count; i++)
        must(text_equal(decoded.values[i], unpacked.values[i]));
    struct findings findings = {.arena = arena};
    if (dnsrecord_resolve(arena, &unpacked, DNSRECORD_TTL_DEFAULT, &set, &findings))
        must(set.value_count > 0 && set.domain.len && set.subdomain.len && set.ttl_s > 0);
    else
        must(findings_errors(&findings) > 0);
}

static void check_class(struct arena *arena, const struct value *tree, const struct object *object)
{
    struct dnsclass decoded, unpacked;
    struct dnsclass_managed ours;
    struct findings findings = {.arena = arena};
    dnsclass_decode(arena, tree, &decoded);
    dnsclass_unpack(arena, object_spec(object), object_managed(object), &unpacked, &ours);
    must(text_equal(decoded.server, unpacked.server) &&
         text_equal(decoded.secret, unpacked.secret) && decoded.timeout_s == unpacked.timeout_s &&
         decoded.unsupported == unpacked.unsupported);
    dnsclass_check(arena, &unpacked, &findings);
    if (!findings_errors(&findings))
        must(dnsclass_server(arena, &unpacked).len > 0);
}

static void check_zone_record(struct arena *arena, const struct value *tree,
                              const struct object *object)
{
    struct record_spec decoded, unpacked;
    struct record_status read, status;
    record_decode(tree, &decoded);
    record_status_decode(tree, &read);
    record_unpack(arena, object_spec(object), object_managed(object), &unpacked, &status);
    must(text_equal(decoded.domain_name, unpacked.domain_name) &&
         text_equal(decoded.type, unpacked.type) && text_equal(decoded.class_, unpacked.class_) &&
         text_equal(decoded.rdata, unpacked.rdata) && decoded.has_ttl == unpacked.has_ttl &&
         decoded.ttl_s == unpacked.ttl_s && text_equal(decoded.ref.name, unpacked.ref.name));
    must(text_equal(read.fqdn, status.fqdn) && text_equal(read.zone.name, status.zone.name) &&
         text_equal(read.parent_label, status.parent_label));
}

static void check_zone(struct arena *arena, const struct value *tree, const struct object *object)
{
    struct zone_spec decoded, unpacked;
    struct zone_status read, status;
    zone_decode(arena, tree, &decoded);
    zone_status_decode(arena, tree, &read);
    zone_unpack(arena, object_spec(object), object_managed(object), &unpacked, &status);
    must(text_equal(decoded.domain_name, unpacked.domain_name) &&
         text_equal(decoded.servers, unpacked.servers) && decoded.ttl_s == unpacked.ttl_s &&
         decoded.minimum_s == unpacked.minimum_s &&
         decoded.delegation_count == unpacked.delegation_count &&
         decoded.nameserver_count == unpacked.nameserver_count);
    must(text_equal(read.hash, status.hash) && read.serial == status.serial &&
         read.server_count == status.server_count &&
         text_equal(read.file_label, status.file_label) && !status.entry_count);
}

static void check_zonefile(struct arena *arena, const struct object *object)
{
    struct zonefile_spec spec;
    struct zonefile_status status;
    zonefile_unpack(arena, object_spec(object), object_managed(object), &spec, &status);
    must(spec.config_map.at);
    must(zonefile_status_encode(arena, &status)->count > 0);
}

static void check_sets(struct arena *arena, const struct kv_sets *sets)
{
    size_t count;
    const struct kv_record *records = kv_record_list(arena, sets, TEXT("project"), &count);
    for (size_t i = 0; i < count; i++)
        must(records[i].where && !records[i].fault == (records[i].record.len > 0));
}

static void check_cloud(struct arena *arena, const struct object *object)
{
    struct logicalcloud cloud;
    logicalcloud_unpack(arena, object_spec(object), &cloud);
    check_sets(arena, &cloud.kv);
}

static void check_cluster(struct arena *arena, const struct object *object)
{
    struct edgecluster cluster;
    struct edgecluster_status status;
    edgecluster_unpack(arena, object_spec(object), &cluster);
    edgecluster_status_unpack(arena, object_spec(object), object_managed(object), &status);
    must(cluster.provider.len && cluster.metadata.name.len);
    check_sets(arena, &cluster.kv);
}

static void check_intent(struct arena *arena, const struct object *object)
{
    struct trafficgroupintent intent;
    trafficgroupintent_unpack(arena, object_spec(object), &intent);
    for (size_t i = 0; i < intent.inbound_count; i++) {
        struct error err = {0};
        AUTO_BUFFER name = {0};
        bool is_name = external_name_write(&name, intent.inbound[i].external_name, &err);
        must(is_name ? name.len <= EXTERNAL_NAME_MAX : err.text[0] != '\0');
    }
}

static void check_publication(struct arena *arena, const struct object *object)
{
    struct dnspublication publication;
    struct dnspublication_status status;
    dnspublication_unpack(arena, object_spec(object), object_managed(object), &publication,
                          &status);
    must(publication.logical_cloud.len && publication.hold_down_ms >= -1);
    must(dnspublication_status_encode(arena, &status)->count > 0);
}

static void check_endpoint(struct arena *arena, const struct object *object)
{
    struct dnsendpoint endpoint;
    dnsendpoint_unpack(arena, object_spec(object), &endpoint);
    must(dnsendpoint_encode(arena, endpoint.endpoints, endpoint.count)->count > 0);
}

static void check_provider(struct arena *arena, const struct object *object)
{
    must(clusterprovider_unpack(arena, object_spec(object)).name.len);
}

static const struct {
    const struct kind *kind;
    void (*check)(struct arena *arena, const struct object *object);
} checks[] = {
    {&zonefile_kind, check_zonefile},          {&logicalcloud_kind, check_cloud},
    {&edgecluster_kind, check_cluster},        {&trafficgroupintent_kind, check_intent},
    {&dnspublication_kind, check_publication}, {&dnsendpoint_kind, check_endpoint},
    {&clusterprovider_kind, check_provider},
};

static void check_stored(struct arena *arena, const struct kind *kind, const struct value *tree)
{
    struct object *object = object_new(kind, DNSRECORD_FINALIZER, tree);
    must(text_equal(object_name(object), value_text_at(tree, "metadata.name")));
    if (kind == &dnsrecord_kind)
        check_record(arena, tree, object);
    if (kind == &dnsclass_kind)
        check_class(arena, tree, object);
    if (kind == &record_kind)
        check_zone_record(arena, tree, object);
    if (kind == &zone_kind)
        check_zone(arena, tree, object);
    for (size_t i = 0; i < COUNT_OF(checks); i++)
        if (kind == checks[i].kind)
            checks[i].check(arena, object);
    if (kind == &secret_kind)
        secret_unref(secret_kind_get(object_spec(object), TEXT("hmac")));
    object_unref(object);
}

// A document goes the way of a file in the folder: table, rules, cache.
static void check_document(struct arena *arena, const struct value *tree)
{
    bool is_known_group;
    const struct kind *kind = kind_lookup(kinds, kind_count, tree, &is_known_group);
    if (!kind)
        return;
    struct findings findings = {.arena = arena};
    kind_check(kind, tree, &findings);
    size_t errors = findings_errors(&findings);
    if (!errors && kind->validate)
        kind->validate(tree, &findings);
    findings_locate(&findings, tree);
    for (size_t i = 0; i < findings.count; i++)
        must(findings.items[i].path && findings.items[i].text[0]);
    if (!errors)
        check_stored(arena, kind, tree);
    kind_check_update(kind, tree, tree, &findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t len)
{
    struct error err = {0};
    bool has = true;
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new((struct text){(const char *)at, len}, &value_manifest_limits);
    while (has) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct value *tree = NULL;
        if (!yaml_reader_next(reader, arena, &tree, &has, &err)) {
            must(err.fault == FAULT_SPEC && err.text[0] >= '0' && err.text[0] <= '9');
            return 0;
        }
        if (has && tree)
            check_document(arena, tree);
    }
    return 0;
}
