#include "controllers/intent/endpoint.h"

#include <stdlib.h>

#include "base/labels.h"
#include "controllers/intent/address.h"
#include "controllers/intent/native.h"
#include "controllers/intent/publication.h"
#include "dns/record.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"
#include "kinds/dnsupdaterecord/external_dns_render.h"
#include "kinds/target.h"

#define HELD_ANNOTATION DNS_GROUP "/held-since"
#define PLAIN_PROJECT DNS_GROUP "/project"
#define PLAIN_APP DNS_GROUP "/composite-app"
#define PLAIN_VERSION DNS_GROUP "/version"
#define PLAIN_GROUP DNS_GROUP "/deployment-intent-group"

enum { SLUG_MAX = 24, NAME_DIGITS = 8, LABEL_DIGITS = 10, TARGET_SHOWN_MAX = 80 };

// ---- names --------------------------------------------------------------------------------------

static const char *object_name_of(const struct endpoint_context *context,
                                  const struct resolved_service *service,
                                  const struct resolved_record *record)
{
    AUTO_BUFFER name = {0};
    const struct resolved *resolved = context->resolved;
    const struct emco_coordinates *at = &resolved->publication.coordinates;
    const struct text none = {"", 0};
    const struct cluster_reference *cluster =
        record->cluster == RESOLVED_CLOUD ? NULL : resolved->clusters[record->cluster].reference;
    const struct text components[] = {resolved->project,
                                      at->composite_app,
                                      at->version,
                                      at->group,
                                      service->group->metadata.name,
                                      service->intent->metadata.name,
                                      record->record->name,
                                      cluster ? cluster->provider : none,
                                      cluster ? cluster->cluster : none};
    emco_slug_write(&name, service->intent->app, SLUG_MAX);
    buffer_add_char(&name, '-');
    emco_slug_write(&name, service->intent->service, SLUG_MAX);
    buffer_add_char(&name, '-');
    emco_hash_write(&name, NAME_DIGITS, components, COUNT_OF(components));
    return arena_copy(context->reader->arena, name.at, name.len);
}

static int compare_place(struct text namespace_, struct text name, const struct object *object)
{
    int order = text_compare(namespace_, object_namespace(object));
    return order ? order : text_compare(name, object_name(object));
}

static int compare_standing(const void *a, const void *b)
{
    const struct object *object = ((const struct standing_endpoint *)a)->object;
    return compare_place(object_namespace(object), object_name(object),
                         ((const struct standing_endpoint *)b)->object);
}

static int compare_endpoint(const void *wanted, const void *item)
{
    const struct intent_endpoint *endpoint = wanted;
    return compare_place(object_namespace(endpoint->record->object), text_of(endpoint->object),
                         ((const struct standing_endpoint *)item)->object);
}

static const struct standing_endpoint *find_standing(const struct endpoint_context *context,
                                                     const struct intent_endpoint *endpoint)
{
    return context->standing_count ? bsearch(endpoint, context->standing, context->standing_count,
                                             sizeof *context->standing, compare_endpoint)
                                   : NULL;
}

static const char *hash_label(struct arena *arena, const struct text *components, size_t count)
{
    AUTO_BUFFER label = {0};
    emco_hash_write(&label, LABEL_DIGITS, components, count);
    return arena_copy(arena, label.at, label.len);
}

struct standing_endpoint *endpoints_unpack(struct arena *arena, const struct input_objects *found)
{
    struct standing_endpoint *all =
        arena_new_array(arena, struct standing_endpoint, found->count + 1);
    for (size_t i = 0; i < found->count; i++) {
        all[i].object = found->objects[i];
        dnsendpoint_unpack(arena, object_spec(found->objects[i]), &all[i].says);
    }
    return all;
}

