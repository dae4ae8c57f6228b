#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Who holds a Lease, as data: what was seen of it and when, what to do next, and until when what we
// hold is good. Pure: the clock is handed in (loop_mono_ms); clocks of other machines never count.
//
// A lease counts from the *sending* of the last write that succeeded. Another may take it when it
// stood unchanged before his eyes for as long as it says. He saw our write at its sending at the
// earliest: so from there on, what we begin ends before he begins.

enum {
    ELECTION_FENCE_MS = 2000, // left at the end for clocks that run unlike
    ELECTION_CLASH_MS = 250,  // between writes when one 409 follows another
};

struct election_times {
    int64_t duration_ms;
    int64_t deadline_ms; // nothing new begins so long after the last renewal
    int64_t retry_ms;
};
// duration - 2 s >= deadline > retry x 1.2. Fault SPEC.
bool election_times_check(const struct election_times *times, struct error *err);

enum election_holder { HOLDER_NONE, HOLDER_SELF, HOLDER_OTHER };

struct election_sight {
    bool is_there; // does the Lease exist?
    enum election_holder holder;
    uint64_t hash;    // of what it says: a changed one is a renewal
    int64_t claim_ms; // how long it is good; 0: it does not say
};

enum election_step {
    ELECTION_READ,
    ELECTION_WRITE, // take or renew, guarded by the version seen last; make it if it is not there
};
struct election_next {
    enum election_step step;
    int64_t at_ms;
};

struct election {
    struct election_times times;
    struct election_sight seen;
    bool has_seen;
    bool is_certain;        // what was seen is, for all we know, what stands there
    bool is_held;           // by us, for all we know
    int64_t held_ms;        // sending of the last write that succeeded
    int64_t rival_until_ms; // another's claim is honoured
    int64_t try_ms;         // nothing is sent before
    unsigned clashes;       // 409 in a row
};

void election_init(struct election *election, const struct election_times *times, int64_t now_ms);
struct election_next election_next(const struct election *election, int64_t now_ms);

// What a read showed. A standby reads again `poll_ms` later.
void election_read(struct election *election, const struct election_sight *sight, int64_t now_ms,
                   int64_t poll_ms);
// What a watch showed: late, perhaps. It never ends our hold by itself; a read has to confirm it.
void election_observe(struct election *election, const struct election_sight *sight, int64_t now_ms,
                      int64_t poll_ms);
// A write that makes us the holder succeeded.
void election_won(struct election *election, const struct election_sight *sight, int64_t sent_ms);
// A write was refused, since someone wrote first.
void election_clashed(struct election *election, int64_t now_ms);
// A read or a write failed, or nobody knows what became of it. Not again before `wait_ms`.
void election_failed(struct election *election, int64_t sent_ms, int64_t now_ms, int64_t wait_ms,
                     int64_t poll_ms);
// We give it up.
void election_yield(struct election *election);

int64_t election_begin_until(const struct election *election); // INT64_MIN: not held
int64_t election_go_on_until(const struct election *election);
// May something new begin; may what is under way go on?
bool election_may_begin(const struct election *election, int64_t now_ms);
bool election_may_go_on(const struct election *election, int64_t now_ms);
