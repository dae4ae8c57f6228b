#include <string.h>

#include "controllers/zone/events.def"
#include "controllers/zone/ingress_source.h"
#include "controllers/zone/ingress_source_inputs.h"
#include "controllers/zone/zone_reconcile.h"
#include "kinds/ingress/ingress_kind.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

enum { SHOWN_MAX = 8 };

// A Record that was made for this Ingress.
struct owned {
    const struct object *object;
    struct record_spec spec;
    struct record_status status;
    bool is_used;
};

// A Record that is to be there.
struct desired {
    const struct ingress_source_record *record;
    struct owned *owned; // NULL: it is not there
};

struct reconcile {
    const struct snapshot *in;
    struct decision *out;
    struct arena *arena;
    struct ingress_source ingress_source;
    struct owned *owned;
    size_t owned_count;
    struct desired *desired_records;
    size_t desired_count;
    bool is_incomplete; // a Record that can be made is not there yet, or not as it is to be
    const char **problems;
    size_t problem_count;
    size_t problem_capacity;
    const char *uid;
};

static void add_problem(struct reconcile *reconcile, const char *text)
{
    if (reconcile->problem_count < reconcile->problem_capacity)
        reconcile->problems[reconcile->problem_count++] = text;
}

// ---- what there is ------------------------------------------------------------------------------

static void list_owned(struct reconcile *reconcile)
{
    const struct input_objects *found = &reconcile->in->inputs[INGRESS_SOURCE_OWNED];
    reconcile->owned = arena_new_array(reconcile->arena, struct owned, found->count + 1);
    for (size_t i = 0; i < found->count; i++) {
        struct owned *owned = &reconcile->owned[reconcile->owned_count++];
        *owned = (struct owned){.object = found->objects[i]};
        record_unpack(reconcile->arena, object_spec(owned->object), object_managed(owned->object),
                      &owned->spec, &owned->status);
    }
}

// Any Record, whoever made it.
static bool is_name_taken(const struct reconcile *reconcile, const char *name)
{
    const struct input_objects *found = &reconcile->in->inputs[INGRESS_SOURCE_NAMED];
    for (size_t i = 0; i < found->count; i++)
        if (text_is(object_name(found->objects[i]), name))
            return true;
    for (size_t i = 0; i < reconcile->out->object_count; i++)
        if (text_is(reconcile->out->objects[i].key.name, name))
            return true;
    return false;
}

static bool is_apex(const struct reconcile *reconcile, const char *fqdn)
{
    const struct input_objects *zones = &reconcile->in->inputs[INGRESS_SOURCE_ZONES];
    for (size_t i = 0; i < zones->count; i++)
        if (ingress_source_zone_is(reconcile->arena, zones->objects[i], fqdn))
            return true;
    return false;
}

// ---- what is wanted -----------------------------------------------------------------------------

static void list_desired_records(struct reconcile *reconcile)
{
    reconcile->desired_records =
        arena_new_array(reconcile->arena, struct desired, reconcile->ingress_source.count + 1);
    for (size_t i = 0; i < reconcile->ingress_source.count; i++) {
        const struct ingress_source_record *record = &reconcile->ingress_source.records[i];
        if (reconcile->ingress_source.has_hostnames && is_apex(reconcile, record->fqdn))
            add_problem(reconcile,
                        arena_printf(reconcile->arena,
                                     "%s is the apex of its zone, which can have no CNAME; "
                                     "the load balancer has no address",
                                     record->fqdn));
        else
            reconcile->desired_records[reconcile->desired_count++].record = record;
    }
}

static bool says(const struct owned *owned, const struct ingress_source_record *record)
{
    return text_is(owned->spec.domain_name, record->fqdn) &&
           text_is(owned->spec.type, record->type) && text_is(owned->spec.rdata, record->rdata) &&
           text_is(owned->spec.class_, "IN") && !owned->spec.ref.name.at;
}

static void assign(struct desired *desired, struct owned *owned)
{
    owned->is_used = true;
    desired->owned = owned;
}

// By what it says, under whatever name: the usual one may have been taken when it was made.
static void match_content(struct reconcile *reconcile, struct desired *desired)
{
    for (size_t i = 0; i < reconcile->owned_count && !desired->owned; i++)
        if (!reconcile->owned[i].is_used && says(&reconcile->owned[i], desired->record))
            assign(desired, &reconcile->owned[i]);
}

