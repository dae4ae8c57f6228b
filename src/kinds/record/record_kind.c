#include "kinds/record/record_kind.h"

#include "dns/rr_type.h"
#include "kinds/record/record_body.h"

// Bodies of the cache: a usual record's spec takes about 35 octets, and ours about 75, most of them
// names.

enum spec_flag {
    SPEC_ODD_TYPE = 1 << 0, // not the mnemonic of a type that is known
    SPEC_CLASS = 1 << 1,    // not IN
    SPEC_TTL = 1 << 2,
    SPEC_REF = 1 << 3,
    SPEC_INGRESS = 1 << 4,
};

enum ours_flag {
    OURS_ZONE = 1 << 0,
    OURS_LABEL = 1 << 1,
    OURS_ODD_LABEL = 1 << 2, // not that of the zone
};

const char *const record_condition_types[] = {"Accepted", "Conflicted", "Programmed", "Warned",
                                              NULL};

static bool is_given(const struct value *value)
{
    return value && value->type != VALUE_NULL;
}

static struct text class_of(const struct value *class_)
{
    struct text text = value_text(class_);
    return !is_given(class_) ? TEXT("IN") : text.at ? text : TEXT("");
}

static bool is_ingress(const struct value *owner)
{
    return value_bool_at(owner, "controller", false) &&
           text_is(value_text_at(owner, "kind"), "Ingress") &&
           text_starts(value_text_at(owner, "apiVersion"), "networking.k8s.io/");
}

static void decode_ingress(const struct value *object, struct record_spec *out)
{
    const struct value *label = value_at(object, "metadata.labels[" RECORD_MADE_LABEL "]", NULL);
    const struct value *owners = value_at(object, "metadata.ownerReferences", NULL);
    if (!text_is(value_text(label), RECORD_MADE_BY))
        return;
    value_each (owner, owners && owners->type == VALUE_LIST ? owners : NULL) {
        if (!is_ingress(owner))
            continue;
        out->ingress = value_text_at(owner, "name");
        out->ingress_uid = value_text_at(owner, "uid");
    }
}

void record_decode(const struct value *object, struct record_spec *out)
{
    const struct value *spec = value_find(object, "spec");
    const struct value *ttl = value_find(spec, "ttl");
    *out = (struct record_spec){
        .domain_name = value_text_at(spec, "domainName"),
        .ref = zone_ref_decode(value_find(spec, "zoneRef")),
        .type = value_text_at(spec, "type"),
        .class_ = class_of(value_find(spec, "class")),
        .has_ttl = is_given(ttl),
        .ttl_s = value_int_at(spec, "ttl", is_given(ttl) ? RECORD_TTL_UNREAD : 0),
        .rdata = value_text_at(spec, "rdata"),
    };
    decode_ingress(object, out);
}

// The mnemonic, a literal, when the text is one; else NULL.
static const char *mnemonic(struct text text, uint16_t *type)
{
    char numbered[10];
    if (!text.len || !rr_type_read(text, type))
        return NULL;
    const char *name = rr_type_write(*type, numbered);
    return name != numbered && text_is(text, name) ? name : NULL;
}

static void pack_type(struct pack_writer *out, struct text text)
{
    uint16_t type = 0;
    if (mnemonic(text, &type))
        pack_number(out, type);
    else
        pack_text(out, text);
}

static struct text unpack_type(struct pack_reader *in)
{
    char numbered[10];
    return text_of(rr_type_write((uint16_t)unpack_number(in), numbered));
}

static unsigned spec_flags(const struct record_spec *spec)
{
    uint16_t type;
    return (mnemonic(spec->type, &type) ? 0 : SPEC_ODD_TYPE) |
           (text_is(spec->class_, "IN") ? 0 : SPEC_CLASS) | (spec->has_ttl ? SPEC_TTL : 0) |
           (spec->ref.name.at ? SPEC_REF : 0) | (spec->ingress.len ? SPEC_INGRESS : 0);
}

void record_pack_spec(const struct value *object, struct pack_writer *out)
{
    struct record_spec spec;
    record_decode(object, &spec);
    unsigned flags = spec_flags(&spec);
    pack_number(out, flags);
    pack_type(out, spec.type);
    pack_text(out, spec.domain_name);
    pack_text(out, spec.rdata);
    if (flags & SPEC_REF)
        zone_ref_pack(out, spec.ref);
    if (flags & SPEC_CLASS)
        pack_text(out, spec.class_);
    if (flags & SPEC_TTL)
        pack_signed(out, spec.ttl_s);
    if (flags & SPEC_INGRESS) {
        pack_text(out, spec.ingress);
        pack_text(out, spec.ingress_uid);
    }
}

