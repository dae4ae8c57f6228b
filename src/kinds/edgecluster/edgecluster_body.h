#pragma once

#include "kinds/edgecluster/edgecluster_kind.h"

// Inside this folder: what the kind's table points to.

extern const char *const edgecluster_condition_types[]; // NULL-terminated

void edgecluster_pack_managed(const struct value *object, struct pack_writer *out);
