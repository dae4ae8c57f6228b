#pragma once

#include "base/memory.h"
#include "store/store.h"

// An object that we make ourselves, as every store writes it.

// Is what stands there, `now`, ours to write? Its ownerReferences name the owner of what is put or
// another object of that kind; or it has the annotation of the grant; or we applied it before.
bool put_is_ours(const struct store_object_write *put, const struct value *now);
// The fault of one that is not. False.
bool put_refuse(const struct store_object_write *put, struct error *err);
// Has it all labels that are wanted?
bool put_has_labels(const struct value *wanted, const struct value *now);
// Does its metadata say that we wrote fields of it?
bool put_was_written(const struct value *now);
// The labels as a patch, if we made what stands there, `now`, and somebody took some off; else
// NULL. It has the owner of what is wanted or, where none is wanted, we wrote it and it has an
// annotation of those that are wanted. Once its labels are back, its controller sees it.
struct value *put_labels_back(struct arena *arena, const struct value *wanted,
                              const struct value *now, bool is_written);
// What is ours with apiVersion, kind, name and namespace. Shares entries with what was given.
struct value *put_tree(struct arena *arena, const struct object_ref_key *key,
                       const struct value *ours);
// `data` of `tree` gets those of the texts in `kept` (may be NULL) that the object has now, and
// that are not in it. `now`: the object as it stands, or NULL.
void put_keep(struct arena *arena, struct value *tree, const struct value *kept,
              const struct value *now);
