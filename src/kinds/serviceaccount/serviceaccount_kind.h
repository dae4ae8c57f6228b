#pragma once

#include "base/kind.h"

// ServiceAccount (v1), of which we look at nothing but whether it is there.

extern const struct kind serviceaccount_kind;
