#include "kinds/steward/steward_kind.h"

static const char *const condition_types[] = {"Ready", NULL};

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_text(out, value_text_at(object, "spec.motto"));
}

static void pack_managed(const struct value *object, struct pack_writer *out)
{
    struct conditions conditions;
    conditions_decode(&conditions, value_at(object, "status.conditions", NULL), condition_types);
    conditions_pack(out, &conditions, condition_types, 0);
}

void steward_unpack(struct text spec, struct text ours, struct steward *out)
{
    struct pack_reader in = pack_open(spec);
    *out = (struct steward){.motto = unpack_text(&in)};
    in = pack_open_behind(spec, ours);
    if (ours.len)
        conditions_unpack(&in, &out->conditions, condition_types, 0);
}

struct value *steward_status_encode(struct arena *arena, int64_t generation, size_t houses,
                                    size_t rooms, const struct conditions *conditions)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_put_int(arena, map, "observedGeneration", generation);
    value_put_int(arena, map, "houses", (int64_t)houses);
    value_put_int(arena, map, "rooms", (int64_t)rooms);
    value_set(map, TEXT("conditions"), conditions_encode(arena, conditions));
    return map;
}

static const struct field fields[] = {
    {.path = "spec", .type = FIELD_MAP, .doc = "What the steward goes by."},
    {.path = "spec.motto", .type = FIELD_TEXT, .max = 64, .doc = "Words over the door."},
    {.path = "status", .type = FIELD_MAP, .doc = "What the steward found."},
    {.path = "status.observedGeneration",
     .type = FIELD_INT,
     .flags = FIELD_INT64,
     .doc = "Generation that this status speaks of."},
    {.path = "status.houses", .type = FIELD_INT, .doc = "Houses that are looked after."},
    {.path = "status.rooms", .type = FIELD_INT, .doc = "Rooms in those that answered."},
    CONDITION_FIELDS("Ready."),
};

static const struct kind_column columns[] = {{"Rooms", "integer", ".status.rooms", 0}};

static void write_summary(const struct value *object, struct buffer *out)
{
    buffer_printf(out, "says %.*s", TEXT_ARGS(value_text_at(object, "spec.motto")));
}

const struct kind steward_kind = {
    .group = "estate.example",
    .version = "v1",
    .name = "Steward",
    .plural = "stewards",
    .singular = "steward",
    .has_status = true,
    .read_role = "view",
    .change_role = "admin",
    .condition_types = condition_types,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .columns = columns,
    .column_count = COUNT_OF(columns),
    .doc = "Somebody who looks after houses.",
    .pack_spec = pack_spec,
    .pack_managed = pack_managed,
    .write_summary = write_summary,
};
