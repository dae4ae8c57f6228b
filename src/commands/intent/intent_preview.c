#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "commands/intent/intent_subject.h"
#include "commands/proposal.h"
#include "controllers/intent/publication.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord.h"
#include "kinds/emco_name.h"
#include "store/cache.h"

// The names that DNSEndpoints would bring to DNS update records, and take from them. Those of
// native records are changes at backends of ours.

struct written { // one write of a DNSEndpoint; own references
    const struct object *owner;
    const struct object *before; // NULL: it is made
    const struct object *after;  // NULL: it goes
    size_t order;
};
struct intent_preview {
    const struct cache *cache; // of the dry run under way
    struct written *items;
    size_t count;
    size_t capacity;
};

static void clear(struct intent_preview *preview)
{
    for (size_t i = 0; i < preview->count; i++) {
        object_unref(preview->items[i].owner);
        object_unref(preview->items[i].before);
        object_unref(preview->items[i].after);
    }
    preview->count = 0;
}

static void *make(struct setup *setup, struct error *err)
{
    (void)setup;
    (void)err;
    return mem_new_of(struct intent_preview);
}

static void free_preview(void *item)
{
    struct intent_preview *preview = item;
    clear(preview);
    free(preview->items);
    free(preview);
}

static size_t look(void *item, struct arena *arena, const struct engine *engine,
                   struct store *store, void (*answered)(void *context), void *context)
{
    struct intent_preview *preview = item;
    (void)arena;
    (void)engine;
    (void)answered;
    (void)context;
    clear(preview);
    preview->cache = store->cache;
    return 0;
}

static const struct object *keep(const struct object *object)
{
    return object ? object_ref(object) : NULL;
}

static void take_object(void *item, const struct engine_object_change *change)
{
    struct intent_preview *preview = item;
    const struct object *object = change->after ? change->after : change->before;
    if (object->kind != &dnsendpoint_kind)
        return;
    mem_reserve(&preview->items, &preview->capacity, preview->count + 1);
    preview->items[preview->count] = (struct written){.owner = keep(change->owner),
                                                      .before = keep(change->before),
                                                      .after = keep(change->after),
                                                      .order = preview->count};
    preview->count++;
}

// ---- each object once ---------------------------------------------------------------------------

static const struct object *object_of(const struct written *written)
{
    return written->after ? written->after : written->before;
}

static int compare_names(const struct written *left, const struct written *right)
{
    const struct object *a = object_of(left), *b = object_of(right);
    int order = text_compare(object_namespace(a), object_namespace(b));
    return order ? order : text_compare(object_name(a), object_name(b));
}

static int compare_written(const void *a, const void *b)
{
    const struct written *left = a;
    const struct written *right = b;
    int order = compare_names(left, right);
    return order ? order : (left->order > right->order) - (left->order < right->order);
}

// ---- names --------------------------------------------------------------------------------------

struct reporting {
    struct proposal *out;
    const struct object *owner;
    const char *backend;
    struct dnsendpoint before;
    struct dnsendpoint after;
};

static void unpack(struct arena *arena, const struct object *object, struct dnsendpoint *out)
{
    *out = (struct dnsendpoint){0};
    if (object)
        dnsendpoint_unpack(arena, object_spec(object), out);
}

static const struct endpoint *find_set(const struct dnsendpoint *endpoint,
                                       const struct endpoint *like)
{
    for (size_t i = 0; i < endpoint->count; i++)
        if (text_equal(endpoint->endpoints[i].dns_name, like->dns_name) &&
            text_equal(endpoint->endpoints[i].type, like->type))
            return &endpoint->endpoints[i];
    return NULL;
}

static void add(const struct reporting *reporting, enum engine_act act, const struct endpoint *set)
{
    struct record_set made = {.domain = set->dns_name,
                              .subdomain = TEXT("@"),
                              .ttl_s = (uint32_t)set->ttl_s,
                              .values = set->targets,
                              .value_count = set->target_count,
                              .priority = -1,
                              .weight = -1,
                              .port = -1};
    if (record_type_parse(set->type, &made.type))
        proposal_add_written(reporting->out, &(struct engine_change){.act = act,
                                                                     .backend = reporting->backend,
                                                                     .server = "external-dns",
                                                                     .set = &made,
                                                                     .object = reporting->owner});
}

static void report_sets(const struct reporting *reporting)
{
    for (size_t i = 0; i < reporting->after.count; i++) {
        const struct endpoint *set = &reporting->after.endpoints[i];
        const struct endpoint *was = find_set(&reporting->before, set);
        if (!was || !endpoint_is_same(was, set))
            add(reporting, was ? ENGINE_UPDATE : ENGINE_CREATE, set);
    }
    for (size_t i = 0; i < reporting->before.count; i++)
        if (!find_set(&reporting->after, &reporting->before.endpoints[i]))
            add(reporting, ENGINE_DELETE, &reporting->before.endpoints[i]);
}

static bool is_native(const struct intent_preview *preview, struct arena *arena,
                      struct text namespace_, const char *name)
{
    struct update_record record;
    const struct object *object =
        cache_find(preview->cache, &dnsupdaterecord_kind, namespace_, text_of(name));
    if (!object)
        return false;
    update_record_unpack(arena, object_spec(object), &record);
    return record.is_native;
}

static void report_object(const struct intent_preview *preview, const struct written *first,
                          const struct written *last, struct proposal *out)
{
    struct reporting reporting = {.out = out, .owner = last->owner};
    const struct object *object = object_of(last);
    struct text namespace_ = object_namespace(object);
    unpack(out->arena, first->before, &reporting.before);
    unpack(out->arena, last->after, &reporting.after);
    const struct dnsendpoint *says = last->after ? &reporting.after : &reporting.before;
    struct text record =
        text_map_find(says->annotations, says->annotation_count, TEXT(INTENT_RECORD_ANNOTATION));
    const char *name = emco_object_name(out->arena, record);
    if (is_native(preview, out->arena, namespace_, name))
        return;
    reporting.backend =
        arena_printf(out->arena, "update-record-%.*s/%s", TEXT_ARGS(namespace_), name);
    report_sets(&reporting);
}

static void report_preview(const void *item, struct proposal *out)
{
    const struct intent_preview *preview = item;
    if (!preview->count)
        return;
    qsort(preview->items, preview->count, sizeof *preview->items, compare_written);
    for (size_t first = 0, last = 0; first < preview->count; first = last + 1) {
        last = first;
        while (last + 1 < preview->count &&
               !compare_names(&preview->items[first], &preview->items[last + 1]))
            last++;
        report_object(preview, &preview->items[first], &preview->items[last], out);
    }
}

const struct preview intent_preview = {
    .make = make,
    .free = free_preview,
    .look = look,
    .take_object = take_object,
    .report_preview = report_preview,
};