void endpoint_context_open(struct endpoint_context *context, const struct input_objects *found)
{
    struct arena *arena = context->reader->arena;
    const struct resolved *resolved = context->resolved;
    const struct emco_coordinates *at = &resolved->publication.coordinates;
    const struct text components[] = {resolved->project, at->composite_app, at->version, at->group};
    context->project_label = hash_label(arena, components, 1);
    context->publication_label = hash_label(arena, components, COUNT_OF(components));
    context->standing = endpoints_unpack(arena, found);
    context->standing_count = found->count;
    if (found->count)
        qsort(context->standing, found->count, sizeof *context->standing, compare_standing);
}

// ---- targets ------------------------------------------------------------------------------------

struct targets {
    struct arena *arena;
    struct text name; // whose they are
    struct text *items;
    size_t count;
    size_t capacity;
    const char *pending;
    struct text invalid;     // the last that cannot be a target; absent: there is none
    const char *invalid_why; // "is the name itself"
    struct text doubted;     // the last that likely is a mistake; absent: there is none
    bool is_unknown;         // some clusters could not be asked
};

// Adds a target in the form that servers take; text that cannot be a target is left out.
static void add_target(struct targets *targets, struct text target)
{
    struct text read;
    const char *why = target_read(targets->arena, targets->name, target, &read);
    if (why) {
        targets->invalid = target;
        targets->invalid_why = why;
        return;
    }
    arena_reserve(targets->arena, &targets->items, &targets->capacity, targets->count + 1);
    targets->items[targets->count++] = read;
}

static void add_cluster(const struct endpoint_context *context,
                        const struct intent_endpoint *endpoint, size_t cluster,
                        enum address_scope scope, struct targets *out)
{
    struct addresses found;
    addresses_find(&context->clusters[cluster], endpoint->service, scope,
                   endpoint->record->record->allows_private, &found);
    for (size_t i = 0; i < found.count; i++)
        add_target(out, found.items[i]);
    if (!found.count && !out->pending)
        out->pending = found.pending;
    if (found.doubted.at)
        out->doubted = found.doubted;
    out->is_unknown |= found.is_unknown;
}

static void find_targets(const struct endpoint_context *context,
                         const struct intent_endpoint *endpoint, struct targets *out)
{
    const struct resolved *resolved = context->resolved;
    size_t cluster = endpoint->record->cluster;
    if (cluster != RESOLVED_CLOUD) {
        add_cluster(context, endpoint, cluster, ADDRESS_LOCAL, out);
        return;
    }
    for (size_t i = 0; i < resolved->cluster_count; i++)
        if (resolved_is_placed(resolved, endpoint->service, i))
            add_cluster(context, endpoint, i, ADDRESS_PUBLIC, out);
    if (!out->count && !out->pending)
        out->pending = arena_printf(out->arena, "app %.*s runs in no cluster of logical cloud %.*s",
                                    TEXT_ARGS(endpoint->service->intent->app),
                                    TEXT_ARGS(resolved->publication.logical_cloud));
}

static int compare_texts(const void *a, const void *b)
{
    return text_compare(*(const struct text *)a, *(const struct text *)b);
}

