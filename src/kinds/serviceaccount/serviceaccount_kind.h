#pragma once

#include "base/kind.h"

// Core ServiceAccount: whom pods act as. That it exists, and its labels, are all that is kept.
extern const struct kind serviceaccount_kind;
