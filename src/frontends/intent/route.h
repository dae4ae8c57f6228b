#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "frontends/intent/resource.h"

// What a request's target asks for. `project` and `projects` are the same, and one slash may stand
// at the end; names are percent-decoded once.
//
//     struct route route;
//     if (!route_parse(arena, target, &route, &err)) refuse with err.status;

enum route_action {
    ROUTE_LIST,
    ROUTE_ITEM,
    ROUTE_STATUS,
    ROUTE_APPROVE,
    ROUTE_INSTANTIATE,
    ROUTE_TERMINATE,
    ROUTE_UPDATE,
    ROUTE_APPS, // of a project: its composite apps, which are coordinates of groups
    ROUTE_OPENAPI,
};
bool route_is_list(enum route_action action);
// The word behind an item's path; NULL: there is none.
const char *route_action_word(enum route_action action);
// Has the resource that action, behind its path?
bool route_takes(enum resource_id resource, enum route_action action);
// "GET, POST", for the header Allow and the OpenAPI document.
const char *route_methods(enum route_action action);
bool route_allows(enum route_action action, const char *method);

enum { ROUTE_LIMIT_MAX = 1000 };

struct route {
    enum resource_id resource; // not of OPENAPI; of APPS that of the groups
    enum route_action action;
    struct text names[RESOURCE_NAMES_MAX]; // EMCO names of its path, an item's own as the last
    size_t name_count;
    // The query:
    int64_t limit;     // 0: no paging
    struct text after; // continue: the name behind which the page begins
    struct text key;
    bool is_strict;
    bool is_dry_run;
    const char *move; // "drain" or "abandon"; NULL: it may not
};
// False with status 400 (a path or query that is none) or 404 (no such path). Texts are the
// arena's.
bool route_parse(struct arena *arena, const char *target, struct route *out, struct error *err);
// "/v2/projects/{project}/...", of an item with its name. Appends.
void route_write_path(struct buffer *out, enum resource_id resource, const struct text *names,
                      bool is_item);
