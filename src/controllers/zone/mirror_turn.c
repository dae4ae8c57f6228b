#include <string.h>

#include "controllers/zone/mirror.h"
#include "controllers/zone/mirror_gathers.h"
#include "controllers/zone/zone_turns.h"
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

// One that is to be there.
struct wish {
    const struct mirror_record *record;
    struct owned *owned; // NULL: it is not there
};

struct turn {
    const struct snapshot *in;
    struct verdict *out;
    struct arena *arena;
    struct mirror mirror;
    struct owned *owned;
    size_t owned_count;
    struct wish *wishes;
    size_t wish_count;
    struct child_want *children;
    size_t child_count;
    bool is_incomplete; // one that can be made is not there
    const char **problems;
    size_t problem_count;
    size_t problem_capacity;
    const char *uid;
};

static void add_problem(struct turn *turn, const char *text)
{
    if (turn->problem_count < turn->problem_capacity)
        turn->problems[turn->problem_count++] = text;
}

// ---- what there is ------------------------------------------------------------------------------

static void list_owned(struct turn *turn)
{
    const struct gathered *found = &turn->in->gathers[MIRROR_OWNED];
    turn->owned = arena_new_array(turn->arena, struct owned, found->count + 1);
    for (size_t i = 0; i < found->count; i++) {
        struct owned *owned = &turn->owned[turn->owned_count++];
        *owned = (struct owned){.object = found->objects[i]};
        record_unpack(turn->arena, object_spec(owned->object), object_ours(owned->object),
                      &owned->spec, &owned->status);
    }
}

// Any Record, whoever made it.
static bool is_taken(const struct turn *turn, const char *name)
{
    const struct gathered *found = &turn->in->gathers[MIRROR_NAMED];
    for (size_t i = 0; i < found->count; i++)
        if (text_is(object_name(found->objects[i]), name))
            return true;
    for (size_t i = 0; i < turn->child_count; i++)
        if (text_is(turn->children[i].key.name, name))
            return true;
    return false;
}

static bool is_apex(const struct turn *turn, const char *fqdn)
{
    const struct gathered *zones = &turn->in->gathers[MIRROR_ZONES];
    for (size_t i = 0; i < zones->count; i++)
        if (mirror_zone_is(turn->arena, zones->objects[i], fqdn))
            return true;
    return false;
}

// ---- what is wanted -----------------------------------------------------------------------------

static void list_wishes(struct turn *turn)
{
    turn->wishes = arena_new_array(turn->arena, struct wish, turn->mirror.count + 1);
    for (size_t i = 0; i < turn->mirror.count; i++) {
        const struct mirror_record *record = &turn->mirror.records[i];
        if (turn->mirror.has_hostnames && is_apex(turn, record->fqdn))
            add_problem(turn, arena_printf(turn->arena,
                                           "%s is the apex of its zone, which can have no CNAME; "
                                           "the load balancer has no address",
                                           record->fqdn));
        else
            turn->wishes[turn->wish_count++].record = record;
    }
}

static bool says(const struct owned *owned, const struct mirror_record *record)
{
    return text_is(owned->spec.domain_name, record->fqdn) &&
           text_is(owned->spec.type, record->type) && text_is(owned->spec.rdata, record->rdata) &&
           text_is(owned->spec.class_, "IN") && !owned->spec.ref.name.at;
}

static void use(struct wish *wish, struct owned *owned)
{
    owned->is_used = true;
    wish->owned = owned;
}

// Under whatever name: another may have been taken when it was made.
static void match_content(struct turn *turn, struct wish *wish)
{
    for (size_t i = 0; i < turn->owned_count && !wish->owned; i++)
        if (!turn->owned[i].is_used && says(&turn->owned[i], wish->record))
            use(wish, &turn->owned[i]);
}

// Somebody else changed what it says.
static void match_name(struct turn *turn, struct wish *wish)
{
    const char *other = NULL;
    for (size_t i = 0; i < turn->owned_count && !wish->owned; i++) {
        struct text name = object_name(turn->owned[i].object);
        if (turn->owned[i].is_used)
            continue;
        other = other ? other : mirror_other_name(turn->arena, wish->record);
        if (text_is(name, wish->record->name) || text_is(name, other))
            use(wish, &turn->owned[i]);
    }
}

