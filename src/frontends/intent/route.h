#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/memory.h"
#include "base/text.h"

// What the paths of EMCO's REST API mean: one static table of resources, each with the pattern of
// its collection, the kind that holds it, and the words of its errors.
//
//     struct route route;
//     if (!route_read(arena, "/v2/projects/shop/logical-clouds", &route, &err)) ...

// A resource is an object of its own, or an entry in a list of its parent's object.
enum resource_form {
    RESOURCE_OBJECT,
    RESOURCE_ENTRY, // a map with a name
    RESOURCE_WORD,  // a text
};
struct resource {
    const char *pattern; // of the collection: "projects/*/logical-clouds"; "*" stands for a name
    enum resource_form form;
    const struct kind *kind;       // of the object
    const char *list;              // ENTRY, WORD: which one of the object's spec
    const struct resource *parent; // that has to exist; NULL: none
    const char *exists;            // first lines of errors
    const char *not_found;
    bool is_strict;             // unknown fields are refused; else they are kept in spec.extra
    const char *const *actions; // words behind an item, NULL-terminated; or NULL
};

extern const struct resource resource_project;
extern const struct resource resource_record;
extern const struct resource resource_cloud;
extern const struct resource resource_cloud_pairs;
extern const struct resource resource_reference;
extern const struct resource resource_provider;
extern const struct resource resource_cluster;
extern const struct resource resource_cluster_pairs;
extern const struct resource resource_label;
extern const struct resource resource_group;
extern const struct resource resource_intent;
extern const struct resource resource_inbound;
extern const struct resource *const resources[]; // NULL-terminated

enum { ROUTE_NAMES_MAX = 8, ROUTE_PARAMETERS_MAX = 8 };
struct route_parameter {
    struct text name;
    struct text value; // decoded
};
struct route {
    const struct resource *resource;    // NULL: the OpenAPI document
    struct text names[ROUTE_NAMES_MAX]; // that stand in the path, decoded, in its order
    size_t name_count;
    bool is_item;       // the last name is that of the item; else it is the collection
    const char *action; // behind the item; NULL: none
    struct route_parameter parameters[ROUTE_PARAMETERS_MAX]; // of the query
    size_t parameter_count;
};

// Reads path and query of a request. Texts live in the arena. Errors have a status: 404 for what is
// no path of ours, 400 for empty, "." and ".." segments, broken escapes and names that break the
// pattern of EMCO's names.
bool route_read(struct arena *arena, const char *target, struct route *out, struct error *err);
// Absent: the query does not have it.
struct text route_parameter(const struct route *route, const char *name);
// "projects/*/logical-clouds/*", for metrics: never more of them than the table has.
void route_write_pattern(struct buffer *out, const struct route *route);
// The path of an item below /v2, encoded.
void route_write_path(struct buffer *out, const struct route *route, struct text item);
