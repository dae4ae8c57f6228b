#include <string.h>

#include "controllers/zone/zone_tree_private.h"
#include "dns/rr_type.h"

static const struct dname root = {(const uint8_t *)"", 1};

// ---- the name -----------------------------------------------------------------------------------

static bool refuse(struct judgement *out, enum reason reason)
{
    out->reason = reason;
    return false;
}

static bool has_ref(const struct judgement *judgement)
{
    return judgement->spec.ref.name.at != NULL;
}

// False: its name is at fault.
static bool read_object(struct arena *arena, const struct object *object, struct judgement *out,
                        struct error *err)
{
    record_unpack(arena, object_spec(object), object_managed(object), &out->spec, NULL);
    out->has_name = out->is_narrowed = false;
    out->has_type = rr_type_read(out->spec.type, &out->type);
    out->reason = record_read_name(&out->spec, out->octets, &out->own, err);
    return !out->reason;
}

static struct tree_entry *home_of_full(const struct zone_tree *zone_tree,
                                       const struct judgement *judgement)
{
    bool is_of_parent = judgement->has_type && judgement->type == RR_DS;
    return live_find(zone_tree, judgement->own, is_of_parent);
}

static void hang(struct zone_tree *zone_tree, struct record_entry *record_entry,
                 const struct judgement *judgement)
{
    enum record_entry_list list = has_ref(judgement) ? LIST_REFERRING : LIST_BELOW;
    struct tree_entry *home;
    if (judgement->reason)
        home = NULL;
    else if (has_ref(judgement))
        home = tree_entry_want(zone_tree,
                               tree_entry_key_of_ref(record_entry->object, &judgement->spec.ref));
    else
        home = home_of_full(zone_tree, judgement) ?: &zone_tree->nowhere;
    if (home == record_entry->home && (!home || list == record_entry->list))
        return;
    record_entry_withdraw(zone_tree, record_entry);
    record_entry_hang(zone_tree, record_entry, home, list);
    record_entry->state |= RECORD_ENTRY_IS_REPORTED;
}

static bool complete_name(const struct record_entry *record_entry, struct judgement *out,
                          struct error *err)
{
    struct dname rest = has_ref(out) ? tree_entry_name(record_entry->home) : root;
    size_t front = out->own.len - 1;
    if (!rest.at)
        return true;
    if (front + rest.len > DNAME_MAX) {
        (void)error_set(err, FAULT_SPEC, NULL, "spec.domainName: name too long %zu > %d",
                        front + rest.len, DNAME_MAX);
        return refuse(out, REASON_INVALID_NAME);
    }
    memcpy(out->octets + front, rest.at, rest.len);
    out->name = (struct dname){out->octets, front + rest.len};
    out->has_name = true;
    return true;
}

// ---- what is wrong with it by itself ------------------------------------------------------------

static enum reason check_rdata(const struct tree_entry *home, struct buffer *rdata,
                               struct judgement *out, struct error *err)
{
    const struct record_place place = {out->type, tree_entry_name(home), out->name};
    // Without a zone nothing completes the names in it.
    if (!tree_entry_has_name(home))
        return REASON_NONE;
    return record_read_rdata(&out->spec, &place, rdata, &out->entry.marks, err);
}

static bool check_object(const struct record_entry *record_entry, struct buffer *rdata,
                         struct judgement *out, struct error *err)
{
    const struct record_spec *spec = &out->spec;
    out->reason = record_read_type(spec, &out->type, err);
    if (!out->reason)
        out->reason = record_check_ttl(spec, err);
    if (!out->reason)
        out->reason = record_check_class(spec, err);
    if (!out->reason)
        out->reason = check_rdata(record_entry->home, rdata, out, err);
    return !out->reason;
}

// ---- the zone -----------------------------------------------------------------------------------

static void write_name(char out[DNAME_TEXT_MAX], struct dname name)
{
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    (void)text_clean_into(out, DNAME_TEXT_MAX, buffer_text(&text));
}

static void report_no_zone(const struct judgement *judgement, struct error *err)
{
    char name[DNAME_TEXT_MAX];
    if (!err)
        return;
    write_name(name, judgement->name);
    (void)error_set(err, FAULT_WAIT, NULL, "no live zone is at or above %s: create one", name);
}

static bool check_zone(const struct record_entry *record_entry, struct judgement *out,
                       struct error *err)
{
    const struct tree_entry *home = record_entry->home;
    if (record_entry->list == LIST_BELOW && !home->object) {
        report_no_zone(out, err);
        return refuse(out, REASON_NO_ZONE);
    }
    if (home->now.is_live)
        return true;
    const struct tree_entry_key *key = &home->key;
    if (!home->object) {
        (void)error_set(err, FAULT_WAIT, NULL, "there is no zone %.*s/%.*s: create it",
                        TEXT_ARGS(key->namespace_), TEXT_ARGS(key->name));
        return refuse(out, REASON_ZONE_NOT_FOUND);
    }
    (void)error_set(err, FAULT_WAIT, NULL, "zone %.*s/%.*s %s: %s", TEXT_ARGS(key->namespace_),
                    TEXT_ARGS(key->name),
                    tree_entry_has_name(home) ? "is not live" : "has no name yet",
                    reason_name(home->now.reason));
    return refuse(out, REASON_ZONE_WAITING);
}

