#pragma once

#include "base/value.h"
#include "frontends/intent/resource.h"
#include "kinds/emco_name.h"

// From what a body says of an item to the object that has it: the whole object, or the one whose
// list the item is an entry of. All of it lives in one arena.

struct item {
    enum resource_id id;
    const struct text *names;  // as many as the resource has
    struct text object_name;   // metadata.name
    const struct value *now;   // the object's tree so far; NULL: there is none
    const struct value *entry; // of its list, which is replaced; NULL: it is a new one
    struct value *fields;      // of the body; becomes part of the object
};

struct built_item {
    struct value *next; // the object's tree
    struct value *map;  // its spec, or the entry
    const char *path;   // of `map` in the object: "spec", "spec.kvPairs[2]"
};
// What stands in the object beside what a body says stays: children, and what others decide.
struct built_item item_build(struct arena *arena, const struct item *item);

// The Namespace that a project is, with its metadata in annotations: `tree` has them in its spec,
// and perhaps annotations to keep.
struct value *item_project_namespace(struct arena *arena, struct text project,
                                     const struct value *tree);

#define ITEM_NAME_PATH "metadata.annotations[" EMCO_NAME_ANNOTATION "]"
