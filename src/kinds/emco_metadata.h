#pragma once

#include <stddef.h>

#include "base/kind.h"
#include "kinds/emco_name.h"

// What all of EMCO's resources have: a name, a description, two texts for their users, and fields
// of EMCO's that we keep without reading them.

enum { EMCO_DESCRIPTION_MAX = 1024, EMCO_USER_DATA_MAX = 512 };

struct emco_metadata {
    struct text name;
    struct text description; // as are those below: absent when not given
    struct text user_data1;
    struct text user_data2;
    const struct value *tree; // the map with all its members, for who gives it back as it was
};
// Reads the metadata of one map in a list of a parent object, such as one set of keys and values.
// Texts are borrowed.
struct emco_metadata emco_metadata_decode(const struct value *map);
// Reads the metadata of a whole object: its name, and the rest from its spec.
struct emco_metadata emco_object_metadata(const struct value *object);

// The name that an object has if EMCO's names of its kind are unique only below coordinates, and
// the plain one is another object's: "<slug>-<8 hex digits>", of coordinates and name (arena).
const char *emco_object_name_below(struct arena *arena, const struct text *coordinates,
                                   size_t count, struct text name);
// Has the object the name that EMCO's name gives it (emco_object_name), or, with coordinates, the
// one above? Nothing is said of an object without a name.
void emco_check_name(const struct value *object, const struct text *coordinates, size_t count,
                     struct findings *findings);

// Rows of a kind's table.
#define EMCO_NAME_FIELD(path_, flags_, what)                                                       \
    {                                                                                              \
        .path = path_, .type = FIELD_TEXT, .flags = (flags_), .min = 1, .max = EMCO_NAME_MAX,      \
        .pattern = EMCO_NAME_PATTERN, .doc = (what)                                                \
    }
#define EMCO_METADATA_FIELDS(parent)                                                               \
    {.path = parent ".description",                                                                \
     .type = FIELD_TEXT,                                                                           \
     .max = EMCO_DESCRIPTION_MAX,                                                                  \
     .doc = "What it is for, for people."},                                                        \
        {.path = parent ".userData1",                                                              \
         .type = FIELD_TEXT,                                                                       \
         .max = EMCO_USER_DATA_MAX,                                                                \
         .doc = "Whatever its users want to keep there."},                                         \
    {                                                                                              \
        .path = parent ".userData2", .type = FIELD_TEXT, .max = EMCO_USER_DATA_MAX,                \
        .doc = "Whatever its users want to keep there."                                            \
    }
#define EMCO_EXTRA_FIELD(parent)                                                                   \
    {                                                                                              \
        .path = parent ".extra", .type = FIELD_ANY,                                                \
        .doc = "Fields of EMCO's that have no effect; they are kept as they are."                  \
    }
// Where a publication belongs: the coordinates of a deployment intent group.
#define EMCO_COORDINATE_FIELDS                                                                     \
    EMCO_NAME_FIELD("spec.compositeApp", FIELD_REQUIRED | FIELD_IMMUTABLE, "The composite app."),  \
        EMCO_NAME_FIELD("spec.version", FIELD_REQUIRED | FIELD_IMMUTABLE, "Its version."),         \
        EMCO_NAME_FIELD("spec.deploymentIntentGroup", FIELD_REQUIRED | FIELD_IMMUTABLE,            \
                        "The deployment intent group of that version.")

struct emco_coordinates {
    struct text composite_app;
    struct text version;
    struct text group; // deployment intent group
};
struct emco_coordinates emco_coordinates_decode(const struct value *spec);
