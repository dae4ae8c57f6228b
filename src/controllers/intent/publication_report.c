#include <stdlib.h>

#include "controllers/intent/events.def"
#include "controllers/intent/publication_reconcile.h"
#include "controllers/intent/report_line.h"
#include "kinds/namespace/namespace_kind.h"

// What people are told of a publication: each name's state, the conditions, the state of the whole.

struct report {
    struct publication_reconcile *reconcile;
    struct dnspublication_status status;
    struct published_name *names;
    size_t name_count;
    struct verified_name *shown; // those of endpoints
    size_t shown_count;
    size_t pending;
    size_t held;
    size_t faulty;    // invalid, or another publication has them
    size_t published; // written at least
    const struct intent_endpoint *first_pending;
    const struct intent_endpoint *first_held;
    const struct intent_endpoint *first_faulty;
    struct published_name failed; // reason NONE: the servers took all
};

// ---- names --------------------------------------------------------------------------------------

static int compare_name(const void *wanted, const void *item)
{
    const struct published_name *a = wanted;
    const struct published_name *b = item;
    const struct text left[] = {a->name, a->type, a->record, a->cluster};
    const struct text right[] = {b->name, b->type, b->record, b->cluster};
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        int order = text_compare(left[i], right[i]);
        if (order)
            return order;
    }
    return 0;
}

// As the status shows it so far; it has them in order.
static const struct published_name *find_before(const struct report *report,
                                                const struct published_name *name)
{
    const struct dnspublication_status *before = &report->reconcile->before;
    return before->name_count
               ? bsearch(name, before->names, before->name_count, sizeof *name, compare_name)
               : NULL;
}

static bool is_read(const struct intent_endpoint *endpoint)
{
    const struct standing_endpoint *standing = endpoint->standing;
    return standing && standing->says.generation &&
           standing->says.observed_generation >= standing->says.generation;
}

// One that external-dns had read when a synchronization ended was part of that.
static bool is_synced(const struct intent_endpoint *endpoint, const struct published_name *before)
{
    const struct condition *synced =
        conditions_find(&endpoint->record->status->conditions, "Synced");
    if (!before || !synced ||
        (synced->status != CONDITION_TRUE && synced->reason != REASON_MISMATCH &&
         synced->reason != REASON_OWNER_MISMATCH)) // that is about some name, maybe another
        return false;
    return before->state == NAME_SYNCED ||
           (before->state == NAME_READ && endpoint->record->status->last_sync_s > before->since_s);
}

// What was another's while it was wanted is no name of ours that goes.
static void report_native(struct report *report, const struct intent_endpoint *endpoint,
                          const struct endpoint *set, const struct published_name *before,
                          struct published_name *name)
{
    const struct native_claim *claim = publication_find_native(report->reconcile, endpoint, set);
    bool was_conflict = before && before->state == NAME_CONFLICT;
    if (name->state == NAME_REMOVING && claim && !claim->is_wanted) {
        name->state = was_conflict ? NAME_CONFLICT : NAME_REMOVING;
        native_show_removal(report->reconcile, claim, name);
    } else if (native_show(report->reconcile, claim, before, name) && !report->failed.reason) {
        report->failed = *name;
    }
}

static enum published_name_state state_of(const struct report *report,
                                          const struct intent_endpoint *endpoint,
                                          const struct published_name *before)
{
    const struct publication_record *record =
        publication_find_record(report->reconcile, endpoint->record->object);
    if (!report->reconcile->is_wanted || (endpoint->set_count && record && record->reason))
        return NAME_REMOVING;
    if (endpoint->state != NAME_WRITTEN || endpoint->record->record->is_native ||
        !is_read(endpoint) || !endpoint_stands(&report->reconcile->context, endpoint))
        return endpoint->state;
    return is_synced(endpoint, before) ? NAME_SYNCED : NAME_READ;
}

// Since when the name has its state. Of names that no object holds that is not remembered (0).
static int64_t since_of(const struct report *report, const struct published_name *name,
                        const struct published_name *before)
{
    const struct snapshot *in = report->reconcile->in;
    if (before && before->state == name->state)
        return before->since_s;
    return in->shows_all ? 0 : in->now_ms / 1000;
}

