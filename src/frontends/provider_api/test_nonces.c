#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "frontends/provider_api/nonces.h"

enum { NOW_S = 1767088800 };

static int set_up(void **state)
{
    *state = nonces_new(1000);
    return 0;
}

static int tear_down(void **state)
{
    nonces_free(*state);
    return 0;
}

static enum nonce_result use(struct nonces *nonces, const char *nonce, int64_t stamp_s,
                             int64_t now_s)
{
    return nonces_use(nonces, text_of(nonce), stamp_s, now_s);
}

static void nonce_is_new_once(void **state)
{
    assert_int_equal(use(*state, "a", NOW_S, NOW_S), NONCE_NEW);
    assert_int_equal(use(*state, "a", NOW_S, NOW_S), NONCE_USED);
    assert_int_equal(use(*state, "b", NOW_S, NOW_S), NONCE_NEW);
    assert_int_equal(use(*state, "a", NOW_S + 1, NOW_S + 1), NONCE_USED);
    assert_int_equal(nonces_count(*state), 2);
}

static void nonce_is_kept_until_300_seconds_behind_its_stamp(void **state)
{
    use(*state, "early", NOW_S - 299, NOW_S);
    use(*state, "now", NOW_S, NOW_S);
    use(*state, "late", NOW_S + 299, NOW_S);
    assert_int_equal(use(*state, "early", NOW_S, NOW_S + 1), NONCE_USED);
    assert_int_equal(use(*state, "early", NOW_S, NOW_S + 2), NONCE_NEW);
    assert_int_equal(use(*state, "now", NOW_S, NOW_S + 300), NONCE_USED);
    assert_int_equal(use(*state, "late", NOW_S, NOW_S + 599), NONCE_USED);
    assert_int_equal(use(*state, "late", NOW_S + 600, NOW_S + 600), NONCE_NEW);
    assert_int_equal(nonces_count(*state), 1);
}

static void full_store_refuses_and_forgets_nothing(void **state)
{
    char nonce[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(nonce, sizeof nonce, "n%d", i);
        assert_int_equal(use(*state, nonce, NOW_S + i % 100, NOW_S), NONCE_NEW);
    }
    assert_int_equal(use(*state, "more", NOW_S, NOW_S), NONCE_FULL);
    assert_int_equal(use(*state, "n0", NOW_S, NOW_S), NONCE_USED);
    assert_int_equal(use(*state, "more", NOW_S, NOW_S + 300), NONCE_FULL);
    assert_int_equal(use(*state, "more", NOW_S + 301, NOW_S + 301), NONCE_NEW);
    assert_int_equal(nonces_count(*state), 991); // ten had the first stamp
}

static void long_silence_forgets_all(void **state)
{
    use(*state, "a", NOW_S, NOW_S);
    use(*state, "b", NOW_S + 299, NOW_S);
    use(*state, "c", NOW_S + 100000, NOW_S + 100000);
    assert_int_equal(nonces_count(*state), 1);
}

static void second_whose_nonces_were_forgotten_is_over_for_good(void **state)
{
    use(*state, "a", NOW_S, NOW_S);
    use(*state, "ahead", NOW_S + 400, NOW_S + 400); // the clock jumps ahead
    assert_int_equal(use(*state, "a", NOW_S, NOW_S + 5), NONCE_FORGOTTEN);
    assert_int_equal(use(*state, "other", NOW_S, NOW_S + 5), NONCE_FORGOTTEN);
    assert_int_equal(use(*state, "other", NOW_S + 5, NOW_S + 5), NONCE_NEW);
    assert_int_equal(use(*state, "ahead", NOW_S + 400, NOW_S + 410), NONCE_USED);
}

static void year_that_the_clock_skipped_is_not_lost(void **state)
{
    enum { YEAR_S = 365 * 86400 };
    for (int64_t i = 0; i < 1000; i++) {
        char nonce[24];
        snprintf(nonce, sizeof nonce, "ahead%lld", (long long)i);
        use(*state, nonce, NOW_S + YEAR_S + 400 * i, NOW_S + YEAR_S + 400 * i);
    }
    assert_int_equal(use(*state, "a", NOW_S, NOW_S), NONCE_NEW);
    assert_int_equal(use(*state, "a", NOW_S, NOW_S), NONCE_USED);
    assert_int_equal(use(*state, "b", NOW_S + YEAR_S, NOW_S + YEAR_S), NONCE_FORGOTTEN);
}

