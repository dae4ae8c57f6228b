#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/backend_state.h"
#include "engine/claim_state.h"
#include "model/virtual_loop.h"

// One letter a state, in the order of the enums.
static const char standings[] = "NUWSgGLEF";
static const char works[] = "-PRQXB"; // none, parked, ready, queued, in flight, backing off

// What every move leads to, written independently of the table: from which standings and works, and
// where to ('=': as before).
static const struct {
    enum claim_move move;
    const char *standings;
    const char *works;
    char standing;
    char work;
} expected[] = {
    {MOVE_SUSPEND, "NUWSgGLE", "-PRXB", 'U', '='},
    {MOVE_SEND, "NUWSgGLE", "-PRQXB", 'W', '='},
    {MOVE_WAIT_BEHIND, "NUWSgGLE", "-PRXB", 'W', '='},
    {MOVE_SETTLE, "NUWSgGLE", "-PRX", 'S', '='},
    {MOVE_SHARE, "NUWSgGLE", "-PRX", 'g', '='},
    {MOVE_SHARE_SETTLED, "NUWSgGLE", "-PRX", 'G', '='},
    {MOVE_LOSE, "NUWSgGLE", "-PRX", 'L', '='},
    {MOVE_EVICT, "NUWSgGLE", "-PRQXB", 'E', '='},
    {MOVE_PREPARE, "NUWSgGLE", "-P", '=', 'R'},
    {MOVE_FORGET, "NUWSgGLE", "-PRX", 'F', '='},
    {MOVE_QUEUE, "WE", "R", '=', 'Q'},
    {MOVE_UNQUEUE, "WE", "Q", '=', 'R'},
    {MOVE_BEGIN_EXCHANGE, "WE", "R", '=', 'X'},
    {MOVE_END_EXCHANGE, "NUWSgGLEF", "X", '=', 'R'},
    {MOVE_BACK_OFF, "NUWSgGLE", "RB", '=', 'B'},
    {MOVE_END_BACK_OFF, "NUWSgGLE", "B", '=', 'R'},
    {MOVE_STOP, "NUWSgGLE", "PRQB", '=', 'R'},
    {MOVE_PARK, "NUWSgGLE", "PRQB", '=', 'P'},
    {MOVE_CLEAR, "NUWSgGLE", "-PRQB", '=', '-'},
};

static void check_move(size_t row, size_t standing, size_t work)
{
    struct claim_life life = {(enum claim_standing)standing, (enum claim_work)work};
    bool is_legal = strchr(expected[row].standings, standings[standing]) &&
                    strchr(expected[row].works, works[work]);
    char to_standing = expected[row].standing;
    char to_work = expected[row].work;
    if (!is_legal || to_standing == '=')
        to_standing = standings[standing];
    if (!is_legal || to_work == '=')
        to_work = works[work];
    assert_int_equal(claim_life_move(&life, expected[row].move), is_legal);
    assert_int_equal(standings[life.standing], to_standing);
    assert_int_equal(works[life.work], to_work);
}

static void each_move_leads_where_it_should_and_no_other_is_made(void **state)
{
    (void)state;
    assert_int_equal(sizeof expected / sizeof expected[0], CLAIM_MOVES);
    for (size_t row = 0; row < CLAIM_MOVES; row++) {
        assert_int_equal(expected[row].move, row);
        for (size_t standing = 0; standing < CLAIM_STANDINGS; standing++)
            for (size_t work = 0; work < CLAIM_WORKS; work++)
                check_move(row, standing, work);
    }
}

// ---- the claim itself ---------------------------------------------------------------------------

// As much of an engine as a claim's moves look at.
struct rig {
    struct engine engine;
    struct claim claim;
    struct key key;
    struct backend backend;
    struct backend *backends[1];
    char exchange; // stands for one
};

static int rig_open(void **state)
{
    struct rig *rig = mem_new_of(struct rig);
    rig->backend = (struct backend){.engine = &rig->engine, .number = 1};
    rig->backend.due[0] = rig->backend.due[1] = (struct line_of_claims){NO_ID, NO_ID};
    rig->backends[0] = &rig->backend;
    rig->claim = (struct claim){.backend = 1,
                                .type = RECORD_A,
                                .intent = CLAIM_SET,
                                .next_of_name = NO_ID,
                                .name_holder = NO_ID};
    rig->engine = (struct engine){.claims = &rig->claim,
                                  .claim_slots = {.end = 1},
                                  .keys = &rig->key,
                                  .backends_by_number = rig->backends,
                                  .loop = virtual_loop_new(1767225600000),
                                  .back_offs = queue_new(),
                                  .claim_slab = slab_new(),
                                  .is_slice_scheduled = true};
    *state = rig;
    return 0;
}

