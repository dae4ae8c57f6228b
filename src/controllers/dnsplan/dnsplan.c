#include "kinds/dnsplan/dnsplan.h"

#include "controllers/dnsplan/dnsplan_controller.h"
#include "controllers/dnsplan/events.def"
#include "dns/record_text.h"

enum {
    EXPIRE_S = 24 * 3600,
    YOUNGER_MAX = 5, // then one that is over goes
};

// ---- the object ---------------------------------------------------------------------------------

static struct text *lines_of(struct arena *arena, const struct record_set *set)
{
    struct text *lines = arena_new_array(arena, struct text, set->value_count + 1);
    for (size_t i = 0; i < set->value_count; i++) {
        struct text rdata = record_rdata_make(arena, set, i);
        lines[i] = text_of(arena_printf(arena, "%u %.*s", set->ttl_s, TEXT_ARGS(rdata)));
    }
    return lines;
}

static struct dnsplan_change change_of(struct arena *arena, const struct record_set *set)
{
    struct dnsplan_change change = {
        .act = DNSPLAN_DELETE,
        .name = set->domain,
        .type = text_of(record_type_name(set->type)),
        .before = lines_of(arena, set),
        .before_count = set->value_count,
    };
    if (!text_is(set->subdomain, "@"))
        record_name_join(arena, set->domain, set->subdomain, &change.name, NULL);
    return change;
}

static const struct value *make_plan(struct arena *arena, const struct guarded_removals *removals)
{
    size_t count = removals->count < DNSPLAN_CHANGES_MAX ? removals->count : DNSPLAN_CHANGES_MAX;
    struct dnsplan_change *changes = arena_new_array(arena, struct dnsplan_change, count + 1);
    for (size_t i = 0; i < count; i++)
        changes[i] = change_of(arena, &removals->sets[i]);
    const struct dnsplan plan = {
        .class_name = text_of(removals->backend),
        .zone = TEXT("."),
        .checksum = text_of(removals->checksum),
        .reason = DNSPLAN_GUARD,
        .approve = TEXT(""),
        .changes = changes,
        .change_count = count,
        .counts = {[DNSPLAN_DELETE] = removals->count},
    };
    return dnsplan_encode(arena, &plan);
}

static bool is_over(enum dnsplan_phase phase)
{
    return phase != DNSPLAN_PENDING && phase != DNSPLAN_APPROVED;
}

static void read_plan(const struct object *object, struct dnsplan *plan,
                      struct dnsplan_status *status)
{
    dnsplan_unpack(object_spec(object), object_managed(object), plan, status);
}

// True if `out` makes the plan, or removes one that is over: the same removals may be held again
// days after somebody approved them, and that approval does not count any more.
static bool want_plan(const struct guarded_removals *removals, const struct object *there,
                      struct arena *arena, struct object_want *out)
{
    char name[DNSPLAN_NAME_MAX];
    struct dnsplan plan;
    struct dnsplan_status status;
    dnsplan_name_write(text_of(removals->backend), text_of(removals->checksum), name);
    *out = (struct object_want){
        .key = {&dnsplan_kind, TEXT(""), text_of(arena_copy_text(arena, name))}};
    if (!there) {
        out->tree = make_plan(arena, removals);
        return true;
    }
    out->seen = there;
    read_plan(there, &plan, &status);
    return is_over(status.phase) && !there->deleted_s;
}

// ---- a reconciliation ---------------------------------------------------------------------------

struct reconcile {
    struct arena *arena;
    const struct snapshot *snapshot;
    const struct object *subject;
    const struct backend_view *backend; // or NULL
    struct dnsplan plan;
    struct dnsplan_status before;
};

static void reconcile_open(struct reconcile *reconcile, const struct snapshot *snapshot)
{
    *reconcile =
        (struct reconcile){.arena = snapshot->arena,
                           .snapshot = snapshot,
                           .subject = snapshot->subject,
                           .backend = snapshot->backend_count ? snapshot->backends[0] : NULL};
    read_plan(reconcile->subject, &reconcile->plan, &reconcile->before);
}