static void clock_that_is_set_back_brings_no_nonce_back(void **state)
{
    const int64_t steps[] = {1, 299, 424, 700, 1024, 5000};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        char nonce[16];
        int64_t now_s = NOW_S + 100000 * (int64_t)i;
        snprintf(nonce, sizeof nonce, "back%zu", i);
        use(*state, nonce, now_s, now_s);
        for (int64_t back_s = now_s - steps[i]; back_s <= now_s; back_s += 50)
            use(*state, "other", back_s, back_s);
        assert_int_equal(use(*state, nonce, now_s, now_s), NONCE_USED);
        assert_int_equal(use(*state, nonce, now_s + 300, now_s + 300), NONCE_USED);
    }
}

static void clock_near_1970_is_fine(void **state)
{
    assert_int_equal(use(*state, "a", 5, 5), NONCE_NEW);
    assert_int_equal(use(*state, "b", -200, 6), NONCE_NEW);
    assert_int_equal(use(*state, "a", 5, 305), NONCE_USED);
    assert_int_equal(use(*state, "a", 5, 306), NONCE_FORGOTTEN);
}

struct kept {
    uint8_t digest[16];
    int64_t stamp_s;
    size_t count;
};

static void keep(void *context, const uint8_t digest[16], int64_t stamp_s)
{
    struct kept *kept = context;
    memcpy(kept->digest, digest, 16);
    kept->stamp_s = stamp_s;
    kept->count++;
}

static void restored_nonce_is_used(void **state)
{
    struct kept kept = {0};
    uint8_t digest[16];
    struct nonces *before = nonces_new(10);
    use(before, "a", NOW_S + 7, NOW_S);
    nonces_each(before, keep, &kept);
    nonces_free(before);
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.stamp_s, NOW_S + 7);
    nonces_digest(TEXT("a"), digest);
    assert_memory_equal(kept.digest, digest, 16);
    nonces_restore(*state, kept.digest, kept.stamp_s, NOW_S + 10);
    nonces_restore(*state, kept.digest, kept.stamp_s, NOW_S + 10);
    assert_int_equal(nonces_count(*state), 1);
    assert_int_equal(use(*state, "a", NOW_S + 7, NOW_S + 10), NONCE_USED);
}

static void restored_nonces_that_cannot_be_live_are_left_out(void **state)
{
    uint8_t digest[16] = {1};
    nonces_restore(*state, digest, NOW_S - 301, NOW_S);
    nonces_restore(*state, digest, NOW_S + 301, NOW_S);
    assert_int_equal(nonces_count(*state), 0);
    nonces_restore(*state, digest, INT64_MIN, NOW_S);
    nonces_restore(*state, digest, INT64_MAX, NOW_S);
    assert_int_equal(nonces_count(*state), 0);
    nonces_restore(*state, digest, NOW_S - 300, NOW_S);
    assert_int_equal(nonces_count(*state), 1);
}

static void nonce_that_was_left_out_at_the_restart_is_not_new_later(void **state)
{
    uint8_t digest[16];
    nonces_digest(TEXT("a"), digest);
    nonces_restore(*state, digest, NOW_S, NOW_S + 400);
    assert_int_equal(use(*state, "a", NOW_S, NOW_S + 10), NONCE_FORGOTTEN);
}

static void keep_span(void *context, struct span span)
{
    nonces_restore_forgotten(context, span);
}

static void forgotten_seconds_can_be_handed_on(void **state)
{
    struct nonces *before = nonces_new(10);
    use(before, "a", NOW_S, NOW_S);
    use(before, "b", NOW_S + 400, NOW_S + 400);
    nonces_each_forgotten(before, keep_span, *state);
    nonces_free(before);
    assert_int_equal(use(*state, "a", NOW_S, NOW_S + 10), NONCE_FORGOTTEN);
    assert_int_equal(use(*state, "a", NOW_S + 1, NOW_S + 10), NONCE_NEW);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nonce_is_new_once),
        TEST(nonce_is_kept_until_300_seconds_behind_its_stamp),
        TEST(full_store_refuses_and_forgets_nothing),
        TEST(long_silence_forgets_all),
        TEST(second_whose_nonces_were_forgotten_is_over_for_good),
        TEST(year_that_the_clock_skipped_is_not_lost),
        TEST(clock_that_is_set_back_brings_no_nonce_back),
        TEST(clock_near_1970_is_fine),
        TEST(restored_nonce_is_used),
        TEST(restored_nonces_that_cannot_be_live_are_left_out),
        TEST(nonce_that_was_left_out_at_the_restart_is_not_new_later),
        TEST(forgotten_seconds_can_be_handed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
