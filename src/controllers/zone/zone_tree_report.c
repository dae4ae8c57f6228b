#include <string.h>

#include "controllers/zone/zone_tree_private.h"

enum { NAMED_MAX = 4, OWN_WARNINGS_MAX = 5 };

static const char *keep_text(struct arena *arena, const struct buffer *text)
{
    return arena_copy(arena, buffer_text(text).at, text->len);
}

static struct dname keep_name(struct arena *arena, struct dname name)
{
    return (struct dname){(const uint8_t *)arena_copy(arena, name.at, name.len), name.len};
}

static const char *name_text(struct arena *arena, struct dname name)
{
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    return keep_text(arena, &text);
}

static const char *key_text(struct arena *arena, const struct tree_entry *tree_entry)
{
    return arena_printf(arena, "%.*s/%.*s", TEXT_ARGS(tree_entry->key.namespace_),
                        TEXT_ARGS(tree_entry->key.name));
}

// The names are those of conditions.
static enum reason reason_of(enum zone_reason reason)
{
    return reason_find(text_of(zone_reason_name(reason)));
}

// ---- why a zone is not accepted -----------------------------------------------------------------

struct teller {
    const struct zone_tree *zone_tree;
    struct arena *arena;
    const struct tree_entry *tree_entry;
    const struct zone_spec *spec;
    const struct frame_errors *errors;
};

// What is wrong with the name: as written, or completed with the name of the Zone that it refers
// to.
static const char *report_name(const struct teller *teller)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err = {0};
    const struct tree_entry *ref = teller->tree_entry->ref;
    if (zone_read_name(teller->spec, octets, &name, &err))
        return arena_copy_text(teller->arena, err.text);
    const struct dname origin = ref ? tree_entry_name(ref) : (struct dname){0};
    (void)dname_read(teller->spec->domain_name, &origin, DNAME_OF_OBJECT, octets, &name, &err);
    return arena_printf(teller->arena, "spec.domainName: %s", err.text);
}

static const char *report_spec(const struct teller *teller)
{
    return arena_copy_text(teller->arena, teller->errors->accepted.text);
}

static const char *report_not_found(const struct teller *teller)
{
    return arena_printf(teller->arena, "there is no zone %s: create it",
                        key_text(teller->arena, teller->tree_entry->ref));
}

static const char *report_waiting(const struct teller *teller)
{
    const struct tree_entry *ref = teller->tree_entry->ref;
    return arena_printf(teller->arena, "zone %s has no name yet: %s", key_text(teller->arena, ref),
                        reason_name(ref->now.reason));
}

static const char *report_loop(const struct teller *teller)
{
    AUTO_BUFFER text = {0};
    const struct tree_entry *at = teller->tree_entry;
    buffer_printf(&text, "spec.zoneRef leads back to the zone itself: %s",
                  key_text(teller->arena, at));
    for (size_t i = 0; i < NAMED_MAX && (at != teller->tree_entry || !i); i++) {
        at = at->ref;
        buffer_printf(&text, " -> %s", key_text(teller->arena, at));
    }
    if (at != teller->tree_entry)
        buffer_add_text(&text, " -> ...");
    return keep_text(teller->arena, &text);
}

static const char *report_not_delegated(const struct teller *teller)
{
    struct arena *arena = teller->arena;
    const struct tree_entry *above = teller->tree_entry->now.enclosing;
    const char *name = name_text(arena, tree_entry_name(teller->tree_entry));
    struct text namespace_ = teller->tree_entry->key.namespace_;
    if (!above)
        return arena_printf(arena, "no live zone is above %s to delegate it: zone %s is not live",
                            name, key_text(arena, teller->tree_entry->ref));
    return arena_printf(arena, "zone %s does not delegate zone %s to namespace %.*s",
                        name_text(arena, tree_entry_name(above)), name, TEXT_ARGS(namespace_));
}

static const char *report_conflict(const struct teller *teller)
{
    const char *group = zone_tree_catalog_of(teller->zone_tree, teller->tree_entry);
    if (group)
        return arena_printf(teller->arena,
                            "the catalog of server group %s has the name %s in the zones "
                            "configuration: rename one of them",
                            group, name_text(teller->arena, tree_entry_name(teller->tree_entry)));
    return arena_printf(teller->arena, "zone %s is older and has the name %s",
                        key_text(teller->arena, teller->tree_entry->now.rival),
                        name_text(teller->arena, tree_entry_name(teller->tree_entry)));
}

