#include <stdlib.h>
#include <string.h>

#include "controllers/ingress/turn.h"

// What is written into the annotations, behind the records, and told in Events and log lines. The
// annotation `status` remembers what was told: only what it does not say yet is news.

enum {
    PATIENCE_MS = 2000, // what is under way so long is told as it is
    LIST_LATE_MS = 10000,
    NOTE_OCTETS = 1000,
};

// ---- what became of the claims ------------------------------------------------------------------

static const struct receipt *receipt_of(const struct turn *turn, const struct claim_want *want)
{
    size_t count;
    const struct standing *standing = turn_find(turn, want->set.domain, &count);
    for (size_t i = 0; i < count; i++)
        if (standing[i].receipt->type == want->set.type &&
            !strcmp(standing[i].receipt->book, want->book))
            return standing[i].receipt;
    return NULL;
}

static bool is_at_rest(const struct receipt *receipt)
{
    return receipt && (receipt->state == RECEIPT_SETTLED || receipt->state == RECEIPT_LOST);
}

// Why nothing can be done at that Pi-hole now, or NULL.
static const struct error *trouble_of(const struct turn *turn, const struct pihole_target *target)
{
    const struct lane_view *lane = turn_lane(turn, target);
    if (lane && lane->fault.fault != FAULT_NONE && lane->fault.reason[0])
        return &lane->fault;
    if (lane && lane->trouble.fault != FAULT_NONE && lane->trouble.reason[0])
        return &lane->trouble;
    return NULL;
}

static void add_failure(struct turn *turn, const struct claim_want *want,
                        const struct receipt *receipt)
{
    const struct error *error = &receipt->error;
    struct text name = want->set.domain;
    bool is_one = turn->targets->count == 1;
    bool is_named = text_starts(text_of(error->text), arena_copy(turn->arena, name.at, name.len));
    if (!receipt->attempts || !error->text[0])
        return;
    problems_add(&turn->problems,
                 error->reason[0] ? arena_copy_text(turn->arena, error->reason) : "RecordRefused",
                 "%s%s%.*s%s%s", is_one ? "" : turn_target(turn, want->book)->name,
                 is_one ? "" : ": ", is_named ? 0 : (int)name.len, name.at, is_named ? "" : ": ",
                 error->text);
}

// Which targets are the same, only a Pi-hole that is kept tells.
static void add_claimed(struct turn *turn, const struct claim_want *want,
                        const struct receipt *receipt)
{
    if (!turn->targets->is_left_alone)
        problems_add(&turn->problems, "HostClaimed", "%.*s: %.*s has it with other targets",
                     TEXT_ARGS(want->set.domain), TEXT_ARGS(receipt->holder));
}

static void add_outcome(struct turn *turn, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(turn, want);
    if (!receipt || receipt->intent != want->intent || turn_is_settled(receipt, want->intent))
        return;
    if (receipt->state == RECEIPT_LOST && want->intent == CLAIM_SET)
        add_claimed(turn, want, receipt);
    else if (receipt->state != RECEIPT_LOST)
        add_failure(turn, want, receipt);
}

static bool is_affected(const struct turn *turn, const struct pihole_target *target)
{
    for (size_t i = 0; i < turn->out->claim_count; i++) {
        const struct claim_want *want = &turn->out->claims[i];
        if (!strcmp(want->book, target->url) && want->intent != CLAIM_KEEP &&
            !is_at_rest(receipt_of(turn, want)))
            return true;
    }
    return false;
}

static void add_troubles(struct turn *turn)
{
    for (size_t i = 0; i < turn->targets->count; i++) {
        const struct pihole_target *target = &turn->targets->items[i];
        const struct error *error = trouble_of(turn, target);
        if (error && is_affected(turn, target))
            problems_add(&turn->problems, arena_copy_text(turn->arena, error->reason), "%s: %s",
                         target->name, error->text);
    }
}

static void wake_by(struct turn *turn, int64_t wake_ms)
{
    if (!turn->out->wake_ms || wake_ms < turn->out->wake_ms)
        turn->out->wake_ms = wake_ms;
}

static bool has_text(const struct value *list, struct text text)
{
    value_each (item, list)
        if (text_equal(value_text(item), text))
            return true;
    return false;
}