static bool is_held(const struct reconcile *reconcile)
{
    return reconcile->backend && reconcile->backend->guarded_checksum &&
           text_is(reconcile->plan.checksum, reconcile->backend->guarded_checksum);
}

static bool is_no_longer_held(const struct reconcile *reconcile)
{
    return reconcile->backend && reconcile->backend->is_judged && !is_held(reconcile);
}

static int64_t expires_ms(const struct reconcile *reconcile)
{
    return ((int64_t)reconcile->subject->created_s + EXPIRE_S) * 1000;
}

static enum dnsplan_phase next_phase(const struct reconcile *reconcile)
{
    enum dnsplan_phase phase = reconcile->before.phase;
    if (is_over(phase))
        return phase;
    if (is_no_longer_held(reconcile))
        return phase == DNSPLAN_APPROVED && !reconcile->backend->guarded_checksum
                   ? DNSPLAN_APPLIED
                   : DNSPLAN_SUPERSEDED;
    if (phase == DNSPLAN_APPROVED || dnsplan_is_approved(&reconcile->plan))
        return DNSPLAN_APPROVED;
    return reconcile->snapshot->now_ms < expires_ms(reconcile) ? DNSPLAN_PENDING : DNSPLAN_EXPIRED;
}

static bool has_wrong_checksum(const struct reconcile *reconcile, enum dnsplan_phase phase)
{
    return phase == DNSPLAN_PENDING && reconcile->plan.approve.len;
}

static const char *message_of(const struct reconcile *reconcile, enum dnsplan_phase phase)
{
    static const char *const messages[DNSPLAN_PHASES] = {
        [DNSPLAN_APPROVED] = "a person approved it; the records are being removed",
        [DNSPLAN_APPLIED] = "a person approved it, and nothing of it is left to do",
        [DNSPLAN_EXPIRED] = "nobody approved it within a day; if the records are still held, there "
                            "is a new plan in a minute",
        [DNSPLAN_SUPERSEDED] = "what is held is not this any more: it is wanted again, may go, or "
                               "another plan has it",
    };
    if (phase != DNSPLAN_PENDING)
        return messages[phase];
    return arena_printf(reconcile->arena,
                        "%snothing wants these records of %.*s any more, but they are too many to "
                        "go at once; to let them go set spec.approve to %.*s, or run `signpost "
                        "plan approve %.*s`",
                        has_wrong_checksum(reconcile, phase)
                            ? "spec.approve is not the checksum of this plan: "
                            : "",
                        TEXT_ARGS(reconcile->plan.class_name), TEXT_ARGS(reconcile->plan.checksum),
                        TEXT_ARGS(object_name(reconcile->subject)));
}

static enum reason reason_of(const struct reconcile *reconcile, enum dnsplan_phase phase)
{
    static const enum reason reasons[DNSPLAN_PHASES] = {
        [DNSPLAN_PENDING] = REASON_HELD,          [DNSPLAN_APPROVED] = REASON_APPROVED,
        [DNSPLAN_APPLIED] = REASON_APPLIED,       [DNSPLAN_EXPIRED] = REASON_EXPIRED,
        [DNSPLAN_SUPERSEDED] = REASON_SUPERSEDED,
    };
    return has_wrong_checksum(reconcile, phase) ? REASON_WRONG_CHECKSUM : reasons[phase];
}

