#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/text_map.h"

// Core Namespace: its labels, for selectors, with which the body begins, and the annotations of our
// group.
extern const struct kind namespace_kind;

// `spec` is the cached body, from which the texts are borrowed.
const struct text_pair *namespace_annotations(struct arena *arena, struct text spec, size_t *count);
