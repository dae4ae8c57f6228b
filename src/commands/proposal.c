#include "commands/proposal.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "kinds/dnsclass/dnsclass.h"

void proposal_done(struct proposal *proposal)
{
    free(proposal->changes);
    free(proposal->obstacles);
    free(proposal->troubles);
    free(proposal->refused);
    *proposal = (struct proposal){.arena = proposal->arena};
}

// ---- adding -------------------------------------------------------------------------------------

static const char *keep(const struct proposal *proposal, struct text text)
{
    return text.len ? arena_copy(proposal->arena, text.at, text.len) : "";
}

static const char *class_of(const char *backend)
{
    size_t skip = strlen(DNSCLASS_BACKEND);
    return strncmp(backend, DNSCLASS_BACKEND, skip) ? backend : backend + skip;
}

void proposal_add(struct proposal *proposal, const struct engine_change *change)
{
    struct text name;
    mem_reserve(&proposal->changes, &proposal->capacity, proposal->count + 1);
    struct proposal_change *kept = &proposal->changes[proposal->count];
    *kept = (struct proposal_change){
        .act = change->act,
        .backend = arena_copy_text(proposal->arena, change->backend),
        .server = arena_copy_text(proposal->arena, change->server),
        .set = record_set_copy(proposal->arena, change->set),
        .replaces = change->replaces ? arena_copy_text(proposal->arena, change->replaces) : NULL,
        .namespace_ = "",
        .object = "",
        .order = proposal->count++,
    };
    kept->class_name = class_of(kept->backend);
    if (change->object) {
        kept->kind = change->object->kind;
        kept->namespace_ = keep(proposal, object_namespace(change->object));
        kept->object = keep(proposal, object_name(change->object));
    }
    if (!record_name_join(proposal->arena, kept->set.domain, kept->set.subdomain, &name, NULL))
        name = kept->set.domain;
    kept->name = keep(proposal, name);
}

void proposal_add_written(struct proposal *proposal, const struct engine_change *change)
{
    proposal_add(proposal, change);
    proposal->changes[proposal->count - 1].is_written = true;
}

void proposal_add_zone(struct proposal *proposal, enum engine_act act,
                       const struct proposal_zone *zone, const struct kind *kind,
                       const char *namespace_, const char *object)
{
    struct proposal_zone *kept = arena_new_of(proposal->arena, struct proposal_zone);
    *kept = *zone;
    mem_reserve(&proposal->changes, &proposal->capacity, proposal->count + 1);
    proposal->changes[proposal->count] = (struct proposal_change){
        .act = act,
        .backend = arena_printf(proposal->arena, "zone %s", zone->apex),
        .server = zone->servers ? zone->servers : "",
        .name = zone->name,
        .zone = kept,
        .kind = kind,
        .namespace_ = namespace_,
        .object = object,
        .order = proposal->count,
    };
    proposal->changes[proposal->count].class_name = proposal->changes[proposal->count].backend;
    proposal->count++;
}

void proposal_add_obstacle(struct proposal *proposal, const struct engine_obstacle *obstacle)
{
    mem_reserve(&proposal->obstacles, &proposal->obstacle_capacity, proposal->obstacle_count + 1);
    proposal->obstacles[proposal->obstacle_count++] = (struct proposal_obstacle){
        .kind = obstacle->object->kind,
        .namespace_ = keep(proposal, object_namespace(obstacle->object)),
        .object = keep(proposal, object_name(obstacle->object)),
        .reason = arena_copy_text(proposal->arena, obstacle->reason),
        .message = arena_copy_text(proposal->arena, obstacle->message),
    };
}

void proposal_add_trouble(struct proposal *proposal, const struct engine_degraded_backend *trouble)
{
    const struct error *error = trouble->error;
    const char *backend = arena_copy_text(proposal->arena, trouble->backend);
    mem_reserve(&proposal->troubles, &proposal->trouble_capacity, proposal->trouble_count + 1);
    proposal->troubles[proposal->trouble_count++] = (struct proposal_trouble){
        .class_name = class_of(backend),
        .server = arena_copy_text(proposal->arena, trouble->server),
        .reason = error ? arena_copy_text(proposal->arena, error->reason) : "",
        .message = error ? arena_copy_text(proposal->arena, error->text)
                         : "it did not answer within --timeout",
        .is_unread = trouble->is_unread,
    };
}

void proposal_add_refused(struct proposal *proposal, const char *text)
{
    mem_reserve(&proposal->refused, &proposal->refused_capacity, proposal->refused_count + 1);
    proposal->refused[proposal->refused_count++] = arena_copy_text(proposal->arena, text);
}

// ---- order --------------------------------------------------------------------------------------

static const char *word_of(const struct kind *kind)
{
    return kind ? kind->name : "";
}