static void add_name(struct report *report, const struct intent_endpoint *endpoint,
                     const struct endpoint *set)
{
    const struct resolved_service *service = endpoint->service;
    const struct resolved_record *record = endpoint->record;
    struct published_name *name = &report->names[report->name_count++];
    *name = (struct published_name){
        .name = set                 ? set->dns_name
                : service->name.len ? service->name
                                    : service->intent->external_name,
        .type = set ? set->type : (struct text){"", 0},
        .record = text_of(record->shown),
        .reason = endpoint->reason,
        .message = endpoint->reason ? endpoint->message : NULL,
    };
    if (record->cluster != RESOLVED_CLOUD)
        name->cluster = text_of(report->reconcile->resolved.clusters[record->cluster].shown);
    if (set) {
        name->targets = set->targets;
        name->target_count = set->target_count;
    }
    const struct published_name *before = find_before(report, name);
    name->state = state_of(report, endpoint, before);
    if (name->state == NAME_REMOVING) { // what was said of it while it was wanted is no hindrance
        name->reason = REASON_NONE;
        name->message = NULL;
    }
    if (set && record->record->is_native)
        report_native(report, endpoint, set, before, name);
    name->since_s = since_of(report, name, before);
    report->shown[report->shown_count++] = (struct verified_name){name, endpoint, before};
}

static void verify_names(struct report *report)
{
    publication_verify_names(report->reconcile, report->shown, report->shown_count);
    for (size_t i = 0; i < report->shown_count; i++)
        report->shown[i].name->since_s =
            since_of(report, report->shown[i].name, report->shown[i].before);
}

static bool is_refused(const struct report *report, const struct intent_endpoint *endpoint)
{
    return report->reconcile->in->refused && report->reconcile->is_wanted && endpoint->set_count &&
           !endpoint->record->record->is_native &&
           !endpoint_stands(&report->reconcile->context, endpoint);
}

// A DNSEndpoint that may not be written still publishes what it has so far.
static void add_refused(struct report *report, const struct intent_endpoint *endpoint)
{
    const struct dnsendpoint *seen = &endpoint->standing->says;
    for (size_t i = 0; i < seen->count && i < ENDPOINT_SETS_MAX; i++) {
        struct intent_endpoint *shown =
            arena_new_of(report->reconcile->arena, struct intent_endpoint);
        *shown = *endpoint;
        shown->reason = REASON_FORBIDDEN;
        shown->message =
            arena_copy_text(report->reconcile->arena, report->reconcile->in->refused->text);
        add_name(report, shown, &seen->endpoints[i]);
    }
}

static void note_first(const struct intent_endpoint **first, const struct intent_endpoint *endpoint)
{
    if (!*first)
        *first = endpoint;
}

// A name that lies outside of the record's domains is no fault if another record publishes it.
static void count_endpoint(struct report *report, const struct intent_endpoint *endpoint,
                           bool is_published)
{
    if (endpoint->state == NAME_ADDRESS_PENDING) {
        report->pending++;
        note_first(&report->first_pending, endpoint);
    } else if (endpoint->state == NAME_INVALID || endpoint->state == NAME_CONFLICT) {
        if (endpoint->reason == REASON_OUTSIDE_DOMAIN_FILTER && is_published)
            return;
        report->faulty++;
        note_first(&report->first_faulty, endpoint);
    } else {
        report->published++;
    }
    if (endpoint->state == NAME_HELD) {
        report->held++;
        note_first(&report->first_held, endpoint);
    }
}

// Proven to be gone from its server, so that nobody has to remember it.
static bool is_gone(const struct report *report, const struct intent_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->set_count; i++) {
        const struct native_claim *claim =
            publication_find_native(report->reconcile, endpoint, &endpoint->sets[i]);
        if (!claim || claim->is_wanted || !native_claim_is_settled(claim))
            return false;
    }
    return endpoint->set_count;
}

// A name that is about to be written ahead is told of when it is.
static bool is_shown(const struct report *report, const struct intent_endpoint *endpoint)
{
    if (!report->reconcile->is_wanted)
        return endpoint->standing && !is_gone(report, endpoint);
    if (!endpoint->set_count)
        return !endpoint->is_left_out;
    const struct publication_record *record =
        publication_find_record(report->reconcile, endpoint->record->object);
    return record && record->was_written && (endpoint->standing || !is_refused(report, endpoint)) &&
           (!record->spec || !record->spec->is_native || endpoint->standing ||
            publication_writes(report->reconcile, endpoint)) &&
           !is_gone(report, endpoint);
}

static bool is_listed(const struct report *report, const struct published_name *name)
{
    for (size_t i = 0; i < report->name_count; i++)
        if (!compare_name(name, &report->names[i]))
            return true;
    return false;
}

