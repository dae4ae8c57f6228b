#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/test_rounds.h"
#include "dns/test_zones.h"

static const struct text four[] = {{"\1", 1}, {"\2", 1}, {"\3", 1}, {"\4", 1}};

static struct zone *zone_of_set(struct rrset *set)
{
    return zone_new(shop_soa(1), &set, 1);
}

static void expect_set(const struct rrset *set, const char *octets, uint32_t ttl_s)
{
    AUTO_BUFFER out = {0};
    struct text rdata;
    for (size_t cursor = 0; rrset_next(set, &cursor, &rdata);)
        buffer_add(&out, rdata.at, rdata.len);
    assert_string_equal(out.at, octets);
    assert_int_equal(set->ttl_s, ttl_s);
}

static void of_a_set_just_the_records_that_differ_are_told(void **state)
{
    (void)state;
    struct zone_delta delta;
    CLEANUP(zone) struct zone *old = zone_of_set(set_of("x", RR_A, 60, four, 3));
    CLEANUP(zone) struct zone *new_ = zone_of_set(set_of("x", RR_A, 60, four + 1, 3));
    zone_compare(old, new_, &delta);
    assert_int_equal(delta.removed_count, 1);
    assert_int_equal(delta.added_count, 1);
    expect_set(delta.removed[0], "\1", 60);
    expect_set(delta.added[0], "\4", 60);
    assert_int_equal(delta.record_count, 2);
    assert_int_equal(delta.octets, 2 * (16 + 10 + 1));
    zone_delta_done(&delta);
}

static void records_that_only_came_remove_nothing(void **state)
{
    (void)state;
    struct zone_delta delta;
    CLEANUP(zone) struct zone *old = zone_of_set(set_of("x", RR_A, 60, four + 1, 2));
    CLEANUP(zone) struct zone *new_ = zone_of_set(set_of("x", RR_A, 60, four, 4));
    zone_compare(old, new_, &delta);
    assert_int_equal(delta.removed_count, 0);
    assert_int_equal(delta.added_count, 1);
    expect_set(delta.added[0], "\1\4", 60);
    zone_delta_done(&delta);
    zone_compare(new_, old, &delta);
    assert_int_equal(delta.added_count, 0);
    assert_int_equal(delta.removed_count, 1);
    expect_set(delta.removed[0], "\1\4", 60);
    zone_delta_done(&delta);
}

static void a_changed_ttl_changes_all_of_the_set(void **state)
{
    (void)state;
    struct zone_delta delta;
    CLEANUP(zone) struct zone *old = zone_of_set(set_of("x", RR_A, 60, four, 3));
    CLEANUP(zone) struct zone *new_ = zone_of_set(set_of("x", RR_A, 61, four, 4));
    zone_compare(old, new_, &delta);
    assert_int_equal(delta.removed_count, 1);
    assert_int_equal(delta.added_count, 1);
    expect_set(delta.removed[0], "\1\2\3", 60);
    expect_set(delta.added[0], "\1\2\3\4", 61);
    assert_int_equal(delta.record_count, 7);
    zone_delta_done(&delta);
}

static void the_soa_does_not_count(void **state)
{
    (void)state;
    struct zone_delta delta;
    CLEANUP(zone) struct zone *old = shop_zone(1);
    CLEANUP(zone) struct zone *new_ = shop_zone(2);
    zone_compare(old, new_, &delta);
    assert_int_equal(delta.record_count, 0);
    assert_int_equal(delta.octets, 0);
    assert_int_equal(delta.removed_count + delta.added_count, 0);
    zone_delta_done(&delta);
}

static void from_nothing_all_is_added_and_to_nothing_all_removed(void **state)
{
    (void)state;
    struct zone_delta delta;
    CLEANUP(zone) struct zone *bare = zone_new(shop_soa(1), NULL, 0);
    CLEANUP(zone) struct zone *zone = shop_zone(2);
    zone_compare(bare, zone, &delta);
    assert_int_equal(delta.added_count, 4);
    assert_int_equal(delta.removed_count, 0);
    assert_int_equal(delta.record_count, 5);
    assert_int_equal(delta.octets, zone_octets(zone) - rrset_wire_octets(zone_soa(zone)));
    zone_delta_done(&delta);
    zone_compare(zone, bare, &delta);
    assert_int_equal(delta.removed_count, 4);
    assert_int_equal(delta.added_count, 0);
    zone_delta_done(&delta);
}

static void a_difference_outlives_its_zones(void **state)
{
    (void)state;
    struct zone_delta delta;
    struct zone *old = zone_of_hosts(1, 500);
    struct zone *new_ = with_host(old, 2, 7, 8);
    zone_compare(old, new_, &delta);
    zone_unref(old);
    zone_unref(new_);
    assert_int_equal(delta.removed_count, 1);
    expect_set(delta.added[0], "\12", 300); // 10.0.0.8, up to its first zero
    zone_delta_done(&delta);
}

// ---- any difference -----------------------------------------------------------------------------

enum { NAMES = 1200, ROUNDS = RANDOM_ROUNDS(300), RECORDS_MAX = 4 * NAMES + 1 };

