#include "store/cluster/webhook_cert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"

enum { DAY_S = 86400, HOUR_S = 3600, STEPS_MAX = 32 };
static const int64_t START_S = 1767225600; // 2026-01-01

// The Secret and the configuration as they lie in an API server, the clock, and who looks at them.
static struct cluster {
    struct arena *arena;
    struct random random;
    uint8_t drawn;
    bool has_secret;
    struct webhook_keys keys;
    struct webhook_bundle bundle;
    char *pem; // of the bundle
    const char *hosts[4];
    size_t host_count;
    int64_t now_s;
    int64_t shown_since_s; // of the replica that leads
    enum webhook_step steps[STEPS_MAX];
    int64_t at_s[STEPS_MAX];
    size_t step_count;
} cluster;

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, ++cluster.drawn, len);
}

static int set_up(void **state)
{
    (void)state;
    cluster = (struct cluster){.arena = arena_new(),
                               .random.fill = fill,
                               .bundle.is_there = true,
                               .hosts = {"signpost.dns.svc", "signpost.dns.svc.cluster.local"},
                               .host_count = 2,
                               .now_s = START_S};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    webhook_keys_done(&cluster.keys);
    free(cluster.pem);
    arena_free(cluster.arena);
    return 0;
}

static struct webhook_now now(void)
{
    struct webhook_now seen = {.keys = cluster.has_secret ? &cluster.keys : NULL,
                               .bundle = cluster.bundle,
                               .hosts = cluster.hosts,
                               .host_count = cluster.host_count,
                               .now_s = cluster.now_s,
                               .shown_since_s = cluster.shown_since_s};
    seen.bundle.pem = text_of(cluster.pem);
    return seen;
}

static struct webhook_plan plan(void)
{
    struct webhook_plan out;
    struct webhook_now seen = now();
    webhook_plan(cluster.arena, &seen, &out);
    return out;
}

static void set_bundle(const char *pem)
{
    char *copy = mem_copy_text(pem);
    free(cluster.pem);
    cluster.pem = copy;
    cluster.bundle.is_mixed = false;
}

static void write_secret(enum webhook_step step)
{
    struct error err;
    struct webhook_keys made;
    struct webhook_now seen = now();
    if (!webhook_keys_make(&seen, step, &cluster.random, &made, &err))
        fail_msg("%s", err.text);
    webhook_keys_done(&cluster.keys);
    cluster.keys = made;
    cluster.has_secret = true;
}

static bool is_served_leaf_trusted(void)
{
    struct error err;
    return cluster.pem && x509_check_signer(text_of(cluster.keys.leaf.certificate_pem),
                                            text_of(cluster.pem), &err);
}

// One look of the leader. Unless the CA itself was lost, no write may leave a leaf that the
// configuration does not vouch for.
static enum webhook_step step_once(void)
{
    bool was_trusted = is_served_leaf_trusted();
    struct webhook_plan next = plan();
    if (next.step != WEBHOOK_REST) {
        cluster.steps[cluster.step_count] = next.step;
        cluster.at_s[cluster.step_count++] = cluster.now_s;
        must(cluster.step_count < STEPS_MAX);
    }
    if (next.step == WEBHOOK_SET_BUNDLE || next.step == WEBHOOK_REPAIR_BUNDLE)
        set_bundle(next.bundle);
    else if (next.step != WEBHOOK_REST)
        write_secret(next.step);
    if (was_trusted && next.step != WEBHOOK_MAKE)
        assert_true(is_served_leaf_trusted());
    struct webhook_plan after = plan();
    if (!after.is_shown)
        cluster.shown_since_s = 0;
    else if (!cluster.shown_since_s)
        cluster.shown_since_s = cluster.now_s;
    return next.step;
}

static void settle(void)
{
    while (step_once() != WEBHOOK_REST)
        ;
}

// Looks whenever the last look said so.
static void run_until(int64_t until_s)
{
    settle();
    while (cluster.now_s < until_s) {
        int64_t wake_s = plan().wake_s;
        assert_true(wake_s > cluster.now_s && wake_s <= cluster.now_s + WEBHOOK_LOOK_S);
        cluster.now_s = wake_s < until_s ? wake_s : until_s;
        settle();
    }
}

static void forget_steps(void)
{
    cluster.step_count = 0;
}

