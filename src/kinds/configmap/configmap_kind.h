#pragma once

#include "base/kind.h"
#include "base/memory.h"

// ConfigMap (v1), as far as we read one: its texts and annotations.

extern const struct kind config_map_kind;

struct config_map_entry {
    struct text key;
    struct text value;
};
// Borrowed from the body.
struct config_map {
    const struct config_map_entry *data;
    size_t data_count;
    const struct config_map_entry *annotations;
    size_t annotation_count;
};
// From a cached body (object_spec).
void config_map_unpack(struct arena *arena, struct text spec, struct config_map *out);
// Absent: there is none of that name.
struct text config_map_data(const struct config_map *map, const char *key);
struct text config_map_annotation(const struct config_map *map, const char *key);