static void unpack_spec(struct text body, struct record_spec *out)
{
    struct pack_reader in = pack_open(body);
    unsigned flags = (unsigned)unpack_number(&in);
    *out = (struct record_spec){.class_ = TEXT("IN"), .has_ttl = flags & SPEC_TTL};
    out->type = flags & SPEC_ODD_TYPE ? unpack_text(&in) : unpack_type(&in);
    out->domain_name = unpack_text(&in);
    out->rdata = unpack_text(&in);
    if (flags & SPEC_REF)
        out->ref = zone_ref_unpack(&in);
    if (flags & SPEC_CLASS)
        out->class_ = unpack_text(&in);
    if (flags & SPEC_TTL)
        out->ttl_s = unpack_signed(&in);
    if (flags & SPEC_INGRESS) {
        out->ingress = unpack_text(&in);
        out->ingress_uid = unpack_text(&in);
    }
}

// ---- what we wrote ------------------------------------------------------------------------------

void record_status_decode(const struct value *object, struct record_status *out)
{
    const struct value *status = value_find(object, "status");
    *out = (struct record_status){
        .fqdn = value_text_at(status, "fqdn"),
        .zone = zone_ref_decode(value_find(status, "zone")),
        .observed_generation = value_int_at(status, "observedGeneration", 0),
        .parent_label = zone_label_at(object, ZONE_PARENT_LABEL),
    };
    conditions_decode(&out->conditions, value_find(status, "conditions"), record_condition_types);
}

static unsigned ours_flags(const struct record_status *status)
{
    char usual[ZONE_LABEL_MAX];
    zone_label_write(status->zone.name, status->zone.namespace_, usual);
    bool is_usual = status->zone.name.at && text_is(status->parent_label, usual);
    bool is_odd = status->parent_label.at && !is_usual;
    return (status->zone.name.at ? OURS_ZONE : 0) | (status->parent_label.at ? OURS_LABEL : 0) |
           (is_odd ? OURS_ODD_LABEL : 0);
}

void record_pack_managed(const struct value *object, struct pack_writer *out)
{
    struct record_status status;
    record_status_decode(object, &status);
    unsigned flags = ours_flags(&status);
    pack_number(out, flags);
    pack_text(out, status.fqdn);
    if (flags & OURS_ZONE)
        zone_ref_pack(out, status.zone);
    if (flags & OURS_ODD_LABEL)
        pack_text(out, status.parent_label);
    pack_signed(out, status.observed_generation);
    conditions_pack(out, &status.conditions, record_condition_types, 0);
}

static struct text usual_label(struct arena *arena, struct zone_ref zone)
{
    char label[ZONE_LABEL_MAX];
    zone_label_write(zone.name, zone.namespace_, label);
    return text_of(arena_copy_text(arena, label));
}

static void unpack_managed(struct arena *arena, struct text spec, struct text ours,
                           struct record_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    unsigned flags = (unsigned)unpack_number(&in);
    out->fqdn = unpack_text(&in);
    if (flags & OURS_ZONE)
        out->zone = zone_ref_unpack(&in);
    if (flags & OURS_ODD_LABEL)
        out->parent_label = unpack_text(&in);
    else if (flags & OURS_LABEL)
        out->parent_label = usual_label(arena, out->zone);
    out->observed_generation = unpack_signed(&in);
    conditions_unpack(&in, &out->conditions, record_condition_types, 0);
}

void record_unpack(struct arena *arena, struct text spec, struct text ours, struct record_spec *out,
                   struct record_status *out_status)
{
    unpack_spec(spec, out);
    if (out_status)
        *out_status = (struct record_status){0};
    if (out_status && ours.len)
        unpack_managed(arena, spec, ours, out_status);
}

const struct value *record_status_encode(struct arena *arena, const struct record_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("fqdn"),
              status->fqdn.len ? value_make_text(arena, status->fqdn)
                               : value_make(arena, VALUE_NULL));
    value_set(map, TEXT("zone"), zone_ref_encode(arena, status->zone));
    value_set(map, TEXT("observedGeneration"), value_make_int(arena, status->observed_generation));
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    return map;
}

// Who knows the Zone puts the whole name of a record that has none of its own yet in its place.
void record_list_names(const struct value *object, struct kind_names *out)
{
    struct record_spec spec;
    struct record_status status;
    record_decode(object, &spec);
    record_status_decode(object, &status);
    struct zone_ref zone = status.zone.name.len ? status.zone : spec.ref;
    struct kind_name *added =
        kind_names_add(out, KIND_NAME_RECORDS, status.fqdn.len ? status.fqdn : spec.domain_name);
    added->type = spec.type;
    added->values = spec.rdata;
    if (!zone.name.len)
        return;
    added->through_kind = "Zone";
    added->through_namespace =
        zone.namespace_.len ? zone.namespace_ : value_text_at(object, "metadata.namespace");
    added->through_name = zone.name;
}