struct record {
    const struct rrset *set;
    struct text rdata;
};

struct records {
    struct record at[RECORDS_MAX];
    size_t count;
};

static int compare_records(const void *a, const void *b)
{
    const struct record *left = a;
    const struct record *right = b;
    int order = rrset_compare(left->set, right->set);
    if (!order)
        order = text_compare(left->rdata, right->rdata);
    return order ? order
                 : (left->set->ttl_s > right->set->ttl_s) - (left->set->ttl_s < right->set->ttl_s);
}

static void add_records(struct records *records, const struct rrset *set)
{
    struct record record = {.set = set};
    for (size_t cursor = 0; rrset_next(set, &cursor, &record.rdata);) {
        assert_true(records->count < RECORDS_MAX);
        records->at[records->count++] = record;
    }
}

static void records_of_zone(struct records *records, const struct zone *zone)
{
    const struct rrset *set;
    records->count = 0;
    for (struct zone_walk walk = {.zone = zone}; (set = zone_walk(&walk));)
        if (set->type != RR_SOA)
            add_records(records, set);
}

// All of `removed` must be there.
static void take_out(struct records *records, const struct records *removed)
{
    size_t kept = 0;
    size_t taken = 0;
    for (size_t i = 0; i < records->count; i++) {
        bool is_removed =
            taken < removed->count && !compare_records(&records->at[i], &removed->at[taken]);
        taken += is_removed;
        if (!is_removed)
            records->at[kept++] = records->at[i];
    }
    assert_int_equal(taken, removed->count);
    records->count = kept;
}

struct bench {
    uint64_t random;
    struct records before;
    struct records after;
    struct records changed;
};

static uint32_t draw(struct bench *bench, uint32_t below)
{
    bench->random = bench->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(bench->random >> 33) % below;
}

static struct rrset *drawn_set(struct bench *bench, uint32_t name)
{
    char label[DNAME_LABEL_MAX + 1];
    size_t count = draw(bench, 5);
    size_t first = count ? draw(bench, (uint32_t)(5 - count)) : 0;
    snprintf(label, sizeof label, "n%u", name);
    return set_of(label, RR_TXT, 60 + draw(bench, 2), four + first, count);
}

static struct zone *drawn_next(struct bench *bench, const struct zone *zone, uint32_t serial)
{
    struct rrset *puts[NAMES];
    uint32_t count = 1 + draw(bench, draw(bench, 5) ? 6 : 400);
    uint32_t first = draw(bench, NAMES);
    uint32_t stride = draw(bench, 2) ? 1 : 7; // prime to NAMES
    for (uint32_t i = 0; i < count; i++)
        puts[i] = drawn_set(bench, (first + i * stride) % NAMES);
    return zone_next(zone, shop_soa(serial), puts, count);
}

static void expect_delta(struct bench *bench, const struct zone *old, const struct zone *new_)
{
    struct zone_delta delta;
    zone_compare(old, new_, &delta);
    records_of_zone(&bench->before, old);
    records_of_zone(&bench->after, new_);
    bench->changed.count = 0;
    for (size_t i = 0; i < delta.removed_count; i++)
        add_records(&bench->changed, delta.removed[i]);
    size_t removed_count = bench->changed.count;
    take_out(&bench->before, &bench->changed);
    for (size_t i = 0; i < delta.added_count; i++)
        add_records(&bench->before, delta.added[i]);
    qsort(bench->before.at, bench->before.count, sizeof *bench->before.at, compare_records);
    assert_int_equal(bench->before.count, bench->after.count);
    for (size_t i = 0; i < bench->after.count; i++)
        assert_int_equal(compare_records(&bench->before.at[i], &bench->after.at[i]), 0);
    assert_int_equal(zone_record_count(old) + delta.record_count - 2 * removed_count,
                     zone_record_count(new_));
    zone_delta_done(&delta);
}

static void any_difference_applied_to_the_old_version_gives_the_new_one(void **state)
{
    (void)state;
    static struct bench bench;
    bench.random = 11;
    struct zone *zone = zone_new(shop_soa(0), NULL, 0);
    for (uint32_t i = 1; i <= ROUNDS; i++) {
        struct zone *next = drawn_next(&bench, zone, i);
        expect_delta(&bench, zone, next);
        expect_delta(&bench, next, zone);
        CLEANUP(zone) struct zone *anew = made_anew(next); // with chunks of its own
        expect_delta(&bench, zone, anew);
        zone_unref(zone);
        zone = next;
    }
    zone_unref(zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_set_just_the_records_that_differ_are_told),
        cmocka_unit_test(records_that_only_came_remove_nothing),
        cmocka_unit_test(a_changed_ttl_changes_all_of_the_set),
        cmocka_unit_test(the_soa_does_not_count),
        cmocka_unit_test(from_nothing_all_is_added_and_to_nothing_all_removed),
        cmocka_unit_test(a_difference_outlives_its_zones),
        cmocka_unit_test(any_difference_applied_to_the_old_version_gives_the_new_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
