#pragma once

#include "base/shape.h"
#include "dns/dname.h"
#include "engine/recording.h"

// What the files of a recording share.

extern const struct shape_other recording_object; // const struct object *
extern const struct shape_other recording_zone;   // const struct zone *
extern const struct shape recording_set_shape;    // struct record_set
extern const struct shape recording_error_shape;  // struct error

// NULL: there is none.
struct value *recording_write_name(struct arena *arena, struct dname name);
// The digits that stand for a secret.
struct text recording_mask(struct recording *recording, struct arena *arena, struct text secret);
