#include <stdlib.h>
#include <string.h>

#include "controllers/ingress/events.def"

#include "controllers/ingress/reconcile.h"

// What is written into the annotations once the records are sent, and reported in Events and log
// lines. The annotation `status` says what was reported: only what it does not say yet is.

enum {
    PATIENCE_MS = 2000, // a change that takes longer is not waited for
    LIST_LATE_MS = 10000,
    NOTE_OCTETS = 1000,
};

// ---- what became of the claims ------------------------------------------------------------------

static const struct receipt *receipt_of(const struct reconcile *reconcile,
                                        const struct claim_want *want)
{
    size_t count;
    const struct standing *standing = reconcile_find(reconcile, want->set.domain, &count);
    for (size_t i = 0; i < count; i++)
        if (standing[i].receipt->type == want->set.type &&
            !strcmp(standing[i].receipt->registry, want->registry))
            return standing[i].receipt;
    return NULL;
}

static bool is_at_rest(const struct receipt *receipt)
{
    return receipt && (receipt->state == RECEIPT_SETTLED || receipt->state == RECEIPT_LOST);
}

// Why nothing can be done at that Pi-hole now, or NULL.
static const struct error *trouble_of(const struct reconcile *reconcile,
                                      const struct pihole_target *target)
{
    const struct backend_view *backend = reconcile_backend(reconcile, target);
    if (backend && backend->fault.fault != FAULT_NONE && backend->fault.reason[0])
        return &backend->fault;
    if (backend && backend->unavailable.fault != FAULT_NONE && backend->unavailable.reason[0])
        return &backend->unavailable;
    return NULL;
}

static void add_failure(struct reconcile *reconcile, const struct claim_want *want,
                        const struct receipt *receipt)
{
    const struct error *error = &receipt->error;
    struct text name = want->set.domain;
    bool is_one = reconcile->targets->count == 1;
    bool is_named =
        text_starts(text_of(error->text), arena_copy(reconcile->arena, name.at, name.len));
    if (!receipt->attempts || !error->text[0])
        return;
    problems_add(&reconcile->problems,
                 error->reason[0] ? arena_copy_text(reconcile->arena, error->reason)
                                  : "RecordRefused",
                 "%s%s%.*s%s%s", is_one ? "" : reconcile_target(reconcile, want->registry)->name,
                 is_one ? "" : ": ", is_named ? 0 : (int)name.len, name.at, is_named ? "" : ": ",
                 error->text);
}

// Which targets are the same, only a Pi-hole that is kept tells.
static void add_claimed(struct reconcile *reconcile, const struct claim_want *want,
                        const struct receipt *receipt)
{
    if (!reconcile->targets->access.is_left_alone)
        problems_add(&reconcile->problems, "HostClaimed", "%.*s: %.*s has it with other targets",
                     TEXT_ARGS(want->set.domain), TEXT_ARGS(receipt->holder));
}

static void add_outcome(struct reconcile *reconcile, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(reconcile, want);
    if (!receipt || receipt->intent != want->intent || reconcile_is_settled(receipt, want->intent))
        return;
    if (receipt->state == RECEIPT_LOST && want->intent == CLAIM_SET)
        add_claimed(reconcile, want, receipt);
    else if (receipt->state != RECEIPT_LOST)
        add_failure(reconcile, want, receipt);
}

static bool is_affected(const struct reconcile *reconcile, const struct pihole_target *target)
{
    for (size_t i = 0; i < reconcile->out->claim_count; i++) {
        const struct claim_want *want = &reconcile->out->claims[i];
        if (!strcmp(want->registry, target->url) && want->intent != CLAIM_KEEP &&
            !is_at_rest(receipt_of(reconcile, want)))
            return true;
    }
    return false;
}

