#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/disk.h"
#include "io/loop.h"

// Walks over a folder tree in slices and reports every folder, manifest and status file. Skipped
// names (name.h) and folders behind links are not entered.

struct scan_calls {
    // `path` is absolute. Called before what is in the folder.
    void (*folder)(void *context, const char *path);
    // `path` is relative to the root.
    void (*manifest)(void *context, const char *path, const struct disk_stat *found);
    void (*status)(void *context, const char *path);
    // A manifest that is a link to nothing. May be NULL.
    void (*dangling)(void *context, const char *path);
    // A folder that is nested too deeply and is not entered. May be NULL.
    void (*too_deep)(void *context, const char *path);
    // Something below cannot be read: what is there is not known.
    void (*unreadable)(void *context, const char *path, const struct error *err);
};

struct scan {
    const struct scan_calls *calls;
    void *context;
    char *root;     // real path
    char **folders; // relative, still to be listed; "" is the root
    size_t folder_count;
    size_t folder_capacity;
    char *folder; // being looked at
    char **names;
    size_t name_count;
    size_t next;
};

enum { SCAN_DEPTH_MAX = 32 };

// Refuses a manifest that is a link to a file outside of the folder: somebody who may write to the
// folder must not make Signpost read, and report, any file that it can. `root` is a real path. The
// error's text follows the manifest's name.
bool scan_check_link(const char *root, const char *manifest, struct error *err);
// The root itself must be readable.
void scan_begin(struct scan *scan, const char *root, const struct scan_calls *calls, void *context);
// Goes on until the clock says `until_ms`. Returns true when the walk is done.
bool scan_step(struct scan *scan, struct loop *loop, int64_t until_ms);
void scan_end(struct scan *scan); // may be called at any time, also twice