static const char *report_not_allowed(const struct teller *teller)
{
    return arena_printf(teller->arena,
                        "the claims of the zones configuration do not give %s to namespace %.*s",
                        name_text(teller->arena, tree_entry_name(teller->tree_entry)),
                        TEXT_ARGS(teller->tree_entry->key.namespace_));
}

static const char *report_accepted(const struct teller *teller)
{
    return arena_printf(teller->arena, "zone %s is live",
                        name_text(teller->arena, tree_entry_name(teller->tree_entry)));
}

static const char *text_of_tree_entry(const struct teller *teller)
{
    static const struct {
        enum reason reason;
        const char *(*report)(const struct teller *teller);
    } rows[] = {
        {REASON_ACCEPTED, report_accepted},        {REASON_INVALID_NAME, report_name},
        {REASON_NAME_AND_ZONE_REF, report_name},   {REASON_NAME_INCOMPLETE, report_name},
        {REASON_INVALID_SOA, report_spec},         {REASON_UNKNOWN_SERVERS, report_spec},
        {REASON_ZONE_NOT_FOUND, report_not_found}, {REASON_ZONE_WAITING, report_waiting},
        {REASON_ZONE_LOOP, report_loop},           {REASON_NOT_DELEGATED, report_not_delegated},
        {REASON_ZONE_CONFLICT, report_conflict},   {REASON_ZONE_NOT_ALLOWED, report_not_allowed},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].reason == teller->tree_entry->now.reason)
            return rows[i].report(teller);
    return "";
}

// ---- is it ready? -------------------------------------------------------------------------------

// Of an accepted zone. `text` gets what the compiler says of a fault that it found.
static enum reason ready_of(const struct tree_entry *tree_entry, struct buffer *text)
{
    if (tree_entry->ready_fault)
        return tree_entry->ready_fault;
    enum zone_reason fault = zone_compiler_fault(tree_entry->compiler, text);
    return fault == ZONE_FINE ? REASON_COMPILED : reason_of(fault);
}

static void report_ready(const struct teller *teller, struct zone_tree_zone *out)
{
    const struct tree_entry *tree_entry = teller->tree_entry;
    AUTO_BUFFER text = {0};
    out->ready = REASON_NOT_ACCEPTED;
    out->ready_text = out->accepted_text;
    if (out->accepted != REASON_ACCEPTED)
        return;
    out->ready = ready_of(tree_entry, &text);
    out->ready_text = tree_entry->ready_fault
                          ? arena_copy_text(teller->arena, teller->errors->ready.text)
                      : out->ready == REASON_COMPILED ? "the zone is compiled"
                                                      : keep_text(teller->arena, &text);
}

// ---- warnings of a zone -------------------------------------------------------------------------

struct warnings {
    struct arena *arena;
    struct zone_tree_warning *items;
    size_t count;
};

static void warn(struct warnings *warnings, enum reason reason, const char *text)
{
    if (warnings->count < ZONE_TREE_WARNINGS_MAX)
        warnings->items[warnings->count++] = (struct zone_tree_warning){reason, text};
}

// Leaves room for the warnings that are not the compiler's.
static void warn_of_compiler(void *context, enum zone_reason reason, struct text text)
{
    struct warnings *warnings = context;
    if (warnings->count < ZONE_TREE_WARNINGS_MAX - OWN_WARNINGS_MAX)
        warn(warnings, reason_of(reason), arena_copy(warnings->arena, text.at, text.len));
}

static void warn_of_rules(struct warnings *warnings, const struct teller *teller,
                          enum rules_oddity oddity, enum reason reason)
{
    AUTO_BUFFER text = {0};
    if (!rules_have(teller->tree_entry->rules, oddity))
        return;
    rules_explain(teller->spec, tree_entry_name(teller->tree_entry), oddity, &text);
    warn(warnings, reason, keep_text(teller->arena, &text));
}

