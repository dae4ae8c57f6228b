#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/value.h"
#include "store/folder/state.h"

// The last good document of objects that hold a secret, by uid, in the state's database. Never in a
// status file, another table or the log.

bool secrets_write(struct state *state, const char *uid, const struct value *last_good,
                   struct error *err);
// NULL when absent or unreadable.
struct value *secrets_read(const struct state *state, const char *uid, struct arena *arena);
// Absent is fine; a failure leaves one that nothing refers to.
void secrets_remove(struct state *state, const char *uid);
// Removes those whose uid `is_known` does not know: left by a process that died in between.
void secrets_sweep(struct state *state, bool (*is_known)(const void *context, const char *uid),
                   const void *context);
