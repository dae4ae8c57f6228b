#pragma once

#include "base/kind.h"

// Core Namespace: its labels, for selectors.
extern const struct kind namespace_kind;