static void warn_of_parent(struct warnings *warnings, const struct teller *teller)
{
    const struct tree_entry *tree_entry = teller->tree_entry;
    if (!tree_entry->now.is_live || !tree_entry->now.enclosing || tree_entry->now.parent)
        return;
    warn(warnings, REASON_NOT_DELEGATED_BY_PARENT,
         arena_printf(teller->arena,
                      "zone %s does not list %s in its delegations: it will not point at it",
                      name_text(teller->arena, tree_entry_name(tree_entry->now.enclosing)),
                      name_text(teller->arena, tree_entry_name(tree_entry))));
}

static bool is_before(const struct record_entry *a, const struct record_entry *b)
{
    int order = text_compare(object_namespace(a->object), object_namespace(b->object));
    return (order ? order : text_compare(object_name(a->object), object_name(b->object))) < 0;
}

// Keeps the first NAMED_MAX in the order of their names.
static void insert(const struct record_entry *first[NAMED_MAX], size_t *count,
                   const struct record_entry *record_entry)
{
    size_t at = *count;
    while (at > 0 && is_before(record_entry, first[at - 1]))
        at--;
    if (at == NAMED_MAX)
        return;
    *count += *count < NAMED_MAX;
    for (size_t i = *count - 1; i > at; i--)
        first[i] = first[i - 1];
    first[at] = record_entry;
}

static void warn_of_narrowed(struct warnings *warnings, const struct teller *teller)
{
    const struct tree_entry *tree_entry = teller->tree_entry;
    const struct record_entry *first[NAMED_MAX];
    AUTO_BUFFER text = {0};
    size_t count = 0;
    if (!tree_entry->narrowed_count)
        return;
    for (size_t list = 0; list < LISTS; list++)
        list_each (record_entry, &tree_entry->lists[list])
            if (record_entry->state & RECORD_ENTRY_IS_NARROWED)
                insert(first, &count, record_entry);
    buffer_add_text(&text, "only Kubizone's reading of the patterns would have adopted record");
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(&text, i ? ", " : " ");
        object_write_name(&text, first[i]->object);
    }
    if (tree_entry->narrowed_count > count)
        buffer_add_text(&text, " and others");
    warn(warnings, REASON_PATTERN_NARROWED, keep_text(teller->arena, &text));
}

static void report_warnings(const struct teller *teller, struct zone_tree_zone *out)
{
    struct warnings warnings = {.arena = teller->arena, .items = out->warnings};
    if (teller->tree_entry->compiler)
        zone_compiler_warnings(teller->tree_entry->compiler, warn_of_compiler, &warnings);
    warn_of_rules(&warnings, teller, RULES_INVALID, REASON_INVALID_PATTERN);
    warn_of_parent(&warnings, teller);
    warn_of_rules(&warnings, teller, RULES_LOOKS_ABSOLUTE, REASON_PATTERN_LOOKS_ABSOLUTE);
    warn_of_narrowed(&warnings, teller);
    warn_of_rules(&warnings, teller, RULES_OUTSIDE, REASON_PATTERN_OUTSIDE_ZONE);
    out->warning_count = warnings.count;
}

// ---- records ------------------------------------------------------------------------------------

// True if the record is wrong by itself, and not because of what else is there.
static bool is_own_fault(enum zone_reason reason)
{
    return reason >= ZONE_OUT_OF_ZONE && reason <= ZONE_SVCB_SELF_ALIAS;
}

static const char *explain(const struct record_entry *record_entry, struct arena *arena,
                           enum zone_reason reason)
{
    AUTO_BUFFER text = {0};
    zone_compiler_explain(record_entry->home->compiler, record_entry->entry, reason, &text);
    return keep_text(arena, &text);
}

static const char *report_circle(const struct record_entry *record_entry, struct arena *arena)
{
    uint8_t octets[DNAME_MAX];
    struct dname target = {0};
    struct dname owner =
        zone_record_owner(record_entry->home->compiler, record_entry->entry, octets);
    (void)zone_record_target(record_entry->entry, &target);
    return arena_printf(arena, "CNAME loop: %s leads to %s, out of its zone, and from there back",
                        name_text(arena, owner), name_text(arena, target));
}

