#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "providers/provider.h"

extern const struct provider memory_provider;

struct bench {
    void *session;
    struct arena *arena; // of the last job
    struct outcome outcome;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    const struct session_setup setup = {0};
    bench->arena = arena_new();
    *state = bench;
    return memory_provider.open(&setup, &bench->session, NULL) ? 0 : -1;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    memory_provider.close(bench->session);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void run(struct bench *bench, struct job *job)
{
    struct ask asked = {0};
    const struct moment moment = {0};
    void *exchange = memory_provider.begin(bench->session, job);
    assert_int_equal(memory_provider.ask(exchange, &moment, &asked), ASK_DONE);
    memory_provider.end(exchange);
}

static const struct outcome *do_change(struct bench *bench, enum change_op op,
                                       struct record_set set)
{
    struct change change = {.op = op, .set = set};
    struct job job = {.arena = bench->arena, .changes = &change, .change_count = 1};
    run(bench, &job);
    assert_true(change.outcome.is_done);
    bench->outcome = change.outcome;
    return &bench->outcome;
}

static const struct text one[] = {{"192.0.2.1", 9}};
static const struct text two[] = {{"192.0.2.2", 9}, {"192.0.2.3", 9}};

static struct record_set set_of(enum record_type type, const char *domain, const char *subdomain)
{
    return (struct record_set){.type = type,
                               .domain = text_of(domain),
                               .subdomain = text_of(subdomain),
                               .ttl_s = 300,
                               .values = one,
                               .value_count = 1,
                               .priority = -1,
                               .weight = -1,
                               .port = -1};
}

static struct record_set www(void)
{
    return set_of(RECORD_A, "example.com", "www");
}

static void first_set_creates_and_later_ones_update(void **state)
{
    struct bench *bench = *state;
    assert_true(do_change(bench, CHANGE_SET, www())->was_created);
    assert_false(do_change(bench, CHANGE_SET, www())->was_created);
}

static void what_was_set_is_read(void **state)
{
    struct bench *bench = *state;
    struct record_set set = www();
    do_change(bench, CHANGE_SET, set);
    set.values = two;
    set.value_count = 2;
    set.ttl_s = 60;
    do_change(bench, CHANGE_SET, set);
    const struct record_set *found = do_change(bench, CHANGE_READ, www())->found;
    assert_non_null(found);
    assert_true(record_set_equal(found, &set));
    assert_true(text_is(found->domain, "example.com"));
    assert_true(text_is(found->subdomain, "www"));
}

static void what_was_read_outlives_its_removal(void **state)
{
    struct bench *bench = *state;
    const struct record_set set = www();
    do_change(bench, CHANGE_SET, set);
    const struct record_set *found = do_change(bench, CHANGE_READ, www())->found;
    do_change(bench, CHANGE_REMOVE, www());
    assert_true(record_set_equal(found, &set));
}

static void absent_is_absent_to_remove_and_read(void **state)
{
    struct bench *bench = *state;
    assert_true(do_change(bench, CHANGE_REMOVE, www())->was_absent);
    assert_true(do_change(bench, CHANGE_READ, www())->was_absent);
    assert_null(bench->outcome.found);
}

static void removed_is_gone_and_created_anew(void **state)
{
    struct bench *bench = *state;
    do_change(bench, CHANGE_SET, www());
    assert_false(do_change(bench, CHANGE_REMOVE, www())->was_absent);
    assert_true(do_change(bench, CHANGE_READ, www())->was_absent);
    assert_true(do_change(bench, CHANGE_SET, www())->was_created);
    assert_non_null(do_change(bench, CHANGE_READ, www())->found);
}

static void type_and_owner_name_make_the_key(void **state)
{
    struct bench *bench = *state;
    const struct record_set others[] = {
        set_of(RECORD_AAAA, "example.com", "www"),
        set_of(RECORD_A, "example.org", "www"),
        set_of(RECORD_A, "example.com", "@"),
    };
    do_change(bench, CHANGE_SET, www());
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_true(do_change(bench, CHANGE_SET, others[i])->was_created);
    do_change(bench, CHANGE_REMOVE, www());
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(do_change(bench, CHANGE_READ, others[i])->was_absent);
}

static void one_record_stands_under_every_split_of_its_name(void **state)
{
    struct bench *bench = *state;
    struct record_set whole = set_of(RECORD_A, "www.example.com", "@");
    do_change(bench, CHANGE_SET, www());
    whole.ttl_s = 60;
    assert_false(do_change(bench, CHANGE_SET, whole)->was_created);
    const struct record_set *found = do_change(bench, CHANGE_READ, www())->found;
    assert_int_equal(found->ttl_s, 60);
    assert_true(text_is(found->subdomain, "www")); // as it was asked for
    assert_true(text_is(found->domain, "example.com"));
    assert_false(do_change(bench, CHANGE_REMOVE, www())->was_absent);
    assert_true(do_change(bench, CHANGE_READ, whole)->was_absent);
}

static void one_job_carries_many_changes_in_order(void **state)
{
    enum { COUNT = 50 };
    struct bench *bench = *state;
    struct change changes[3 * COUNT] = {0};
    struct job job = {.arena = bench->arena, .changes = changes, .change_count = 3 * COUNT};
    for (size_t i = 0; i < COUNT; i++) {
        const char *name = arena_printf(bench->arena, "n%zu", i);
        const struct record_set set = set_of(RECORD_A, "example.com", name);
        changes[3 * i] = (struct change){.op = CHANGE_SET, .set = set};
        changes[3 * i + 1] = (struct change){.op = CHANGE_READ, .set = set};
        changes[3 * i + 2] = (struct change){.op = CHANGE_REMOVE, .set = set};
    }
    run(bench, &job);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(changes[3 * i].outcome.was_created);
        assert_non_null(changes[3 * i + 1].outcome.found);
        assert_false(changes[3 * i + 2].outcome.was_absent);
    }
}