static void assert_steps(const enum webhook_step *steps, size_t count)
{
    assert_int_equal(cluster.step_count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(cluster.steps[i], steps[i]);
}
#define ASSERT_STEPS(...)                                                                          \
    do {                                                                                           \
        const enum webhook_step wanted_[] = {__VA_ARGS__};                                         \
        assert_steps(wanted_, COUNT_OF(wanted_));                                                  \
    } while (0)

static void ask_rotation(const char *value)
{
    free(cluster.keys.rotate);
    cluster.keys.rotate = mem_copy_text(value);
}

// ---- the usual ----------------------------------------------------------------------------------

static void the_first_start_makes_all_and_fills_the_bundle(void **state)
{
    (void)state;
    struct error err;
    struct x509_facts facts;
    settle();
    ASSERT_STEPS(WEBHOOK_MAKE, WEBHOOK_SET_BUNDLE);
    assert_string_equal(cluster.pem, cluster.keys.ca.certificate_pem);
    assert_true(is_served_leaf_trusted() && webhook_keys_serve(&cluster.keys));
    assert_true(x509_read(&facts, text_of(cluster.keys.leaf.certificate_pem), &err));
    assert_int_equal(facts.from_s, START_S - HOUR_S);
    assert_int_equal(facts.until_s, START_S + 90 * DAY_S);
    assert_true(x509_read(&facts, text_of(cluster.keys.ca.certificate_pem), &err));
    assert_int_equal(facts.until_s, START_S + 3650LL * DAY_S);
    for (size_t i = 0; i < cluster.host_count; i++)
        assert_true(
            x509_check_host(text_of(cluster.keys.leaf.certificate_pem), cluster.hosts[i], &err));
}

static void a_leaf_is_renewed_at_two_thirds_of_its_life_by_the_same_ca(void **state)
{
    (void)state;
    settle();
    forget_steps();
    run_until(START_S + 59 * DAY_S);
    ASSERT_STEPS();
    run_until(START_S + 61 * DAY_S);
    ASSERT_STEPS(WEBHOOK_RENEW_LEAF);
    assert_string_equal(cluster.pem, cluster.keys.ca.certificate_pem);
}

static void a_host_that_was_added_makes_a_new_leaf(void **state)
{
    (void)state;
    settle();
    forget_steps();
    cluster.hosts[cluster.host_count++] = "127.0.0.1";
    settle();
    ASSERT_STEPS(WEBHOOK_RENEW_LEAF);
}

static void what_was_made_by_a_clock_that_was_ahead_is_made_again(void **state)
{
    (void)state;
    cluster.now_s = START_S + 400LL * DAY_S;
    settle();
    cluster.now_s = START_S;
    forget_steps();
    settle();
    ASSERT_STEPS(WEBHOOK_MAKE, WEBHOOK_REPAIR_BUNDLE);
    struct x509_facts facts;
    struct error err;
    assert_true(x509_read(&facts, text_of(cluster.keys.leaf.certificate_pem), &err));
    assert_true(facts.from_s <= START_S);
}

// ---- a rotation ---------------------------------------------------------------------------------

static void a_rotation_takes_its_steps_in_their_time(void **state)
{
    (void)state;
    settle();
    forget_steps();
    char *old = mem_copy_text(cluster.pem);
    ask_rotation("now");
    settle();
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE);
    assert_memory_equal(cluster.pem, old, strlen(old));
    assert_string_equal(cluster.pem + strlen(old), cluster.keys.next.certificate_pem);
    run_until(START_S + WEBHOOK_SHOWN_S - 1);
    assert_int_equal(cluster.step_count, 2);
    run_until(START_S + WEBHOOK_SHOWN_S);
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE, WEBHOOK_SWITCH_LEAF);
    run_until(START_S + WEBHOOK_SHOWN_S + WEBHOOK_KEPT_S - 1);
    assert_int_equal(cluster.step_count, 3);
    run_until(START_S + 70 * DAY_S);
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE, WEBHOOK_SWITCH_LEAF, WEBHOOK_SET_BUNDLE,
                 WEBHOOK_DROP_CA, WEBHOOK_RENEW_LEAF);
    assert_string_equal(cluster.pem, cluster.keys.ca.certificate_pem);
    assert_string_not_equal(cluster.pem, old);
    assert_null(cluster.keys.next.certificate_pem);
    free(old);
}

