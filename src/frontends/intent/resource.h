#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/kind.h"

// The resources of EMCO's API that concern DNS, as one table: the path of each, the object that it
// is or the list of an object that it is an entry of, and EMCO's words about it. Routing, reading,
// writing and the OpenAPI document come from here.

enum resource_id {
    RESOURCE_PROJECT,
    RESOURCE_RECORD,
    RESOURCE_CLOUD,
    RESOURCE_CLOUD_PAIRS,
    RESOURCE_REFERENCE,
    RESOURCE_PROVIDER,
    RESOURCE_CLUSTER,
    RESOURCE_CLUSTER_PAIRS,
    RESOURCE_LABEL,
    RESOURCE_GROUP,
    RESOURCE_TRAFFIC,
    RESOURCE_INBOUND,
    RESOURCES,
};

enum { RESOURCE_NAMES_MAX = 6, RESOURCE_WORDS_MAX = 12 };

// A member of the body's spec that has another name in the object.
struct resource_rename {
    const char *body;
    const char *object;
};

struct resource {
    const char *route; // for metrics: the last word of its path
    // The list's path with {} for each name: "projects/{}/logical-clouds". An item has its name
    // behind that.
    const char *path;
    const struct kind *kind;
    enum resource_id parent; // itself: it has none
    size_t name_count;       // of an item: those of its path and its own
    const char *list;        // the list of the object's spec that has it; NULL: it is the object
    // Members of the object's spec, or of the entry, that its body's spec does not have, with a
    // blank before and behind each.
    const char *hidden;
    struct resource_rename rename;
    bool keeps_unknown; // fields of EMCO's that have no effect stay in `extra`; else 400
    bool has_spec;      // its body may have one
    const char *exists;
    const char *not_found;
    const char *doc; // what it is, for OpenAPI
};

extern const struct resource resources[RESOURCES];

// Is a member of the object's spec no part of the body's?
bool resource_hides(const struct resource *resource, const char *member, size_t len);
