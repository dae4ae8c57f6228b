#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "base/value.h"
#include "store/folder/state.h"

// Keeps the last good documents of objects that hold a secret, by uid, in a table of the state's
// database. They are written to no other table, no status file and no log.

bool secrets_write(struct state *state, const char *uid, const struct value *last_good,
                   struct error *err);
// NULL when absent or unreadable.
struct value *secrets_read(const struct state *state, const char *uid, struct arena *arena);
// It is no error if there is none. A failure leaves one that nothing refers to.
void secrets_remove(struct state *state, const char *uid);
// Removes those whose uid `is_known` does not know: a process that died may have left them.
void secrets_sweep(struct state *state, bool (*is_known)(const void *context, const char *uid),
                   const void *context);
