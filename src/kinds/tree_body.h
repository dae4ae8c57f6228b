#pragma once

#include "base/memory.h"
#include "base/pack.h"
#include "base/value.h"

// Bodies that are trees: kinds whose objects are few, and of which a controller needs nearly all,
// keep them as JSON text and decode them as they decode a manifest.

// Packs a tree as JSON text, to be read by who needs it; NULL: an absent text.
void tree_pack(struct pack_writer *out, const struct value *tree);
// Reads what tree_pack() wrote. NULL: it was absent.
const struct value *tree_unpack(struct arena *arena, struct pack_reader *in);

// Packs as one tree what a decoder asks of an object that people write: metadata.name, the
// annotations of our group, and spec.
void object_tree_pack(const struct value *object, struct pack_writer *out);
