#include "kinds/configmap/configmap_kind.h"

#include "base/labels.h"

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    labels_pack(object, out);
    text_map_pack(out, value_at(object, "metadata.annotations", NULL));
    text_map_pack(out, value_find(object, "data"));
}

void config_map_unpack(struct arena *arena, struct text spec, struct config_map *out)
{
    struct pack_reader in = pack_open(spec);
    labels_skip(&in);
    *out = (struct config_map){0};
    out->annotations = text_map_unpack(arena, &in, &out->annotation_count);
    out->data = text_map_unpack(arena, &in, &out->data_count);
}

struct text config_map_data(const struct config_map *map, const char *key)
{
    return text_map_find(map->data, map->data_count, text_of(key));
}

struct text config_map_annotation(const struct config_map *map, const char *key)
{
    return text_map_find(map->annotations, map->annotation_count, text_of(key));
}

static const struct field fields[] = {
    {.path = "immutable", .type = FIELD_BOOL, .doc = "Its content never changes."},
    {.path = "data", .type = FIELD_TEXT_MAP, .doc = "Texts under their keys."},
    {.path = "binaryData",
     .type = FIELD_TEXT_MAP,
     .flags = FIELD_BYTES,
     .doc = "Octets under their keys, as base64."},
};

const struct kind config_map_kind = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .is_namespaced = true,
    .is_foreign = true,
    .is_observed = true,
    .fields = fields,
    .field_count = COUNT_OF(fields),
    .doc = "Text under names.",
    .pack_spec = pack_spec,
    .keeps_labels = true,
};