static void add_troubles(struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->targets->count; i++) {
        const struct pihole_target *target = &reconcile->targets->items[i];
        const struct error *error = trouble_of(reconcile, target);
        if (error && is_affected(reconcile, target))
            problems_add(&reconcile->problems, arena_copy_text(reconcile->arena, error->reason),
                         "%s: %s", target->name, error->text);
    }
}

static bool is_said(const struct reconcile *reconcile, const char *text)
{
    struct text said = reconcile->source->ours.status;
    return said.len && memmem(said.at, said.len, text, strlen(text));
}

// The list of the Pi-hole tells it, if it was read after the write, which each write has it be.
// Until then what the status says stays.
static void add_dangling(struct reconcile *reconcile, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(reconcile, want);
    const struct pihole_target *target = reconcile_target(reconcile, want->registry);
    const struct backend_view *backend = reconcile_backend(reconcile, target);
    if (want->set.type != RECORD_CNAME || want->intent != CLAIM_SET || !backend || !receipt ||
        receipt->state != RECEIPT_SETTLED || receipt->is_foreign)
        return;
    const char *text = arena_printf(
        reconcile->arena, "%.*s is in no list of Pi-hole %s: aliases of it may answer nothing",
        TEXT_ARGS(want->set.values[0]), target->name);
    const struct value *unknown = value_find(backend->answer, "unknownTargets");
    bool is_known = unknown && backend->answered_s >= receipt->settled_s;
    bool is_dangling =
        is_known ? value_lists_text(unknown, want->set.values[0]) : is_said(reconcile, text);
    if (is_dangling)
        problems_add(&reconcile->problems, "TargetsMissing", "%s", text);
    if (!is_known || is_dangling)
        decision_wake_at(reconcile->out, reconcile->in->now_ms +
                                             1000 * reconcile->targets->verify_s + LIST_LATE_MS);
}

static void add_outcomes(struct reconcile *reconcile)
{
    add_troubles(reconcile);
    for (size_t i = 0; i < reconcile->out->claim_count; i++) {
        add_outcome(reconcile, &reconcile->out->claims[i]);
        add_dangling(reconcile, &reconcile->out->claims[i]);
    }
    problems_sort(&reconcile->problems);
}

// ---- what is under way --------------------------------------------------------------------------

static bool is_under_way(struct reconcile *reconcile, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(reconcile, want);
    if (!receipt)
        return true;
    if (is_at_rest(receipt) || receipt->state == RECEIPT_SUSPENDED || receipt->attempts ||
        trouble_of(reconcile, reconcile_target(reconcile, want->registry)))
        return false;
    int64_t until_ms = receipt->since_ms + PATIENCE_MS;
    if (!receipt->since_ms || until_ms <= reconcile->in->now_ms)
        return false;
    decision_wake_at(reconcile->out, until_ms);
    return true;
}

// True if a change is waited for: one write when all is done is better than several on the way.
static bool has_under_way(struct reconcile *reconcile)
{
    bool has_any = false;
    for (size_t i = 0; i < reconcile->out->claim_count; i++)
        has_any |= is_under_way(reconcile, &reconcile->out->claims[i]);
    return has_any;
}

static bool is_complete(const struct reconcile *reconcile)
{
    if (!reconcile->wants.is_registered || reconcile->problems.count ||
        !reconcile->wants.name_count)
        return false;
    for (size_t i = 0; i < reconcile->out->claim_count; i++) {
        const struct receipt *receipt = receipt_of(reconcile, &reconcile->out->claims[i]);
        if (!receipt || !reconcile_is_settled(receipt, reconcile->out->claims[i].intent))
            return false;
    }
    return true;
}

// ---- managed-hosts ------------------------------------------------------------------------------

// Somebody else has the name there, and what was ours has given way.
static bool has_given_way(const struct receipt *receipt)
{
    const char *reason = receipt->error.reason;
    return receipt->attempts && !receipt->is_open &&
           (!strcmp(reason, "NameTaken") || !strcmp(reason, "OwnedElsewhere"));
}

