#pragma once

#include <stdbool.h>

#include "base/log.h"
#include "io/world.h"
#include "store/store.h"

// A directory of manifests as a store: inotify and a slow scan find changes, status files lie
// beside the manifests, `.signpost/state.db` is the write-ahead. Users' files are never written.

struct folder_options {
    const char *dir;
    const char *state_dir; // NULL: dir itself. Status files (same names below it) and .signpost
    bool allow_empty;      // an empty folder where objects were known is meant, at the start
    bool is_reading;       // nothing is written and no lock is taken: it never leads
    const char *owner_id;  // in place of the one that is kept; NULL: that one, drawn once
    const struct store_kind *kinds;
    size_t kind_count;
};

// Reads .signpost/state.db, rebuilds status from it. Fails when the folder can't be read or
// the state folder can't be written ("... start with --state-dir").
struct store *folder_new(const struct world *world, const struct folder_options *options,
                         struct log *log, struct error *err);

// Who leads in our place: "process 4711"; NULL: nobody. Lives until the next call.
const char *folder_holder(struct store *store);

// Somebody edits an object that Signpost made there (store_write_object): its file gets these
// fields, whoever leads. Fault RACE where there is none.
bool folder_edit(const struct folder_options *options, const struct object_ref_key *key,
                 const struct value *fields, struct error *err);

// For `signpost status` and `check`: reads manifests and status files without opening the store.
// Every object with its tree (metadata and status merged in), and every broken document with
// path, line and column. Manifests come in byte order of their paths; objects whose documents are
// gone come last. Everything lives in the arena.
struct folder_entry {
    const struct kind *kind;  // NULL when unknown or unreadable
    const struct value *tree; // NULL when unreadable. What the manifest says, also when refused
    const char *path;         // relative to dir
    uint32_t line;            // where its document begins; 0: not known
    bool is_gone;             // its document is gone; the tree has the last good one
    bool has_good;            // a good document of it was taken once, and is kept
    bool is_duplicate;        // another document has the object: an entry before this one
    const char *fault;        // NULL, or "web.yaml:7:3: spec.ttl: ..."
};
bool folder_read(const struct folder_options *options, struct arena *arena,
                 void (*entry)(void *context, const struct folder_entry *entry), void *context,
                 struct error *err);
