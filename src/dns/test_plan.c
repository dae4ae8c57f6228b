#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/plan.h"

// Owners are told apart by address alone.
static const char old, young, third;

static struct plan_claim claim(const void *owner, enum record_type type, enum plan_want want)
{
    return (struct plan_claim){.owner = owner,
                               .type = type,
                               .domain = TEXT("example.com"),
                               .subdomain = TEXT("www"),
                               .want = want};
}

static struct plan_claim split(struct plan_claim claim)
{
    claim.domain = TEXT("www.example.com");
    claim.subdomain = TEXT("@");
    return claim;
}

static struct plan_claim held(struct plan_claim claim)
{
    claim.is_suspended = true;
    return claim;
}

static struct plan_claim satisfied(struct plan_claim claim)
{
    claim.is_satisfied = true;
    return claim;
}

#define SET(owner, type) claim(&(owner), RECORD_##type, PLAN_SET)
#define KEEP(owner, type) claim(&(owner), RECORD_##type, PLAN_KEEP)
#define LOOK(owner, type) claim(&(owner), RECORD_##type, PLAN_LOOK)
#define REMOVE(owner, type) claim(&(owner), RECORD_##type, PLAN_REMOVE)

static struct plan_claim of_content(uint64_t content, struct plan_claim claim)
{
    claim.content = content;
    return claim;
}

struct wanted {
    enum plan_act act;
    int other; // meaningful for WAIT, LOST, SHARED, INHERITED
};

static bool has_other(enum plan_act act)
{
    return act == PLAN_WAIT || act == PLAN_LOST || act == PLAN_SHARED || act == PLAN_INHERITED;
}

static void check(const struct plan_claim *claims, const struct wanted *wanted, size_t count)
{
    struct plan_step steps[16];
    assert_true(count <= COUNT_OF(steps));
    plan_name(claims, count, steps);
    for (size_t i = 0; i < count; i++) {
        if (steps[i].act != wanted[i].act)
            fail_msg("claim %zu: act %d, not %d", i, steps[i].act, wanted[i].act);
        if (has_other(wanted[i].act) && (int)steps[i].other != wanted[i].other)
            fail_msg("claim %zu: other %zu, not %d", i, steps[i].other, wanted[i].other);
    }
}

#define EXPECT(claims, ...)                                                                        \
    do {                                                                                           \
        const struct wanted wanted_[] = {__VA_ARGS__};                                             \
        assert_int_equal(COUNT_OF(wanted_), COUNT_OF(claims));                                     \
        check((claims), wanted_, COUNT_OF(wanted_));                                               \
    } while (0)

static void cname_excludes_all_types_and_each_type_itself(void **state)
{
    (void)state;
    for (size_t a = 0; a < RECORD_TYPES; a++) {
        for (size_t b = 0; b < RECORD_TYPES; b++) {
            bool wanted = a == b || a == RECORD_CNAME || b == RECORD_CNAME;
            assert_int_equal(plan_excludes((enum record_type)a, (enum record_type)b), wanted);
        }
    }
}

static void no_claims_are_no_steps(void **state)
{
    (void)state;
    plan_name(NULL, 0, NULL);
}

static void lone_set_is_sent_until_it_is_satisfied(void **state)
{
    (void)state;
    const struct plan_claim fresh[] = {SET(old, A)};
    EXPECT(fresh, {PLAN_SEND, 0});
    const struct plan_claim done[] = {satisfied(SET(old, A))};
    EXPECT(done, {PLAN_SETTLED, 0});
    const struct plan_claim waiting[] = {held(SET(old, A))};
    EXPECT(waiting, {PLAN_SUSPEND, 0});
    const struct plan_claim both[] = {held(satisfied(SET(old, A)))};
    EXPECT(both, {PLAN_SETTLED, 0});
}

static void lone_removal_is_sent_until_nothing_is_there(void **state)
{
    (void)state;
    const struct plan_claim going[] = {REMOVE(old, A)};
    EXPECT(going, {PLAN_SEND, 0});
    const struct plan_claim waiting[] = {held(REMOVE(old, A))};
    EXPECT(waiting, {PLAN_SUSPEND, 0});
    const struct plan_claim gone[] = {satisfied(REMOVE(old, A))};
    EXPECT(gone, {PLAN_SETTLED, 0});
}

static void kept_content_is_left_alone(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {KEEP(old, A), held(KEEP(old, TXT))};
    EXPECT(claims, {PLAN_SETTLED, 0}, {PLAN_SETTLED, 0});
}

static void oldest_claim_wins_a_type(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, A), SET(young, A), satisfied(SET(third, A))};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_LOST, 0}, {PLAN_LOST, 0});
}

static void different_types_live_side_by_side(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, A), SET(young, AAAA), SET(third, TXT)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_SEND, 0}, {PLAN_SEND, 0});
}

