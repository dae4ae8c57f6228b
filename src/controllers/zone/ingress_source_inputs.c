#include "controllers/zone/ingress_source_inputs.h"

#include "controllers/zone/ingress_source.h"
#include "kinds/record/record_kind.h"
#include "kinds/zone/zone_kind.h"

static void offer_ingress(const struct object *record, struct strings *out)
{
    struct record_spec spec;
    record_unpack(out->arena, object_spec(record), object_managed(record), &spec, NULL);
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
    struct ingress_source ingress_source;
    struct text namespace_ = object_namespace(ingress);
    ingress_source_make(out->arena, ingress, &ingress_source);
    for (size_t i = 0; i < ingress_source.count; i++) {
        const struct ingress_source_record *record = &ingress_source.records[i];
        strings_add(out, "%.*s/%s", TEXT_ARGS(namespace_), record->name);
        strings_add(out, "%.*s/%s", TEXT_ARGS(namespace_),
                    ingress_source_other_name(out->arena, record));
    }
}

static void offer_fqdn(const struct object *zone, struct strings *out)
{
    struct zone_spec spec;
    struct zone_status status;
    zone_unpack(out->arena, object_spec(zone), object_managed(zone), &spec, &status);
    if (status.fqdn.len)
        strings_add(out, "%.*s", TEXT_ARGS(status.fqdn));
}

// Only what a CNAME would stand at.
static void want_apexes(const struct object *ingress, struct strings *out)
{
    struct ingress_source ingress_source;
    ingress_source_make(out->arena, ingress, &ingress_source);
    for (size_t i = 0; ingress_source.has_hostnames && i < ingress_source.count; i++)
        strings_add(out, "%s", ingress_source.records[i].fqdn);
}

const struct input ingress_source_inputs[INGRESS_SOURCE_INPUTS] = {
    [INGRESS_SOURCE_OWNED] = {.kind = &record_kind,
                              .index_keys = offer_ingress,
                              .lookup_keys = want_own,
                              .reads_own_writes = true},
    [INGRESS_SOURCE_NAMED] = {.kind = &record_kind, .lookup_keys = want_names},
    [INGRESS_SOURCE_ZONES] = {.kind = &zone_kind,
                              .index_keys = offer_fqdn,
                              .lookup_keys = want_apexes,
                              .reads_own_writes = true},
};

bool ingress_source_zone_is(struct arena *arena, const struct object *zone, const char *fqdn)
{
    struct zone_spec spec;
    struct zone_status status;
    zone_unpack(arena, object_spec(zone), object_managed(zone), &spec, &status);
    const struct condition *accepted = conditions_find(&status.conditions, "Accepted");
    return text_is(status.fqdn, fqdn) && accepted && accepted->status == CONDITION_TRUE;
}