size_t endpoint_sort_targets(struct text *items, size_t count)
{
    size_t kept = 0;
    qsort(items, count, sizeof *items, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (!kept || !text_equal(items[kept - 1], items[i]))
            items[kept++] = items[i];
    return kept;
}

static void add_set(struct intent_endpoint *endpoint, const char *type, const struct text *items,
                    size_t count)
{
    endpoint->sets[endpoint->set_count++] = (struct endpoint){.dns_name = endpoint->service->name,
                                                              .type = text_of(type),
                                                              .targets = items,
                                                              .target_count = count,
                                                              .ttl_s = endpoint->record->ttl_s};
}

static void add_type(struct intent_endpoint *endpoint, const struct targets *targets,
                     const char *type)
{
    struct text *items = arena_new_array(targets->arena, struct text, targets->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < targets->count; i++)
        if (text_is(text_of(type), address_type(targets->items[i])))
            items[count++] = targets->items[i];
    count = endpoint_sort_targets(items, count);
    if (count)
        add_set(endpoint, type, items, count);
}

static size_t count_host_names(const struct targets *targets)
{
    size_t count = 0;
    for (size_t i = 0; i < targets->count; i++)
        count += text_is(TEXT("CNAME"), address_type(targets->items[i]));
    return count;
}

// Of several host names the first counts, as a name has one CNAME.
static void add_alias(struct intent_endpoint *endpoint, const struct targets *targets)
{
    struct text *first = arena_new_of(targets->arena, struct text);
    *first = targets->items[0];
    add_set(endpoint, "CNAME", first, 1);
    for (size_t i = 1; i < targets->count; i++)
        endpoint->is_mixed |= !text_equal(targets->items[i], *first);
}

static void add_sets(struct intent_endpoint *endpoint, const struct targets *targets)
{
    size_t host_names = count_host_names(targets);
    if (targets->count && host_names == targets->count) {
        add_alias(endpoint, targets);
        return;
    }
    endpoint->is_mixed = host_names > 0;
    add_type(endpoint, targets, "A");
    add_type(endpoint, targets, "AAAA");
}

// ---- what stood before --------------------------------------------------------------------------

// What the DNSEndpoint that stands says under that key; absent: nothing, or none stands.
static struct text annotation_of(const struct intent_endpoint *endpoint, struct text key)
{
    const struct standing_endpoint *standing = endpoint->standing;
    return standing
               ? text_map_find(standing->says.annotations, standing->says.annotation_count, key)
               : (struct text){0};
}

static bool is_remembered(const struct endpoint_context *context,
                          const struct intent_endpoint *endpoint, const struct published_name *name)
{
    size_t cluster = endpoint->record->cluster;
    const char *shown = cluster == RESOLVED_CLOUD ? "" : context->resolved->clusters[cluster].shown;
    bool was_written = name->state >= NAME_WRITTEN && name->state <= NAME_HELD;
    return was_written && text_equal(name->name, endpoint->service->name) &&
           text_is(name->record, endpoint->record->shown) && text_is(name->cluster, shown);
}

static bool has_name(const struct standing_endpoint *standing,
                     const struct intent_endpoint *endpoint)
{
    struct text record = labels_find(object_spec(standing->object), TEXT(INTENT_RECORD_LABEL));
    return standing->says.count && text_is(record, endpoint->record->label) &&
           text_equal(standing->says.endpoints[0].dns_name, endpoint->service->name);
}

// Does another DNSEndpoint have the name, so that what the status says may be of that one's
// service?
static bool has_other(const struct endpoint_context *context,
                      const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < context->standing_count; i++)
        if (&context->standing[i] != endpoint->standing &&
            has_name(&context->standing[i], endpoint))
            return true;
    return false;
}

// Has the status all addresses that are held? Nothing but somebody's hand changes those in the
// DNSEndpoint.
static bool is_held_in_status(const struct endpoint_context *context,
                              const struct intent_endpoint *endpoint)
{
    bool is_held = false;
    for (size_t i = 0; i < context->before->name_count; i++) {
        const struct published_name *name = &context->before->names[i];
        if (!is_remembered(context, endpoint, name))
            continue;
        if (name->state != NAME_HELD || name->target_count >= DNSPUBLICATION_TARGETS_MAX)
            return false;
        is_held = true;
    }
    return is_held && !has_other(context, endpoint);
}

// Finds the sets of before in the status, for a DNSEndpoint that somebody has removed or changed.
static void recall_sets(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    const struct dnspublication_status *before = context->before;
    for (size_t i = 0; i < before->name_count && endpoint->before_count < ENDPOINT_SETS_MAX; i++) {
        const struct published_name *name = &before->names[i];
        if (!is_remembered(context, endpoint, name))
            continue;
        if (has_other(context, endpoint))
            return;
        endpoint->before[endpoint->before_count++] =
            (struct endpoint){.dns_name = name->name,
                              .type = name->type,
                              .targets = name->targets,
                              .target_count = name->target_count,
                              .ttl_s = endpoint->record->ttl_s};
        if (name->state == NAME_HELD)
            endpoint->held_since_s = name->since_s;
    }
}

