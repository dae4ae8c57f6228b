#include "store/cluster/election.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

enum { NOW_MS = 1000000, POLL_MS = 3000 };

static const struct election_times times = {15000, 10000, 2000};
static const struct election_sight nobody = {true, HOLDER_NONE, 1, 1000};
static const struct election_sight self = {true, HOLDER_SELF, 2, 15000};
static const struct election_sight other = {true, HOLDER_OTHER, 3, 15000};
static const struct election_sight other_renewed = {true, HOLDER_OTHER, 4, 15000};
static const struct election_sight missing = {false, HOLDER_NONE, 0, 0};

static struct election begin(void)
{
    struct election election;
    election_init(&election, &times, NOW_MS);
    return election;
}

static struct election hold(void)
{
    struct election election = begin();
    election_read(&election, &nobody, NOW_MS, POLL_MS);
    election_won(&election, &self, NOW_MS);
    return election;
}

static void expect_next(const struct election *election, int64_t now_ms, enum election_step step,
                        int64_t at_ms)
{
    struct election_next next = election_next(election, now_ms);
    assert_int_equal(next.step, step);
    assert_int_equal(next.at_ms, at_ms);
}

static void the_times_leave_room_for_a_fence_and_a_second_try(void **state)
{
    (void)state;
    static const struct election_times bad[] = {
        {15000, 13001, 2000}, {15000, 2400, 2000},      {15000, 10000, 0},
        {1000, -1000, 1},     {INT64_MAX, 10000, 2000},
    };
    static const struct election_times good[] = {{15000, 13000, 2000}, {15000, 2401, 2000}};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(election_times_check(&bad[i], NULL));
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(election_times_check(&good[i], NULL));
}

static void it_reads_before_it_writes(void **state)
{
    (void)state;
    struct election election = begin();
    expect_next(&election, NOW_MS, ELECTION_READ, NOW_MS);
}

static void a_lease_that_is_missing_or_free_is_taken_at_once(void **state)
{
    (void)state;
    struct election election = begin();
    election_read(&election, &missing, NOW_MS, POLL_MS);
    expect_next(&election, NOW_MS + 1, ELECTION_WRITE, NOW_MS + 1);
    election_read(&election, &nobody, NOW_MS, POLL_MS);
    expect_next(&election, NOW_MS + 1, ELECTION_WRITE, NOW_MS + 1);
}

static void anothers_is_honoured_from_when_it_was_seen_to_change(void **state)
{
    (void)state;
    struct election election = begin();
    election_read(&election, &other, NOW_MS, POLL_MS);
    expect_next(&election, NOW_MS, ELECTION_READ, NOW_MS + POLL_MS);
    election_read(&election, &other, NOW_MS + 13000, POLL_MS);
    expect_next(&election, NOW_MS + 13000, ELECTION_READ, NOW_MS + 15000);
    expect_next(&election, NOW_MS + 15000, ELECTION_WRITE, NOW_MS + 15000);
    election_read(&election, &other_renewed, NOW_MS + 15000, POLL_MS);
    expect_next(&election, NOW_MS + 29999, ELECTION_READ, NOW_MS + 18000);
    expect_next(&election, NOW_MS + 30000, ELECTION_WRITE, NOW_MS + 30000);
}

static void a_claim_without_a_duration_counts_as_long_as_ours(void **state)
{
    (void)state;
    struct election election = begin();
    const struct election_sight endless = {true, HOLDER_OTHER, 9, 0};
    election_read(&election, &endless, NOW_MS, POLL_MS);
    expect_next(&election, NOW_MS + 14999, ELECTION_READ, NOW_MS + POLL_MS);
    expect_next(&election, NOW_MS + 15000, ELECTION_WRITE, NOW_MS + 15000);
}

static void a_claim_outlives_its_lease_that_was_deleted(void **state)
{
    (void)state;
    struct election election = begin();
    election_read(&election, &other, NOW_MS, POLL_MS);
    election_observe(&election, &missing, NOW_MS + 1000, POLL_MS);
    expect_next(&election, NOW_MS + 1000, ELECTION_READ, NOW_MS + 1000 + POLL_MS);
    expect_next(&election, NOW_MS + 15000, ELECTION_WRITE, NOW_MS + 15000);
}