static void other_split_is_the_same_name(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, A), split(SET(young, A))};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_LOST, 0});
}

static void older_cname_beats_all_types(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, CNAME), SET(young, A), SET(third, TXT),
                                        SET(third, CNAME)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_LOST, 0}, {PLAN_LOST, 0}, {PLAN_LOST, 0});
}

static void any_older_type_beats_a_cname(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, TXT), SET(young, CNAME)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_LOST, 0});
}

static void losers_beat_nobody(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, A), SET(young, CNAME), SET(third, TXT)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_LOST, 0}, {PLAN_SEND, 0});
}

static void held_and_kept_claims_compete(void **state)
{
    (void)state;
    const struct plan_claim holding[] = {held(SET(old, A)), SET(young, A)};
    EXPECT(holding, {PLAN_SUSPEND, 0}, {PLAN_LOST, 0});
    const struct plan_claim keeping[] = {KEEP(old, A), SET(young, CNAME)};
    EXPECT(keeping, {PLAN_SETTLED, 0}, {PLAN_LOST, 0});
    const struct plan_claim kept_loser[] = {SET(old, A), KEEP(young, A)};
    EXPECT(kept_loser, {PLAN_SEND, 0}, {PLAN_LOST, 0});
}

static void removals_compete_with_nobody(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {REMOVE(old, A), SET(young, A), SET(third, A)};
    EXPECT(claims, {PLAN_INHERITED, 1}, {PLAN_SEND, 0}, {PLAN_LOST, 1});
}

static void claims_of_one_owner_do_not_conflict(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, CNAME), SET(old, A), split(SET(old, A))};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_SEND, 0}, {PLAN_SEND, 0});
}

static void removal_is_inherited_by_who_wants_the_key(void **state)
{
    (void)state;
    const struct plan_claim going[] = {REMOVE(old, A), SET(young, A)};
    EXPECT(going, {PLAN_INHERITED, 1}, {PLAN_SEND, 0});
    const struct plan_claim done[] = {held(REMOVE(old, A)), satisfied(SET(young, A))};
    EXPECT(done, {PLAN_INHERITED, 1}, {PLAN_SETTLED, 0});
    const struct plan_claim older_heir[] = {SET(old, A), REMOVE(young, A)};
    EXPECT(older_heir, {PLAN_SEND, 0}, {PLAN_INHERITED, 0});
    const struct plan_claim kept[] = {REMOVE(old, A), KEEP(young, A)};
    EXPECT(kept, {PLAN_INHERITED, 1}, {PLAN_SETTLED, 0});
    const struct plan_claim own[] = {REMOVE(old, A), SET(old, A)};
    EXPECT(own, {PLAN_INHERITED, 1}, {PLAN_SEND, 0});
}

// The heir of a removal must be known to whoever comes after this process.
static void removal_waits_for_an_heir_that_may_be_sent(void **state)
{
    (void)state;
    const struct plan_claim waits[] = {REMOVE(old, A), held(SET(young, A))};
    EXPECT(waits, {PLAN_WAIT, 1}, {PLAN_SUSPEND, 0});
    const struct plan_claim same[] = {REMOVE(old, A), held(satisfied(SET(young, A)))};
    EXPECT(same, {PLAN_WAIT, 1}, {PLAN_SETTLED, 0});
    const struct plan_claim looks[] = {REMOVE(old, A), LOOK(young, A)};
    EXPECT(looks, {PLAN_WAIT, 1}, {PLAN_SEND, 0});
    const struct plan_claim looked[] = {REMOVE(old, A), satisfied(LOOK(young, A))};
    EXPECT(looked, {PLAN_WAIT, 1}, {PLAN_SETTLED, 0});
}

static void loser_inherits_nothing(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, CNAME), REMOVE(young, A), SET(third, A)};
    EXPECT(claims, {PLAN_WAIT, 1}, {PLAN_SEND, 0}, {PLAN_LOST, 0});
}

static void cname_goes_before_other_data_comes(void **state)
{
    (void)state;
    const struct plan_claim foreign[] = {REMOVE(old, CNAME), SET(young, A), SET(third, TXT)};
    EXPECT(foreign, {PLAN_SEND, 0}, {PLAN_WAIT, 0}, {PLAN_WAIT, 0});
    const struct plan_claim own[] = {SET(old, A), REMOVE(old, CNAME)};
    EXPECT(own, {PLAN_WAIT, 1}, {PLAN_SEND, 0});
    const struct plan_claim gone[] = {SET(old, A), satisfied(REMOVE(old, CNAME))};
    EXPECT(gone, {PLAN_SEND, 0}, {PLAN_SETTLED, 0});
}

