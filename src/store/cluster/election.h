#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Leader election by a Lease, as data: what was seen of the Lease and when, what to do next, and
// until when our hold is valid. Pure: the caller hands in the clock (loop_mono_ms); clocks of other
// machines never count.
//
// A lease counts from the *sending* of the last write that succeeded. Another process may take it
// once it has seen the Lease unchanged for the duration that it states. It saw our write at its
// sending at the earliest, so whatever we begin within that time ends before the other begins.

enum {
    ELECTION_FENCE_MS = 2000, // margin at the end for clocks that differ in speed
    ELECTION_CLASH_MS = 250,  // between writes when one 409 follows another
};

struct election_times {
    int64_t duration_ms;
    int64_t deadline_ms; // so long after the last renewal nothing new begins
    int64_t retry_ms;
};
// duration - 2 s >= deadline > retry x 1.2. Fault SPEC.
bool election_times_check(const struct election_times *times, struct error *err);

enum election_holder { HOLDER_NONE, HOLDER_SELF, HOLDER_OTHER };

struct election_sight {
    bool is_there; // does the Lease exist?
    enum election_holder holder;
    uint64_t hash;    // of its content: another hash means a renewal
    int64_t claim_ms; // the duration that it states; 0: none
};

enum election_step {
    ELECTION_READ,
    ELECTION_WRITE, // take or renew it, guarded by the version seen last; create it if it does not
                    // exist
};
struct election_next {
    enum election_step step;
    int64_t at_ms;
};

struct election {
    struct election_times times;
    struct election_sight seen;
    bool has_seen;
    bool is_certain;        // no write of ours may have changed what was seen
    bool is_held;           // by us, as far as we know
    int64_t held_ms;        // sending of the last write that succeeded
    int64_t rival_until_ms; // until then another's lease is respected; 0: no other was seen
    int64_t try_ms;         // nothing is sent before that time
    unsigned clashes;       // 409 in a row
};

void election_init(struct election *election, const struct election_times *times, int64_t now_ms);
struct election_next election_next(const struct election *election, int64_t now_ms);

// Takes what a read returned. A standby reads again `poll_ms` later.
void election_read(struct election *election, const struct election_sight *sight, int64_t now_ms,
                   int64_t poll_ms);
// Takes what a watch reported, which may be late. It never ends our hold by itself; a read has to
// confirm it.
void election_observe(struct election *election, const struct election_sight *sight, int64_t now_ms,
                      int64_t poll_ms);
// Takes the success of a write that makes us the holder.
void election_won(struct election *election, const struct election_sight *sight, int64_t sent_ms);
// Takes the refusal of a write because somebody wrote first.
void election_clashed(struct election *election, int64_t now_ms);
// Takes a failed read or write, or one whose effect is unknown. The next try is after `wait_ms`.
void election_failed(struct election *election, int64_t sent_ms, int64_t now_ms, int64_t wait_ms,
                     int64_t poll_ms);
// Gives the lease up.
void election_yield(struct election *election);

int64_t election_begin_until(const struct election *election); // INT64_MIN: not held
int64_t election_go_on_until(const struct election *election);
// May something new begin; may what is under way go on?
bool election_may_begin(const struct election *election, int64_t now_ms);
bool election_may_go_on(const struct election *election, int64_t now_ms);