// Names that are being removed from a server, and that no DNSEndpoint has any more.
static void list_removed(struct report *report)
{
    const struct dnspublication_status *before = &report->reconcile->before;
    for (size_t i = 0; i < before->name_count; i++) {
        struct published_name name = before->names[i];
        const struct native_claim *claim = publication_find_removal(report->reconcile, &name);
        if (!claim || native_claim_is_settled(claim) || is_listed(report, &name))
            continue;
        if (name.state != NAME_REMOVING)
            name.since_s = report->reconcile->in->now_ms / 1000;
        name.state = NAME_REMOVING;
        native_show_removal(report->reconcile, claim, &name);
        report->names[report->name_count++] = name;
    }
}

// Without the LogicalCloud nobody knows what is wanted, and what stands stays as it is.
static void keep_names(struct report *report)
{
    const struct dnspublication_status *before = &report->reconcile->before;
    for (size_t i = 0; i < before->name_count; i++)
        report->names[report->name_count++] = before->names[i];
}

static void list_names(struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    size_t most = reconcile->endpoint_count * ENDPOINT_SETS_MAX;
    report->names = arena_new_array(reconcile->arena, struct published_name,
                                    most + reconcile->before.name_count + 1);
    report->shown = arena_new_array(reconcile->arena, struct verified_name, most + 1);
    bool is_known = publication_is_known(reconcile);
    const bool *is_published = publication_published_services(reconcile);
    for (size_t i = 0; is_known && i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *endpoint = &reconcile->endpoints[i];
        if (reconcile->is_wanted)
            count_endpoint(report, endpoint,
                           is_published[endpoint->service - reconcile->resolved.services]);
        if (!is_shown(report, endpoint))
            continue;
        if (!endpoint->set_count)
            add_name(report, endpoint, NULL);
        else if (is_refused(report, endpoint))
            add_refused(report, endpoint);
        else
            for (size_t at = 0; at < endpoint->set_count; at++)
                add_name(report, endpoint, &endpoint->sets[at]);
    }
    verify_names(report);
    (is_known ? list_removed : keep_names)(report);
    report->status.names = report->names;
    report->status.name_count = report->name_count;
}

// ---- conditions ---------------------------------------------------------------------------------

static void set_condition(struct report *report, const char *type, enum condition_status status,
                          enum reason reason, const char *message)
{
    struct publication_reconcile *reconcile = report->reconcile;
    conditions_set(&report->status.conditions, &reconcile->before.conditions,
                   (struct condition){.type = type,
                                      .status = status,
                                      .reason = reason,
                                      .message = message,
                                      .observed_generation = reconcile->in->subject->generation},
                   reconcile->in->now_ms / 1000);
}

static void report_accepted(struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    if (reconcile->resolved.has_cloud)
        set_condition(report, "Accepted", CONDITION_TRUE, REASON_ACCEPTED,
                      "the publication is valid");
    else
        set_condition(
            report, "Accepted", CONDITION_FALSE, REASON_LOGICAL_CLOUD_NOT_FOUND,
            arena_printf(reconcile->arena,
                         "there is no LogicalCloud %.*s in namespace %.*s: it is waited for",
                         TEXT_ARGS(reconcile->resolved.publication.logical_cloud),
                         TEXT_ARGS(reconcile->resolved.namespace_)));
}

static const char *name_message(const struct report *report, const struct intent_endpoint *endpoint,
                                size_t count, const char *what)
{
    const struct resolved_service *service = endpoint->service;
    struct text name = service->name.len ? service->name : service->intent->external_name;
    AUTO_BUFFER shown = {0};
    text_clean(&shown, name, DNSPUBLICATION_MESSAGE_MAX);
    return arena_printf(report->reconcile->arena, "%.*s in DNSUpdateRecord %s: %s%s%s",
                        TEXT_ARGS(buffer_text(&shown)), endpoint->record->shown,
                        endpoint->message ? endpoint->message : "",
                        count > 1 ? "; so it is with other names: " : "", count > 1 ? what : "");
}