// True if something of ours stands there for the name, or may.
static bool is_ours(const struct reconcile *reconcile, struct text name)
{
    size_t count;
    const struct standing *standing = reconcile_find(reconcile, name, &count);
    bool was_ours = reconcile->is_marked && reconcile_manages(reconcile, name);
    bool is_left = was_ours && !count;
    for (size_t i = 0; i < count; i++) {
        const struct receipt *receipt = standing[i].receipt;
        bool stands = receipt->state == RECEIPT_SETTLED && receipt->intent != CLAIM_REMOVE &&
                      !receipt->is_foreign;
        bool is_pending = !is_at_rest(receipt) && !has_given_way(receipt);
        bool may_stand = is_pending || receipt->is_in_way || receipt->is_open;
        is_left |= stands || (was_ours && may_stand);
    }
    return is_left;
}

// True if all that the name is to have stands there by lines of somebody else's.
static bool is_satisfied(const struct reconcile *reconcile, struct text name)
{
    size_t count;
    const struct standing *standing = reconcile_find(reconcile, name, &count);
    for (size_t i = 0; i < count; i++) {
        const struct receipt *receipt = standing[i].receipt;
        if (receipt->state != RECEIPT_SETTLED || receipt->intent != CLAIM_SET ||
            !receipt->is_foreign)
            return false;
    }
    return count > 0;
}

struct listing {
    struct buffer *names;
    size_t count;
    bool has_gained;
    bool has_leaving;
};

static void add_name(const struct reconcile *reconcile, struct listing *listing, struct text name)
{
    if (!is_ours(reconcile, name))
        return;
    if (listing->names->len)
        buffer_add_char(listing->names, ',');
    buffer_add(listing->names, name.at, name.len);
    listing->count++;
    listing->has_gained |= !reconcile->is_marked || !reconcile_manages(reconcile, name);
}

// In the order of the object; behind those the ones that are still to go.
static void list_names(const struct reconcile *reconcile, struct listing *listing)
{
    for (size_t i = 0; i < reconcile->wants.name_count; i++)
        add_name(reconcile, listing, reconcile->wants.names[i]);
    size_t staying = listing->count;
    for (size_t i = 0; reconcile->is_marked && i < reconcile->managed_count; i++)
        if (!reconcile_wants(reconcile, reconcile->managed[i]))
            add_name(reconcile, listing, reconcile->managed[i]);
    listing->has_leaving = listing->count > staying;
}

// The same names in another order are no news while one of them is still to go.
static bool is_listed(const struct reconcile *reconcile, const struct listing *listing)
{
    return reconcile->is_marked && listing->has_leaving && !listing->has_gained &&
           listing->count == reconcile->managed_count;
}

// Until each name of a predecessor is ours or is not, his list has to stand as it is.
static bool is_adopting(const struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->out->claim_count; i++) {
        const struct claim_want *want = &reconcile->out->claims[i];
        const struct receipt *receipt = receipt_of(reconcile, want);
        if (want->may_adopt && !is_at_rest(receipt) && !(receipt && receipt->attempts))
            return true;
    }
    return false;
}

static bool may_list(const struct reconcile *reconcile)
{
    if (!reconcile->in->owner_id || (reconcile->wants.is_registered && reconcile->wants.is_frozen))
        return false;
    return reconcile->is_marked || reconcile->source->ours.satisfied_hosts.at ||
           (reconcile->wants.is_registered && !is_adopting(reconcile));
}

// ---- annotations --------------------------------------------------------------------------------

// `wanted` NULL: the annotation is to go. True if that is a change.
static bool change_annotation(struct reconcile *reconcile, const char *key, struct text stands,
                              const char *wanted)
{
    struct decision *out = reconcile->out;
    if (wanted ? stands.at && text_is(stands, wanted) : !stands.at)
        return false;
    out->metadata_changes[out->metadata_change_count++] =
        (struct decision_metadata_change){.key = key, .value = wanted};
    return true;
}

