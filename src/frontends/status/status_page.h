#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "store/store.h"

// The status page: what becomes of all objects, zones, backends and changes, for people with a
// browser. Each page is plain HTML that works without its script; a list shows 100 rows at a time,
// so no request takes long. It is read-only, has no state but the engine's, and shows no content of
// records and no secret. Who may read it is decided by whoever calls it.
//
//     /status/           objects: counts by system and state, and why each is not ready
//     /status/zones      zones with their serials and servers
//     /status/backends   backends with their health and back-off
//     /status/changes    the last changes and how long each took

struct engine;
struct http_exchange;
struct status_page_options {
    struct engine *engine; // with keeps_states
    const char *version;
    // Only those who name this machine are answered: a page of somebody else's, whose name leads to
    // this address, is not (DNS rebinding). For what listens on a loopback address.
    bool is_local;
    // Lines of readiness, as probes_options has them; those that are not ok are shown.
    size_t (*checks)(void *context, struct store_check *out, size_t capacity);
    void *context;
};

struct status_page;
struct status_page *status_page_new(const struct status_page_options *options);
void status_page_free(struct status_page *page); // accepts NULL
// Does this path (without its query) belong to the page?
bool status_page_has(struct text path);
// Answers a GET or a HEAD of such a path, at once.
void status_page_answer(const struct status_page *page, struct http_exchange *exchange);