static void other_data_goes_before_a_cname_comes(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {REMOVE(old, A), satisfied(REMOVE(young, MX)),
                                        REMOVE(young, TXT), SET(third, CNAME)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_SETTLED, 0}, {PLAN_SEND, 0}, {PLAN_WAIT, 0});
    const struct plan_claim next[] = {satisfied(REMOVE(old, A)), REMOVE(young, TXT),
                                      SET(third, CNAME)};
    EXPECT(next, {PLAN_SETTLED, 0}, {PLAN_SEND, 0}, {PLAN_WAIT, 1});
}

static void other_types_without_cname_do_not_wait(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {REMOVE(old, A), SET(old, AAAA), SET(young, TXT)};
    EXPECT(claims, {PLAN_SEND, 0}, {PLAN_SEND, 0}, {PLAN_SEND, 0});
}

static void other_split_goes_before_the_set_comes(void **state)
{
    (void)state;
    const struct plan_claim own[] = {REMOVE(old, A), split(SET(old, A))};
    EXPECT(own, {PLAN_SEND, 0}, {PLAN_WAIT, 0});
    const struct plan_claim foreign[] = {REMOVE(old, A), split(SET(young, A))};
    EXPECT(foreign, {PLAN_SEND, 0}, {PLAN_WAIT, 0});
    const struct plan_claim gone[] = {satisfied(REMOVE(old, A)), split(SET(young, A))};
    EXPECT(gone, {PLAN_SETTLED, 0}, {PLAN_SEND, 0});
}

static void held_removal_still_stands_in_the_way(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {held(REMOVE(old, CNAME)), SET(young, A)};
    EXPECT(claims, {PLAN_SUSPEND, 0}, {PLAN_WAIT, 0});
    const struct plan_claim own[] = {held(REMOVE(old, A)), held(split(SET(old, A)))};
    EXPECT(own, {PLAN_SUSPEND, 0}, {PLAN_WAIT, 0});
}

static void satisfaction_is_worth_nothing_while_what_excludes_it_goes(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {satisfied(SET(old, A)), split(REMOVE(old, A))};
    EXPECT(claims, {PLAN_WAIT, 1}, {PLAN_SEND, 0});
}

static void kept_content_never_waits(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {KEEP(old, A), REMOVE(young, CNAME)};
    EXPECT(claims, {PLAN_SETTLED, 0}, {PLAN_SEND, 0});
}

static void inherited_removal_stands_in_nobodys_way(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {REMOVE(old, A), SET(young, A), split(SET(young, A))};
    EXPECT(claims, {PLAN_INHERITED, 1}, {PLAN_SEND, 0}, {PLAN_SEND, 0});
}

static void loser_waits_for_nothing(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {SET(old, A), REMOVE(third, CNAME), SET(young, A)};
    EXPECT(claims, {PLAN_WAIT, 1}, {PLAN_SEND, 0}, {PLAN_LOST, 0});
}

// Every list of four claims out of these; a removal or a loser more or less at its end must not
// change who wins before it, and no two winners of different owners exclude each other.
static struct plan_claim nth(unsigned n)
{
    static const char *const owners = "xyz";
    static const enum record_type types[] = {RECORD_A, RECORD_CNAME, RECORD_TXT};
    struct plan_claim made = claim(&owners[n % 3], types[n / 3 % 3], (enum plan_want)(n / 9 % 4));
    return n / 36 % 2 ? split(made) : made;
}

static void check_invariants(const struct plan_claim *claims, const struct plan_step *steps,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (claims[i].want == PLAN_REMOVE || steps[i].act == PLAN_LOST)
            continue;
        assert_int_not_equal(steps[i].act, PLAN_INHERITED);
        for (size_t j = 0; j < i; j++) {
            bool is_winner = claims[j].want != PLAN_REMOVE && steps[j].act != PLAN_LOST;
            assert_false(is_winner && claims[i].owner != claims[j].owner &&
                         plan_excludes(claims[i].type, claims[j].type));
        }
    }
}

static void equal_sets_share_what_the_oldest_holds(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {of_content(7, SET(old, A)), of_content(8, SET(third, A)),
                                        of_content(7, SET(young, A))};
    check(claims, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_LOST, 0}, {PLAN_SHARED, 0}}, 3);
    const struct plan_claim without[] = {SET(old, A), SET(young, A)};
    check(without, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_LOST, 0}}, 2);
}

static void who_shares_takes_over_and_inherits(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {REMOVE(old, A), of_content(7, satisfied(SET(third, A))),
                                        of_content(7, SET(young, A))};
    check(claims, (struct wanted[]){{PLAN_INHERITED, 1}, {PLAN_SETTLED, 0}, {PLAN_SHARED, 1}}, 3);
}

static void who_shares_keeps_other_types_out_as_the_holder_does(void **state)
{
    (void)state;
    const struct plan_claim claims[] = {of_content(7, SET(old, CNAME)),
                                        of_content(7, SET(young, CNAME)), SET(third, A)};
    check(claims, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_SHARED, 0}, {PLAN_LOST, 0}}, 3);
}