static int rig_close(void **state)
{
    struct rig *rig = *state;
    pending_free(rig->claim.pending);
    queue_free(rig->engine.back_offs);
    loop_free(rig->engine.loop);
    slab_free(rig->engine.claim_slab);
    free(rig);
    return 0;
}

static void move(struct rig *rig, enum claim_move move)
{
    claim_move(&rig->engine, 0, move);
}

static void keep(struct rig *rig)
{
    static const struct text values[] = {TEXT("192.0.2.1")};
    const struct record_set set = {.type = RECORD_A,
                                   .domain = TEXT("example.com"),
                                   .subdomain = TEXT("www"),
                                   .values = values,
                                   .value_count = 1};
    rig->claim.pending = slab_take(rig->engine.claim_slab, sizeof *rig->claim.pending);
    *rig->claim.pending = (struct pending){.due_link = {.next = NO_ID, .previous = NO_ID}};
    move(rig, MOVE_PREPARE);
    pending_set_content(&rig->engine, rig->claim.pending, &set);
}

static void a_claim_is_sent_fails_is_tried_again_and_settles(void **state)
{
    struct rig *rig = *state;
    struct exchange *exchange = (struct exchange *)(void *)&rig->exchange;
    keep(rig);
    move(rig, MOVE_SEND);
    move(rig, MOVE_QUEUE);
    assert_int_equal(rig->backend.due_count, 1);
    claim_unqueue(&rig->engine, 0);
    assert_int_equal(rig->backend.due_count, 0);
    claim_begin_exchange(&rig->engine, 0, exchange);
    assert_int_equal(rig->claim.work, WORK_IN_FLIGHT);
    claim_end_exchange(&rig->engine, 0);
    assert_null(rig->claim.pending->exchange);
    claim_back_off(&rig->engine, 0, 1000);
    move(rig, MOVE_END_BACK_OFF);
    assert_int_equal(queue_time_ms(rig->engine.back_offs, 0), INT64_MAX);
    rig->claim.there = THERE_SET;
    rig->claim.has_wanted = rig->claim.wants_there = true;
    claim_stop(&rig->engine, 0);
    assert_null(rig->claim.pending);
    move(rig, MOVE_SETTLE);
    assert_int_equal(claim_state(&rig->claim), RECEIPT_SETTLED);
}

static void settles_without_standing_there(struct rig *rig)
{
    move(rig, MOVE_SETTLE);
}

static void loses_to_nobody(struct rig *rig)
{
    move(rig, MOVE_LOSE);
}

static void is_queued_without_content(struct rig *rig)
{
    keep(rig);
    pending_set_content(&rig->engine, rig->claim.pending, NULL);
    move(rig, MOVE_SEND);
    move(rig, MOVE_QUEUE);
}

static void is_in_flight_without_an_exchange(struct rig *rig)
{
    keep(rig);
    move(rig, MOVE_SEND);
    move(rig, MOVE_BEGIN_EXCHANGE);
}

static void backs_off_without_a_time(struct rig *rig)
{
    keep(rig);
    rig->claim.pending->next_unix_ms = 1000;
    move(rig, MOVE_BACK_OFF);
}

static void is_forgotten_by_a_key_that_it_has(struct rig *rig)
{
    move(rig, MOVE_FORGET);
}

static void is_queued_though_it_is_suspended(struct rig *rig)
{
    keep(rig);
    move(rig, MOVE_SUSPEND);
    move(rig, MOVE_QUEUE);
}

static void each_breach_ends_the_process(void **state)
{
    static void (*const breaches[])(struct rig *) = {
        settles_without_standing_there,  loses_to_nobody,
        is_queued_without_content,       is_in_flight_without_an_exchange,
        backs_off_without_a_time,        is_forgotten_by_a_key_that_it_has,
        is_queued_though_it_is_suspended};
    for (size_t i = 0; i < COUNT_OF(breaches); i++) {
        int status;
        pid_t owned_object = fork();
        if (owned_object == 0) {
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
            breaches[i](*state);
            _exit(0);
        }
        assert_int_equal(waitpid(owned_object, &status, 0), owned_object);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_move_leads_where_it_should_and_no_other_is_made),
        cmocka_unit_test_setup_teardown(a_claim_is_sent_fails_is_tried_again_and_settles, rig_open,
                                        rig_close),
        cmocka_unit_test_setup_teardown(each_breach_ends_the_process, rig_open, rig_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
