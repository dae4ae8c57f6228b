#pragma once

#include "kinds/record/record_kind.h"

// Inside this folder: what the kind's table points to.

extern const char *const record_condition_types[]; // NULL-terminated

void record_pack_spec(const struct value *object, struct pack_writer *out);
void record_pack_managed(const struct value *object, struct pack_writer *out);
void record_list_names(const struct value *object, struct kind_names *out);
void record_validate(const struct value *object, struct findings *findings);
