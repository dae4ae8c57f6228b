#include "kinds/zonefile/zonefile_kind.h"

static const char *const condition_types[] = {"Ready", NULL};

// ---- spec ---------------------------------------------------------------------------------------

static const struct value *refs_of(const struct value *object)
{
    const struct value *list = value_at(object, "spec.zoneRefs", NULL);
    return list && list->type == VALUE_LIST ? list : NULL;
}

static struct text config_map_of(const struct value *object)
{
    struct text name = value_text_at(object, "spec.configMapName");
    return name.at ? name : value_text_at(object, "metadata.name");
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    const struct value *refs = refs_of(object);
    pack_text(out, config_map_of(object));
    pack_number(out, value_count(refs));
    value_each (item, refs)
        zone_ref_pack(out, zone_ref_decode(item));
}

static void unpack_spec(struct arena *arena, struct text body, struct zonefile_spec *out)
{
    struct pack_reader in = pack_open(body);
    *out = (struct zonefile_spec){.config_map = unpack_text(&in)};
    out->zone_count = unpack_number(&in);
    out->zones = arena_new_array(arena, struct zone_ref, out->zone_count + 1);
    for (size_t i = 0; i < out->zone_count; i++)
        out->zones[i] = zone_ref_unpack(&in);
}

// ---- what we wrote ------------------------------------------------------------------------------

// Zones that stand in both maps, with what stands there.
static size_t zones_decode(const struct value *status, struct zonefile_status_zone *zones)
{
    size_t count = 0;
    const struct value *hashes = value_find(status, "hash");
    const struct value *serials = value_find(status, "serial");
    value_each (item, hashes && hashes->type == VALUE_MAP ? hashes : NULL) {
        const struct value *serial = value_find_text(serials, item->key);
        if (item->type != VALUE_TEXT || !serial || serial->type != VALUE_INT ||
            serial->integer < 0 || serial->integer > UINT32_MAX)
            continue;
        zones[count++] = (struct zonefile_status_zone){
            .fqdn = item->key, .hash = item->text, .serial = (uint32_t)serial->integer};
    }
    return count;
}

static void pack_managed(const struct value *object, struct pack_writer *out)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct conditions conditions;
    const struct value *status = value_find(object, "status");
    size_t most = value_count(value_find(status, "hash"));
    struct zonefile_status_zone *zones =
        arena_new_array(arena, struct zonefile_status_zone, most + 1);
    size_t count = zones_decode(status, zones);
    pack_number(out, count);
    for (size_t i = 0; i < count; i++) {
        pack_text(out, zones[i].fqdn);
        pack_text(out, zones[i].hash);
        pack_number(out, zones[i].serial);
    }
    conditions_decode(&conditions, value_find(status, "conditions"), condition_types);
    conditions_pack(out, &conditions, condition_types, 0);
    pack_signed(out, value_int_at(status, "observedGeneration", 0));
}

static void unpack_managed(struct arena *arena, struct text spec, struct text ours,
                           struct zonefile_status *out)
{
    struct pack_reader in = pack_open_behind(spec, ours);
    out->zone_count = unpack_number(&in);
    out->zones = arena_new_array(arena, struct zonefile_status_zone, out->zone_count + 1);
    for (size_t i = 0; i < out->zone_count; i++) {
        out->zones[i].fqdn = unpack_text(&in);
        out->zones[i].hash = unpack_text(&in);
        out->zones[i].serial = (uint32_t)unpack_number(&in);
    }
    conditions_unpack(&in, &out->conditions, condition_types, 0);
    out->observed_generation = unpack_signed(&in);
}

void zonefile_unpack(struct arena *arena, struct text spec, struct text ours,
                     struct zonefile_spec *out, struct zonefile_status *out_status)
{
    unpack_spec(arena, spec, out);
    if (out_status)
        *out_status = (struct zonefile_status){0};
    if (out_status && ours.len)
        unpack_managed(arena, spec, ours, out_status);
}

const struct value *zonefile_status_encode(struct arena *arena,
                                           const struct zonefile_status *status)
{
    struct value *map = value_make(arena, VALUE_MAP);
    struct value *hashes = value_make(arena, VALUE_MAP);
    struct value *serials = value_make(arena, VALUE_MAP);
    for (size_t i = 0; i < status->zone_count; i++) {
        const struct zonefile_status_zone *zone = &status->zones[i];
        value_set(hashes, zone->fqdn, value_make_text(arena, zone->hash));
        value_set(serials, zone->fqdn, value_make_int(arena, zone->serial));
    }
    value_set(map, TEXT("hash"), hashes);
    value_set(map, TEXT("serial"), serials);
    value_set(map, TEXT("observedGeneration"), value_make_int(arena, status->observed_generation));
    value_set(map, TEXT("conditions"), conditions_encode(arena, &status->conditions));
    return map;
}

// ---- table --------------------------------------------------------------------------------------

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .flags = FIELD_REQUIRED, .doc = "What is written where."},
    {.path = "spec.zoneRefs",
     .type = FIELD_LIST,
     .flags = FIELD_REQUIRED,
     .doc = "The Zones whose text is written, each under its full name."},
    ZONE_REF_FIELDS("spec.zoneRefs[]", 0, "One Zone."),
    {.path = "spec.configMapName",
     .type = FIELD_TEXT,
     .flags = FIELD_NULLABLE,
     .doc = "Name of the ConfigMap, in the same namespace; this object's own when absent."},

    {.path = "status",
     .type = FIELD_MAP,
     .flags = FIELD_NULLABLE,
     .doc = "What stands in the ConfigMap."},
    {.path = "status.hash",
     .type = FIELD_TEXT_MAP,
     .flags = FIELD_REQUIRED,
     .doc = "By a zone's full name, the hash of what was written."},
    {.path = "status.serial",
     .type = FIELD_INT_MAP,
     .flags = FIELD_REQUIRED | FIELD_UINT32,
     .doc = "By a zone's full name, its serial number."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    CONDITION_FIELDS("Ready."),
};

static const struct kind_column columns[] = {
    {"ready", "string", ".status.conditions[?(@.type==\"Ready\")].status", 0},
    {"reason", "string", ".status.conditions[?(@.type==\"Ready\")].reason", 0},
};

static void write_summary(const struct value *object, struct buffer *out)
{
    buffer_printf(out, "ConfigMap %.*s", TEXT_ARGS(config_map_of(object)));
}

const struct kind zonefile_kind = {
    .group = ZONE_GROUP,
    .version = "v1alpha1",
    .name = "ZoneFile",
    .plural = "zonefiles",
    .singular = "zonefile",
    .is_namespaced = true,
    .has_status = true,
    .is_lenient = true,
    .condition_types = condition_types,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Zones as text in a ConfigMap.",
    .pack_spec = pack_spec,
    .pack_managed = pack_managed,
    .write_summary = write_summary,
};
