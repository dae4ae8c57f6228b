#pragma once

#include "base/kind.h"

// Core ServiceAccount: whom pods act as. The body begins with its labels.
extern const struct kind serviceaccount_kind;

// Its annotations as JSON; absent: it has none. `spec` is the cached body, from which it is
// borrowed.
struct text serviceaccount_annotations(struct text spec);