static void report_outcome(const struct record_entry *record_entry, struct arena *arena,
                           struct zone_tree_record *out)
{
    struct zone_outcome outcome = zone_record_outcome(record_entry->entry);
    out->is_in = outcome.reason == ZONE_FINE;
    if (is_own_fault(outcome.reason)) {
        out->accepted = reason_of(outcome.reason);
        out->accepted_text = explain(record_entry, arena, outcome.reason);
        return;
    }
    out->zone = record_entry->home->object;
    if (outcome.reason != ZONE_FINE) {
        out->conflicted = reason_of(outcome.reason);
        out->conflicted_text = explain(record_entry, arena, outcome.reason);
    }
    struct warnings warnings = {.arena = arena, .items = out->warnings};
    for (enum zone_reason reason = ZONE_TTL_MISMATCH; reason < ZONE_REASON_COUNT; reason++)
        if (reason != ZONE_DUPLICATE && outcome.warnings & 1u << (reason - ZONE_TTL_MISMATCH))
            warn(&warnings, reason_of(reason), explain(record_entry, arena, reason));
    if (out->is_in && record_entry->state & RECORD_ENTRY_IS_LOOPING)
        warn(&warnings, REASON_CNAME_LOOP, report_circle(record_entry, arena));
    out->warning_count = warnings.count;
}

// ---- public -------------------------------------------------------------------------------------

bool zone_tree_zone(const struct zone_tree *zone_tree, struct arena *arena,
                    const struct object *object, struct zone_tree_zone *out)
{
    struct zone_spec spec;
    struct zone_frame frame;
    struct frame_errors errors = {.accepted = {.text = ""}, .ready = {.text = ""}};
    const struct tree_entry *tree_entry = tree_entry_find(zone_tree, tree_entry_key_of(object));
    if (!tree_entry || !tree_entry->object)
        return false;
    zone_unpack(arena, object_spec(tree_entry->object), object_managed(tree_entry->object), &spec,
                NULL);
    if (tree_entry_has_name(tree_entry))
        (void)frame_make(zone_tree->settings, arena, tree_entry_name(tree_entry), &spec, &frame,
                         &errors);
    *out = (struct zone_tree_zone){
        .object = tree_entry->object,
        .has_fqdn = tree_entry_has_name(tree_entry),
        .is_live = tree_entry->now.is_live,
        .parent = tree_entry->now.parent ? tree_entry->now.parent->object : NULL,
        .accepted = tree_entry->now.reason,
        .compiler = tree_entry->compiler,
    };
    if (out->has_fqdn)
        out->fqdn = tree_entry_name(tree_entry);
    struct teller teller = {zone_tree, arena, tree_entry, &spec, &errors};
    out->accepted_text = text_of_tree_entry(&teller);
    report_ready(&teller, out);
    report_warnings(&teller, out);
    return true;
}

enum reason zone_tree_zone_ready(const struct zone_tree *zone_tree, const struct object *object)
{
    AUTO_BUFFER text = {0};
    const struct tree_entry *tree_entry = tree_entry_find(zone_tree, tree_entry_key_of(object));
    if (!tree_entry || !tree_entry->object || tree_entry->now.reason != REASON_ACCEPTED)
        return REASON_NOT_ACCEPTED;
    return ready_of(tree_entry, &text);
}

bool zone_tree_record(const struct zone_tree *zone_tree, struct arena *arena,
                      const struct object *object, struct zone_tree_record *out)
{
    AUTO_BUFFER rdata = {0};
    struct judgement judgement;
    struct error err = {.text = ""};
    const struct record_entry *record_entry =
        record_entry_find(zone_tree, tree_entry_key_of(object));
    if (!record_entry)
        return false;
    record_entry_judge(arena, record_entry, &rdata, &judgement, &err);
    *out = (struct zone_tree_record){
        .object = record_entry->object,
        .has_fqdn = judgement.has_name,
        .accepted = record_entry->reason,
        .conflicted = REASON_NO_CONFLICT,
        .conflicted_text = "",
    };
    if (out->has_fqdn)
        out->fqdn = keep_name(arena, judgement.name);
    out->accepted_text = record_entry->entry
                             ? arena_printf(arena, "zone %s has adopted it",
                                            name_text(arena, tree_entry_name(record_entry->home)))
                             : arena_copy_text(arena, err.text);
    if (record_entry->entry)
        report_outcome(record_entry, arena, out);
    return true;
}