static int compare_objects(const struct kind *kind, const char *namespace_, const char *name,
                           const struct kind *other_kind, const char *other_namespace,
                           const char *other_name)
{
    int order = strcmp(word_of(kind), word_of(other_kind));
    if (!order)
        order = strcmp(namespace_, other_namespace);
    return order ? order : strcmp(name, other_name);
}

static int compare_texts(struct text a, struct text b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len ? memcmp(a.at, b.at, len) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

// What is deleted at a name stands before what is made there.
static int compare_acts(const struct proposal_change *a, const struct proposal_change *b)
{
    return (a->act != ENGINE_DELETE) - (b->act != ENGINE_DELETE);
}

// Of the record set, the backend and the object; equal: the one stands for the other.
static int compare_slots(const struct proposal_change *a, const struct proposal_change *b)
{
    int order = strcmp(a->backend, b->backend);
    if (!order)
        order = strcmp(a->server, b->server);
    if (!order && a->zone && b->zone)
        order = proposal_zone_compare(a->zone, b->zone);
    if (!order)
        order = strcmp(a->name, b->name);
    if (!order)
        order = compare_acts(a, b);
    if (!order)
        order = (a->set.type > b->set.type) - (a->set.type < b->set.type);
    if (!order)
        order = compare_texts(a->set.domain, b->set.domain);
    if (!order)
        order =
            compare_objects(a->kind, a->namespace_, a->object, b->kind, b->namespace_, b->object);
    return order;
}

static int compare_slots_of(const void *left, const void *right)
{
    return compare_slots(left, right);
}

static int compare_changes(const void *left, const void *right)
{
    const struct proposal_change *a = left;
    const struct proposal_change *b = right;
    int order = compare_slots(a, b);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int compare_obstacles(const void *left, const void *right)
{
    const struct proposal_obstacle *a = left;
    const struct proposal_obstacle *b = right;
    return compare_objects(a->kind, a->namespace_, a->object, b->kind, b->namespace_, b->object);
}

static int compare_troubles(const void *left, const void *right)
{
    const struct proposal_trouble *a = left;
    const struct proposal_trouble *b = right;
    int order = b->is_unread - a->is_unread;
    return order ? order : strcmp(a->class_name, b->class_name);
}

// What would be sent twice counts as it was sent first.
static void drop_doubles(struct proposal *proposal)
{
    size_t kept = 0;
    for (size_t i = 0; i < proposal->count; i++) {
        const struct proposal_change *change = &proposal->changes[i];
        if (!kept || compare_slots(&proposal->changes[kept - 1], change))
            proposal->changes[kept++] = *change;
    }
    proposal->count = kept;
}

void proposal_close(struct proposal *proposal)
{
    AUTO_BUFFER text = {0};
    uint8_t sum[DIGEST_MAX];
    if (proposal->count)
        qsort(proposal->changes, proposal->count, sizeof *proposal->changes, compare_changes);
    if (proposal->obstacle_count)
        qsort(proposal->obstacles, proposal->obstacle_count, sizeof *proposal->obstacles,
              compare_obstacles);
    if (proposal->trouble_count)
        qsort(proposal->troubles, proposal->trouble_count, sizeof *proposal->troubles,
              compare_troubles);
    drop_doubles(proposal);
    for (size_t i = 0; i < proposal->count; i++)
        proposal->counts[proposal->changes[i].act]++;
    proposal_write_changes(&text, proposal);
    digest_of(DIGEST_SHA256, buffer_text(&text), sum);
    hex_encode(sum, digest_len(DIGEST_SHA256), proposal->checksum);
}

// ---- finding ------------------------------------------------------------------------------------

static bool has_same_content(const struct proposal_change *a, const struct proposal_change *b)
{
    const char *was = a->replaces ? a->replaces : "";
    if (a->zone && b->zone)
        return a->act == b->act && proposal_zone_equal(a->zone, b->zone);
    return a->act == ENGINE_DELETE ||
           (record_set_equal(&a->set, &b->set) && !strcmp(was, b->replaces ? b->replaces : ""));
}

const struct proposal_change *proposal_match(const struct proposal *proposal,
                                             const struct proposal_change *change)
{
    if (!proposal->count)
        return NULL;
    const struct proposal_change *found = bsearch(change, proposal->changes, proposal->count,
                                                  sizeof *proposal->changes, compare_slots_of);
    return found && has_same_content(found, change) ? found : NULL;
}

const struct proposal_change *proposal_find(const struct proposal *proposal,
                                            const struct engine_change *change)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct proposal wanted = {.arena = arena};
    proposal_add(&wanted, change);
    const struct proposal_change *found = proposal_match(proposal, wanted.changes);
    proposal_done(&wanted);
    return found;
}

const struct proposal_trouble *proposal_unread(const struct proposal *proposal, const char *backend)
{
    for (size_t i = 0; i < proposal->trouble_count; i++) {
        const struct proposal_trouble *trouble = &proposal->troubles[i];
        if (trouble->is_unread && (!backend || !strcmp(trouble->class_name, class_of(backend))))
            return trouble;
    }
    return NULL;
}
