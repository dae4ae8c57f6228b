#pragma once

#include "base/memory.h"
#include "base/pack.h"
#include "base/text.h"
#include "base/value.h"

// What Pods, the templates of workloads and Services have in common, read from their trees.

// The container of that name, or else the first; NULL: there is none. `spec` is that of a Pod or of
// a template; so is it below, and NULL is taken for one that is empty. `name` may be NULL.
const struct value *pod_spec_container(const struct value *spec, const char *name);
struct text pod_spec_image(const struct value *spec, const char *name);

// Tolerations as a canonical JSON list: two that mean the same give the same text, whatever the
// order of their fields and whether a default is written out. Their own order counts. `list` may be
// NULL.
void tolerations_write(struct buffer *out, const struct value *list);

// Packs, as a text, what may be written as a number or as a text (IntOrString). `value` may be
// NULL.
void int_or_text_pack(struct pack_writer *out, const struct value *value);
