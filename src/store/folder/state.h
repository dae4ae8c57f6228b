#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/disk.h"
#include "io/random.h"
#include "store/owner.h"

// `.signpost/state`: the counter that gives resourceVersions, and the owner id. Numbers are
// reserved on disk in blocks, so that counting costs no write; a restart goes on behind the block.

enum { STATE_BLOCK = 10000 };

// What is read may be anybody's, and must leave room to count on below OURS_VERSION_MAX: a greater
// number raises the counter no more, and a state with a greater one counts as lost.
#define STATE_FOUND_MAX (INT64_MAX / 4)
#define STATE_LIMIT_MAX (INT64_MAX / 8 * 3)

struct state {
    struct disk *disk;
    char *path;
    uint64_t next;  // the number to give out
    uint64_t limit; // reserved on disk: numbers below
    char owner_id[OWNER_ID_MAX + 1];
    bool is_new;        // what stands on disk is not this, or nothing
    bool had_owner;     // the owner id was read from disk
    struct error fault; // of the last reservation; fault NONE: none
};

// An absent or unreadable file counts as new: state_raise then puts the counter above whatever is
// found elsewhere.
void state_load(struct state *state, struct disk *disk, const char *path, struct random *random);
// This owner id from now on; it is on disk after the next state_reserve().
void state_set_owner(struct state *state, const char *owner_id);
void state_done(struct state *state);
// All numbers up to `version`, which somebody was found to have, are taken.
void state_raise(struct state *state, uint64_t version);
// Writes a reservation when none is left. False when it could not: numbers go on all the same, and
// the next call tries again.
bool state_reserve(struct state *state);
uint64_t state_next(struct state *state);
