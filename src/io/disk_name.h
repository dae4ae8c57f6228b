#pragma once

#include <stdbool.h>

// Private to this room: names of the temporary files that disk_replace writes. They lie beside
// their target as ".<name>.XXXXXX.tmp": the leading "." hides them from whoever lists manifests,
// and disk_watch does not report them.
#define DISK_TEMPORARY_END ".tmp"

bool disk_name_is_temporary(const char *name);