static int64_t time_of(struct arena *arena, struct text text)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put(arena, map, "at", value_make_text(arena, text));
    return status_time_at(map, "at");
}

static void find_before(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    const struct standing_endpoint *standing =
        is_held_in_status(context, endpoint) ? NULL : endpoint->standing;
    for (size_t i = 0; standing && i < standing->says.count && i < ENDPOINT_SETS_MAX; i++)
        endpoint->before[endpoint->before_count++] = standing->says.endpoints[i];
    endpoint->held_since_s =
        time_of(context->reader->arena, annotation_of(endpoint, TEXT(HELD_ANNOTATION)));
    if (!endpoint->before_count)
        recall_sets(context, endpoint);
}

// A cluster that cannot be asked may still have all that stands. That comes first, as of host names
// the first counts.
static void add_targets_before(const struct intent_endpoint *endpoint, struct targets *targets)
{
    struct targets found = *targets;
    targets->items = NULL;
    targets->count = targets->capacity = 0;
    for (size_t i = 0; i < endpoint->before_count; i++)
        for (size_t at = 0; at < endpoint->before[i].target_count; at++)
            add_target(targets, endpoint->before[i].targets[at]);
    for (size_t i = 0; i < found.count; i++)
        add_target(targets, found.items[i]);
}

static int64_t held_since(const struct endpoint_context *context,
                          const struct intent_endpoint *endpoint)
{
    return endpoint->held_since_s ? endpoint->held_since_s : context->now_s;
}

int64_t endpoint_held_until(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint)
{
    int64_t hold_ms = context->resolved->publication.hold_down_ms;
    if (endpoint->state != NAME_HELD || hold_ms < 0 || endpoint->is_unknown)
        return 0;
    return held_since(context, endpoint) + (hold_ms + 999) / 1000;
}

// The last addresses of a name stay for a while though they are not seen any more.
static void hold(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    endpoint->state = NAME_HELD;
    endpoint->reason = REASON_HELD;
    int64_t until_s = endpoint_held_until(context, endpoint);
    if (!endpoint->before_count || (until_s && until_s <= context->now_s)) {
        endpoint->state = NAME_ADDRESS_PENDING;
        endpoint->reason = REASON_ADDRESS_PENDING;
        return;
    }
    for (size_t i = 0; i < endpoint->before_count; i++)
        endpoint->sets[endpoint->set_count++] = endpoint->before[i];
}

// Addresses that are held are not seen: they stay so, and for no less time, while a cluster that
// may have them again cannot be asked.
static bool is_held_on(const struct intent_endpoint *endpoint, const struct targets *targets)
{
    return !targets->count && endpoint->held_since_s;
}

static void note_doubted_target(const struct targets *targets, struct intent_endpoint *endpoint)
{
    endpoint->doubted = arena_printf(
        targets->arena,
        "%.*s is a private address, and the name is for the public: it is published, as it was "
        "written by hand; set spec.allowPrivate of the DNSUpdateRecord if it is meant",
        TEXT_ARGS(targets->doubted));
}

// The other targets of the name are published all the same.
static void note_invalid_target(const struct targets *targets, struct intent_endpoint *endpoint)
{
    AUTO_BUFFER shown = {0};
    text_clean(&shown, targets->invalid, TARGET_SHOWN_MAX);
    endpoint->invalid_target =
        arena_printf(targets->arena, "\"%s\" %s: correct it where it is written, or take it out",
                     shown.at ? shown.at : "", targets->invalid_why);
}

