#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/disk.h"
#include "store/store.h"

// `.signpost/made/<plural>.<namespace>.<name>.yaml`: objects that we made ourselves, each a
// manifest. It goes with the object that its first ownerReference names. Those of
// `.signpost/children` are read like the manifests of users, and are objects of the store.

struct made_file {
    char *path;
    char owner[37]; // uid; "": none
    bool is_doomed; // could not be removed yet
};
struct made {
    struct disk *disk;
    char *folder;
    struct made_file *files;
    size_t count;
    size_t capacity;
    // A file was written or removed; or NULL.
    void (*changed)(void *context, const char *path, bool is_there);
    void *context;
};

void made_init(struct made *made, struct disk *disk, const char *folder);
void made_done(struct made *made);
// Fails, and writes nothing, where what stands there cannot be read or is not ours.
bool made_put(struct made *made, const struct store_put *put, struct error *err);
// The same, but leaves what is not named as it stands there.
bool made_patch(struct made *made, const struct store_put *put, struct error *err);
bool made_has(const struct made *made, const struct object_ref_key *key);
// One that is not there is dropped already.
bool made_drop(struct made *made, const struct object_ref_key *key, struct error *err);
// An object is gone, and with it what was made for it. What cannot be removed is tried again by
// made_clear().
void made_forget(struct made *made, const char *uid);
// False: something is still there.
bool made_clear(struct made *made);
// Learns what there is, and removes that whose owner `is_known` does not know.
void made_sweep(struct made *made, bool (*is_known)(const void *context, const char *uid),
                const void *context);
// Only names what that would remove, one after the other; *cursor starts at 0. False: no more.
bool made_next_orphan(struct made *made, bool (*is_known)(const void *context, const char *uid),
                      const void *context, size_t *cursor, const char **path);
