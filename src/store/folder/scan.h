#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "io/disk.h"
#include "io/loop.h"

// A walk over a folder tree in slices: tells every folder, every manifest and every status file.
// Skipped names (name.h) and folders behind links are not entered.

struct scan_calls {
    // `path` is absolute; told before what is in it.
    void (*folder)(void *context, const char *path);
    // `path` is relative to the root.
    void (*manifest)(void *context, const char *path, const struct disk_stat *found);
    void (*status)(void *context, const char *path);
    // A manifest that is a link to nothing. May be NULL.
    void (*dangling)(void *context, const char *path);
    // A folder that lies too deep, and is not entered. May be NULL.
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

// A manifest may be a link, but not to what lies outside of the folder: whoever may write into that
// must not make us read (and tell of) any file that we can. `root` is a real path. The error's text
// goes behind the manifest's name.
bool scan_check_link(const char *root, const char *manifest, struct error *err);
// The root itself must be readable.
void scan_begin(struct scan *scan, const char *root, const struct scan_calls *calls, void *context);
// Goes on until the clock says `until_ms`. True: done.
bool scan_step(struct scan *scan, struct loop *loop, int64_t until_ms);
void scan_end(struct scan *scan); // at any time, also twice
