#include "controllers/zone/mirror_gathers.h"

#include "controllers/zone/mirror.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

static void offer_ingress(const struct object *record, struct strings *out)
{
    struct record_spec spec;
    record_unpack(out->arena, object_spec(record), object_ours(record), &spec, NULL);
    if (spec.ingress.len)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(record)), TEXT_ARGS(spec.ingress));
}

static void want_own(const struct object *ingress, struct strings *out)
{
    strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(ingress)),
                TEXT_ARGS(object_name(ingress)));
}

static void want_names(const struct object *ingress, struct strings *out)
{
    struct mirror mirror;
    struct text namespace_ = object_namespace(ingress);
    mirror_make(out->arena, ingress, &mirror);
    for (size_t i = 0; i < mirror.count; i++) {
        const struct mirror_record *record = &mirror.records[i];
        strings_add(out, "%.*s/%s", TEXT_ARGS(namespace_), record->name);
        strings_add(out, "%.*s/%s", TEXT_ARGS(namespace_), mirror_other_name(out->arena, record));
    }
}

static void offer_fqdn(const struct object *zone, struct strings *out)
{
    struct zone_spec spec;
    struct zone_status status;
    zone_unpack(out->arena, object_spec(zone), object_ours(zone), &spec, &status);
    if (status.fqdn.len)
        strings_add(out, "%.*s", TEXT_ARGS(status.fqdn));
}

// Only what a CNAME would stand at.
static void want_apexes(const struct object *ingress, struct strings *out)
{
    struct mirror mirror;
    mirror_make(out->arena, ingress, &mirror);
    for (size_t i = 0; mirror.has_hostnames && i < mirror.count; i++)
        strings_add(out, "%s", mirror.records[i].fqdn);
}

const struct gather mirror_gathers[MIRROR_GATHERS] = {
    [MIRROR_OWNED] = {&record_kind, offer_ingress, want_own, true},
    [MIRROR_NAMED] = {&record_kind, NULL, want_names, false},
    [MIRROR_ZONES] = {&zone_kind, offer_fqdn, want_apexes, true},
};

bool mirror_zone_is(struct arena *arena, const struct object *zone, const char *fqdn)
{
    struct zone_spec spec;
    struct zone_status status;
    zone_unpack(arena, object_spec(zone), object_ours(zone), &spec, &status);
    const struct condition *accepted = conditions_find(&status.conditions, "Accepted");
    return text_is(status.fqdn, fqdn) && accepted && accepted->status == CONDITION_TRUE;
}
