#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "dns/zone.h"

// A catalog: a zone that lists zones, so that servers which have it set them up by themselves (RFC
// 9432, version 2). A member has a label of its own that follows from its name and from the uid of
// its Zone object: one that was deleted and made anew is another zone to the servers.

enum {
    CATALOG_LABEL_LEN = 32,
    CATALOG_APEX_MAX = 210, // octets in wire format, so that all names in it fit
};

struct catalog_member {
    struct dname fqdn;
    struct text uid; // metadata.uid
};
// `group` is a property of each member; at most 255 octets, absent or empty: none.
struct zone *catalog_zone_new(struct dname apex, uint32_t serial,
                              const struct catalog_member *members, size_t count,
                              struct text group);
void catalog_write_label(const struct catalog_member *member, char out[CATALOG_LABEL_LEN + 1]);
