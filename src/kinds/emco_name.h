#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/value.h"
#include "kinds/group.h"

// Names of EMCO's resources (projects, clouds, clusters, records, ...) as names of objects. An EMCO
// name may have capitals, dots and underscores, which no object's name has; such an object has a
// name that is made of it, and the name itself in an annotation.

// 1 to 128 octets of letters, digits, "-", "_" and ".", with a letter or digit at both ends.
enum { EMCO_NAME_MAX = 128 };
#define EMCO_NAME_PATTERN "^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
bool emco_name_is_valid(struct text name);

// The annotation with the name of an object whose own name is another.
#define EMCO_NAME_ANNOTATION DNS_GROUP "/name"

// Appends ASCII letters in lower case and digits, with each run of anything else as one "-", none
// at the ends, at most `limit` octets; "x" when nothing is left.
void emco_slug_write(struct buffer *out, struct text text, size_t limit);

// Appends the first `digits` hex digits (an even number, at most 64) of the SHA-256 of all
// components, each followed by a line feed.
void emco_hash_write(struct buffer *out, size_t digits, const struct text *components,
                     size_t count);

// The name of the object: the EMCO name itself if it is an RFC 1123 label, otherwise
// "<slug>-<8 hex digits>" of at most 63 octets (arena).
const char *emco_object_name(struct arena *arena, struct text name);

// The EMCO name of an object: what its annotation says, otherwise its own name. Borrowed.
struct text emco_name_of(const struct value *object);
