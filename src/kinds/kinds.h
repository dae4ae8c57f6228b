#pragma once

#include <stddef.h>

#include "base/kind.h"

// All kinds that are built in, from the list in src/kinds/meson.build. A new kind is a folder
// <name>/ that exports `<name>_kind`, and its name in that list.
extern const struct kind *const kinds[];
extern const size_t kind_count;

// Lists the kinds whose manifests are judged: all but those that are only observed. `out` has room
// for kind_count. Returns how many there are.
size_t kinds_of_manifests(const struct kind **out);