// By its name: somebody else changed what it says.
static void match_name(struct reconcile *reconcile, struct desired *desired)
{
    const char *other = NULL;
    for (size_t i = 0; i < reconcile->owned_count && !desired->owned; i++) {
        struct text name = object_name(reconcile->owned[i].object);
        if (reconcile->owned[i].is_used)
            continue;
        other = other ? other : ingress_source_other_name(reconcile->arena, desired->record);
        if (text_is(name, desired->record->name) || text_is(name, other))
            assign(desired, &reconcile->owned[i]);
    }
}

static void match(struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->desired_count; i++)
        match_content(reconcile, &reconcile->desired_records[i]);
    for (size_t i = 0; i < reconcile->desired_count; i++)
        match_name(reconcile, &reconcile->desired_records[i]);
}

// ---- children -----------------------------------------------------------------------------------

static const struct value *tree_of(const struct reconcile *reconcile,
                                   const struct ingress_source_record *record)
{
    struct arena *arena = reconcile->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put_text(arena, tree, "metadata.labels[" RECORD_MADE_LABEL "]", RECORD_MADE_BY);
    value_put(arena, tree, "metadata.ownerReferences",
              object_owner_references(arena, reconcile->in->subject, true));
    value_put_text(arena, tree, "spec.domainName", record->fqdn);
    value_put_text(arena, tree, "spec.type", record->type);
    value_put_text(arena, tree, "spec.class", "IN");
    value_put_text(arena, tree, "spec.rdata", record->rdata);
    return tree;
}

static const struct decision_line *line_of(const struct reconcile *reconcile, const char *message,
                                           const struct object_want *child)
{
    struct arena *arena = reconcile->arena;
    struct decision_line *line = arena_new_of(arena, struct decision_line);
    struct log_attr *attrs = arena_new_array(arena, struct log_attr, 3);
    attrs[0] =
        LOG_TEXT("ingress", arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(reconcile->in->namespace_),
                                         TEXT_ARGS(reconcile->in->name)));
    attrs[1] = LOG_SLICE("record", child->key.name);
    attrs[2] = LOG_END;
    *line = (struct decision_line){LOG_INFO, message, attrs};
    return line;
}

static void add_child(struct reconcile *reconcile, struct object_want child, const char *message)
{
    child.key.kind = &record_kind;
    child.key.namespace_ = reconcile->in->namespace_;
    child.line = line_of(reconcile, message, &child);
    *decision_add_object(reconcile->out, reconcile->arena) = child;
}

static void make_record(struct reconcile *reconcile, const struct ingress_source_record *record)
{
    const char *name = record->name;
    if (is_name_taken(reconcile, name))
        name = ingress_source_other_name(reconcile->arena, record);
    if (is_name_taken(reconcile, name)) {
        add_problem(reconcile,
                    arena_printf(reconcile->arena,
                                 "%s is not served at %s: there are other Records %s and %s",
                                 record->fqdn, record->rdata, record->name, name));
        return;
    }
    reconcile->is_incomplete = true;
    add_child(reconcile,
              (struct object_want){.key.name = text_of(name), .tree = tree_of(reconcile, record)},
              "record made");
}

static void drop_record(struct reconcile *reconcile, const struct owned *owned)
{
    add_child(reconcile,
              (struct object_want){.key.name = object_name(owned->object), .seen = owned->object},
              "record removed");
}

static bool is_going(const struct owned *owned)
{
    return owned->object->deleted_s;
}

// A zoneRef that somebody gave it can't be taken out by us, and with it no zone adopts the Record:
// it is deleted and made anew.
static void keep_record(struct reconcile *reconcile, const struct desired *desired)
{
    const struct owned *owned = desired->owned;
    if (says(owned, desired->record) && text_is(owned->spec.ingress_uid, reconcile->uid))
        return;
    reconcile->is_incomplete = true;
    if (owned->spec.ref.name.at) {
        if (!is_going(owned))
            drop_record(reconcile, owned);
        return;
    }
    add_child(reconcile,
              (struct object_want){.key.name = object_name(owned->object),
                                   .tree = tree_of(reconcile, desired->record),
                                   .seen = owned->object},
              "record changed");
}

