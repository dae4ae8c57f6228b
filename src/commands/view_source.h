#pragma once

#include "commands/configured_store.h"
#include "commands/view.h"

// Reads all objects of the configured store into a view, as `signpost status` shows them: a folder,
// or a cluster as far as the user may list it. Nothing is opened and nothing is written. One of a
// command, for as long as it runs.

enum { VIEW_KINDS_MAX = 64 };

struct view_source {
    const struct invocation *invocation;
    struct configured_store place;
    struct folder_options folder;
    struct store_kind of_folder[VIEW_KINDS_MAX];
    const struct kind *kinds[VIEW_KINDS_MAX]; // that were read
    size_t kind_count;
};

// From the options. Faults are the user's (exit 2). It must not move.
bool view_source_init(struct view_source *source, const struct invocation *invocation,
                      struct error *err);
// Into a view without rows. A cluster takes as long as it takes, --timeout at most, on that loop;
// what of it is left out for want of a right is reported on stderr. False: err says what cannot be
// read.
bool view_source_read(struct view_source *source, struct loop *loop, struct view *view,
                      struct error *err);
// Were objects of that kind read?
bool view_source_has(const struct view_source *source, const char *kind);