static void fill_sets(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    struct targets targets = {.arena = context->reader->arena, .name = endpoint->service->name};
    find_targets(context, endpoint, &targets);
    endpoint->is_unknown = targets.is_unknown;
    if (targets.is_unknown || !targets.count)
        find_before(context, endpoint);
    if (targets.is_unknown && !is_held_on(endpoint, &targets))
        add_targets_before(endpoint, &targets);
    add_sets(endpoint, &targets);
    endpoint->message = targets.pending;
    if (targets.doubted.at)
        note_doubted_target(&targets, endpoint);
    if (!endpoint->set_count)
        hold(context, endpoint);
    if (targets.invalid.at)
        note_invalid_target(&targets, endpoint);
}

// ---- faults -------------------------------------------------------------------------------------

void endpoint_give_up(struct intent_endpoint *endpoint, enum published_name_state state,
                      enum reason reason, const char *message)
{
    endpoint->state = state;
    endpoint->reason = reason;
    endpoint->message = message;
    endpoint->set_count = 0;
}

// Why the zone cannot have the name with that type; NULL: it can. At the apex stand other records,
// and without a fitting prefix the ownership record of the apex lies beside it.
static const char *zone_fault(struct arena *arena, const struct update_record *record,
                              struct text zone, const struct endpoint *set)
{
    struct error err;
    const struct registry_affix affix = update_record_affix(record);
    if (text_is(set->type, "CNAME") && text_equal(set->dns_name, zone))
        return arena_printf(arena,
                            "a host name cannot stand at the apex of the zone %.*s: give an "
                            "address",
                            TEXT_ARGS(zone));
    if (!text_is(update_record_registry(record), "txt") ||
        registry_name_is_within(set->dns_name, set->type, &affix, zone, &err))
        return NULL;
    return arena_copy_text(arena, err.text);
}

static void check_set(const struct endpoint_context *context, struct intent_endpoint *endpoint,
                      struct text zone, const struct endpoint *set)
{
    const char *text;
    struct arena *arena = context->reader->arena;
    const struct update_record *record = endpoint->record->record;
    enum reason fault =
        update_record_name_fault(arena, record, endpoint->service->name, set->type, &text);
    if (!fault && zone.len) {
        text = zone_fault(arena, record, zone, set);
        fault = text ? REASON_VALIDATION_FAILED : REASON_NONE;
    }
    if (fault)
        endpoint_give_up(endpoint, NAME_INVALID, fault, text);
}

static void check_name(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    const struct update_record *record = endpoint->record->record;
    struct text zone = native_zone_for(context->reader->arena, record, endpoint->service->name);
    if (record->is_native && !zone.len)
        endpoint_give_up(endpoint, NAME_INVALID, REASON_OUTSIDE_DOMAIN_FILTER,
                         "no zone of the record's rfc2136-zone has the name");
    for (size_t i = 0; i < endpoint->set_count; i++)
        check_set(context, endpoint, zone, &endpoint->sets[i]);
}

static void check_holder(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    struct arena *arena = context->reader->arena;
    int64_t ttl_s = endpoint->record->ttl_s;
    const struct record_name name = {endpoint->record->object, endpoint->record->record,
                                     endpoint->service->name};
    const struct object *holder =
        intent_model_holder(context->reader, context->publication, &name, &ttl_s);
    for (size_t i = 0; i < endpoint->set_count; i++)
        endpoint->sets[i].ttl_s = ttl_s;
    if (holder)
        endpoint_give_up(
            endpoint, NAME_CONFLICT, REASON_NAME_CONFLICT,
            arena_printf(arena,
                         "DNSPublication %.*s/%.*s has the name in DNSUpdateRecord %s%s; it is "
                         "taken over when that one goes",
                         TEXT_ARGS(object_namespace(holder)), TEXT_ARGS(object_name(holder)),
                         endpoint->record->shown,
                         endpoint->record->record->is_native ? ", or another of its zone" : ""));
}

static void explain_doubted_target(struct intent_endpoint *endpoint)
{
    if (!endpoint->doubted || !endpoint->set_count || endpoint->reason)
        return;
    endpoint->reason = REASON_PRIVATE_TARGET;
    endpoint->message = endpoint->doubted;
}