// "www" of www.example.org. in example.org.; "@" is the zone itself.
static void write_relative(char out[DNAME_TEXT_MAX], struct dname name, struct dname zone)
{
    uint8_t octets[DNAME_MAX];
    size_t front = name.len - zone.len;
    memcpy(octets, name.at, front);
    octets[front] = 0;
    write_name(out, (struct dname){octets, front + 1});
    if (front)
        out[strlen(out) - 1] = '\0';
    else
        memcpy(out, "@", 2);
}

static void report_not_delegated(const struct record_entry *record_entry,
                                 const struct judgement *judgement, enum rules_answer answer,
                                 struct error *err)
{
    char zone[DNAME_TEXT_MAX];
    char name[DNAME_TEXT_MAX];
    char type[10];
    struct text namespace_ = object_namespace(record_entry->object);
    if (!err)
        return;
    write_name(zone, tree_entry_name(record_entry->home));
    write_relative(name, judgement->name, tree_entry_name(record_entry->home));
    if (answer == RULES_OTHER_TYPES)
        (void)error_set(err, FAULT_WAIT, NULL,
                        "zone %s does not delegate %s to namespace %.*s for type %s", zone, name,
                        TEXT_ARGS(namespace_), rr_type_write(judgement->type, type));
    else
        (void)error_set(err, FAULT_WAIT, NULL, "zone %s does not delegate %s to namespace %.*s",
                        zone, name, TEXT_ARGS(namespace_));
}

static bool check_delegation(const struct record_entry *record_entry, struct judgement *out,
                             struct error *err)
{
    enum rules_answer answer = rules_ask(
        record_entry->home->rules, object_namespace(record_entry->object), out->name, out->type);
    if (answer == RULES_YES)
        return true;
    out->is_narrowed = answer == RULES_LOOSELY;
    report_not_delegated(record_entry, out, answer, err);
    return refuse(out, REASON_NOT_DELEGATED);
}

static void adopt(struct judgement *out, struct text rdata)
{
    out->reason = REASON_ADOPTED;
    out->entry.owner = out->name;
    out->entry.type = out->type;
    out->entry.has_ttl = out->spec.has_ttl;
    out->entry.ttl_s = out->spec.has_ttl ? (uint32_t)out->spec.ttl_s : 0;
    out->entry.rdata = rdata;
}

static void judge(const struct record_entry *record_entry, struct buffer *rdata,
                  struct judgement *out, struct error *err)
{
    if (complete_name(record_entry, out, err) && check_object(record_entry, rdata, out, err) &&
        check_zone(record_entry, out, err) && check_delegation(record_entry, out, err))
        adopt(out, buffer_text(rdata));
}

// ---- public -------------------------------------------------------------------------------------

void record_entry_judge(struct arena *arena, const struct record_entry *record_entry,
                        struct buffer *rdata, struct judgement *out, struct error *err)
{
    if (read_object(arena, record_entry->object, out, err))
        judge(record_entry, rdata, out, err);
}

bool record_entry_has_new_home(const struct zone_tree *zone_tree,
                               const struct record_entry *record_entry)
{
    struct judgement judgement;
    (void)read_object(zone_tree->arena, record_entry->object, &judgement, NULL);
    const struct tree_entry *home = home_of_full(zone_tree, &judgement) ?: &zone_tree->nowhere;
    arena_reset(zone_tree->arena);
    return home != record_entry->home;
}

static void apply(struct zone_tree *zone_tree, struct record_entry *record_entry,
                  struct judgement *judgement)
{
    bool is_adopted = record_entry->home && judgement->reason == REASON_ADOPTED;
    if (record_entry->home)
        record_entry_set_narrowed(zone_tree, record_entry, judgement->is_narrowed);
    if (record_entry->reason != judgement->reason || !is_adopted)
        record_entry->state |= RECORD_ENTRY_IS_REPORTED;
    record_entry->reason = (uint16_t)judgement->reason;
    if (!is_adopted)
        record_entry_withdraw(zone_tree, record_entry);
    // An entry that is there is current: it was taken out when the object came in a new state.
    if (!is_adopted || record_entry->entry)
        return;
    judgement->entry.tag = record_entry;
    record_entry->entry = zone_compiler_put(record_entry->home->compiler, &judgement->entry);
    compile_due(zone_tree, record_entry->home);
}

void record_entry_settle(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    struct judgement judgement;
    bool has_good_name = read_object(zone_tree->arena, record_entry->object, &judgement, NULL);
    hang(zone_tree, record_entry, &judgement);
    if (has_good_name)
        judge(record_entry, &zone_tree->rdata, &judgement, NULL);
    apply(zone_tree, record_entry, &judgement);
    arena_reset(zone_tree->arena);
}
