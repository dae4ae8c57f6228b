#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "dns/test_compiler_bench.h"

// What is out is not there, and what that changes.

static void what_lies_below_a_cut_that_is_none_is_judged(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "sub NS alias.shop.example.");
    size_t alias = add(&bench, "alias CNAME a.net.");
    size_t at = add(&bench, "sub TXT x");
    size_t mx = add(&bench, "a.sub MX 10 b.sub.shop.example.");
    size_t cname = add(&bench, "b.sub CNAME a.net.");
    size_t ds = add(&bench, "sub DS 1 8 1 0000000000000000000000000000000000000000");
    size_t to = add(&bench, "c MX 10 b.sub.shop.example.");
    run(&bench);
    assert_int_equal(bench.things[ns].outcome.reason, ZONE_NS_TARGET_IS_ALIAS);
    assert_int_equal(bench.things[ds].outcome.reason, ZONE_DS_WITHOUT_NS);
    expect_fine(&bench, at);
    expect_fine(&bench, cname);
    expect_out(&bench, mx, ZONE_MX_TARGET_IS_ALIAS, &bench.things[cname],
               "b.sub.shop.example. is an alias, by team/e (CNAME): point at the name that has "
               "the addresses");
    assert_int_equal(bench.things[to].outcome.reason, ZONE_MX_TARGET_IS_ALIAS);
    drop(&bench, alias);
    add(&bench, "alias A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, ns);
    expect_fine(&bench, ds);
    expect_fine(&bench, to);
    expect_out(&bench, at, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[ns],
               "sub.shop.example. is occluded by a delegation at sub.shop.example. of team/a");
    stop(&bench);
}

static void a_cut_below_one_that_is_none_is_a_cut(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t upper = add(&bench, "sub NS ns.sub.shop.example.");
    size_t lower = add(&bench, "a.sub NS ns.net.");
    size_t below = add(&bench, "www.a.sub A 192.0.2.1");
    run(&bench);
    assert_int_equal(bench.things[upper].outcome.reason, ZONE_MISSING_GLUE);
    expect_fine(&bench, lower);
    expect_out(&bench, below, ZONE_OCCLUDED_BY_DELEGATION, &bench.things[lower],
               "www.a.sub.shop.example. is occluded by a delegation at a.sub.shop.example. of "
               "team/b");
    stop(&bench);
}

