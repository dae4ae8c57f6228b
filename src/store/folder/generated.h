#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/disk.h"
#include "store/store.h"

// Files of objects that Signpost generates: `.signpost/made/<plural>.<namespace>.<name>.yaml`, a
// manifest each. A file is removed together with the object that its first ownerReference names.
// Those below `.signpost/children` are owned objects: they are read like the manifests of users and
// are objects of the store.

struct generated_file {
    char *path;
    char owner[37]; // uid of the owner; "": none
    bool is_doomed; // could not be removed yet
};
struct generated {
    struct disk *disk;
    char *folder;
    struct generated_file *files;
    size_t count;
    size_t capacity;
    // Called after a file was written or removed; or NULL.
    void (*changed)(void *context, const char *path, bool is_there);
    // Called when one of so many octets could not be written or removed; or NULL.
    void (*failed)(void *context, const char *folder, size_t octets, const struct error *err);
    void *context;
};

void generated_init(struct generated *generated, struct disk *disk, const char *folder);
void generated_done(struct generated *generated);
// Fails, and writes nothing, if the existing file cannot be read or is not Signpost's.
bool generated_put(struct generated *generated, const struct store_object_write *put,
                   struct error *err);
// The same, but leaves fields that `put` does not name as they are.
bool generated_patch(struct generated *generated, const struct store_object_write *put,
                     struct error *err);
// Puts back the labels that somebody took off what we made for a controller. False, perhaps without
// a fault: they are there, or it is of another owner.
bool generated_relabel(struct generated *generated, const struct store_object_write *put,
                       struct error *err);
bool generated_has(const struct generated *generated, const struct object_ref_key *key);
// It is no error if there is no such file.
bool generated_drop(struct generated *generated, const struct object_ref_key *key,
                    struct error *err);
// Removes the files of a deleted owner. A file that cannot be removed is tried again by
// generated_clear().
void generated_forget(struct generated *generated, const char *uid);
// Returns false while some file could not be removed.
bool generated_clear(struct generated *generated);
// Lists the files that exist, and removes those whose owner `is_known` does not know.
void generated_sweep(struct generated *generated,
                     bool (*is_known)(const void *context, const char *uid), const void *context);
// Names the files that generated_sweep() would remove, one per call, and removes none. *cursor
// starts at 0. Returns false when there are no more.
bool generated_next_orphan(struct generated *generated,
                           bool (*is_known)(const void *context, const char *uid),
                           const void *context, size_t *cursor, const char **path);