static void report_addresses(struct report *report)
{
    if (!report->reconcile->is_wanted)
        set_condition(report, "AddressesReady", CONDITION_UNKNOWN, REASON_NOT_INSTANTIATED,
                      "addresses are looked for when the publication is instantiated");
    else if (!report->reconcile->resolved.has_cloud)
        set_condition(report, "AddressesReady", CONDITION_UNKNOWN, REASON_LOGICAL_CLOUD_NOT_FOUND,
                      "the logical cloud says which clusters have the addresses: see Accepted");
    else if (report->first_pending)
        set_condition(
            report, "AddressesReady", CONDITION_FALSE, REASON_ADDRESS_PENDING,
            name_message(report, report->first_pending, report->pending, "see status.names"));
    else if (report->first_held)
        set_condition(report, "AddressesReady", CONDITION_FALSE, REASON_HELD,
                      name_message(report, report->first_held, report->held, "see status.names"));
    else
        set_condition(report, "AddressesReady", CONDITION_TRUE, REASON_ADDRESSES_FOUND,
                      "each name has an address");
}

// A record that names stand in and that nobody carries to its provider.
static const struct resolved_record *first_unavailable(const struct report *report,
                                                       const struct condition **why)
{
    const struct resolved *resolved = &report->reconcile->resolved;
    for (size_t i = 0; i < resolved->record_count; i++) {
        const struct resolved_record *record = &resolved->records[i];
        if (record->fault || !publication_find_record(report->reconcile, record->object))
            continue;
        *why = conditions_find(&record->status->conditions, "DeploymentAvailable");
        if (!*why || ((*why)->status != CONDITION_TRUE && (*why)->reason != REASON_NOT_A_CLUSTER))
            return record;
    }
    return NULL;
}

struct outcome {
    bool is_good;
    enum reason reason;
    const char *message;
};

// A record that has to do without names that are there: it moves, or goes.
static const struct resolved_record *first_left(const struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    for (size_t i = 0; i < reconcile->endpoint_count; i++)
        if (reconcile->endpoints[i].set_count &&
            !publication_writes(reconcile, &reconcile->endpoints[i]))
            return reconcile->endpoints[i].record;
    return NULL;
}

// Is a record about to be remembered, before its first name?
static bool is_written_ahead(const struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (reconcile->records[i].is_wanted && !reconcile->records[i].was_written)
            return true;
    return false;
}

static struct outcome outcome_of_left(const struct report *report,
                                      const struct resolved_record *record)
{
    const struct condition *moving = conditions_find(&record->status->conditions, "Moving");
    bool is_moving = moving && moving->status == CONDITION_TRUE;
    return (struct outcome){
        false, is_moving ? REASON_MOVING : REASON_RECORD_NOT_FOUND,
        arena_printf(report->reconcile->arena,
                     is_moving ? "DNSUpdateRecord %s moves to another place: its names are absent "
                                 "until nothing is left at the old one"
                               : "DNSUpdateRecord %s is being deleted: take it out of the list, or "
                                 "make it again when it is gone",
                     record->shown)};
}

static struct outcome outcome_of_records(const struct report *report)
{
    const struct condition *why;
    enum reason fault;
    const char *faults =
        resolved_list_faults(report->reconcile->arena, &report->reconcile->resolved, &fault);
    if (!report->reconcile->resolved.record_count)
        return (struct outcome){false, REASON_NO_PROVIDER,
                                "neither the logical cloud nor a cluster of it lists a "
                                "DNSUpdateRecord under " KV_RECORD_LIST};
    if (faults)
        return (struct outcome){false, fault, faults};
    if (report->failed.reason)
        return (struct outcome){false, report->failed.reason,
                                arena_printf(report->reconcile->arena, "%.*s: %s",
                                             TEXT_ARGS(report->failed.name),
                                             report->failed.message)};
    const struct resolved_record *left = first_left(report);
    if (left)
        return outcome_of_left(report, left);
    if (is_written_ahead(report))
        return (struct outcome){false, REASON_PROGRESSING, "the names are being written"};
    const struct resolved_record *record = first_unavailable(report, &why);
    if (!record)
        return (struct outcome){true, REASON_PUBLISHED,
                                report->published
                                    ? "all names are written"
                                    : "there is no name: no inbound intent of a "
                                      "TrafficGroupIntent has externalSupport and externalName"};
    return (struct outcome){
        false, why ? why->reason : REASON_PROGRESSING,
        arena_printf(report->reconcile->arena,
                     "the names are written, and external-dns for DNSUpdateRecord %s does not run "
                     "yet: see its conditions",
                     record->shown)};
}

static const struct publication_record *first_draining(const struct report *report)
{
    for (size_t i = 0; i < report->reconcile->record_count; i++)
        if (report->reconcile->records[i].reason)
            return &report->reconcile->records[i];
    return NULL;
}