static void thousand_names_are_kept_apart(void **state)
{
    enum { COUNT = 1000 };
    struct bench *bench = *state;
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < COUNT; i++) {
            const char *name = arena_printf(bench->arena, "n%zu", i);
            struct record_set set = set_of(RECORD_A, "example.com", name);
            set.ttl_s = (uint32_t)i;
            assert_int_equal(do_change(bench, CHANGE_SET, set)->was_created, round == 0);
            assert_int_equal(do_change(bench, CHANGE_READ, set)->found->ttl_s, i);
        }
}

static void memory_is_always_well(void **state)
{
    struct bench *bench = *state;
    struct job job = {.kind = JOB_HEALTH, .arena = bench->arena};
    run(bench, &job);
    assert_true(job.health.is_done);
}

static void fingerprint_of(const struct bench *bench, struct record_set set,
                           uint8_t out[FINGERPRINT_OCTETS])
{
    memory_provider.fingerprint(bench->session, &set, out);
}

static void fingerprint_reports_contents_apart(void **state)
{
    struct bench *bench = *state;
    uint8_t first[FINGERPRINT_OCTETS], same[FINGERPRINT_OCTETS], ttl[FINGERPRINT_OCTETS],
        values[FINGERPRINT_OCTETS], numbers[FINGERPRINT_OCTETS];
    struct record_set set = www();
    fingerprint_of(bench, set, first);
    fingerprint_of(bench, www(), same);
    set.ttl_s = 60;
    fingerprint_of(bench, set, ttl);
    set = www();
    set.values = two;
    fingerprint_of(bench, set, values);
    set = www();
    set.priority = 10;
    fingerprint_of(bench, set, numbers);
    assert_memory_equal(first, same, 8);
    assert_memory_not_equal(first, ttl, 8);
    assert_memory_not_equal(first, values, 8);
    assert_memory_not_equal(first, numbers, 8);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(first_set_creates_and_later_ones_update),
        TEST(what_was_set_is_read),
        TEST(what_was_read_outlives_its_removal),
        TEST(absent_is_absent_to_remove_and_read),
        TEST(removed_is_gone_and_created_anew),
        TEST(type_and_owner_name_make_the_key),
        TEST(one_record_stands_under_every_split_of_its_name),
        TEST(one_job_carries_many_changes_in_order),
        TEST(thousand_names_are_kept_apart),
        TEST(memory_is_always_well),
        TEST(fingerprint_reports_contents_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