// CoreDNS asks etcd by the prefix of a name, and an alias has its ownership text beside it.
static void explain_alias(struct intent_endpoint *endpoint)
{
    const struct update_record *record = endpoint->record->record;
    if (endpoint->reason || !endpoint->set_count || record->provider != EXTERNAL_DNS_COREDNS ||
        !text_is(update_record_text(record, PARAMETER_REGISTRY), "txt") ||
        !text_is(endpoint->sets[0].type, "CNAME"))
        return;
    endpoint->reason = REASON_ALIAS_WITH_TEXT;
    endpoint->message = "CoreDNS may answer with the text of the name's owner in place of the host "
                        "name: give an address, or set registry: noop";
}

static void explain_invalid_target(struct intent_endpoint *endpoint)
{
    if (!endpoint->invalid_target || endpoint->state == NAME_INVALID ||
        endpoint->state == NAME_CONFLICT)
        return;
    endpoint->reason = REASON_INVALID_TARGET;
    endpoint->message = endpoint->invalid_target;
    if (endpoint->state == NAME_ADDRESS_PENDING)
        endpoint->state = NAME_INVALID;
}

static void make_endpoint(const struct endpoint_context *context, struct intent_endpoint *endpoint)
{
    endpoint->object = object_name_of(context, endpoint->service, endpoint->record);
    endpoint->standing = find_standing(context, endpoint);
    endpoint->state = NAME_WRITTEN;
    fill_sets(context, endpoint);
    if (endpoint->set_count && endpoint->state != NAME_HELD)
        endpoint->message = NULL;
    check_name(context, endpoint);
    if (endpoint->state != NAME_INVALID)
        check_holder(context, endpoint);
    endpoint_explain_mixed(endpoint);
    explain_doubted_target(endpoint);
    explain_alias(endpoint);
    explain_invalid_target(endpoint);
}

static bool is_for(const struct resolved *resolved, const struct resolved_service *service,
                   const struct resolved_record *record)
{
    return !record->fault && (record->cluster == RESOLVED_CLOUD ||
                              resolved_is_placed(resolved, service, record->cluster));
}

struct intent_endpoint *endpoints_make(const struct endpoint_context *context, size_t *count)
{
    const struct resolved *resolved = context->resolved;
    struct intent_endpoint *all =
        arena_new_array(context->reader->arena, struct intent_endpoint,
                        resolved->service_count * resolved->record_count + 1);
    *count = 0;
    for (size_t r = 0; r < resolved->record_count; r++)
        for (size_t s = 0; s < resolved->service_count; s++) {
            const struct resolved_service *service = &resolved->services[s];
            if (!is_for(resolved, service, &resolved->records[r]))
                continue;
            struct intent_endpoint *endpoint = &all[(*count)++];
            *endpoint =
                (struct intent_endpoint){.service = service, .record = &resolved->records[r]};
            if (service->name.len)
                make_endpoint(context, endpoint);
            else
                endpoint_give_up(endpoint, NAME_INVALID, REASON_INVALID_NAME, service->fault);
        }
    endpoints_leave_out_mixed(context->reader->arena, all, *count);
    return all;
}

// ---- the object ---------------------------------------------------------------------------------

static void put_at(struct arena *arena, struct value *map, const char *key, struct text text)
{
    value_set(map, text_of(key), value_make_text(arena, text));
}

static struct value *labels_of(const struct endpoint_context *context,
                               const struct intent_endpoint *endpoint)
{
    struct arena *arena = context->reader->arena;
    struct value *map = value_make(arena, VALUE_MAP);
    put_at(arena, map, "app.kubernetes.io/managed-by", TEXT("signpost"));
    put_at(arena, map, INTENT_PROJECT_LABEL, text_of(context->project_label));
    put_at(arena, map, INTENT_PUBLICATION_LABEL, text_of(context->publication_label));
    put_at(arena, map, INTENT_RECORD_LABEL, text_of(endpoint->record->label));
    return map;
}