static struct outcome outcome_of(const struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    const struct error *refused = reconcile->in->refused;
    const struct publication_record *draining = first_draining(report);
    if (!reconcile->is_wanted && draining)
        return (struct outcome){false, draining->reason, draining->message};
    if (!reconcile->is_wanted)
        return (struct outcome){false, REASON_NOT_INSTANTIATED,
                                "set spec.desired to Instantiated to publish the names"};
    if (refused)
        return (struct outcome){false, REASON_FORBIDDEN,
                                arena_copy_text(reconcile->arena, refused->text)};
    if (!reconcile->has_endpoints)
        return (struct outcome){false, REASON_CRD_MISSING,
                                "the cluster has no DNSEndpoint: apply external-dns's CRD"};
    if (!reconcile->resolved.has_cloud)
        return (struct outcome){false, REASON_LOGICAL_CLOUD_NOT_FOUND,
                                "the logical cloud is not there: see Accepted"};
    if (report->first_faulty)
        return (struct outcome){
            false, report->first_faulty->reason,
            name_message(report, report->first_faulty, report->faulty, "see status.names")};
    if (report->first_pending)
        return (struct outcome){false, REASON_ADDRESS_PENDING,
                                "some names have no address yet: see AddressesReady"};
    return outcome_of_records(report);
}

// ---- the drain ----------------------------------------------------------------------------------

static const char *ended_message(enum reason reason)
{
    if (reason == REASON_DRAIN_ASSUMED)
        return "external-dns could not be asked, but was ready for two intervals after the names "
               "went";
    return "nothing of the publication is served any more";
}

static const char *retained_message(const struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    const struct published_record *first = &reconcile->retained[0];
    return arena_printf(
        reconcile->arena, "%s of DNSUpdateRecord %.*s/%.*s stay at the provider: %.*s%s",
        publication_list_names(reconcile->arena, first), TEXT_ARGS(first->namespace_),
        TEXT_ARGS(first->name), TEXT_ARGS(first->message),
        reconcile->retained_count > 1 ? "; so it is with other records: see status.retained" : "");
}

static void report_ended(struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Drained");
    enum reason reason = reconcile->has_drained ? reconcile->drained.reason
                         : before               ? before->reason
                                                : REASON_NONE;
    if (reason && reason != REASON_RECORDS_RETAINED)
        set_condition(report, "Drained", CONDITION_TRUE, reason, ended_message(reason));
}

static void report_drained(struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    const struct publication_record *draining = first_draining(report);
    if (draining)
        set_condition(report, "Drained", CONDITION_FALSE, draining->reason, draining->message);
    else if (reconcile->retained_count)
        set_condition(report, "Drained", CONDITION_FALSE, REASON_RECORDS_RETAINED,
                      retained_message(report));
    else if (!reconcile->is_wanted)
        report_ended(report);
}

// ---- the state of the whole ---------------------------------------------------------------------

static enum dnspublication_state live_state(const struct report *report,
                                            const struct outcome *outcome)
{
    if (outcome->reason == REASON_MOVING)
        return DNSPUBLICATION_UPDATING;
    if (outcome->is_good || outcome->reason == REASON_NO_PROVIDER)
        return first_draining(report) ? DNSPUBLICATION_UPDATING : DNSPUBLICATION_INSTANTIATED;
    if (outcome->reason == REASON_FORBIDDEN)
        return DNSPUBLICATION_INSTANTIATE_FAILED;
    return DNSPUBLICATION_INSTANTIATING;
}

// Is there more to say of names that are to go than that it takes a while?
static bool is_hindered(const struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (reconcile->records[i].reason && reconcile->records[i].reason != REASON_DRAINING)
            return true;
    for (size_t i = 0; i < report->name_count; i++)
        if (report->names[i].reason)
            return true;
    return reconcile->in->refused;
}

static enum dnspublication_state state_of_all(const struct report *report,
                                              const struct outcome *outcome)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    const struct dnspublication *publication = &reconcile->resolved.publication;
    if (reconcile->is_wanted)
        return live_state(report, outcome);
    if (reconcile->record_count || reconcile->context.standing_count)
        return is_hindered(report) ? DNSPUBLICATION_TERMINATE_FAILED : DNSPUBLICATION_TERMINATING;
    if (publication->desired == DNSPUBLICATION_WANTS_TERMINATED)
        return DNSPUBLICATION_TERMINATED;
    return publication->is_approved ? DNSPUBLICATION_APPROVED : DNSPUBLICATION_CREATED;
}

