#pragma once

#include "kinds/zone/zone_kind.h"

// Inside this folder: what the kind's table points to.

extern const char *const zone_condition_types[]; // NULL-terminated

void zone_pack_spec(const struct value *object, struct pack_writer *out);
void zone_pack_managed(const struct value *object, struct pack_writer *out);
void zone_list_names(const struct value *object, struct kind_names *out);
void zone_validate(const struct value *object, struct findings *findings);
