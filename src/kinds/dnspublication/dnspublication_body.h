#pragma once

#include "kinds/dnspublication/dnspublication_kind.h"

// Inside this folder: what the kind's table points to.

extern const char *const dnspublication_desires[]; // NULL-terminated, as all below
extern const char *const dnspublication_states[];  // by enum dnspublication_state
extern const char *const dnspublication_condition_types[];

void dnspublication_list_names(const struct value *object, struct kind_names *out);
void dnspublication_pack_managed(const struct value *object, struct pack_writer *out);
void dnspublication_unpack_managed(struct arena *arena, struct text spec, struct text ours,
                                   struct dnspublication_status *out);
