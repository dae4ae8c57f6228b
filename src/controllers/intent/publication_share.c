#include "controllers/intent/native.h"
#include "controllers/intent/publication_reconcile.h"

// Names that publications of one share group have together at a native record. Each of them claims
// the targets of all, so that their claims stand together; the removal of one that goes is
// inherited by the others.

static struct text annotation(const struct dnsendpoint *endpoint, const char *key)
{
    return text_map_find(endpoint->annotations, endpoint->annotation_count, text_of(key));
}

static bool is_own(const struct publication_reconcile *reconcile, struct text publication)
{
    const char *own =
        arena_printf(reconcile->arena, "%.*s/%.*s", TEXT_ARGS(reconcile->resolved.namespace_),
                     TEXT_ARGS(object_name(reconcile->in->subject)));
    return text_is(publication, own);
}

// Is the DNSEndpoint one of another publication, whose names are still to be published?
static bool is_of_others(const struct publication_reconcile *reconcile,
                         const struct dnsendpoint *endpoint)
{
    struct text namespace_;
    struct text publication = annotation(endpoint, INTENT_PUBLICATION_ANNOTATION);
    struct text name = publication;
    return !is_own(reconcile, publication) && text_cut(&name, '/', &namespace_) &&
           intent_model_is_wanted(reconcile->reader.model, namespace_, name);
}

static bool is_of_record(const struct publication_record *record, const struct object *object,
                         const struct dnsendpoint *endpoint)
{
    return record->spec && text_equal(object_namespace(object), record->written.namespace_) &&
           text_equal(annotation(endpoint, INTENT_RECORD_ANNOTATION), record->spec->name);
}

static void share_sets(struct publication_reconcile *reconcile,
                       const struct publication_record *record, const struct dnsendpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->count; i++) {
        const struct endpoint *set = &endpoint->endpoints[i];
        struct native_claim *native = publication_native_of(reconcile, record, set);
        if (native && native->is_wanted)
            native_add_targets(reconcile->arena, native, set->targets, set->target_count);
    }
}

static void share_object(struct publication_reconcile *reconcile, const struct object *object)
{
    struct dnsendpoint endpoint;
    dnsendpoint_unpack(reconcile->arena, object_spec(object), &endpoint);
    if (!is_of_others(reconcile, &endpoint))
        return;
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (is_of_record(&reconcile->records[i], object, &endpoint))
            share_sets(reconcile, &reconcile->records[i], &endpoint);
}

// Of several host names the first counts, as a name has one CNAME.
void publication_share_natives(struct publication_reconcile *reconcile)
{
    const struct input_objects *found = &reconcile->in->inputs[PUBLICATION_SHARED];
    if (!reconcile->resolved.publication.share_group.len)
        return;
    for (size_t i = 0; i < found->count; i++)
        share_object(reconcile, found->objects[i]);
    for (size_t i = 0; i < reconcile->native_count; i++) {
        struct native_claim *native = &reconcile->natives[i];
        native->is_shared = native->is_wanted;
        if (text_is(native->type, "CNAME") && native->target_count > 1)
            native->target_count = 1;
    }
}
