#include "kinds/dnsplan/dnsplan.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "kinds/dnsplan/dnsplan_body.h"

enum {
    NAME_DIGITS = 8,
    CLASS_KEPT = 180,
    CLASS_DIGITS = 8,
    VALUE_OCTETS_MAX = 512,
    CHANGES_OCTETS_MAX = 512 * 1024, // an object has 1.5 MiB at most, and escapes take some
};

const char *const dnsplan_reasons[] = {"Guard", "Approval", NULL};
const char *const dnsplan_acts[] = {"Create", "Update", "Delete", NULL};
const char *const dnsplan_phases[] = {"Pending", "Approved",   "Applied",
                                      "Expired", "Superseded", NULL};
const char *const dnsplan_condition_types[] = {"Applied", NULL};

// The row of that word, or `fallback`.
static unsigned find_word(const char *const *words, struct text word, unsigned fallback)
{
    for (unsigned i = 0; words[i]; i++)
        if (text_is(word, words[i]))
            return i;
    return fallback;
}

// ---- making -------------------------------------------------------------------------------------

// How much of the class's name stands in the object's: a cut one must not end in a dot or hyphen.
static size_t class_kept(struct text class_name)
{
    size_t len = class_name.len < CLASS_KEPT ? class_name.len : CLASS_KEPT;
    while (len && strchr(".-", class_name.at[len - 1]))
        len--;
    return len;
}

// Backends that are no classes may have names that objects cannot have ("shop/public").
static void replace_octets(char *name)
{
    for (char *at = name; *at; at++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", *at))
            *at = '-';
}

void dnsplan_name_write(struct text class_name, struct text checksum, char out[DNSPLAN_NAME_MAX])
{
    uint8_t digest[DIGEST_MAX];
    char digits[CLASS_DIGITS + 1];
    if (class_name.len <= CLASS_KEPT && kind_is_name(class_name)) {
        snprintf(out, DNSPLAN_NAME_MAX, "%.*s-%.*s", TEXT_ARGS(class_name), NAME_DIGITS,
                 checksum.at);
        return;
    }
    digest_of(DIGEST_SHA256, class_name, digest);
    hex_encode(digest, CLASS_DIGITS / 2, digits);
    snprintf(out, DNSPLAN_NAME_MAX, "%.*s-%s-%.*s", (int)class_kept(class_name), class_name.at,
             digits, NAME_DIGITS, checksum.at);
    replace_octets(out);
}

static void add_texts(struct arena *arena, struct value *map, const char *key,
                      const struct text *texts, size_t count)
{
    struct value *list = value_make(arena, VALUE_LIST);
    size_t shown = count < DNSPLAN_VALUES_MAX ? count : DNSPLAN_VALUES_MAX;
    for (size_t i = 0; i < shown; i++)
        value_append(list, value_make_text(arena, utf8_prefix(texts[i], VALUE_OCTETS_MAX)));
    if (count)
        value_set(map, text_of(key), list);
}

static struct value *encode_change(struct arena *arena, const struct dnsplan_change *change)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "operation", dnsplan_acts[change->act]);
    value_set(map, TEXT("name"), value_make_text(arena, change->name));
    value_set(map, TEXT("type"), value_make_text(arena, change->type));
    if (change->set.len)
        value_set(map, TEXT("set"), value_make_text(arena, change->set));
    add_texts(arena, map, "before", change->before, change->before_count);
    add_texts(arena, map, "after", change->after, change->after_count);
    if (change->object.len)
        value_set(map, TEXT("object"), value_make_text(arena, change->object));
    return map;
}

static size_t octets_of(const struct text *texts, size_t count)
{
    size_t octets = 0;
    for (size_t i = 0; i < count && i < DNSPLAN_VALUES_MAX; i++)
        octets += texts[i].len < VALUE_OCTETS_MAX ? texts[i].len : VALUE_OCTETS_MAX;
    return octets;
}

