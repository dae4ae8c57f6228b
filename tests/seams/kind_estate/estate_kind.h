#pragma once

#include "base/kind.h"
#include "base/memory.h"

// Kinds of one form that stewards read (estate.example/v1): a House and a Guest have an address, a
// Notice has texts under names.

extern const struct kind guest_kind;
extern const struct kind house_kind;
extern const struct kind notice_kind;

// The label of those that a steward looks after.
#define ESTATE_GROUP "estate.example"
#define ESTATE_LABEL "estate.example/steward"

struct estate {
    struct text address;
    struct estate_text {
        struct text key;
        struct text value;
    } * texts; // of `data`
    size_t text_count;
};
void estate_unpack(struct arena *arena, struct text spec, struct estate *out);
