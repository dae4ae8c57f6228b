#include "kinds/configmap/configmap_kind.h"

static void pack_map(const struct value *map, struct pack_writer *out)
{
    pack_number(out, value_count(map));
    value_each (item, map) {
        pack_text(out, item->key);
        pack_text(out, value_text(item));
    }
}

static void pack_spec(const struct value *object, struct pack_writer *out)
{
    pack_map(value_find(object, "data"), out);
    pack_map(value_at(object, "metadata.annotations", NULL), out);
}

static const struct config_map_entry *unpack_map(struct arena *arena, struct pack_reader *in,
                                                 size_t *count)
{
    *count = unpack_number(in);
    struct config_map_entry *entries = arena_new_array(arena, struct config_map_entry, *count + 1);
    for (size_t i = 0; i < *count; i++) {
        entries[i].key = unpack_text(in);
        entries[i].value = unpack_text(in);
    }
    return entries;
}

void config_map_unpack(struct arena *arena, struct text spec, struct config_map *out)
{
    struct pack_reader in = pack_open(spec);
    out->data = unpack_map(arena, &in, &out->data_count);
    out->annotations = unpack_map(arena, &in, &out->annotation_count);
}

static struct text find(const struct config_map_entry *entries, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (text_is(entries[i].key, key))
            return entries[i].value;
    return (struct text){0};
}

struct text config_map_data(const struct config_map *map, const char *key)
{
    return find(map->data, map->data_count, key);
}

struct text config_map_annotation(const struct config_map *map, const char *key)
{
    return find(map->annotations, map->annotation_count, key);
}

const struct kind config_map_kind = {
    .group = "",
    .version = "v1",
    .name = "ConfigMap",
    .plural = "configmaps",
    .singular = "configmap",
    .is_namespaced = true,
    .is_foreign = true,
    .doc = "Text under names.",
    .pack_spec = pack_spec,
};