static struct value *encode_changes(struct arena *arena, const struct dnsplan *plan)
{
    struct value *list = value_make(arena, VALUE_LIST);
    size_t octets = 0;
    for (size_t i = 0; i < plan->change_count && i < DNSPLAN_CHANGES_MAX; i++) {
        const struct dnsplan_change *change = &plan->changes[i];
        octets += octets_of(change->before, change->before_count) +
                  octets_of(change->after, change->after_count);
        if (octets > CHANGES_OCTETS_MAX)
            break;
        value_append(list, encode_change(arena, change));
    }
    return list;
}

struct value *dnsplan_encode(struct arena *arena, const struct dnsplan *plan)
{
    struct value *root = value_make(arena, VALUE_MAP);
    value_put(arena, root, "spec.class", value_make_text(arena, plan->class_name));
    value_put(arena, root, "spec.zone", value_make_text(arena, plan->zone));
    value_put(arena, root, "spec.checksum", value_make_text(arena, plan->checksum));
    value_put_text(arena, root, "spec.reason", dnsplan_reasons[plan->reason]);
    value_put(arena, root, "spec.approve", value_make_text(arena, plan->approve));
    value_put_int(arena, root, "spec.counts.create", (int64_t)plan->counts[DNSPLAN_CREATE]);
    value_put_int(arena, root, "spec.counts.update", (int64_t)plan->counts[DNSPLAN_UPDATE]);
    value_put_int(arena, root, "spec.counts.delete", (int64_t)plan->counts[DNSPLAN_DELETE]);
    value_put(arena, root, "spec.changes", encode_changes(arena, plan));
    return root;
}

struct value *dnsplan_status_encode(struct arena *arena, const struct dnsplan_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_text(arena, map, "phase", dnsplan_phases[status->phase]);
    value_put_int(arena, map, "observedGeneration", status->observed_generation);
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    return map;
}

// ---- what the cache keeps -----------------------------------------------------------------------

void dnsplan_pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *spec = value_find(object, "spec");
    pack_text(out, value_text_at(spec, "class"));
    pack_text(out, value_text_at(spec, "zone"));
    pack_text(out, value_text_at(spec, "checksum"));
    pack_text(out, value_text_at(spec, "approve"));
    pack_number(out, find_word(dnsplan_reasons, value_text_at(spec, "reason"), DNSPLAN_GUARD));
}

void dnsplan_pack_managed(const struct value *object, struct pack_writer *out)
{
    struct conditions conditions;
    const struct value *status = value_find(object, "status");
    conditions_decode(&conditions, value_find(status, "conditions"), dnsplan_condition_types);
    pack_number(out, find_word(dnsplan_phases, value_text_at(status, "phase"), DNSPLAN_PENDING));
    conditions_pack(out, &conditions, dnsplan_condition_types, 0);
    pack_signed(out, value_int_at(status, "observedGeneration", 0));
}

static void unpack_managed(struct text spec, struct text ours, struct dnsplan_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    uint64_t phase = unpack_number(&in);
    out->phase = phase < DNSPLAN_PHASES ? (enum dnsplan_phase)phase : DNSPLAN_PENDING;
    conditions_unpack(&in, &out->conditions, dnsplan_condition_types, 0);
    out->observed_generation = unpack_signed(&in);
}

void dnsplan_unpack(struct text spec, struct text ours, struct dnsplan *out,
                    struct dnsplan_status *out_status)
{
    struct pack_reader in = pack_open(spec);
    *out = (struct dnsplan){.class_name = unpack_text(&in)};
    out->zone = unpack_text(&in);
    out->checksum = unpack_text(&in);
    out->approve = unpack_text(&in);
    out->reason = unpack_number(&in) == DNSPLAN_APPROVAL ? DNSPLAN_APPROVAL : DNSPLAN_GUARD;
    if (out_status)
        *out_status = (struct dnsplan_status){.phase = DNSPLAN_PENDING};
    if (out_status && ours.len)
        unpack_managed(spec, ours, out_status);
}

void dnsplan_list_names(const struct value *object, struct kind_names *out)
{
    value_each (change, value_list_at(object, "spec.changes")) {
        struct kind_name *added =
            kind_names_add(out, KIND_NAME_APPROVAL, value_text_at(change, "name"));
        added->type = value_text_at(change, "type");
        added->values = value_text_at(change, "operation");
    }
}
