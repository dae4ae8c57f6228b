#pragma once

#include "base/kind.h"

// ConfigMap (v1), for controllers that write one: it is named in decisions, and never read as a
// manifest.

extern const struct kind config_map_kind;