static void a_release_that_is_heard_of_is_taken_at_once(void **state)
{
    (void)state;
    struct election election = begin();
    election_read(&election, &other, NOW_MS, POLL_MS);
    election_observe(&election, &nobody, NOW_MS + 100, POLL_MS);
    expect_next(&election, NOW_MS + 100, ELECTION_WRITE, NOW_MS + 100);
}

static void what_we_hold_counts_from_the_sending(void **state)
{
    (void)state;
    struct election election = hold();
    expect_next(&election, NOW_MS + 500, ELECTION_WRITE, NOW_MS + 2000);
    assert_true(election_may_begin(&election, NOW_MS + 9999));
    assert_false(election_may_begin(&election, NOW_MS + 10000));
    assert_true(election_may_go_on(&election, NOW_MS + 12999));
    assert_false(election_may_go_on(&election, NOW_MS + 13000));
}

static void a_renewal_of_unknown_fate_moves_nothing_and_is_read_back(void **state)
{
    (void)state;
    struct election election = hold();
    election_failed(&election, NOW_MS + 2000, NOW_MS + 7000, 0, POLL_MS);
    expect_next(&election, NOW_MS + 7000, ELECTION_READ, NOW_MS + 7000);
    assert_false(election_may_begin(&election, NOW_MS + 10000));
    election_read(&election, &self, NOW_MS + 7001, POLL_MS);
    expect_next(&election, NOW_MS + 7001, ELECTION_WRITE, NOW_MS + 7001);
    election_won(&election, &self, NOW_MS + 7001);
    assert_true(election_may_begin(&election, NOW_MS + 17000));
}

static void a_failure_at_once_waits_for_the_retry_period_or_longer_if_told(void **state)
{
    (void)state;
    struct election election = hold();
    election_failed(&election, NOW_MS + 2000, NOW_MS + 2001, 0, POLL_MS);
    expect_next(&election, NOW_MS + 2001, ELECTION_READ, NOW_MS + 4000);
    election_failed(&election, NOW_MS + 4000, NOW_MS + 4001, 5000, POLL_MS);
    expect_next(&election, NOW_MS + 4001, ELECTION_READ, NOW_MS + 9001);
}

static void a_take_of_unknown_fate_that_was_made_is_renewed_before_it_counts(void **state)
{
    (void)state;
    struct election election = begin();
    election_read(&election, &nobody, NOW_MS, POLL_MS);
    election_failed(&election, NOW_MS, NOW_MS + 5000, 0, POLL_MS);
    election_read(&election, &self, NOW_MS + 8000, POLL_MS);
    assert_false(election_may_begin(&election, NOW_MS + 8000));
    expect_next(&election, NOW_MS + 8000, ELECTION_WRITE, NOW_MS + 8000);
}

static void a_clash_is_read_at_once_and_the_next_one_later(void **state)
{
    (void)state;
    struct election election = hold();
    election_clashed(&election, NOW_MS + 2000);
    expect_next(&election, NOW_MS + 2000, ELECTION_READ, NOW_MS + 2000);
    election_clashed(&election, NOW_MS + 2000);
    expect_next(&election, NOW_MS + 2000, ELECTION_READ, NOW_MS + 2000 + ELECTION_CLASH_MS);
    assert_true(election_may_begin(&election, NOW_MS + 2000));
}

static void a_read_that_shows_another_ends_our_hold(void **state)
{
    (void)state;
    static const struct election_sight *const sights[] = {&other, &nobody, &missing};
    for (size_t i = 0; i < COUNT_OF(sights); i++) {
        struct election election = hold();
        election_read(&election, sights[i], NOW_MS + 1, POLL_MS);
        assert_false(election_may_begin(&election, NOW_MS + 1));
        assert_false(election_may_go_on(&election, NOW_MS + 1));
    }
}

static void hearing_of_another_only_makes_us_read(void **state)
{
    (void)state;
    struct election election = hold();
    election_observe(&election, &self, NOW_MS + 100, POLL_MS);
    expect_next(&election, NOW_MS + 100, ELECTION_WRITE, NOW_MS + 2000);
    election_observe(&election, &other, NOW_MS + 100, POLL_MS);
    assert_true(election_may_begin(&election, NOW_MS + 100));
    expect_next(&election, NOW_MS + 100, ELECTION_READ, NOW_MS + 100);
}

static void what_is_given_up_is_not_ours(void **state)
{
    (void)state;
    struct election election = hold();
    election_yield(&election);
    assert_false(election_may_begin(&election, NOW_MS));
    assert_false(election_may_go_on(&election, NOW_MS));
}