static bool is_changed(const struct decision *out, const char *key)
{
    for (size_t i = 0; i < out->metadata_change_count; i++)
        if (!strcmp(out->metadata_changes[i].key, key))
            return true;
    return false;
}

static void keep_annotation(struct reconcile *reconcile, const char *key, struct text stands)
{
    struct decision *out = reconcile->out;
    if (!stands.at || is_changed(out, key))
        return;
    out->metadata_changes[out->metadata_change_count++] = (struct decision_metadata_change){
        .key = key, .value = arena_copy(reconcile->arena, stands.at, stands.len)};
}

// Each write names all annotations of ours, as one left out would go.
static void keep_annotations(struct reconcile *reconcile)
{
    const struct pihole_managed *ours = &reconcile->source->ours;
    bool adds =
        reconcile->out->finalizer == FINALIZER_ADD && !reconcile->in->subject->has_finalizer;
    if (!reconcile->out->metadata_change_count && !adds)
        return;
    keep_annotation(reconcile, PIHOLE_STATUS, ours->status);
    keep_annotation(reconcile, PIHOLE_SATISFIED_HOSTS, ours->satisfied_hosts);
    if (!reconcile->is_marked)
        return;
    keep_annotation(reconcile, PIHOLE_MANAGED_HOSTS, ours->managed_hosts);
    keep_annotation(reconcile, PIHOLE_MANAGED_BY, ours->managed_by);
}

static void change_satisfied_hosts(struct reconcile *reconcile)
{
    AUTO_BUFFER list = {0};
    for (size_t i = 0; reconcile->wants.is_registered && i < reconcile->wants.name_count; i++)
        if (is_satisfied(reconcile, reconcile->wants.names[i]))
            buffer_printf(&list, "%s%.*s", list.len ? "," : "",
                          TEXT_ARGS(reconcile->wants.names[i]));
    change_annotation(reconcile, PIHOLE_SATISFIED_HOSTS, reconcile->source->ours.satisfied_hosts,
                      list.len ? arena_copy(reconcile->arena, list.at, list.len) : NULL);
}

static bool change_managed_hosts(struct reconcile *reconcile)
{
    const struct pihole_managed *ours = &reconcile->source->ours;
    const char *names = NULL;
    const char *by = NULL;
    AUTO_BUFFER list = {0};
    struct listing listing = {.names = &list};
    if (!may_list(reconcile))
        return false;
    change_satisfied_hosts(reconcile);
    list_names(reconcile, &listing);
    if (is_listed(reconcile, &listing))
        return false;
    if (list.len) {
        names = arena_copy(reconcile->arena, list.at, list.len);
        by = arena_printf(reconcile->arena, PIHOLE_MANAGED_BY_PREFIX "%s", reconcile->in->owner_id);
    }
    // Marks of others stay while nothing here is ours.
    if (!names && !reconcile->is_marked)
        return false;
    change_annotation(reconcile, PIHOLE_MANAGED_HOSTS, ours->managed_hosts, names);
    change_annotation(reconcile, PIHOLE_MANAGED_BY, ours->managed_by, by);
    return listing.has_gained;
}

// ---- telling ------------------------------------------------------------------------------------

static const char *object_text(const struct reconcile *reconcile)
{
    return arena_printf(reconcile->arena, "%.*s/%.*s", TEXT_ARGS(reconcile->in->namespace_),
                        TEXT_ARGS(reconcile->in->name));
}

static struct log_attr *add_line(struct reconcile *reconcile, enum log_level level,
                                 const char *message)
{
    enum { ATTRS = 5 };
    struct decision *out = reconcile->out;
    if (out->line_count == DECISION_EVENTS_MAX)
        return NULL;
    struct log_attr *attrs = arena_new_array(reconcile->arena, struct log_attr, ATTRS);
    attrs[0] = LOG_TEXT(reconcile->source->word, object_text(reconcile));
    for (size_t i = 1; i < ATTRS; i++)
        attrs[i] = LOG_END;
    out->lines[out->line_count++] = (struct decision_line){level, message, attrs};
    return attrs;
}