static bool is_said(const struct turn *turn, const char *text)
{
    struct text said = turn->source->ours.status;
    return said.len && memmem(said.at, said.len, text, strlen(text));
}

// The list that was read last tells it, once it is of after the write: each write brings its own.
// Until then what was said stays.
static void add_dangling(struct turn *turn, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(turn, want);
    const struct pihole_target *target = turn_target(turn, want->book);
    const struct lane_view *lane = turn_lane(turn, target);
    if (want->set.type != RECORD_CNAME || want->intent != CLAIM_SET || !lane || !receipt ||
        receipt->state != RECEIPT_SETTLED || receipt->is_foreign)
        return;
    const char *text = arena_printf(
        turn->arena, "%.*s is in no list of Pi-hole %s: aliases of it may answer nothing",
        TEXT_ARGS(want->set.values[0]), target->name);
    const struct value *unknown = value_find(lane->answer, "unknownTargets");
    bool is_known = unknown && lane->answered_s >= receipt->settled_s;
    bool is_dangling = is_known ? has_text(unknown, want->set.values[0]) : is_said(turn, text);
    if (is_dangling)
        problems_add(&turn->problems, "TargetsMissing", "%s", text);
    if (!is_known || is_dangling)
        wake_by(turn, turn->in->now_ms + 1000 * turn->targets->verify_s + LIST_LATE_MS);
}

static void add_outcomes(struct turn *turn)
{
    add_troubles(turn);
    for (size_t i = 0; i < turn->out->claim_count; i++) {
        add_outcome(turn, &turn->out->claims[i]);
        add_dangling(turn, &turn->out->claims[i]);
    }
    problems_sort(&turn->problems);
}

// ---- what is under way --------------------------------------------------------------------------

static bool is_under_way(struct turn *turn, const struct claim_want *want)
{
    const struct receipt *receipt = receipt_of(turn, want);
    if (!receipt)
        return true;
    if (is_at_rest(receipt) || receipt->state == RECEIPT_HELD || receipt->attempts ||
        trouble_of(turn, turn_target(turn, want->book)))
        return false;
    int64_t until_ms = receipt->since_ms + PATIENCE_MS;
    if (!receipt->since_ms || until_ms <= turn->in->now_ms)
        return false;
    wake_by(turn, until_ms);
    return true;
}

// One write when all is done beats several on the way.
static bool has_under_way(struct turn *turn)
{
    bool has_any = false;
    for (size_t i = 0; i < turn->out->claim_count; i++)
        has_any |= is_under_way(turn, &turn->out->claims[i]);
    return has_any;
}

