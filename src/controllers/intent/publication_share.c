#include "controllers/intent/native.h"
#include "controllers/intent/publication_reconcile.h"
#include "dns/plan.h"

// Names that publications of one share group have together in a record. What cannot stand together,
// such as a host name beside an address, has the older one alone.

static struct text publication_of(const struct standing_endpoint *shared)
{
    return text_map_find(shared->says.annotations, shared->says.annotation_count,
                         TEXT(INTENT_PUBLICATION_ANNOTATION));
}

// The other publication that a DNSEndpoint is of; NULL: it is our own, or of one that is gone.
static const struct object *find_other(const struct publication_reconcile *reconcile,
                                       const struct standing_endpoint *shared)
{
    struct text namespace_;
    struct text name = publication_of(shared);
    const struct object *own = reconcile->in->subject;
    const struct object *found =
        text_cut(&name, '/', &namespace_)
            ? intent_model_find_publication(reconcile->reader.model, namespace_, name)
            : NULL;
    return found && object_compare_age(found, own) ? found : NULL;
}

static bool is_of_record(const struct standing_endpoint *shared, const struct object *record,
                         const struct update_record *spec)
{
    struct text name = text_map_find(shared->says.annotations, shared->says.annotation_count,
                                     TEXT(INTENT_RECORD_ANNOTATION));
    return text_equal(object_namespace(shared->object), object_namespace(record)) &&
           text_equal(name, spec->name);
}

// ---- what cannot stand together -----------------------------------------------------------------

static bool is_in_way(const struct endpoint *other, const struct endpoint *own)
{
    enum record_type type, own_type;
    if (!text_equal(other->dns_name, own->dns_name) || !other->target_count ||
        !record_type_parse(other->type, &type) || !record_type_parse(own->type, &own_type))
        return false;
    return type == own_type
               ? type == RECORD_CNAME && !text_equal(other->targets[0], own->targets[0])
               : plan_excludes(type, own_type);
}

// The record set that ours cannot stand beside; NULL: there is none.
static const struct endpoint *find_in_way(const struct standing_endpoint *shared,
                                          const struct intent_endpoint *endpoint)
{
    if (!is_of_record(shared, endpoint->record->object, endpoint->record->record))
        return NULL;
    for (size_t i = 0; i < shared->says.count; i++)
        for (size_t at = 0; at < endpoint->set_count; at++)
            if (is_in_way(&shared->says.endpoints[i], &endpoint->sets[at]))
                return &shared->says.endpoints[i];
    return NULL;
}

static void yield_to(struct publication_reconcile *reconcile, struct intent_endpoint *endpoint,
                     const struct standing_endpoint *shared)
{
    const struct endpoint *in_way = find_in_way(shared, endpoint);
    if (!in_way)
        return;
    endpoint_give_up(
        endpoint, NAME_CONFLICT, REASON_NAME_CONFLICT,
        arena_printf(reconcile->arena,
                     "DNSPublication %.*s of the share group has the name in DNSUpdateRecord %s as "
                     "%.*s %.*s, and a host name stands alone: give both addresses, or the same "
                     "host name; it is taken over when that one goes",
                     TEXT_ARGS(publication_of(shared)), endpoint->record->shown,
                     TEXT_ARGS(in_way->type), TEXT_ARGS(in_way->targets[0])));
}

void publication_yield_to_shared(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->shared_count; i++) {
        const struct object *other = find_other(reconcile, &reconcile->shared[i]);
        if (!other || object_compare_age(other, reconcile->in->subject) > 0)
            continue;
        for (size_t at = 0; at < reconcile->endpoint_count; at++)
            yield_to(reconcile, &reconcile->endpoints[at], &reconcile->shared[i]);
    }
}

// ---- names at native records --------------------------------------------------------------------

// Each publication claims the addresses of all, so that their claims stand together; the removal of
// one that goes is inherited by the others.
static void share_sets(struct publication_reconcile *reconcile,
                       const struct publication_record *record,
                       const struct standing_endpoint *shared)
{
    for (size_t i = 0; i < shared->says.count; i++) {
        const struct endpoint *set = &shared->says.endpoints[i];
        struct native_claim *native = publication_native_of(reconcile, record, set);
        if (native && native->is_wanted && !text_is(native->type, "CNAME"))
            native_add_targets(reconcile->arena, native, set->targets, set->target_count);
    }
}

static bool is_to_be_published(struct arena *arena, const struct object *object)
{
    struct dnspublication publication;
    dnspublication_unpack(arena, object_spec(object), (struct text){0}, &publication, NULL);
    return publication.desired == DNSPUBLICATION_WANTS_INSTANTIATED && !object->deleted_s;
}

static void share_object(struct publication_reconcile *reconcile,
                         const struct standing_endpoint *shared)
{
    const struct object *other = find_other(reconcile, shared);
    if (!other || !is_to_be_published(reconcile->arena, other))
        return;
    for (size_t i = 0; i < reconcile->record_count; i++) {
        const struct publication_record *record = &reconcile->records[i];
        if (record->spec && is_of_record(shared, record->object, record->spec))
            share_sets(reconcile, record, shared);
    }
}

void publication_share_natives(struct publication_reconcile *reconcile)
{
    if (!reconcile->resolved.publication.share_group.len)
        return;
    for (size_t i = 0; i < reconcile->shared_count; i++)
        share_object(reconcile, &reconcile->shared[i]);
    for (size_t i = 0; i < reconcile->native_count; i++)
        reconcile->natives[i].is_shared = reconcile->natives[i].is_wanted;
}

static bool has_name(const struct standing_endpoint *shared, struct text name)
{
    for (size_t i = 0; i < shared->says.count; i++)
        if (text_equal(shared->says.endpoints[i].dns_name, name))
            return true;
    return false;
}

bool publication_shares_with(const struct publication_reconcile *reconcile,
                             const struct native_claim *claim, struct text holder)
{
    const struct text kind = TEXT("DNSPublication ");
    if (!text_starts(holder, kind.at))
        return false;
    const struct text name = {holder.at + kind.len, holder.len - kind.len};
    for (size_t i = 0; i < reconcile->shared_count; i++) {
        const struct standing_endpoint *shared = &reconcile->shared[i];
        if (text_equal(name, publication_of(shared)) && has_name(shared, claim->name) &&
            is_of_record(shared, claim->record->object, claim->record->spec))
            return true;
    }
    return false;
}
