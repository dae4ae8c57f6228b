#pragma once

#include <stddef.h>

#include "base/kind.h"

// All kinds that are built in, from the list in src/kinds/meson.build. A new kind is a folder
// <name>/ that exports `<name>_kind`, and its name in that list.
extern const struct kind *const kinds[];
extern const size_t kind_count;