static void a_name_server_below_a_cut_that_is_none_needs_an_address(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t first = add(&bench, "a NS ns.b.shop.example.");
    size_t second = add(&bench, "b NS ns.c.shop.example.");
    size_t last = add(&bench, "c NS gone.shop.example.");
    run(&bench);
    for (size_t i = first; i <= last; i++)
        assert_int_equal(bench.things[i].outcome.reason, ZONE_MISSING_GLUE);
    expect_zone(&bench, "shop.example. 360 IN NS ns1.shop.example.\n"
                        "shop.example. 360 IN NS ns2.net.\n"
                        "ns1.shop.example. 360 IN A 192.0.2.1\n");
    size_t address = add(&bench, "ns.b A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, first);
    expect_fine(&bench, address);
    assert_int_equal(bench.things[second].outcome.reason, ZONE_MISSING_GLUE);
    stop(&bench);
}

// A wildcard beside it would have given the address, were it no cut: but then it were one again.
static void what_is_out_stays_out(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t ns = add(&bench, "sub NS ns.sub.shop.example.");
    size_t star = add(&bench, "*.sub A 192.0.2.1");
    run(&bench);
    assert_int_equal(bench.things[ns].outcome.reason, ZONE_MISSING_GLUE);
    expect_fine(&bench, star);
    stop(&bench);
}

static void a_wildcard_answers_for_a_name_that_lost_its_records(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    size_t star = add(&bench, "*.w A 192.0.2.1");
    size_t alias = add(&bench, "alias CNAME a.net.");
    add(&bench, "a.w MX 10 alias.shop.example.");
    add(&bench, "b.w DS 1 8 1 0000000000000000000000000000000000000000");
    add(&bench, "x.c.w CNAME y.c.w.shop.example.");
    add(&bench, "y.c.w CNAME x.c.w.shop.example.");
    size_t first = add(&bench, "m MX 10 a.w.shop.example.");
    size_t second = add(&bench, "m MX 20 b.w.shop.example.");
    size_t third = add(&bench, "m MX 30 c.w.shop.example."); // an empty non-terminal
    run(&bench);
    expect_fine(&bench, first);
    expect_fine(&bench, second);
    expect_fine(&bench, third);
    drop(&bench, alias);
    run(&bench);
    assert_int_equal(bench.things[first].outcome.warnings,
                     1u << (ZONE_TARGET_HAS_NO_ADDRESS - ZONE_TTL_MISMATCH));
    expect_fine(&bench, second);
    drop(&bench, star);
    stop(&bench);
}

// Each round finds the next pair.
static void loops_without_end_keep_nothing_else_from_being_judged(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    for (int i = 0; i < 40; i++) {
        char text[64];
        snprintf(text, sizeof text, "x CNAME y%d.shop.example.", i);
        add(&bench, text);
        snprintf(text, sizeof text, "y%d CNAME x.shop.example.", i);
        add(&bench, text);
    }
    size_t ns = add(&bench, "c NS ns.c.shop.example.");
    size_t below = add(&bench, "www.c A 192.0.2.1");
    run(&bench);
    assert_int_equal(bench.things[ns].outcome.reason, ZONE_MISSING_GLUE);
    expect_fine(&bench, below);
    stop(&bench);
}

static void who_lost_to_one_that_is_out_comes_in(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    add(&bench, "a CNAME b.shop.example.");
    size_t last = add(&bench, "b CNAME a.shop.example.");
    size_t a = add(&bench, "a A 192.0.2.1");
    size_t mx = add(&bench, "m MX 10 a.shop.example.");
    size_t bad = add(&bench, "n MX 10 alias.shop.example.");
    size_t null = add(&bench, "n MX 0 .");
    size_t alias = add(&bench, "alias CNAME a.net.");
    run(&bench);
    expect_fine(&bench, a);
    expect_fine(&bench, mx);
    assert_int_equal(bench.things[bad].outcome.reason, ZONE_MX_TARGET_IS_ALIAS);
    expect_fine(&bench, null);
    drop(&bench, last);
    drop(&bench, alias);
    run(&bench);
    assert_int_equal(bench.things[a].outcome.reason, ZONE_CNAME_CONFLICT);
    assert_int_equal(bench.things[mx].outcome.reason, ZONE_MX_TARGET_IS_ALIAS);
    assert_int_equal(bench.things[null].outcome.reason, ZONE_NULL_MX_CONFLICT);
    expect_in(&bench, bad);
    stop(&bench);
}

static void a_dname_in_a_loop_hides_nothing(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    add(&bench, "a DNAME b.shop.example.");
    add(&bench, "b DNAME a.shop.example.");
    size_t www = add(&bench, "www.a A 192.0.2.1");
    run(&bench);
    expect_fine(&bench, www);
    stop(&bench);
}

// Each by the next: a chain that is longer than the rounds.
static void a_long_chain_of_cuts_comes_to_an_end(void **state)
{
    (void)state;
    struct bench bench;
    start(&bench);
    for (int i = 0; i < 50; i++) {
        char line[64];
        snprintf(line, sizeof line, "a%d NS ns.a%d.shop.example.", i, i + 1);
        add(&bench, line);
    }
    run(&bench);
    assert_int_equal(bench.reported, 50);
    assert_int_equal(bench.things[49].outcome.reason, ZONE_MISSING_GLUE);
    assert_int_equal(bench.things[20].outcome.reason, ZONE_MISSING_GLUE);
    expect_in(&bench, 0);
    size_t spare = add(&bench, "a49 NS ns.net.");
    run(&bench);
    expect_fine(&bench, spare);
    for (size_t i = 0; i < 49; i++)
        expect_in(&bench, i);
    stop(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_below_a_cut_that_is_none_is_judged),
        cmocka_unit_test(a_cut_below_one_that_is_none_is_a_cut),
        cmocka_unit_test(a_name_server_below_a_cut_that_is_none_needs_an_address),
        cmocka_unit_test(what_is_out_stays_out),
        cmocka_unit_test(a_wildcard_answers_for_a_name_that_lost_its_records),
        cmocka_unit_test(loops_without_end_keep_nothing_else_from_being_judged),
        cmocka_unit_test(who_lost_to_one_that_is_out_comes_in),
        cmocka_unit_test(a_dname_in_a_loop_hides_nothing),
        cmocka_unit_test(a_long_chain_of_cuts_comes_to_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
