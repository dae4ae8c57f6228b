#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "io/database.h"
#include "io/random.h"
#include "store/owner.h"

// `.signpost/state.db`: what the store keeps for itself, a database of mode 0600. It has a row for
// each object that was written ahead: its status document as of then, on the disk before anything
// that stands on it is sent. It has the counter that gives resourceVersions, whose numbers are
// reserved on disk in blocks, so that counting costs no write; a restart goes on after the block.
// It has the owner id, and the last good documents of objects that hold a secret (secrets.h).
//
// Whoever leads has it open; others read what was committed.

enum { STATE_BLOCK = 10000 };

// What is read may be anybody's, and must leave room to count on below OURS_VERSION_MAX: a greater
// number raises the counter no more, and a state with a greater one counts as lost.
#define STATE_FOUND_MAX (INT64_MAX / 4)
#define STATE_LIMIT_MAX (INT64_MAX / 8 * 3)

struct state {
    struct disk *disk;
    char *path;
    struct database *database; // NULL: there is none, or it may not be read
    struct disk_stat opened;   // what lay at the path then
    uint64_t next;             // the number to give out
    uint64_t limit;            // reserved on disk: numbers below
    char owner_id[OWNER_ID_MAX + 1];
    bool is_new;        // what stands on disk is not this, or nothing
    bool had_owner;     // the owner id was read from disk
    struct error fault; // of the last reservation; fault NONE: none
};

void state_init(struct state *state, struct disk *disk, const char *path);
void state_done(struct state *state);
// Opens it, and makes it where there is none and `is_leading`. Others go on without one that they
// cannot find or may not read.
bool state_load(struct state *state, struct random *random, bool is_leading, struct error *err);
// Does what is open still lie there?
bool state_is_in_place(const struct state *state);

// ---- numbers and the owner id -------------------------------------------------------------------

// This owner id from now on; it is on disk after the next state_reserve().
void state_set_owner(struct state *state, const char *owner_id);
// All numbers up to `version`, which somebody was found to have, are taken.
void state_raise(struct state *state, uint64_t version);
// Writes a reservation when none is left, and commits. False when it could not: numbers go on all
// the same, and the next call tries again.
bool state_reserve(struct state *state);
uint64_t state_next(struct state *state);
// Can it be written again? Writes a reservation in any case.
bool state_probe(struct state *state);

// ---- objects ------------------------------------------------------------------------------------

struct state_row {
    struct text key;
    uint64_t version;
    struct text path; // manifest beside which the status lies
    struct text body; // its status document; absent: the object is gone for good
};

// Counts once it is committed, which tells of failures, too.
void state_put(struct state *state, const struct state_row *row);
bool state_commit(struct state *state, struct error *err);
// That it is gone need not be known any more.
void state_forget(struct state *state, struct text key);
// All rows, those of one manifest, or that of one key. A row lives for the call.
enum state_which { STATE_ALL, STATE_OF_PATH, STATE_OF_KEY };
bool state_each(struct state *state, enum state_which which, struct text wanted,
                void (*call)(void *context, const struct state_row *row), void *context,
                struct error *err);