static void match(struct turn *turn)
{
    for (size_t i = 0; i < turn->wish_count; i++)
        match_content(turn, &turn->wishes[i]);
    for (size_t i = 0; i < turn->wish_count; i++)
        match_name(turn, &turn->wishes[i]);
}

// ---- children -----------------------------------------------------------------------------------

static struct value *owners_of(const struct turn *turn)
{
    AUTO_BUFFER version = {0};
    struct value *list = value_make(turn->arena, VALUE_LIST);
    struct value *owner = value_make(turn->arena, VALUE_MAP);
    kind_api_version(&version, &ingress_kind);
    value_put_text(turn->arena, owner, "apiVersion", arena_copy_text(turn->arena, version.at));
    value_put_text(turn->arena, owner, "kind", ingress_kind.name);
    value_put(turn->arena, owner, "name", value_make_text(turn->arena, turn->in->name));
    value_put_text(turn->arena, owner, "uid", turn->uid);
    value_put(turn->arena, owner, "controller", value_make_bool(turn->arena, true));
    value_append(list, owner);
    return list;
}

static const struct value *tree_of(const struct turn *turn, const struct mirror_record *record)
{
    struct arena *arena = turn->arena;
    struct value *tree = value_make(arena, VALUE_MAP);
    value_put_text(arena, tree, "metadata.labels[" RECORD_MADE_LABEL "]", RECORD_MADE_BY);
    value_put(arena, tree, "metadata.ownerReferences", owners_of(turn));
    value_put_text(arena, tree, "spec.domainName", record->fqdn);
    value_put_text(arena, tree, "spec.type", record->type);
    value_put_text(arena, tree, "spec.class", "IN");
    value_put_text(arena, tree, "spec.rdata", record->rdata);
    return tree;
}

static const struct verdict_line *line_of(const struct turn *turn, const char *message,
                                          const struct child_want *child)
{
    struct arena *arena = turn->arena;
    struct verdict_line *line = arena_new_of(arena, struct verdict_line);
    struct log_attr *attrs = arena_new_array(arena, struct log_attr, 3);
    attrs[0] = LOG_TEXT("ingress", arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(turn->in->namespace_),
                                                TEXT_ARGS(turn->in->name)));
    attrs[1] = LOG_SLICE("record", child->key.name);
    attrs[2] = LOG_END;
    *line = (struct verdict_line){LOG_INFO, message, attrs};
    return line;
}

static void add_child(struct turn *turn, struct child_want child, const char *message)
{
    child.key.kind = &record_kind;
    child.key.namespace_ = turn->in->namespace_;
    child.line = line_of(turn, message, &child);
    turn->children[turn->child_count++] = child;
}

static void make_record(struct turn *turn, const struct mirror_record *record)
{
    const char *name = record->name;
    if (is_taken(turn, name))
        name = mirror_other_name(turn->arena, record);
    if (is_taken(turn, name)) {
        add_problem(turn, arena_printf(turn->arena,
                                       "%s is not served at %s: there are other Records %s and %s",
                                       record->fqdn, record->rdata, record->name, name));
        return;
    }
    turn->is_incomplete = true;
    add_child(turn, (struct child_want){.key.name = text_of(name), .tree = tree_of(turn, record)},
              "record made");
}

static void drop_record(struct turn *turn, const struct owned *owned)
{
    add_child(turn,
              (struct child_want){.key.name = object_name(owned->object), .seen = owned->object},
              "record removed");
}

static bool is_going(const struct owned *owned)
{
    return owned->object->deleted_s;
}

// A zoneRef that others gave it is not ours to take out: no zone adopts it like that, and it is
// made anew.
static void keep_record(struct turn *turn, const struct wish *wish)
{
    const struct owned *owned = wish->owned;
    if (says(owned, wish->record) && text_is(owned->spec.ingress_uid, turn->uid))
        return;
    turn->is_incomplete = true;
    if (owned->spec.ref.name.at) {
        if (!is_going(owned))
            drop_record(turn, owned);
        return;
    }
    add_child(turn,
              (struct child_want){.key.name = object_name(owned->object),
                                  .tree = tree_of(turn, wish->record),
                                  .seen = owned->object},
              "record changed");
}

