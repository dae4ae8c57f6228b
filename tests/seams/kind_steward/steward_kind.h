#pragma once

#include "base/kind.h"
#include "base/memory.h"
#include "kinds/condition.h"

// Steward (estate.example/v1): somebody who looks after houses.

extern const struct kind steward_kind;

struct steward {
    struct text motto;
    struct conditions conditions; // of the status, without messages
};
void steward_unpack(struct text spec, struct text ours, struct steward *out);
struct value *steward_status_encode(struct arena *arena, int64_t generation, size_t houses,
                                    size_t rooms, const struct conditions *conditions);