// ---- torture ------------------------------------------------------------------------------------

// Two processes and a server, in ticks: replies and whole requests get lost or come late, processes
// stop and go on, die and start anew, and their clocks run unlike.

enum { PROCESSES = 2, TICK_MS = 50, TICKS = 1200, SEEDS = 10000, WATCH_MS = 5000 };

struct post { // what is under way between a process and the server
    bool is_used;
    bool is_write;
    bool is_done; // at the server
    bool is_ok;
    int64_t version;           // that the write names; 0: it makes the Lease
    int64_t sent_ms;           // by the sender's clock
    int64_t there_ms, back_ms; // by the world's
    int64_t late_ms;           // the sender gives up then
    int holder;
    int64_t read_version;
    struct election_sight read;
};

struct process {
    struct election election;
    int identity;
    int64_t version; // that was seen
    int64_t origin_ms;
    int64_t rate; // of its clock, in thousandths
    int64_t stopped_until_ms;
    struct post call;  // the one that it waits for
    struct post stray; // given up, but still on its way
};

struct simulation {
    uint64_t seed;
    int64_t now_ms;
    bool is_there;
    int holder;
    int64_t version;
    uint64_t hash;
    int identities;
    struct process processes[PROCESSES];
    uint64_t led;
};

static uint64_t draw(struct simulation *sim, uint64_t limit)
{
    sim->seed ^= sim->seed << 13;
    sim->seed ^= sim->seed >> 7;
    sim->seed ^= sim->seed << 17;
    return (sim->seed * 0x2545f4914f6cdd1d >> 20) % limit;
}

static int64_t clock_of(const struct simulation *sim, const struct process *process)
{
    return process->origin_ms + sim->now_ms * process->rate / 1000;
}

static struct election_sight sight_of(const struct simulation *sim, int identity)
{
    enum election_holder holder = HOLDER_OTHER;
    if (!sim->holder || sim->holder == identity)
        holder = sim->holder ? HOLDER_SELF : HOLDER_NONE;
    return (struct election_sight){sim->is_there, holder, sim->hash, times.duration_ms};
}

static void start(struct simulation *sim, struct process *process)
{
    int64_t rate = 970 + (int64_t)draw(sim, 61);
    *process = (struct process){.identity = ++sim->identities,
                                .origin_ms = (int64_t)draw(sim, 1000000),
                                .rate = rate,
                                .stray = process->call};
    election_init(&process->election, &times, clock_of(sim, process));
}

static void serve(struct simulation *sim, struct process *process, struct post *post)
{
    if (!post->is_used || post->is_done || sim->now_ms < post->there_ms)
        return;
    post->is_done = true;
    if (post->is_write) {
        post->is_ok = sim->is_there ? post->version == sim->version : post->version == 0;
        if (post->is_ok) {
            sim->is_there = true;
            sim->holder = post->holder;
            sim->version++;
            sim->hash++;
        }
    }
    post->read = sight_of(sim, process->identity);
    post->read_version = sim->version;
}

static int64_t delay(struct simulation *sim)
{
    switch (draw(sim, 12)) {
    case 0:
        return (int64_t)draw(sim, 20000);
    case 1:
        return (int64_t)draw(sim, 3000);
    default:
        return (int64_t)draw(sim, 120);
    }
}

static void post_send(struct simulation *sim, struct process *process, bool is_write)
{
    int64_t there_ms = sim->now_ms + delay(sim);
    process->call = (struct post){
        .is_used = true,
        .is_write = is_write,
        .version = process->version,
        .sent_ms = clock_of(sim, process),
        .there_ms = there_ms,
        .back_ms = draw(sim, 15) ? there_ms + delay(sim) : INT64_MAX,
        .late_ms = sim->now_ms + 5000,
        .holder = process->identity,
    };
}

static void take_reply(struct simulation *sim, struct process *process)
{
    struct post post = process->call;
    int64_t now_ms = clock_of(sim, process);
    process->call.is_used = false;
    if (post.is_write && !post.is_ok) {
        election_clashed(&process->election, now_ms);
        return;
    }
    process->version = post.read.is_there ? post.read_version : 0;
    if (post.is_write)
        election_won(&process->election, &post.read, post.sent_ms);
    else
        election_read(&process->election, &post.read, now_ms, POLL_MS);
}