static struct value *annotations_of(const struct endpoint_context *context,
                                    const struct intent_endpoint *endpoint)
{
    struct arena *arena = context->reader->arena;
    const struct resolved *resolved = context->resolved;
    const struct emco_coordinates *at = &resolved->publication.coordinates;
    const char *publication = arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(resolved->namespace_),
                                           TEXT_ARGS(object_name(context->publication)));
    struct value *map = value_make(arena, VALUE_MAP);
    put_at(arena, map, INTENT_PUBLICATION_ANNOTATION, text_of(publication));
    put_at(arena, map, INTENT_RECORD_ANNOTATION, endpoint->record->record->name);
    put_at(arena, map, PLAIN_PROJECT, resolved->project);
    put_at(arena, map, PLAIN_APP, at->composite_app);
    put_at(arena, map, PLAIN_VERSION, at->version);
    put_at(arena, map, PLAIN_GROUP, at->group);
    if (resolved->publication.share_group.len)
        put_at(arena, map, INTENT_SHARE_ANNOTATION,
               text_of(arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(resolved->namespace_),
                                    TEXT_ARGS(resolved->publication.share_group))));
    if (endpoint->state == NAME_HELD)
        value_set(map, TEXT(HELD_ANNOTATION),
                  status_time_make(arena, held_since(context, endpoint)));
    return map;
}

// Annotations that a DNSEndpoint loses again when their cause is over.
static const char *const passing_annotations[] = {HELD_ANNOTATION, INTENT_SHARE_ANNOTATION};

static bool is_past(const struct value *annotations, const struct intent_endpoint *endpoint,
                    const char *name)
{
    return annotation_of(endpoint, text_of(name)).at && !value_find(annotations, name);
}

struct value *endpoint_tree(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint)
{
    struct arena *arena = context->reader->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    struct value *annotations = annotations_of(context, endpoint);
    for (size_t i = 0; i < COUNT_OF(passing_annotations); i++)
        if (is_past(annotations, endpoint, passing_annotations[i]))
            value_set(annotations, text_of(passing_annotations[i]), value_make(arena, VALUE_NULL));
    value_put(arena, tree, "metadata.labels", labels_of(context, endpoint));
    value_put(arena, tree, "metadata.annotations", annotations);
    if (text_equal(object_namespace(endpoint->record->object), context->resolved->namespace_))
        value_put(arena, tree, "metadata.ownerReferences",
                  object_owner_references(arena, context->publication, true));
    value_put(arena, tree, "spec", dnsendpoint_encode(arena, endpoint->sets, endpoint->set_count));
    return tree;
}

static bool is_same_set(const struct endpoint *wanted, const struct endpoint *seen)
{
    return endpoint_is_same(wanted, seen) && !seen->set_identifier.len && !seen->property_count;
}

static bool has_annotations(const struct endpoint_context *context,
                            const struct intent_endpoint *endpoint)
{
    const struct value *annotations = annotations_of(context, endpoint);
    value_each (item, annotations)
        if (!text_equal(annotation_of(endpoint, item->key), value_text(item)))
            return false;
    for (size_t i = 0; i < COUNT_OF(passing_annotations); i++)
        if (is_past(annotations, endpoint, passing_annotations[i]))
            return false;
    return true;
}

static bool has_labels(const struct endpoint_context *context,
                       const struct intent_endpoint *endpoint)
{
    value_each (item, labels_of(context, endpoint))
        if (!text_equal(labels_find(object_spec(endpoint->standing->object), item->key),
                        value_text(item)))
            return false;
    return true;
}

bool endpoint_stands(const struct endpoint_context *context, const struct intent_endpoint *endpoint)
{
    const struct standing_endpoint *standing = endpoint->standing;
    if (!standing || standing->says.count != endpoint->set_count)
        return false;
    for (size_t i = 0; i < standing->says.count; i++)
        if (!is_same_set(&endpoint->sets[i], &standing->says.endpoints[i]))
            return false;
    return has_labels(context, endpoint) && has_annotations(context, endpoint);
}