// ---- events -------------------------------------------------------------------------------------

// In a namespace that is being deleted no Event can be made: it is one of the Namespace then.
static void send_event(struct publication_reconcile *reconcile, bool is_warning, const char *event,
                       const char *text)
{
    struct model_reader *reader = &reconcile->reader;
    struct text namespace_ = reconcile->resolved.namespace_;
    struct decision *out = reconcile->out;
    decision_add_event(out, is_warning, event, text);
    if (out->event_count && model_namespace_ends(reader, namespace_))
        out->events[out->event_count - 1].regarding =
            model_find(reader, &namespace_kind, (struct text){"", 0}, namespace_);
}

#define NOT_DRAINED "names are not drained"

static const char *event_of_drain(enum reason reason)
{
    return reason == REASON_RECORDS_RETAINED ? EVENT_RECORDS_RETAINED : EVENT_NAMES_NOT_DRAINED;
}

// `warning`: the log line of an Event that warns; NULL: it does not.
static void add_event(struct report *report, const char *type, const char *warning,
                      const char *event)
{
    const struct condition *now = conditions_find(&report->status.conditions, type);
    const struct condition *before = conditions_find(&report->reconcile->before.conditions, type);
    if (!now || (before && before->reason == now->reason))
        return;
    send_event(report->reconcile, warning, event, now->message);
    if (warning)
        report_line_add(report->reconcile->in, report->reconcile->out, LOG_WARN, warning,
                        "publication", now->reason, now->message);
}

static void add_events(struct report *report)
{
    const struct condition *drained = conditions_find(&report->status.conditions, "Drained");
    bool is_published =
        conditions_find(&report->status.conditions, "Published")->status == CONDITION_TRUE;
    if (is_published)
        add_event(report, "Published", NULL, EVENT_NAMES_PUBLISHED);
    else if (report->first_faulty || report->reconcile->in->refused ||
             !publication_is_known(report->reconcile))
        add_event(report, "Published", "names are not published", EVENT_NAMES_NOT_PUBLISHED);
    if (drained && drained->status == CONDITION_TRUE)
        add_event(report, "Drained", NULL, EVENT_NAMES_DRAINED);
    else if (drained && drained->reason != REASON_DRAINING)
        add_event(report, "Drained", NOT_DRAINED, event_of_drain(drained->reason));
}

static void list_records(struct report *report)
{
    const struct publication_reconcile *reconcile = report->reconcile;
    struct published_record *records =
        arena_new_array(reconcile->arena, struct published_record, reconcile->record_count + 1);
    for (size_t i = 0; i < reconcile->record_count; i++)
        records[i] = reconcile->records[i].written;
    report->status.records = records;
    report->status.record_count = reconcile->record_count;
    report->status.retained = reconcile->retained;
    report->status.retained_count = reconcile->retained_count;
}

void publication_report(struct publication_reconcile *reconcile)
{
    struct report report = {.reconcile = reconcile,
                            .status = {.observed_generation = reconcile->in->subject->generation}};
    list_names(&report);
    list_records(&report);
    const struct outcome outcome = outcome_of(&report);
    report_accepted(&report);
    report_addresses(&report);
    set_condition(&report, "Published", outcome.is_good ? CONDITION_TRUE : CONDITION_FALSE,
                  outcome.reason, outcome.message);
    report_drained(&report);
    report.status.state = state_of_all(&report, &outcome);
    reconcile->out->status = dnspublication_status_encode(
        reconcile->arena, &report.status,
        reconcile->in->shows_all ? SIZE_MAX : DNSPUBLICATION_NAMES_MAX);
    add_events(&report);
    publication_count_names(reconcile, report.names, report.name_count);
    publication_count_drains(reconcile);
}

void publication_report_retained(struct publication_reconcile *reconcile)
{
    const struct report report = {.reconcile = reconcile};
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Drained");
    if (!reconcile->retained_count || (before && before->reason == REASON_RECORDS_RETAINED))
        return;
    const char *message = retained_message(&report);
    send_event(reconcile, true, EVENT_RECORDS_RETAINED, message);
    report_line_add(reconcile->in, reconcile->out, LOG_WARN, NOT_DRAINED, "publication",
                    REASON_RECORDS_RETAINED, message);
}
