#pragma once

#include "frontends/intent/body_faults.h"
#include "frontends/intent/place.h"

// The rules that an item must meet before it is written: those of its kind, as the admission
// webhook and the folder store know them, and those that only a request can break.

struct check_item {
    enum resource_id id;
    const struct value *next; // the whole object as it would be
    const char *path;         // where the item stands in it: "spec", "spec.kvPairs[2]"
    const struct value *map;  // the item there
    const struct object_ref_key *key;
    const struct text *names;
    const struct engine *engine;
};
// Faults of other entries of the same object are not this request's.
void check_rules(const struct check_item *item, struct body_faults *faults);
// What the item names and is not there.
void check_references(const struct check_item *item, struct text_lines *missing);
// The members of a record by which names that stand somewhere would stand elsewhere, as faults.
// Returns whether the record's own annotation consents to that.
bool check_moved(const struct check_item *item, struct body_faults *faults);
// Why the object cannot be deleted in the state that it is in; NULL: it can.
const char *check_removal(struct arena *arena, enum resource_id id, const struct object *object);
