#pragma once

#include "base/text.h"

// The group of Zone, Record and ZoneFile, and the prefix of their labels.
#define ZONE_GROUP "kubi.zone"
#define ZONE_PARENT_LABEL ZONE_GROUP "/parent-zone"
#define ZONE_FILE_LABEL ZONE_GROUP "/zonefile"

// A Zone that an object names: without a namespace it is in the object's own.
struct zone_ref {
    struct text name; // absent: there is no zoneRef
    struct text namespace_;
};

// The value of a label that names a zone or a ZoneFile: "<name>.<namespace>"; over 63 octets its
// first 52, "-" and the first 10 hex digits of the SHA-256 of all of it.
enum { ZONE_LABEL_MAX = 64 }; // with a NUL
void zone_label_write(struct text name, struct text namespace_, char out[ZONE_LABEL_MAX]);
