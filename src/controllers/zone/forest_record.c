#include <string.h>

#include "controllers/zone/forest_private.h"
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
    record_unpack(arena, object_spec(object), object_ours(object), &out->spec, NULL);
    out->has_name = out->is_narrowed = false;
    out->has_type = rr_type_read(out->spec.type, &out->type);
    out->reason = record_read_name(&out->spec, out->octets, &out->own, err);
    return !out->reason;
}

static struct node *home_of_full(const struct forest *forest, const struct judgement *judgement)
{
    bool is_of_parent = judgement->has_type && judgement->type == RR_DS;
    return live_find(forest, judgement->own, is_of_parent);
}

static void hang(struct forest *forest, struct leaf *leaf, const struct judgement *judgement)
{
    enum leaf_list list = has_ref(judgement) ? LIST_REFERRING : LIST_BELOW;
    struct node *home;
    if (judgement->reason)
        home = NULL;
    else if (has_ref(judgement))
        home = node_want(forest, node_key_of_ref(leaf->object, &judgement->spec.ref));
    else
        home = home_of_full(forest, judgement) ?: &forest->nowhere;
    if (home == leaf->home && (!home || list == leaf->list))
        return;
    leaf_withdraw(forest, leaf);
    leaf_hang(forest, leaf, home, list);
    leaf->state |= LEAF_IS_TOLD;
}

static bool complete_name(const struct leaf *leaf, struct judgement *out, struct error *err)
{
    struct dname rest = has_ref(out) ? node_name(leaf->home) : root;
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

static enum reason check_rdata(const struct node *home, struct buffer *rdata, struct judgement *out,
                               struct error *err)
{
    const struct record_place place = {out->type, node_name(home), out->name};
    // Without a zone nothing completes the names in it.
    if (!node_has_name(home))
        return REASON_NONE;
    return record_read_rdata(&out->spec, &place, rdata, &out->entry.marks, err);
}

static bool check_object(const struct leaf *leaf, struct buffer *rdata, struct judgement *out,
                         struct error *err)
{
    const struct record_spec *spec = &out->spec;
    out->reason = record_read_type(spec, &out->type, err);
    if (!out->reason)
        out->reason = record_check_ttl(spec, err);
    if (!out->reason)
        out->reason = record_check_class(spec, err);
    if (!out->reason)
        out->reason = check_rdata(leaf->home, rdata, out, err);
    return !out->reason;
}

// ---- the zone -----------------------------------------------------------------------------------

static void write_name(char out[DNAME_TEXT_MAX], struct dname name)
{
    AUTO_BUFFER text = {0};
    dname_write(&text, name);
    (void)text_clean_into(out, DNAME_TEXT_MAX, buffer_text(&text));
}

static void tell_no_zone(const struct judgement *judgement, struct error *err)
{
    char name[DNAME_TEXT_MAX];
    if (!err)
        return;
    write_name(name, judgement->name);
    (void)error_set(err, FAULT_WAIT, NULL, "no live zone is at or above %s: create one", name);
}

static bool check_zone(const struct leaf *leaf, struct judgement *out, struct error *err)
{
    const struct node *home = leaf->home;
    if (leaf->list == LIST_BELOW && !home->object) {
        tell_no_zone(out, err);
        return refuse(out, REASON_NO_ZONE);
    }
    if (home->now.is_live)
        return true;
    const struct node_key *key = &home->key;
    if (!home->object) {
        (void)error_set(err, FAULT_WAIT, NULL, "there is no zone %.*s/%.*s: create it",
                        TEXT_ARGS(key->namespace_), TEXT_ARGS(key->name));
        return refuse(out, REASON_ZONE_NOT_FOUND);
    }
    (void)error_set(err, FAULT_WAIT, NULL, "zone %.*s/%.*s %s: %s", TEXT_ARGS(key->namespace_),
                    TEXT_ARGS(key->name), node_has_name(home) ? "is not live" : "has no name yet",
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

static void tell_not_delegated(const struct leaf *leaf, const struct judgement *judgement,
                               enum rules_answer answer, struct error *err)
{
    char zone[DNAME_TEXT_MAX];
    char name[DNAME_TEXT_MAX];
    char type[10];
    struct text namespace_ = object_namespace(leaf->object);
    if (!err)
        return;
    write_name(zone, node_name(leaf->home));
    write_relative(name, judgement->name, node_name(leaf->home));
    if (answer == RULES_OTHER_TYPES)
        (void)error_set(err, FAULT_WAIT, NULL,
                        "zone %s does not delegate %s to namespace %.*s for type %s", zone, name,
                        TEXT_ARGS(namespace_), rr_type_write(judgement->type, type));
    else
        (void)error_set(err, FAULT_WAIT, NULL, "zone %s does not delegate %s to namespace %.*s",
                        zone, name, TEXT_ARGS(namespace_));
}

static bool check_delegation(const struct leaf *leaf, struct judgement *out, struct error *err)
{
    enum rules_answer answer =
        rules_ask(leaf->home->rules, object_namespace(leaf->object), out->name, out->type);
    if (answer == RULES_YES)
        return true;
    out->is_narrowed = answer == RULES_LOOSELY;
    tell_not_delegated(leaf, out, answer, err);
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

static void judge(const struct leaf *leaf, struct buffer *rdata, struct judgement *out,
                  struct error *err)
{
    if (complete_name(leaf, out, err) && check_object(leaf, rdata, out, err) &&
        check_zone(leaf, out, err) && check_delegation(leaf, out, err))
        adopt(out, buffer_text(rdata));
}

// ---- public -------------------------------------------------------------------------------------

void leaf_judge(struct arena *arena, const struct leaf *leaf, struct buffer *rdata,
                struct judgement *out, struct error *err)
{
    if (read_object(arena, leaf->object, out, err))
        judge(leaf, rdata, out, err);
}

bool leaf_has_new_home(const struct forest *forest, const struct leaf *leaf)
{
    struct judgement judgement;
    (void)read_object(forest->arena, leaf->object, &judgement, NULL);
    const struct node *home = home_of_full(forest, &judgement) ?: &forest->nowhere;
    arena_reset(forest->arena);
    return home != leaf->home;
}

static void apply(struct forest *forest, struct leaf *leaf, struct judgement *judgement)
{
    bool is_adopted = leaf->home && judgement->reason == REASON_ADOPTED;
    if (leaf->home)
        leaf_set_narrowed(forest, leaf, judgement->is_narrowed);
    if (leaf->reason != judgement->reason || !is_adopted)
        leaf->state |= LEAF_IS_TOLD;
    leaf->reason = (uint16_t)judgement->reason;
    if (!is_adopted)
        leaf_withdraw(forest, leaf);
    // One that stays is the same: a new state of the object was taken out when it came.
    if (!is_adopted || leaf->entry)
        return;
    judgement->entry.tag = leaf;
    leaf->entry = zone_compiler_put(leaf->home->compiler, &judgement->entry);
    compile_due(forest, leaf->home);
}

void leaf_settle(struct forest *forest, struct leaf *leaf)
{
    struct judgement judgement;
    bool has_good_name = read_object(forest->arena, leaf->object, &judgement, NULL);
    hang(forest, leaf, &judgement);
    if (has_good_name)
        judge(leaf, &forest->rdata, &judgement, NULL);
    apply(forest, leaf, &judgement);
    arena_reset(forest->arena);
}
