#pragma once

#include <stdbool.h>

#include "base/kind.h"
#include "base/memory.h"
#include "base/pack.h"
#include "base/text.h"
#include "base/value.h"

// What Zone, Record and ZoneFile share: their group, its labels, and how an object names a Zone.

// Also the prefix of the labels.
#define ZONE_GROUP "kubi.zone"
#define ZONE_PARENT_LABEL ZONE_GROUP "/parent-zone"
#define ZONE_FILE_LABEL ZONE_GROUP "/zonefile"

// A Zone that an object names: without a namespace it is in the object's own.
struct zone_ref {
    struct text name; // absent: there is no zoneRef
    struct text namespace_;
};

// From {name, namespace} of a spec or status; without a name it is none. Borrowed.
struct zone_ref zone_ref_decode(const struct value *map);
// null for none.
struct value *zone_ref_encode(struct arena *arena, struct zone_ref ref);
void zone_ref_pack(struct pack_writer *out, struct zone_ref ref);
struct zone_ref zone_ref_unpack(struct pack_reader *in);
// Rows of a kind's table for the map at `at`, a literal.
#define ZONE_REF_FIELDS(at, row_flags, row_doc)                                                    \
    {.path = (at), .type = FIELD_MAP, .flags = (row_flags), .doc = (row_doc)},                     \
        {.path = at ".name",                                                                       \
         .type = FIELD_TEXT,                                                                       \
         .flags = FIELD_REQUIRED,                                                                  \
         .doc = "Name of the Zone."},                                                              \
    {                                                                                              \
        .path = at ".namespace", .type = FIELD_TEXT, .flags = FIELD_NULLABLE,                      \
        .doc = "Namespace of the Zone; the object's own when absent."                              \
    }

// The value of a label that names a zone or a ZoneFile: "<name>.<namespace>"; over 63 octets its
// first 52, "-" and the first 10 hex digits of the SHA-256 of all of it.
enum { ZONE_LABEL_MAX = 64 }; // with a NUL
void zone_label_write(struct text name, struct text namespace_, char out[ZONE_LABEL_MAX]);
// The label `key` of an object's metadata; absent: none. Borrowed.
struct text zone_label_at(const struct value *object, const char *key);
