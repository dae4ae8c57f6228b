#pragma once

#include "base/memory.h"
#include "store/store.h"

// An object that we make ourselves, as every store writes it.

// What is ours with apiVersion, kind, name and namespace. Shares entries with what was given.
struct value *put_tree(struct arena *arena, const struct object_ref_key *key,
                       const struct value *ours);
// `data` of `tree` gets those of the texts in `kept` (may be NULL) that the object has now, and
// that are not in it. `now`: the object as it stands, or NULL.
void put_keep(struct arena *arena, struct value *tree, const struct value *kept,
              const struct value *now);
