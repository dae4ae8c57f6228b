#pragma once

#include <stdbool.h>

#include "base/pack.h"
#include "base/value.h"

// Label selectors, as far as inputs of controllers need them: "key=value,key", all of which an
// object's labels must meet; a key alone asks that the label is there. An API server reads the same
// text as its labelSelector.

// Writes the labels of an object: (1, key, value) for each, ended by 0. A kind whose spec body
// begins with them says so (kind.keeps_labels).
void labels_pack(const struct value *object, struct pack_writer *out);
// Skips what labels_pack() wrote.
void labels_skip(struct pack_reader *reader);
// The value of a label, borrowed from the body, which begins with what labels_pack() wrote. Absent:
// the object has no such label.
struct text labels_find(struct text body, struct text key);
// `body` begins with what labels_pack() wrote.
bool labels_match(const char *selector, struct text body);
// Does the selector match the labels of a whole object?
bool labels_match_object(const char *selector, const struct value *object);
