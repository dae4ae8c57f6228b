#pragma once

#include "base/text.h"
#include "engine/inspection.h"
#include "frontends/status/status_query.h"

// The contents of the pages, as HTML. A page has a summary for people who listen to it, the parts
// that are renewed by themselves (<div id="..." data-live>), and what is typed into, which is not.

struct status_contents {
    struct buffer summary; // one sentence, escaped
    struct buffer body;
};

// The words of state=..., by object_readiness.
extern const char *const status_states[OBJECT_READINESSES];

// Fails if the query names a state or a system that there is none of.
bool status_write_objects(struct engine *engine, const struct status_query *query,
                          struct status_contents *out, struct error *err);
void status_write_zones(struct engine *engine, const struct status_query *query,
                        struct status_contents *out);
void status_write_backends(struct engine *engine, const struct status_query *query,
                           struct status_contents *out);
void status_write_changes(struct engine *engine, struct status_contents *out);
