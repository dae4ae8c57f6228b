#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/value.h"

// What the files behind value.h share with each other and with nobody else.

enum {
    VALUE_NODES_MAX = 1 << 20, // per document, where the limits say nothing
    VALUE_SHOWN_MAX = 64,      // of foreign text in an error
    VALUE_DEPTH_MAX = 1024,    // the most that value_limits may ask for; reading recurses
    KEYS_MERGED_MAX = 1024,    // keys that one `<<` may bring
};

static inline size_t value_nodes_max(const struct value_limits *limits)
{
    return limits->nodes ? limits->nodes : VALUE_NODES_MAX;
}
// Puts an entry, its key set, behind the last; it must be in no other list or map.
void value_link(struct value *parent, struct value *item);

// Entries from `first` on, sorted by key; caller frees.
const struct value **value_sort(const struct value *first, size_t count);
int value_compare_keys(const void *a, const void *b); // of two pointers to entries, as qsort wants

// The keys of a map that was read from YAML. Errors begin with "line:column: ".
bool keys_check_unique(const struct value *map, struct error *err);
bool keys_fail_duplicate(const struct value *a, const struct value *b, struct error *err);
// Moves what the map lacks out of the value of `<<`: a map, or a list of maps of which the first
// wins. False when it is neither, or too large.
bool keys_merge(struct value *map, const struct value *source);

// What a plain YAML scalar means to kubectl: fills type and content of *out. Not finite numbers
// (".inf") come out as FLOAT; the caller refuses them.
void scalar_resolve(struct text typed, struct value *out);
// Sets a number: an integer where it is one exactly (at most 2^53), so that 1e3 and 1000 are equal.
void scalar_set_real(struct value *out, double real);

// 1-based line and column (in characters) of an octet offset.
void value_position(struct text text, size_t offset, unsigned *line, unsigned *column);