static void a_ca_rotates_by_itself_at_two_thirds_of_its_life(void **state)
{
    (void)state;
    settle();
    cluster.now_s = START_S + 2432LL * DAY_S;
    settle();
    forget_steps();
    run_until(START_S + 2434LL * DAY_S);
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE, WEBHOOK_SWITCH_LEAF);
}

static void the_same_annotation_does_not_rotate_twice(void **state)
{
    (void)state;
    settle();
    ask_rotation("now");
    run_until(START_S + 30 * DAY_S);
    forget_steps();
    run_until(START_S + 31 * DAY_S);
    ASSERT_STEPS();
    ask_rotation("again");
    settle();
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE);
}

// After each write and after each wait: another leader, who knows nothing but what lies there.
static void a_restart_at_any_step_goes_on_where_it_was(void **state)
{
    (void)state;
    settle();
    forget_steps();
    ask_rotation("now");
    for (int64_t at_s = START_S; at_s < START_S + 10 * DAY_S; at_s += 90) {
        cluster.now_s = at_s;
        step_once();
        if (cluster.step_count == 2 && at_s < START_S + HOUR_S)
            cluster.shown_since_s = 0;
        if (at_s > START_S + HOUR_S)
            at_s += HOUR_S;
    }
    ASSERT_STEPS(WEBHOOK_ANNOUNCE_CA, WEBHOOK_SET_BUNDLE, WEBHOOK_SWITCH_LEAF, WEBHOOK_SET_BUNDLE,
                 WEBHOOK_DROP_CA);
    assert_true(cluster.at_s[2] >= START_S + HOUR_S);
}

static void two_replicas_with_one_view_want_the_same(void **state)
{
    (void)state;
    settle();
    ask_rotation("now");
    for (int i = 0; i < 5; i++) {
        struct webhook_plan first = plan();
        struct webhook_plan second = plan();
        assert_int_equal(first.step, second.step);
        assert_int_equal(first.wake_s, second.wake_s);
        step_once();
    }
}

static void both_cas_must_be_seen_without_a_break(void **state)
{
    (void)state;
    settle();
    ask_rotation("now");
    settle();
    cluster.now_s += 30;
    set_bundle(cluster.keys.ca.certificate_pem);
    settle();
    cluster.shown_since_s = 0;
    settle();
    forget_steps();
    run_until(cluster.now_s + 45);
    ASSERT_STEPS();
    run_until(cluster.now_s + 15);
    ASSERT_STEPS(WEBHOOK_SWITCH_LEAF);
}

static void without_a_configuration_no_leaf_is_switched(void **state)
{
    (void)state;
    cluster.bundle.is_there = false;
    settle();
    ask_rotation("now");
    settle();
    forget_steps();
    run_until(START_S + 10 * DAY_S);
    ASSERT_STEPS();
    cluster.bundle.is_there = true;
    settle();
    ASSERT_STEPS(WEBHOOK_SET_BUNDLE);
}

// ---- others -------------------------------------------------------------------------------------

static void a_bundle_that_somebody_changed_is_repaired(void **state)
{
    (void)state;
    settle();
    forget_steps();
    set_bundle("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n");
    settle();
    ASSERT_STEPS(WEBHOOK_REPAIR_BUNDLE);
    assert_string_equal(cluster.pem, cluster.keys.ca.certificate_pem);
    cluster.bundle.is_mixed = true;
    forget_steps();
    settle();
    ASSERT_STEPS(WEBHOOK_REPAIR_BUNDLE);
    set_bundle("");
    forget_steps();
    settle();
    ASSERT_STEPS(WEBHOOK_SET_BUNDLE);
}

static void what_cert_manager_fills_is_left_alone(void **state)
{
    (void)state;
    cluster.bundle.is_left = true;
    set_bundle("theirs");
    settle();
    ASSERT_STEPS(WEBHOOK_MAKE);
    ask_rotation("now");
    forget_steps();
    settle();
    ASSERT_STEPS();
    assert_string_equal(cluster.pem, "theirs");
}

// ---- broken Secrets -----------------------------------------------------------------------------

static void spoil(char **pem)
{
    free(*pem);
    *pem = mem_copy_text("garbage");
}

