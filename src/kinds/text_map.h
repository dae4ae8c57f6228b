#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/pack.h"
#include "base/value.h"

// Texts under keys within a packed body, such as annotations, a node selector or the data of a
// ConfigMap. Their order is that of the object.

struct text_pair {
    struct text key;
    struct text value;
};
// Writes the entries of a map that are texts; of anything else than a map, none.
void text_map_pack(struct pack_writer *out, const struct value *map);
// Only those whose keys are of that domain: "domain/..." and "....domain/...".
void text_map_pack_of(struct pack_writer *out, const struct value *map, const char *domain);
bool text_map_is_key_of(struct text key, const char *domain);
// Skips or reads what text_map_pack() or text_map_pack_of() wrote. The texts are borrowed from the
// body.
void text_map_skip(struct pack_reader *in);
const struct text_pair *text_map_unpack(struct arena *arena, struct pack_reader *in, size_t *count);
// The entries of a map that are texts, out of a tree. The texts are borrowed from it.
const struct text_pair *text_map_make(struct arena *arena, const struct value *map, size_t *count);
// Absent: there is no such key.
struct text text_map_find(const struct text_pair *pairs, size_t count, struct text key);