// Records that nothing asks for any more go last: what replaces them is made first.
static void drop_others(struct reconcile *reconcile)
{
    if (reconcile->is_incomplete && !reconcile->in->refused)
        return;
    for (size_t i = 0; i < reconcile->owned_count; i++) {
        const struct owned *owned = &reconcile->owned[i];
        if (!owned->is_used && !is_going(owned))
            drop_record(reconcile, owned);
    }
}

static void list_children(struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->desired_count; i++) {
        if (reconcile->desired_records[i].owned)
            keep_record(reconcile, &reconcile->desired_records[i]);
        else
            make_record(reconcile, reconcile->desired_records[i].record);
    }
    drop_others(reconcile);
}

// ---- telling ------------------------------------------------------------------------------------

static const struct condition *refusal_of(const struct desired *desired)
{
    const struct condition *accepted =
        desired->owned ? conditions_find(&desired->owned->status.conditions, "Accepted") : NULL;
    return accepted && accepted->status == CONDITION_FALSE ? accepted : NULL;
}

// Records of one host stand together and are mostly refused for one reason: that is said once.
static void report_outcomes(struct reconcile *reconcile)
{
    const char *host = NULL;
    enum reason reported = REASON_NONE;
    for (size_t i = 0; i < reconcile->desired_count; i++) {
        const struct desired *desired = &reconcile->desired_records[i];
        const struct condition *refusal = refusal_of(desired);
        if (!refusal || (host == desired->record->fqdn && reported == refusal->reason))
            continue;
        host = desired->record->fqdn;
        reported = refusal->reason;
        add_problem(reconcile,
                    arena_printf(reconcile->arena, "%s is not served (%s; see Record %.*s)", host,
                                 reason_name(reported),
                                 TEXT_ARGS(object_name(desired->owned->object))));
    }
}

static void report_faults(struct reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->ingress_source.fault_count; i++)
        add_problem(reconcile, reconcile->ingress_source.faults[i]);
    if (reconcile->ingress_source.left_out)
        add_problem(reconcile,
                    arena_printf(reconcile->arena,
                                 "%zu Records are left out: one Ingress has at most %d",
                                 reconcile->ingress_source.left_out, INGRESS_SOURCE_RECORDS_MAX));
    if (reconcile->in->refused)
        add_problem(reconcile, arena_copy_text(reconcile->arena, reconcile->in->refused->text));
}

static void report_status(struct reconcile *reconcile)
{
    AUTO_BUFFER text = {0};
    report_faults(reconcile);
    report_outcomes(reconcile);
    for (size_t i = 0; i < reconcile->problem_count && i < SHOWN_MAX; i++)
        buffer_printf(&text, "%s%s", i ? "; " : "", reconcile->problems[i]);
    if (reconcile->problem_count > SHOWN_MAX)
        buffer_printf(&text, "; and %zu more", reconcile->problem_count - SHOWN_MAX);
    if (text.len)
        decision_add_event(reconcile->out, true, EVENT_HOST_NOT_SERVED,
                           arena_copy_text(reconcile->arena, text.at));
}

static void decide(struct reconcile *reconcile)
{
    char uid[37];
    object_write_uid(reconcile->in->subject, uid);
    reconcile->uid = arena_copy_text(reconcile->arena, uid);
    ingress_source_make(reconcile->arena, reconcile->in->subject, &reconcile->ingress_source);
    reconcile->problem_capacity =
        2 * reconcile->ingress_source.count + reconcile->ingress_source.fault_count + 2;
    reconcile->problems =
        arena_new_array(reconcile->arena, const char *, reconcile->problem_capacity);
    list_owned(reconcile);
    list_desired_records(reconcile);
    match(reconcile);
    list_children(reconcile);
    report_status(reconcile);
}

void ingress_source_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct reconcile reconcile = {.in = snapshot, .out = out, .arena = snapshot->arena};
    (void)model;
    // With a deleted Ingress the store deletes the Records that it owns.
    if (snapshot->subject && !snapshot->subject->is_lost && !snapshot->subject->deleted_s)
        decide(&reconcile);
}