static void lose_key(struct x509_pair *pair)
{
    secret_unref(pair->key_pem);
    pair->key_pem = NULL;
}

static void break_ca(void)
{
    spoil(&cluster.keys.ca.certificate_pem);
}

static void break_ca_key(void)
{
    lose_key(&cluster.keys.ca);
}

static void break_leaf(void)
{
    spoil(&cluster.keys.leaf.certificate_pem);
}

static void mix_leaf_key(void)
{
    secret_unref(cluster.keys.leaf.key_pem);
    cluster.keys.leaf.key_pem = secret_ref(cluster.keys.ca.key_pem);
}

static void end_leaf(void)
{
    cluster.now_s += 91 * DAY_S;
}

static void end_ca(void)
{
    cluster.now_s += 3651LL * DAY_S;
}

static void put_half_a_next(void)
{
    cluster.keys.next.certificate_pem = mem_copy_text(cluster.keys.ca.certificate_pem);
}

static void a_broken_secret_is_mended_at_once(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(void);
        enum webhook_step step;
    } rows[] = {
        {break_ca, WEBHOOK_MAKE},
        {break_ca_key, WEBHOOK_MAKE},
        {break_leaf, WEBHOOK_RENEW_LEAF},
        {mix_leaf_key, WEBHOOK_RENEW_LEAF},
        {end_leaf, WEBHOOK_RENEW_LEAF},
        {end_ca, WEBHOOK_MAKE},
        {put_half_a_next, WEBHOOK_ANNOUNCE_CA},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tear_down(state);
        set_up(state);
        settle();
        forget_steps();
        rows[i].spoil();
        settle();
        assert_int_equal(cluster.steps[0], rows[i].step);
        assert_true(is_served_leaf_trusted() && webhook_keys_serve(&cluster.keys));
    }
}

static void an_old_ca_that_broke_leaves_the_field_to_the_next(void **state)
{
    (void)state;
    settle();
    ask_rotation("now");
    settle();
    forget_steps();
    spoil(&cluster.keys.ca.certificate_pem);
    settle();
    assert_int_equal(cluster.steps[0], WEBHOOK_DROP_CA);
    assert_true(is_served_leaf_trusted());
    assert_null(cluster.keys.next.certificate_pem);
}

static void a_leaf_that_breaks_while_both_cas_stand_is_trusted_again(void **state)
{
    (void)state;
    settle();
    ask_rotation("now");
    run_until(START_S + HOUR_S);
    forget_steps();
    break_leaf();
    settle();
    assert_int_equal(cluster.steps[0], WEBHOOK_RENEW_LEAF);
    assert_true(is_served_leaf_trusted());
    run_until(START_S + 30 * DAY_S);
    assert_null(cluster.keys.next.certificate_pem);
    assert_true(is_served_leaf_trusted());
}

static void what_cannot_serve_is_not_served(void **state)
{
    (void)state;
    assert_false(webhook_keys_serve(NULL));
    assert_false(webhook_keys_serve(&cluster.keys));
    settle();
    assert_true(webhook_keys_serve(&cluster.keys));
    mix_leaf_key();
    assert_false(webhook_keys_serve(&cluster.keys));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_start_makes_all_and_fills_the_bundle),
        TEST(a_leaf_is_renewed_at_two_thirds_of_its_life_by_the_same_ca),
        TEST(a_host_that_was_added_makes_a_new_leaf),
        TEST(what_was_made_by_a_clock_that_was_ahead_is_made_again),
        TEST(a_rotation_takes_its_steps_in_their_time),
        TEST(a_ca_rotates_by_itself_at_two_thirds_of_its_life),
        TEST(the_same_annotation_does_not_rotate_twice),
        TEST(a_restart_at_any_step_goes_on_where_it_was),
        TEST(two_replicas_with_one_view_want_the_same),
        TEST(both_cas_must_be_seen_without_a_break),
        TEST(without_a_configuration_no_leaf_is_switched),
        TEST(a_bundle_that_somebody_changed_is_repaired),
        TEST(what_cert_manager_fills_is_left_alone),
        TEST(a_broken_secret_is_mended_at_once),
        TEST(an_old_ca_that_broke_leaves_the_field_to_the_next),
        TEST(a_leaf_that_breaks_while_both_cas_stand_is_trusted_again),
        TEST(what_cannot_serve_is_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