static void younger_claims_never_change_who_wins(void **state)
{
    (void)state;
    enum { KINDS = 72 };
    for (unsigned n = 0; n < KINDS * KINDS * KINDS; n++) {
        struct plan_claim claims[3] = {nth(n % KINDS), nth(n / KINDS % KINDS),
                                       nth(n / KINDS / KINDS)};
        struct plan_step shorter[3], longer[3];
        plan_name(claims, 2, shorter);
        plan_name(claims, 3, longer);
        check_invariants(claims, longer, 3);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(shorter[i].act == PLAN_LOST, longer[i].act == PLAN_LOST);
    }
}

static void some_step_can_always_be_taken(void **state)
{
    (void)state;
    enum { KINDS = 72 };
    for (unsigned n = 0; n < KINDS * KINDS * KINDS; n++) {
        struct plan_claim claims[3] = {nth(n % KINDS), nth(n / KINDS % KINDS),
                                       nth(n / KINDS / KINDS)};
        struct plan_step steps[3];
        plan_name(claims, 3, steps);
        for (size_t i = 0; i < 3; i++) {
            if (steps[i].act == PLAN_WAIT)
                assert_int_equal(steps[steps[i].other].act, PLAN_SEND);
        }
    }
}

static void a_look_is_sent_until_it_is_answered(void **state)
{
    (void)state;
    const struct plan_claim asked[] = {LOOK(old, A), held(SET(old, CNAME))};
    const struct plan_claim answered[] = {satisfied(LOOK(old, A)), held(SET(old, CNAME))};
    const struct plan_claim kept_back[] = {held(LOOK(old, A))};
    check(asked, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_SUSPEND, 0}}, 2);
    check(answered, (struct wanted[]){{PLAN_SETTLED, 0}, {PLAN_SUSPEND, 0}}, 2);
    check(kept_back, (struct wanted[]){{PLAN_SUSPEND, 0}}, 1);
}

static void a_look_holds_its_name_like_any_claim_that_stands(void **state)
{
    (void)state;
    const struct plan_claim older[] = {LOOK(old, A), SET(young, A)};
    const struct plan_claim younger[] = {SET(old, CNAME), LOOK(young, A)};
    check(older, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_LOST, 0}}, 2);
    check(younger, (struct wanted[]){{PLAN_SEND, 0}, {PLAN_LOST, 0}}, 2);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cname_excludes_all_types_and_each_type_itself),
        cmocka_unit_test(no_claims_are_no_steps),
        cmocka_unit_test(lone_set_is_sent_until_it_is_satisfied),
        cmocka_unit_test(lone_removal_is_sent_until_nothing_is_there),
        cmocka_unit_test(kept_content_is_left_alone),
        cmocka_unit_test(oldest_claim_wins_a_type),
        cmocka_unit_test(different_types_live_side_by_side),
        cmocka_unit_test(other_split_is_the_same_name),
        cmocka_unit_test(older_cname_beats_all_types),
        cmocka_unit_test(any_older_type_beats_a_cname),
        cmocka_unit_test(losers_beat_nobody),
        cmocka_unit_test(held_and_kept_claims_compete),
        cmocka_unit_test(removals_compete_with_nobody),
        cmocka_unit_test(claims_of_one_owner_do_not_conflict),
        cmocka_unit_test(removal_is_inherited_by_who_wants_the_key),
        cmocka_unit_test(removal_waits_for_an_heir_that_may_be_sent),
        cmocka_unit_test(loser_inherits_nothing),
        cmocka_unit_test(cname_goes_before_other_data_comes),
        cmocka_unit_test(other_data_goes_before_a_cname_comes),
        cmocka_unit_test(other_types_without_cname_do_not_wait),
        cmocka_unit_test(other_split_goes_before_the_set_comes),
        cmocka_unit_test(held_removal_still_stands_in_the_way),
        cmocka_unit_test(satisfaction_is_worth_nothing_while_what_excludes_it_goes),
        cmocka_unit_test(kept_content_never_waits),
        cmocka_unit_test(inherited_removal_stands_in_nobodys_way),
        cmocka_unit_test(loser_waits_for_nothing),
        cmocka_unit_test(equal_sets_share_what_the_oldest_holds),
        cmocka_unit_test(who_shares_takes_over_and_inherits),
        cmocka_unit_test(who_shares_keeps_other_types_out_as_the_holder_does),
        cmocka_unit_test(younger_claims_never_change_who_wins),
        cmocka_unit_test(a_look_is_sent_until_it_is_answered),
        cmocka_unit_test(a_look_holds_its_name_like_any_claim_that_stands),
        cmocka_unit_test(some_step_can_always_be_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
