#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"

// What the files behind kind.h share with each other and with nobody else.

enum { KIND_SHOWN_MAX = 64 }; // of foreign text in a finding
enum { KIND_TEXT_MAX = 4096, KIND_LIST_MAX = 256, KIND_TEXT_MAP_MAX = 64, KIND_TIME_MAX = 64 };

// A place in the object: its way up to the root is the path of a finding, built only when needed.
struct spot {
    const struct spot *parent; // NULL: the object
    const struct value *value; // NULL: absent
    struct text name;          // of a map's child
    size_t index;              // of a list's item, when `name` is absent
};

struct check {
    const struct kind *kind;
    struct findings *findings;
};

// The text as it is; path and position are those of the place, or the nearest that exists.
void check_add(const struct check *check, const struct spot *spot, const char *text);
// "path: message".
void check_fail(const struct check *check, const struct spot *spot, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "path message", for texts like "spec.type is required".
void check_fail_bare(const struct check *check, const struct spot *spot, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "unknown field; did you mean ...?"
void check_fail_unknown(const struct check *check, const struct spot *spot,
                        const char *const *candidates, size_t count);
// False, with a finding, unless the value has the type; null says so too. check_text_map answers
// for the map alone: its values may be of another type.
bool check_type(const struct check *check, const struct spot *spot, enum value_type wanted);
bool check_text_map(const struct check *check, const struct spot *spot);
void check_metadata(const struct check *check, const struct value *object);

// The child row `name` of a map's row (NULL: the object), or NULL.
const struct field *kind_child(const struct kind *kind, const struct field *parent,
                               struct text name);
// Is `row` a direct child of the map `parent`? Its name goes to *name.
bool kind_is_child(const struct field *parent, const struct field *row, struct text *name);
// The row `path[]` of a list.
const struct field *kind_items(const struct kind *kind, const struct field *list);