static void add_problem_line(struct reconcile *reconcile, const struct problem *problem)
{
    if (!strcmp(problem->reason, "NoHosts")) {
        add_line(reconcile, LOG_WARN, reconcile->source->skipped);
        return;
    }
    struct log_attr *attrs =
        problem->annotation ? add_line(reconcile, LOG_WARN, "invalid annotation") : NULL;
    if (!attrs)
        return;
    attrs[1] = LOG_TEXT("annotation", problem->annotation);
    attrs[2] = LOG_SLICE("value", problem->value);
    attrs[3] = LOG_TEXT("error", problem->error);
}

static void report_problems(struct reconcile *reconcile)
{
    size_t end;
    for (size_t at = 0; at < reconcile->problems.count; at = end) {
        const char *text = problems_group(&reconcile->problems, at, NOTE_OCTETS, &end);
        const char *reason = reconcile->problems.items[at].reason;
        const char *event = problem_event(reason);
        if (is_said(reconcile, text))
            continue;
        for (size_t i = at; i < end; i++)
            add_problem_line(reconcile, &reconcile->problems.items[i]);
        if (event)
            decision_add_event(reconcile->out, true, event, text + strlen(reason) + 2);
    }
}

static void report_refusal(struct reconcile *reconcile)
{
    struct log_attr *attrs =
        reconcile->in->refused ? add_line(reconcile, LOG_ERROR, "reconcile failed") : NULL;
    if (attrs)
        attrs[1] = LOG_TEXT("error", reconcile->in->refused->text);
}

static void report_synced(struct reconcile *reconcile)
{
    size_t count = reconcile->wants.name_count;
    decision_add_event(
        reconcile->out, false, EVENT_SYNCED,
        arena_printf(reconcile->arena, "%zu name%s in place", count, count == 1 ? " is" : "s are"));
}

static void set_labels(struct reconcile *reconcile)
{
    if (!reconcile->wants.is_registered && !reconcile->problems.count)
        return;
    reconcile->out->class_label = "";
    reconcile->out->reason_label = reconcile->problems.count ? reconcile->problems.items[0].reason
                                   : is_complete(reconcile)  ? "Synced"
                                                             : "Pending";
}

static void report_obstacle(struct reconcile *reconcile, const char *status)
{
    if (!status)
        return;
    const char *reason = reconcile->problems.items[0].reason;
    reconcile->out->obstacle = (struct decision_obstacle){reason, status + strlen(reason) + 2};
}

static void write_and_report(struct reconcile *reconcile, const char *status)
{
    bool has_gained = !reconcile->is_going && change_managed_hosts(reconcile);
    bool was_degraded = reconcile->source->ours.status.at;
    if (change_annotation(reconcile, PIHOLE_STATUS, reconcile->source->ours.status, status))
        report_problems(reconcile);
    if ((has_gained || was_degraded) && is_complete(reconcile))
        report_synced(reconcile);
    report_refusal(reconcile);
}

// An object that is being deleted says why our finalizer still holds it.
static bool is_reported(const struct reconcile *reconcile)
{
    bool is_suspended =
        reconcile->in->subject->has_finalizer && reconcile->out->finalizer != FINALIZER_REMOVE;
    return !reconcile->is_going || is_suspended;
}

void reconcile_report(struct reconcile *reconcile)
{
    if (!reconcile->source || !is_reported(reconcile))
        return;
    add_outcomes(reconcile);
    set_labels(reconcile);
    const char *status = problems_status(&reconcile->problems);
    report_obstacle(reconcile, status);
    if (!has_under_way(reconcile))
        write_and_report(reconcile, status);
    keep_annotations(reconcile);
}
