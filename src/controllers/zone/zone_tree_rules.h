#pragma once

#include "controllers/zone/zone_tree.h"
#include "kinds/zone/zone_kind.h"

// What a zone's owner delegates, or who may own which zones: patterns read once, to be asked about
// many names. One allocation.

struct rules;
// A pattern that cannot be read, or is one too many, delegates nothing; its neighbours do.
struct rules *rules_new(const struct zone_spec *spec, struct dname zone);
struct rules *rules_of_claims(const struct zone_tree_claim *claims, size_t count);
void rules_free(struct rules *rules); // accepts NULL
DEFINE_CLEANUP(rules, rules_free)
bool rules_equal(const struct rules *a, const struct rules *b); // NULL is equal to NULL alone

bool rules_hold_zone(const struct rules *rules, struct text namespace_, struct dname name);
enum rules_answer { // the better the greater
    RULES_NO,
    RULES_OTHER_TYPES, // the name, but not of that type
    RULES_LOOSELY,     // only as Kubizone reads patterns
    RULES_YES,
};
enum rules_answer rules_ask(const struct rules *rules, struct text namespace_, struct dname name,
                            uint16_t type);

// What is odd about the patterns of a zone.
enum rules_oddity { RULES_INVALID, RULES_LOOKS_ABSOLUTE, RULES_OUTSIDE, RULES_ODDITIES };
bool rules_have(const struct rules *rules, enum rules_oddity oddity);
// Names the patterns that are odd in that way, the first few.
void rules_explain(const struct zone_spec *spec, struct dname zone, enum rules_oddity oddity,
                   struct buffer *out);
