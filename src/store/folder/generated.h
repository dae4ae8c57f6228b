#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/disk.h"
#include "store/store.h"

// `.signpost/made/<plural>.<namespace>.<name>.yaml`: objects that we made ourselves, each a
// manifest. It goes with the object that its first ownerReference names. Those of
// `.signpost/children` are read like the manifests of users, and are objects of the store.

struct generated_file {
    char *path;
    char owner[37]; // uid; "": none
    bool is_doomed; // could not be removed yet
};
struct generated {
    struct disk *disk;
    char *folder;
    struct generated_file *files;
    size_t count;
    size_t capacity;
    // A file was written or removed; or NULL.
    void (*changed)(void *context, const char *path, bool is_there);
    void *context;
};

void generated_init(struct generated *generated, struct disk *disk, const char *folder);
void generated_done(struct generated *generated);
// Fails, and writes nothing, where what stands there cannot be read or is not ours.
bool generated_put(struct generated *generated, const struct store_put *put, struct error *err);
// The same, but leaves what is not named as it stands there.
bool generated_patch(struct generated *generated, const struct store_put *put, struct error *err);
bool generated_has(const struct generated *generated, const struct object_ref_key *key);
// One that is not there is dropped already.
bool generated_drop(struct generated *generated, const struct object_ref_key *key,
                    struct error *err);
// An object is gone, and with it what was made for it. What cannot be removed is tried again by
// generated_clear().
void generated_forget(struct generated *generated, const char *uid);
// False: something is still there.
bool generated_clear(struct generated *generated);
// Learns what there is, and removes that whose owner `is_known` does not know.
void generated_sweep(struct generated *generated,
                     bool (*is_known)(const void *context, const char *uid), const void *context);
// Only names what that would remove, one after the other; *cursor starts at 0. False: no more.
bool generated_next_orphan(struct generated *generated,
                           bool (*is_known)(const void *context, const char *uid),
                           const void *context, size_t *cursor, const char **path);
