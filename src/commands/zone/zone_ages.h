#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/memory.h"
#include "store/folder/folder.h"
#include "store/object.h"

// When the folder store first saw each object, as its status says: of two that are in each other's
// way the older one stays. Read once, by the names of the objects.

struct zone_ages;
// NULL: the folder cannot be read.
struct zone_ages *zone_ages_read(const struct folder_options *options, struct error *err);
void zone_ages_free(struct zone_ages *ages);
DEFINE_CLEANUP(zone_ages, zone_ages_free)
// RFC 3339; NULL: it has not been seen yet, or `ages` is NULL.
const char *zone_ages_find(const struct zone_ages *ages, const struct object_ref_key *object);
