#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "io/disk.h"
#include "store/store.h"

// `.signpost/made/<plural>.<namespace>.<name>.yaml`: objects that we made ourselves, each a
// manifest. It goes with the object that its first ownerReference names.

struct made_file {
    char *path;
    char owner[37]; // uid; "": none
};
struct made {
    struct disk *disk;
    char *folder;
    struct made_file *files;
    size_t count;
    size_t capacity;
};

void made_init(struct made *made, struct disk *disk, const char *folder);
void made_done(struct made *made);
// Fails, and writes nothing, where what is to be kept of it cannot be read.
bool made_put(struct made *made, const struct store_put *put, struct error *err);
// An object is gone, and with it what was made for it. A failure leaves a file for made_sweep().
void made_forget(struct made *made, const char *uid);
// Learns what there is, and removes that whose owner `is_known` does not know.
void made_sweep(struct made *made, bool (*is_known)(const void *context, const char *uid),
                const void *context);