// What replaces them stands first.
static void drop_others(struct turn *turn)
{
    if (turn->is_incomplete && !turn->in->refused)
        return;
    for (size_t i = 0; i < turn->owned_count; i++) {
        const struct owned *owned = &turn->owned[i];
        if (!owned->is_used && !is_going(owned))
            drop_record(turn, owned);
    }
}

static void list_children(struct turn *turn)
{
    turn->children =
        arena_new_array(turn->arena, struct child_want, turn->wish_count + turn->owned_count + 1);
    for (size_t i = 0; i < turn->wish_count; i++) {
        if (turn->wishes[i].owned)
            keep_record(turn, &turn->wishes[i]);
        else
            make_record(turn, turn->wishes[i].record);
    }
    drop_others(turn);
    turn->out->children = turn->children;
    turn->out->child_count = turn->child_count;
}

// ---- telling ------------------------------------------------------------------------------------

static const struct condition *refusal_of(const struct wish *wish)
{
    const struct condition *accepted =
        wish->owned ? conditions_find(&wish->owned->status.conditions, "Accepted") : NULL;
    return accepted && accepted->status == CONDITION_FALSE ? accepted : NULL;
}

// Those of one host stand together, and mostly have one reason.
static void tell_outcomes(struct turn *turn)
{
    const char *host = NULL;
    enum reason told = REASON_NONE;
    for (size_t i = 0; i < turn->wish_count; i++) {
        const struct wish *wish = &turn->wishes[i];
        const struct condition *refusal = refusal_of(wish);
        if (!refusal || (host == wish->record->fqdn && told == refusal->reason))
            continue;
        host = wish->record->fqdn;
        told = refusal->reason;
        add_problem(turn,
                    arena_printf(turn->arena, "%s is not served (%s; see Record %.*s)", host,
                                 reason_name(told), TEXT_ARGS(object_name(wish->owned->object))));
    }
}

static void tell_faults(struct turn *turn)
{
    for (size_t i = 0; i < turn->mirror.fault_count; i++)
        add_problem(turn, turn->mirror.faults[i]);
    if (turn->mirror.left_out)
        add_problem(turn, arena_printf(turn->arena,
                                       "%zu Records are left out: one Ingress has at most %d",
                                       turn->mirror.left_out, MIRROR_RECORDS_MAX));
    if (turn->in->refused)
        add_problem(turn, arena_copy_text(turn->arena, turn->in->refused->text));
}

static void tell(struct turn *turn)
{
    AUTO_BUFFER text = {0};
    tell_faults(turn);
    tell_outcomes(turn);
    for (size_t i = 0; i < turn->problem_count && i < SHOWN_MAX; i++)
        buffer_printf(&text, "%s%s", i ? "; " : "", turn->problems[i]);
    if (turn->problem_count > SHOWN_MAX)
        buffer_printf(&text, "; and %zu more", turn->problem_count - SHOWN_MAX);
    if (text.len)
        verdict_note(turn->out, true, EVENT_HOST_NOT_SERVED, arena_copy_text(turn->arena, text.at));
}

static void decide(struct turn *turn)
{
    char uid[37];
    object_write_uid(turn->in->subject, uid);
    turn->uid = arena_copy_text(turn->arena, uid);
    mirror_make(turn->arena, turn->in->subject, &turn->mirror);
    turn->problem_capacity = 2 * turn->mirror.count + turn->mirror.fault_count + 2;
    turn->problems = arena_new_array(turn->arena, const char *, turn->problem_capacity);
    list_owned(turn);
    list_wishes(turn);
    match(turn);
    list_children(turn);
    tell(turn);
}

void mirror_decide(const struct snapshot *snapshot, void *model, struct verdict *out)
{
    struct turn turn = {.in = snapshot, .out = out, .arena = snapshot->arena};
    (void)model;
    // Who deletes it deletes what it owns.
    if (snapshot->subject && !snapshot->subject->is_lost && !snapshot->subject->deleted_s)
        decide(&turn);
}
