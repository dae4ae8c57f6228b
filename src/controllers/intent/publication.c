#include "controllers/intent/publication.h"

#include "controllers/intent/events.def"
#include "controllers/intent/model.h"
#include "controllers/intent/publication_reconcile.h"

// ---- what there is ------------------------------------------------------------------------------

static void open_reconcile(struct publication_reconcile *reconcile, const struct snapshot *snapshot,
                           const void *model, struct decision *out)
{
    struct dnspublication publication;
    const struct object *subject = snapshot->subject;
    *reconcile = (struct publication_reconcile){
        .in = snapshot,
        .out = out,
        .arena = snapshot->arena,
        .reader = {.model = model, .arena = snapshot->arena},
        .context = {.reader = &reconcile->reader,
                    .resolved = &reconcile->resolved,
                    .publication = subject,
                    .before = &reconcile->before,
                    .now_s = snapshot->now_ms / 1000},
    };
    dnspublication_unpack(snapshot->arena, object_spec(subject), object_managed(subject),
                          &publication, &reconcile->before);
    reconcile->is_wanted =
        publication.desired == DNSPUBLICATION_WANTS_INSTANTIATED && !subject->deleted_s;
    const struct input_objects *found = &snapshot->inputs[PUBLICATION_ENDPOINTS];
    const struct input_objects *shared = &snapshot->inputs[PUBLICATION_SHARED];
    reconcile->has_endpoints = !found->is_missing;
    reconcile->shared_count = publication.share_group.len ? shared->count : 0;
    if (reconcile->shared_count)
        reconcile->shared = endpoints_unpack(snapshot->arena, shared);
    resolve_publication(&reconcile->reader, subject, &reconcile->resolved);
    endpoint_context_open(&reconcile->context, found);
    reconcile->context.clusters =
        cluster_views_make(&reconcile->reader, snapshot, &reconcile->resolved);
    reconcile->endpoints = endpoints_make(&reconcile->context, &reconcile->endpoint_count);
    if (!reconcile->is_wanted)
        return;
    publication_yield_to_shared(reconcile);
    publication_yield_to_twins(reconcile);
}

// ---- DNSEndpoints -------------------------------------------------------------------------------

static const struct decision_event *make_event(struct publication_reconcile *reconcile,
                                               const char *reason, const char *text)
{
    struct decision_event *event = arena_new_of(reconcile->arena, struct decision_event);
    *event = (struct decision_event){.reason = reason, .text = text};
    return event;
}

static const struct decision_line *make_line(struct publication_reconcile *reconcile,
                                             const char *message, const char *object,
                                             struct text name)
{
    struct decision_line *line = arena_new_of(reconcile->arena, struct decision_line);
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, 3);
    attrs[0] = LOG_TEXT("object", object);
    attrs[1] = LOG_TEXT("name", arena_copy(reconcile->arena, name.at, name.len));
    attrs[2] = LOG_END;
    *line = (struct decision_line){.level = LOG_INFO, .message = message, .attrs = attrs};
    return line;
}

static const char *place_of(struct publication_reconcile *reconcile, struct text namespace_,
                            struct text name)
{
    return arena_printf(reconcile->arena, "%.*s/%.*s", TEXT_ARGS(namespace_), TEXT_ARGS(name));
}

static void write_endpoint(struct publication_reconcile *reconcile,
                           const struct intent_endpoint *endpoint)
{
    struct text namespace_ = object_namespace(endpoint->record->object);
    const char *place = place_of(reconcile, namespace_, text_of(endpoint->object));
    const char *what = endpoint->standing ? "changed" : "made";
    struct object_want *want = decision_add_object(reconcile->out, reconcile->arena);
    *want = (struct object_want){
        .key = {&dnsendpoint_kind, namespace_, text_of(endpoint->object)},
        .tree = endpoint_tree(&reconcile->context, endpoint),
        .seen = endpoint->standing ? endpoint->standing->object : NULL,
        .event = make_event(reconcile, EVENT_ENDPOINT_WRITTEN,
                            arena_printf(reconcile->arena, "DNSEndpoint %s of %.*s was %s", place,
                                         TEXT_ARGS(endpoint->service->name), what)),
        .line = make_line(reconcile,
                          endpoint->standing ? "DNSEndpoint was changed" : "DNSEndpoint was made",
                          place, endpoint->service->name),
    };
    reconcile->writes++;
}

