#pragma once

#include "base/value.h"
#include "engine/engine.h"
#include "frontends/intent/resource.h"
#include "kinds/emco_metadata.h"
#include "kinds/group.h"

// Where the items of the API stand among the objects: found by their EMCO names, with what is below
// them and what refers to them. All of it is read from the engine and lives in the request's arena.

struct place {
    struct object_ref_key key;   // of the object, whether it is there or not
    const struct object *object; // NULL: there is none. Borrowed from the engine
    struct value *tree;          // {"metadata": ..., "spec": ...} of the object; NULL: none
    struct value *map;           // the object's spec, or the entry of its list; NULL: no item
    bool is_there;               // the item
    bool is_leaving;             // the object is being deleted: no item, but the name is taken
    struct text other;           // of another EMCO name's object, which has the object's name
};
// The item with these names, as many as the resource has.
void place_find(const struct engine *engine, struct arena *arena, enum resource_id id,
                const struct text *names, struct place *out);
// Is all there that the item stands below? `missing` may be NULL.
bool place_has_parents(const struct engine *engine, struct arena *arena, enum resource_id id,
                       const struct text *names, enum resource_id *missing);

struct place_item {
    struct text name;
    struct value *map; // as place.map
    struct place place;
};
// All items of a list (names: those of its path), sorted by name. Of coordinates that are absent
// any will do.
struct place_item *place_list(const struct engine *engine, struct arena *arena, enum resource_id id,
                              const struct text *names, size_t *count);

struct text_lines {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t capacity;
};
void text_lines_add(struct text_lines *lines, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// What stands below the item, and what refers to it, as "kind name" for people.
void place_add_children(const struct engine *engine, enum resource_id id, const struct text *names,
                        struct text_lines *out);
void place_add_referrers(const struct engine *engine, enum resource_id id, const struct text *names,
                         const struct place *place, struct text_lines *out);
// Publications by which names stand, or may stand, at the provider of a DNS update record.
void place_add_users(const struct engine *engine, const struct object *record,
                     struct text_lines *out);

// The records that a group uses and that never remove names.
void place_add_retaining(const struct engine *engine, const struct object *group,
                         struct text_lines *out);

// The name of the item's object, for names as many as the resource has: what its EMCO name gives,
// or, where another has that and EMCO's names are unique below coordinates only, one made of them,
// too.
struct text place_object_name(struct arena *arena, enum resource_id id, const struct text *names,
                              bool is_plain_taken);
// The namespace of a project.
struct text place_namespace(struct arena *arena, struct text project);

#define PROJECT_LABEL DNS_GROUP "/project"
#define PROJECT_METADATA_ANNOTATION DNS_GROUP "/metadata"
#define PROJECT_CREATED_ANNOTATION DNS_GROUP "/created"