static void give_up(struct simulation *sim, struct process *process)
{
    process->stray = process->call;
    process->call.is_used = false;
    election_failed(&process->election, process->call.sent_ms, clock_of(sim, process), 0, POLL_MS);
}

static void handle_reply(struct simulation *sim, struct process *process)
{
    struct election_sight sight = sight_of(sim, process->identity);
    if (draw(sim, WATCH_MS / TICK_MS))
        return;
    if (!process->election.is_held)
        process->version = sight.is_there ? sim->version : 0;
    election_observe(&process->election, &sight, clock_of(sim, process), POLL_MS);
}

static void act(struct simulation *sim, struct process *process)
{
    if (sim->now_ms < process->stopped_until_ms)
        return;
    handle_reply(sim, process);
    if (process->call.is_used && process->call.is_done && sim->now_ms >= process->call.back_ms)
        take_reply(sim, process);
    if (process->call.is_used && sim->now_ms >= process->call.late_ms)
        give_up(sim, process);
    if (process->call.is_used)
        return;
    struct election_next next = election_next(&process->election, clock_of(sim, process));
    if (next.at_ms <= clock_of(sim, process))
        post_send(sim, process, next.step == ELECTION_WRITE);
}

static void disturb(struct simulation *sim, struct process *process)
{
    switch (draw(sim, 600)) {
    case 0:
        process->stopped_until_ms = sim->now_ms + (int64_t)draw(sim, 25000);
        break;
    case 1:
        start(sim, process);
        break;
    default:
        break;
    }
}

static void check(struct simulation *sim, uint64_t seed)
{
    unsigned count = 0;
    for (size_t i = 0; i < PROCESSES; i++) {
        struct process *process = &sim->processes[i];
        count += election_may_go_on(&process->election, clock_of(sim, process));
    }
    sim->led += count;
    if (count > 1)
        fail_msg("seed %llu: two may write at %lld ms", (unsigned long long)seed,
                 (long long)sim->now_ms);
}

static uint64_t run(uint64_t seed)
{
    struct simulation sim = {.seed = seed * 0x9e3779b97f4a7c15 + 1, .version = 10, .hash = 10};
    for (size_t i = 0; i < PROCESSES; i++)
        start(&sim, &sim.processes[i]);
    for (unsigned tick = 0; tick < TICKS; tick++, sim.now_ms += TICK_MS) {
        for (size_t i = 0; i < PROCESSES; i++) {
            disturb(&sim, &sim.processes[i]);
            serve(&sim, &sim.processes[i], &sim.processes[i].stray);
            serve(&sim, &sim.processes[i], &sim.processes[i].call);
            act(&sim, &sim.processes[i]);
        }
        check(&sim, seed);
    }
    return sim.led;
}

static void never_may_two_write_whatever_is_lost_late_or_stopped(void **state)
{
    (void)state;
    uint64_t led = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        led += run(seed);
    // Most of the time somebody leads all the same.
    assert_true(led > (uint64_t)SEEDS * TICKS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_times_leave_room_for_a_fence_and_a_second_try),
        cmocka_unit_test(it_reads_before_it_writes),
        cmocka_unit_test(a_lease_that_is_missing_or_free_is_taken_at_once),
        cmocka_unit_test(anothers_is_honoured_from_when_it_was_seen_to_change),
        cmocka_unit_test(a_claim_without_a_duration_counts_as_long_as_ours),
        cmocka_unit_test(a_claim_outlives_its_lease_that_was_deleted),
        cmocka_unit_test(a_release_that_is_heard_of_is_taken_at_once),
        cmocka_unit_test(what_we_hold_counts_from_the_sending),
        cmocka_unit_test(a_renewal_of_unknown_fate_moves_nothing_and_is_read_back),
        cmocka_unit_test(a_failure_at_once_waits_for_the_retry_period_or_longer_if_told),
        cmocka_unit_test(a_take_of_unknown_fate_that_was_made_is_renewed_before_it_counts),
        cmocka_unit_test(a_clash_is_read_at_once_and_the_next_one_later),
        cmocka_unit_test(a_read_that_shows_another_ends_our_hold),
        cmocka_unit_test(hearing_of_another_only_makes_us_read),
        cmocka_unit_test(what_is_given_up_is_not_ours),
        cmocka_unit_test(never_may_two_write_whatever_is_lost_late_or_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
