#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// Core ConfigMap: texts under names, such as a Corefile or a bundle of certificates. Controllers
// that only write one name it in decisions and need nothing of what follows. The body begins with
// its labels.
extern const struct kind config_map_kind;

struct config_map {
    const struct text_pair *annotations;
    size_t annotation_count;
    const struct text_pair *data; // texts as they are, up to 1 MiB; binaryData is not kept
    size_t data_count;
};
// `spec` is the cached body, from which the texts are borrowed.
void config_map_unpack(struct arena *arena, struct text spec, struct config_map *out);
// Absent: there is none. One that is there may be empty.
struct text config_map_data(const struct config_map *map, const char *key);
struct text config_map_annotation(const struct config_map *map, const char *key);
