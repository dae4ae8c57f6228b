#pragma once

#include "base/memory.h"
#include "store/store.h"

// An object that we make ourselves, as every store writes it.

// Is what stands there, `now`, ours to write? Its ownerReferences name the owner of what is put or
// another object of that kind; or it has the annotation of the grant; or we applied it before.
bool put_is_ours(const struct store_object_write *put, const struct value *now);
// The fault of one that is not. False.
bool put_refuse(const struct store_object_write *put, struct error *err);
// What is ours with apiVersion, kind, name and namespace. Shares entries with what was given.
struct value *put_tree(struct arena *arena, const struct object_ref_key *key,
                       const struct value *ours);
// `data` of `tree` gets those of the texts in `kept` (may be NULL) that the object has now, and
// that are not in it. `now`: the object as it stands, or NULL.
void put_keep(struct arena *arena, struct value *tree, const struct value *kept,
              const struct value *now);
