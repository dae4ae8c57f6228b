#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/value.h"
#include "io/disk.h"

// `.signpost/secrets/<uid>`: the last good document of objects that hold a secret, mode 0600,
// synced. Never in a status file, the journal or the log.

struct secrets {
    struct disk *disk;
    char *folder;
};

void secrets_init(struct secrets *secrets, struct disk *disk, const char *folder);
void secrets_done(struct secrets *secrets);
bool secrets_write(struct secrets *secrets, const char *uid, const struct value *last_good,
                   struct error *err);
// NULL when absent or unreadable.
struct value *secrets_read(const struct secrets *secrets, const char *uid, struct arena *arena);
// Absent is fine; a failure leaves a file that nothing refers to.
void secrets_remove(struct secrets *secrets, const char *uid);
// Removes those whose uid `is_known` does not know: left by a process that died in between.
void secrets_sweep(struct secrets *secrets, bool (*is_known)(const void *context, const char *uid),
                   const void *context);
