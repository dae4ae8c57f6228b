#pragma once

#include "base/value.h"

// The merge patch (RFC 7386) that makes `next` of `now`, without parts that are equal; NULL: they
// are equal. Lists are replaced as a whole. Shares entries with `next`.
struct value *patch_between(struct arena *arena, const struct value *now, const struct value *next);
