#pragma once

#include "controllers/ingress/wants.h"
#include "engine/controller.h"

// Inside this folder: one turn of one object, whatever its kind. turn_claim() says what is claimed
// at each Pi-hole, turn_tell() what is written into the annotations and told.
//
// Everything is decided from the snapshot: what the object asks for, what became of the claims so
// far (receipts), and, after a restart, the names that it had (managed-hosts).

// A receipt, and whether this verdict names its claim again.
struct standing {
    const struct receipt *receipt;
    bool is_named;
};

struct turn {
    const struct snapshot *in;
    struct verdict *out;
    struct arena *arena;
    const struct pihole_targets *targets;
    const struct source *source; // NULL: the object is gone, or all that counts of it
    uint64_t epoch;              // of its spec
    bool is_going;               // in deletion
    struct wants wants;
    struct problems problems;
    struct standing *standing; // by name, Pi-hole and type
    size_t standing_count;
    const struct text *managed; // names in managed-hosts, sorted
    size_t managed_count;
    bool is_marked;   // they are what we wrote there
    bool was_foreign; // they are what a predecessor wrote
};

// Whatever it is: `source` NULL when the object is gone.
void turn_decide(const struct snapshot *snapshot, const struct source *source, struct verdict *out);

// ---- turn.c -------------------------------------------------------------------------------------

bool turn_wants(const struct turn *turn, struct text name);
bool turn_manages(const struct turn *turn, struct text name);
// The receipts of a name.
struct standing *turn_find(const struct turn *turn, struct text name, size_t *count);
const struct pihole_target *turn_target(const struct turn *turn, const char *book);
const struct lane_view *turn_lane(const struct turn *turn, const struct pihole_target *target);
bool turn_is_settled(const struct receipt *receipt, enum claim_intent intent);

// ---- claims.c, told.c ---------------------------------------------------------------------------

void turn_claim(struct turn *turn);
void turn_tell(struct turn *turn);