static void report_phase(struct reconcile *reconcile, enum dnsplan_phase phase,
                         struct decision *out)
{
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Applied");
    int64_t generation = reconcile->subject->generation;
    struct dnsplan_status status = {.phase = phase, .observed_generation = generation};
    enum reason reason = reason_of(reconcile, phase);
    const char *message = message_of(reconcile, phase);
    conditions_set(
        &status.conditions, &reconcile->before.conditions,
        (struct condition){.type = "Applied",
                           .status = phase == DNSPLAN_APPLIED ? CONDITION_TRUE : CONDITION_FALSE,
                           .reason = reason,
                           .message = message,
                           .observed_generation = generation},
        reconcile->snapshot->now_ms / 1000);
    out->status = dnsplan_status_encode(reconcile->arena, &status);
    if (before && before->reason == reason)
        return;
    if (reason == REASON_HELD && !before)
        decision_add_event(out, true, EVENT_PLAN_PENDING, message);
    else if (reason == REASON_WRONG_CHECKSUM)
        decision_add_event(out, true, EVENT_WRONG_CHECKSUM, message);
    else if (reason == REASON_APPROVED)
        decision_add_event(out, false, EVENT_PLAN_APPROVED, message);
    else if (reason == REASON_APPLIED)
        decision_add_event(out, false, EVENT_PLAN_APPLIED, message);
}

// Only when the store has the phase Approved: after a crash it is known what was approved.
static const struct approval *approval_of(const struct reconcile *reconcile)
{
    if (reconcile->before.phase != DNSPLAN_APPROVED || !is_held(reconcile))
        return NULL;
    struct approval *approval = arena_new_of(reconcile->arena, struct approval);
    *approval = (struct approval){reconcile->backend->name, reconcile->backend->guarded_checksum};
    return approval;
}

static bool is_superfluous(const struct reconcile *reconcile)
{
    const struct input_objects *plans = &reconcile->snapshot->inputs[0];
    size_t younger = 0;
    for (size_t i = 0; i < plans->count; i++)
        younger += object_compare_age(reconcile->subject, plans->objects[i]) < 0;
    return is_over(reconcile->before.phase) && younger >= YOUNGER_MAX &&
           !reconcile->subject->deleted_s;
}

static void want_removal(const struct reconcile *reconcile, struct decision *out)
{
    *decision_add_object(out, reconcile->arena) = (struct object_want){
        .key = {&dnsplan_kind, TEXT(""), object_name(reconcile->subject)},
        .seen = reconcile->subject,
    };
}

static void decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile;
    (void)model;
    if (!snapshot->subject)
        return;
    reconcile_open(&reconcile, snapshot);
    if (is_superfluous(&reconcile)) {
        want_removal(&reconcile, out);
        return;
    }
    enum dnsplan_phase phase = next_phase(&reconcile);
    if (phase == DNSPLAN_PENDING)
        out->obstacle = (struct decision_obstacle){reason_name(reason_of(&reconcile, phase)),
                                                   message_of(&reconcile, phase)};
    out->approval = approval_of(&reconcile);
    if (phase == DNSPLAN_PENDING)
        decision_wake_at(out, expires_ms(&reconcile));
    report_phase(&reconcile, phase, out);
}

// ---- the controller -----------------------------------------------------------------------------

static void backend_of(const struct object *object, struct strings *out)
{
    struct dnsplan plan;
    dnsplan_unpack(object_spec(object), (struct text){0}, &plan, NULL);
    strings_add(out, "%.*s", TEXT_ARGS(plan.class_name));
}

static const struct input inputs[] = {
    {.kind = &dnsplan_kind, .index_keys = backend_of, .lookup_keys = backend_of},
};
static const struct backend_input backends = {.lookup_keys = backend_of};

static const char *const all[] = {"get", "list", "watch", "create", "delete", NULL};
static const char *const patch[] = {"patch", NULL};
static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "dnsplans",
     .verbs = all,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "To ask people about removals that the guard holds back, and to read whether they "
            "approve."},
    {.group = DNS_GROUP,
     .resource = "dnsplans/status",
     .verbs = patch,
     .scope = RIGHT_CLUSTER,
     .is_dispensable = true,
     .why = "What became of them."},
    {0},
};

const struct controller dnsplan_controller = {
    .name = "dnsplan",
    .reads_own_writes = true,
    .kind = &dnsplan_kind,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .backends = &backends,
    .ask_approval = want_plan,
    .decide = decide,
    .rights = rights,
};
