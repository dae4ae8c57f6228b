#include "store/cluster/election.h"

#include <stddef.h>

// leaseDurationSeconds is an int32.
static const int64_t DURATION_MAX_MS = INT32_MAX * INT64_C(1000);

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool times_fit(const struct election_times *times)
{
    return times->retry_ms > 0 && times->deadline_ms > times->retry_ms &&
           times->deadline_ms - times->retry_ms > times->retry_ms / 5 &&
           times->duration_ms > ELECTION_FENCE_MS && times->duration_ms <= DURATION_MAX_MS &&
           times->duration_ms - ELECTION_FENCE_MS >= times->deadline_ms;
}

bool election_times_check(const struct election_times *times, struct error *err)
{
    if (times_fit(times))
        return true;
    return error_set(err, FAULT_SPEC, "",
                     "the lease duration must be 2s longer than the renew deadline at least, and "
                     "that longer than 1.2 times the retry period");
}

void election_init(struct election *election, const struct election_times *times, int64_t now_ms)
{
    *election = (struct election){.times = *times, .try_ms = now_ms};
}

struct election_next election_next(const struct election *election, int64_t now_ms)
{
    int64_t free_ms = election->rival_until_ms;
    if (!election->is_certain)
        return (struct election_next){ELECTION_READ, election->try_ms};
    if (election->is_held)
        return (struct election_next){ELECTION_WRITE, election->try_ms};
    if (free_ms <= now_ms)
        return (struct election_next){ELECTION_WRITE, now_ms};
    return (struct election_next){ELECTION_READ, earlier(election->try_ms, free_ms)};
}

// The claim of one whose Lease is deleted under his feet runs on: he may not have noticed.
static void judge(struct election *election, const struct election_sight *sight, int64_t now_ms)
{
    bool is_new = !election->has_seen || sight->hash != election->seen.hash;
    int64_t claim_ms = sight->claim_ms ? sight->claim_ms : election->times.duration_ms;
    if (!sight->is_there)
        return;
    if (sight->holder != HOLDER_OTHER)
        election->rival_until_ms = earlier(election->rival_until_ms, now_ms);
    else if (is_new)
        election->rival_until_ms = now_ms + claim_ms;
    election->has_seen = true;
    election->seen = *sight;
}

void election_read(struct election *election, const struct election_sight *sight, int64_t now_ms,
                   int64_t poll_ms)
{
    judge(election, sight, now_ms);
    election->is_certain = true;
    election->is_held = election->is_held && sight->is_there && sight->holder == HOLDER_SELF;
    election->try_ms = election->is_held ? now_ms : now_ms + poll_ms;
}

void election_observe(struct election *election, const struct election_sight *sight, int64_t now_ms,
                      int64_t poll_ms)
{
    if (!election->is_held) {
        election_read(election, sight, now_ms, poll_ms);
        return;
    }
    if (sight->is_there && sight->holder == HOLDER_SELF)
        return;
    election->is_certain = false;
    election->try_ms = now_ms;
}

void election_won(struct election *election, const struct election_sight *sight, int64_t sent_ms)
{
    judge(election, sight, sent_ms);
    election->is_certain = true;
    election->is_held = true;
    election->held_ms = sent_ms;
    election->try_ms = sent_ms + election->times.retry_ms;
    election->clashes = 0;
}

void election_clashed(struct election *election, int64_t now_ms)
{
    election->is_certain = false;
    election->try_ms = election->clashes ? now_ms + ELECTION_CLASH_MS : now_ms;
    election->clashes++;
}

void election_failed(struct election *election, int64_t sent_ms, int64_t now_ms, int64_t wait_ms,
                     int64_t poll_ms)
{
    int64_t next_ms = election->is_held ? sent_ms + election->times.retry_ms : now_ms + poll_ms;
    election->is_certain = false;
    election->try_ms = later(later(next_ms, now_ms), now_ms + wait_ms);
}

void election_yield(struct election *election)
{
    election->is_held = false;
}

int64_t election_begin_until(const struct election *election)
{
    return election->is_held ? election->held_ms + election->times.deadline_ms : INT64_MIN;
}

int64_t election_go_on_until(const struct election *election)
{
    return election->is_held ? election->held_ms + election->times.duration_ms - ELECTION_FENCE_MS
                             : INT64_MIN;
}

bool election_may_begin(const struct election *election, int64_t now_ms)
{
    return now_ms < election_begin_until(election);
}

bool election_may_go_on(const struct election *election, int64_t now_ms)
{
    return now_ms < election_go_on_until(election);
}