bool publication_writes(const struct publication_reconcile *reconcile,
                        const struct intent_endpoint *endpoint)
{
    if (!reconcile->is_wanted || !endpoint->set_count)
        return false;
    const struct publication_record *record =
        publication_find_record(reconcile, endpoint->record->object);
    return record && record->is_wanted;
}

// A record that the status does not have yet is not begun with, so that a crash leaves nothing
// unknown.
static void write_endpoints(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *endpoint = &reconcile->endpoints[i];
        if (publication_writes(reconcile, endpoint) &&
            publication_find_record(reconcile, endpoint->record->object)->was_written &&
            !endpoint_stands(&reconcile->context, endpoint))
            write_endpoint(reconcile, endpoint);
    }
}

// For each DNSEndpoint that stands, whether it is to stay.
static bool *list_kept(const struct publication_reconcile *reconcile)
{
    bool *kept = arena_new_array(reconcile->arena, bool, reconcile->context.standing_count + 1);
    for (size_t i = 0; i < reconcile->endpoint_count; i++)
        if (reconcile->endpoints[i].standing &&
            publication_writes(reconcile, &reconcile->endpoints[i]))
            kept[reconcile->endpoints[i].standing - reconcile->context.standing] = true;
    return kept;
}

static void remove_endpoint(struct publication_reconcile *reconcile,
                            const struct standing_endpoint *standing)
{
    const struct object *seen = standing->object;
    const char *place = place_of(reconcile, object_namespace(seen), object_name(seen));
    struct text name = standing->says.count ? standing->says.endpoints[0].dns_name : TEXT("");
    struct object_want *want = decision_add_object(reconcile->out, reconcile->arena);
    *want = (struct object_want){
        .key = {&dnsendpoint_kind, object_namespace(seen), object_name(seen)},
        .seen = seen,
        .event = make_event(reconcile, EVENT_ENDPOINT_REMOVED,
                            arena_printf(reconcile->arena, "DNSEndpoint %s of %.*s was removed",
                                         place, TEXT_ARGS(name))),
        .line = make_line(reconcile, "DNSEndpoint was removed", place, name),
    };
    reconcile->writes++;
}

bool publication_is_known(const struct publication_reconcile *reconcile)
{
    return !reconcile->is_wanted || reconcile->resolved.has_cloud;
}

// A name that moves from one object to another is made before it is removed.
static void remove_endpoints(struct publication_reconcile *reconcile)
{
    bool is_made_first = reconcile->writes && !reconcile->in->refused;
    const bool *kept = list_kept(reconcile);
    for (size_t i = 0;
         !is_made_first && publication_is_known(reconcile) && i < reconcile->context.standing_count;
         i++)
        if (!kept[i] && publication_is_released(reconcile, &reconcile->context.standing[i]))
            remove_endpoint(reconcile, &reconcile->context.standing[i]);
}

// ---- the decision -------------------------------------------------------------------------------

static void wake_for_held(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        int64_t until_s = endpoint_held_until(&reconcile->context, &reconcile->endpoints[i]);
        if (until_s)
            decision_wake_at(reconcile->out, until_s * 1000);
    }
}

static bool is_over(const struct publication_reconcile *reconcile)
{
    return reconcile->in->subject->deleted_s && !reconcile->context.standing_count &&
           !reconcile->record_count;
}

void publication_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct publication_reconcile reconcile;
    if (!snapshot->subject || snapshot->subject->is_lost)
        return;
    open_reconcile(&reconcile, snapshot, model, out);
    if (reconcile.is_wanted)
        cluster_views_ask(reconcile.context.clusters, reconcile.resolved.cluster_count, out);
    publication_records(&reconcile);
    if (is_over(&reconcile)) {
        publication_claim_natives(&reconcile);
        publication_report_retained(&reconcile);
        out->finalizer = FINALIZER_REMOVE;
        publication_count_drains(&reconcile);
        return;
    }
    if (reconcile.is_wanted)
        out->finalizer = FINALIZER_ADD;
    if (reconcile.is_wanted && !snapshot->subject->has_finalizer && !snapshot->refused)
        return; // the rest stands on it
    if (reconcile.has_endpoints) {
        publication_claim_natives(&reconcile);
        write_endpoints(&reconcile);
        remove_endpoints(&reconcile);
        wake_for_held(&reconcile);
    }
    publication_report(&reconcile);
}