static bool is_complete(const struct turn *turn)
{
    if (!turn->wants.is_registered || turn->problems.count || !turn->wants.name_count)
        return false;
    for (size_t i = 0; i < turn->out->claim_count; i++) {
        const struct receipt *receipt = receipt_of(turn, &turn->out->claims[i]);
        if (!receipt || !turn_is_settled(receipt, turn->out->claims[i].intent))
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

// Does something of ours stand there for the name, or may it?
static bool is_ours(const struct turn *turn, struct text name)
{
    size_t count;
    const struct standing *standing = turn_find(turn, name, &count);
    bool was_ours = turn->is_marked && turn_manages(turn, name);
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

// Does it stand there all the same, by lines of somebody else's?
static bool is_satisfied(const struct turn *turn, struct text name)
{
    size_t count;
    const struct standing *standing = turn_find(turn, name, &count);
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

static void add_name(const struct turn *turn, struct listing *listing, struct text name)
{
    if (!is_ours(turn, name))
        return;
    if (listing->names->len)
        buffer_add_char(listing->names, ',');
    buffer_add(listing->names, name.at, name.len);
    listing->count++;
    listing->has_gained |= !turn->is_marked || !turn_manages(turn, name);
}

// In the order of the object; behind those the ones that are still to go.
static void list_names(const struct turn *turn, struct listing *listing)
{
    for (size_t i = 0; i < turn->wants.name_count; i++)
        add_name(turn, listing, turn->wants.names[i]);
    size_t staying = listing->count;
    for (size_t i = 0; turn->is_marked && i < turn->managed_count; i++)
        if (!turn_wants(turn, turn->managed[i]))
            add_name(turn, listing, turn->managed[i]);
    listing->has_leaving = listing->count > staying;
}

// The same names in another order are no news while one of them is still to go.
static bool is_listed(const struct turn *turn, const struct listing *listing)
{
    return turn->is_marked && listing->has_leaving && !listing->has_gained &&
           listing->count == turn->managed_count;
}

// Until each name of a predecessor is ours or is not, his list has to stand as it is.
static bool is_adopting(const struct turn *turn)
{
    for (size_t i = 0; i < turn->out->claim_count; i++) {
        const struct claim_want *want = &turn->out->claims[i];
        const struct receipt *receipt = receipt_of(turn, want);
        if (want->may_adopt && !is_at_rest(receipt) && !(receipt && receipt->attempts))
            return true;
    }
    return false;
}

static bool may_list(const struct turn *turn)
{
    if (!turn->in->owner_id || (turn->wants.is_registered && turn->wants.is_frozen))
        return false;
    return turn->is_marked || turn->source->ours.satisfied_hosts.at ||
           (turn->wants.is_registered && !is_adopting(turn));
}

// ---- annotations --------------------------------------------------------------------------------

// True: it is another than stands there.
static bool mark(struct turn *turn, const char *key, struct text stands, const char *wanted)
{
    struct verdict *out = turn->out;
    if (wanted ? stands.at && text_is(stands, wanted) : !stands.at)
        return false;
    out->marks[out->mark_count++] = (struct verdict_mark){.key = key, .value = wanted};
    return true;
}

static bool is_marked(const struct verdict *out, const char *key)
{
    for (size_t i = 0; i < out->mark_count; i++)
        if (!strcmp(out->marks[i].key, key))
            return true;
    return false;
}

static void keep_mark(struct turn *turn, const char *key, struct text stands)
{
    struct verdict *out = turn->out;
    if (!stands.at || is_marked(out, key))
        return;
    out->marks[out->mark_count++] =
        (struct verdict_mark){.key = key, .value = arena_copy(turn->arena, stands.at, stands.len)};
}

// A write names all that is ours there: what it leaves out would go.
static void keep_marks(struct turn *turn)
{
    const struct pihole_ours *ours = &turn->source->ours;
    bool adds = turn->out->finalizer == FINALIZER_ADD && !turn->in->subject->has_finalizer;
    if (!turn->out->mark_count && !adds)
        return;
    keep_mark(turn, PIHOLE_STATUS, ours->status);
    keep_mark(turn, PIHOLE_SATISFIED_HOSTS, ours->satisfied_hosts);
    if (!turn->is_marked)
        return;
    keep_mark(turn, PIHOLE_MANAGED_HOSTS, ours->managed_hosts);
    keep_mark(turn, PIHOLE_MANAGED_BY, ours->managed_by);
}

static void mark_satisfied(struct turn *turn)
{
    AUTO_BUFFER list = {0};
    for (size_t i = 0; turn->wants.is_registered && i < turn->wants.name_count; i++)
        if (is_satisfied(turn, turn->wants.names[i]))
            buffer_printf(&list, "%s%.*s", list.len ? "," : "", TEXT_ARGS(turn->wants.names[i]));
    mark(turn, PIHOLE_SATISFIED_HOSTS, turn->source->ours.satisfied_hosts,
         list.len ? arena_copy(turn->arena, list.at, list.len) : NULL);
}

static bool mark_names(struct turn *turn)
{
    const struct pihole_ours *ours = &turn->source->ours;
    const char *names = NULL;
    const char *by = NULL;
    AUTO_BUFFER list = {0};
    struct listing listing = {.names = &list};
    if (!may_list(turn))
        return false;
    mark_satisfied(turn);
    list_names(turn, &listing);
    if (is_listed(turn, &listing))
        return false;
    if (list.len) {
        names = arena_copy(turn->arena, list.at, list.len);
        by = arena_printf(turn->arena, PIHOLE_MANAGED_BY_PREFIX "%s", turn->in->owner_id);
    }
    // Marks of others stay while nothing here is ours.
    if (!names && !turn->is_marked)
        return false;
    mark(turn, PIHOLE_MANAGED_HOSTS, ours->managed_hosts, names);
    mark(turn, PIHOLE_MANAGED_BY, ours->managed_by, by);
    return listing.has_gained;
}

// ---- telling ------------------------------------------------------------------------------------

static const char *object_text(const struct turn *turn)
{
    return arena_printf(turn->arena, "%.*s/%.*s", TEXT_ARGS(turn->in->namespace_),
                        TEXT_ARGS(turn->in->name));
}

static struct log_attr *add_line(struct turn *turn, enum log_level level, const char *message)
{
    enum { ATTRS = 5 };
    struct verdict *out = turn->out;
    if (out->line_count == VERDICT_NOTES_MAX)
        return NULL;
    struct log_attr *attrs = arena_new_array(turn->arena, struct log_attr, ATTRS);
    attrs[0] = LOG_TEXT(turn->source->word, object_text(turn));
    for (size_t i = 1; i < ATTRS; i++)
        attrs[i] = LOG_END;
    out->lines[out->line_count++] = (struct verdict_line){level, message, attrs};
    return attrs;
}

static void add_problem_line(struct turn *turn, const struct problem *problem)
{
    if (!strcmp(problem->reason, "NoHosts")) {
        add_line(turn, LOG_WARN, turn->source->skipped);
        return;
    }
    struct log_attr *attrs =
        problem->annotation ? add_line(turn, LOG_WARN, "invalid annotation") : NULL;
    if (!attrs)
        return;
    attrs[1] = LOG_TEXT("annotation", problem->annotation);
    attrs[2] = LOG_SLICE("value", problem->value);
    attrs[3] = LOG_TEXT("error", problem->error);
}

static void tell_problems(struct turn *turn)
{
    size_t end;
    for (size_t at = 0; at < turn->problems.count; at = end) {
        enum event_reason event;
        const char *text = problems_group(&turn->problems, at, NOTE_OCTETS, &end);
        const char *reason = turn->problems.items[at].reason;
        if (is_said(turn, text))
            continue;
        for (size_t i = at; i < end; i++)
            add_problem_line(turn, &turn->problems.items[i]);
        if (problem_event(reason, &event))
            verdict_note(turn->out, true, event, text + strlen(reason) + 2);
    }
}

static void tell_refusal(struct turn *turn)
{
    struct log_attr *attrs =
        turn->in->refused ? add_line(turn, LOG_ERROR, "reconcile failed") : NULL;
    if (attrs)
        attrs[1] = LOG_TEXT("error", turn->in->refused->text);
}

static void tell_synced(struct turn *turn)
{
    size_t count = turn->wants.name_count;
    verdict_note(
        turn->out, false, EVENT_SYNCED,
        arena_printf(turn->arena, "%zu name%s in place", count, count == 1 ? " is" : "s are"));
}

static void label(struct turn *turn)
{
    if (!turn->wants.is_registered && !turn->problems.count)
        return;
    turn->out->class_label = "";
    turn->out->reason_label = turn->problems.count ? turn->problems.items[0].reason
                              : is_complete(turn)  ? "Synced"
                                                   : "Pending";
}

static void tell_obstacle(struct turn *turn, const char *status)
{
    if (!status)
        return;
    const char *reason = turn->problems.items[0].reason;
    turn->out->obstacle = (struct verdict_obstacle){reason, status + strlen(reason) + 2};
}

static void write_and_tell(struct turn *turn, const char *status)
{
    bool has_gained = !turn->is_going && mark_names(turn);
    bool was_troubled = turn->source->ours.status.at;
    if (mark(turn, PIHOLE_STATUS, turn->source->ours.status, status))
        tell_problems(turn);
    if ((has_gained || was_troubled) && is_complete(turn))
        tell_synced(turn);
    tell_refusal(turn);
}

// One in deletion says why our finalizer still holds it.
static bool is_told(const struct turn *turn)
{
    bool is_held = turn->in->subject->has_finalizer && turn->out->finalizer != FINALIZER_REMOVE;
    return !turn->is_going || is_held;
}

void turn_tell(struct turn *turn)
{
    if (!turn->source || !is_told(turn))
        return;
    add_outcomes(turn);
    label(turn);
    const char *status = problems_status(&turn->problems);
    tell_obstacle(turn, status);
    if (!has_under_way(turn))
        write_and_tell(turn, status);
    keep_marks(turn);
}
