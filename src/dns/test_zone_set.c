#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dns/test_zones.h"

static void rdatas_are_sorted_by_octets_and_equal_ones_merged(void **state)
{
    (void)state;
    const struct text rdatas[] = {{"b", 1}, {"\377", 1}, {"ab", 2}, {"a", 1},
                                  {"b", 1}, {"", 0},     {"a", 1}};
    const char *wanted[] = {"", "a", "ab", "b", "\377"};
    struct rrset *set = set_of("www", 65280, 60, rdatas, COUNT_OF(rdatas));
    struct text rdata = {0};
    size_t cursor = 0;
    assert_int_equal(set->count, COUNT_OF(wanted));
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        assert_true(rrset_next(set, &cursor, &rdata));
        assert_true(text_is(rdata, wanted[i]));
    }
    assert_false(rrset_next(set, &cursor, &rdata));
    rrset_unref(set);
}

static void a_set_keeps_its_owner_type_and_ttl(void **state)
{
    (void)state;
    uint8_t owner[DNAME_MAX];
    struct rrset *set = host("www", 7);
    assert_true(dname_equal(rrset_owner(set), name_of("www", owner)));
    assert_int_equal(set->type, RR_A);
    assert_int_equal(set->ttl_s, 300);
    assert_int_equal(rrset_wire_octets(set), 18 + 10 + 4);
    rrset_unref(set);
}

static void a_set_lives_as_long_as_somebody_refers_to_it(void **state)
{
    (void)state;
    struct rrset *set = host("www", 7);
    struct rrset *again = rrset_ref(set);
    rrset_unref(set);
    assert_int_equal(again->count, 1);
    rrset_unref(again);
    rrset_unref(NULL);
}

static void an_rdata_may_have_65535_octets(void **state)
{
    (void)state;
    enum { LEN = 65535 };
    autofree char *octets = mem_new(2, LEN);
    octets[2 * LEN - 1] = 1;
    const struct text rdatas[] = {{octets + LEN, LEN}, {octets, LEN}, {octets, LEN - 1}};
    struct rrset *set = set_of("www", 65280, 60, rdatas, COUNT_OF(rdatas));
    struct text rdata = {0};
    size_t cursor = 0;
    assert_int_equal(set->count, 3);
    assert_int_equal(rrset_wire_octets(set), 3 * (18 + 10) + 3 * LEN - 1);
    assert_true(rrset_next(set, &cursor, &rdata));
    assert_int_equal(rdata.len, LEN - 1);
    assert_true(rrset_next(set, &cursor, &rdata));
    assert_true(rrset_next(set, &cursor, &rdata));
    assert_int_equal(rdata.len, LEN);
    assert_memory_equal(rdata.at, octets + LEN, LEN);
    rrset_unref(set);
}

static void a_set_may_have_more_than_65535_records(void **state)
{
    (void)state;
    enum { COUNT = 70000 };
    autofree struct text *rdatas = mem_new_array(struct text, COUNT);
    autofree uint32_t *numbers = mem_new_array(uint32_t, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        numbers[i] = i * 2654435761u;
        rdatas[i] = (struct text){(const char *)&numbers[i], 4};
    }
    struct rrset *set = set_of("www", RR_A, 60, rdatas, COUNT);
    assert_int_equal(set->count, COUNT);
    rrset_unref(set);
}

static void sets_are_equal_only_in_all(void **state)
{
    (void)state;
    struct text rdatas[] = {{"\12\0\0\7", 4}, {"\12\0\0\10", 4}};
    struct rrset *set = host("www", 7);
    struct rrset *others[] = {
        host("www", 8),
        host("wwx", 7),
        set_of("www", RR_A, 301, rdatas, 1),
        set_of("www", RR_A, 300, rdatas, 2),
        set_of("www", RR_TXT, 300, rdatas, 1),
        nothing_at("www", RR_A),
    };
    struct rrset *same = set_of("www", RR_A, 300, rdatas, 1);
    assert_true(rrset_equal(set, set));
    assert_true(rrset_equal(set, same));
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(rrset_equal(set, others[i]));
        rrset_unref(others[i]);
    }
    rrset_unref(same);
    rrset_unref(set);
}

static void sets_are_ordered_by_owner_then_type(void **state)
{
    (void)state;
    struct rrset *sets[] = {
        nothing_at("", RR_NS),  nothing_at("", RR_MX),   nothing_at("*", RR_A),
        nothing_at("a", RR_A),  nothing_at("a", RR_TXT), nothing_at("a", RR_CAA),
        nothing_at("a", RR_TA), nothing_at("ab", 0),     nothing_at("b", RR_A),
    };
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        for (size_t j = 0; j < COUNT_OF(sets); j++) {
            int order = rrset_compare(sets[i], sets[j]);
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    for (size_t i = 0; i < COUNT_OF(sets); i++)
        rrset_unref(sets[i]);
}

static void an_soa_is_read_as_it_was_made(void **state)
{
    (void)state;
    struct zone_soa soa;
    struct rrset *set = shop_soa(2026112100);
    zone_soa_read(set, &soa);
    assert_int_equal(set->type, RR_SOA);
    assert_int_equal(set->ttl_s, 3600);
    assert_true(dname_is_within(soa.mname, shop));
    assert_memory_equal(soa.mname.at, "\3ns1", 4);
    assert_memory_equal(soa.rname.at, "\12hostmaster", 11);
    assert_int_equal(soa.serial, 2026112100);
    assert_int_equal(soa.refresh_s, 86400);
    assert_int_equal(soa.retry_s, 7200);
    assert_int_equal(soa.expire_s, 3600000);
    assert_int_equal(soa.minimum_s, 360);
    rrset_unref(set);
}

static void names_of_any_length_make_an_soa(void **state)
{
    (void)state;
    static const uint8_t labels[] = {62, 62, 62, 63};
    uint8_t octets[DNAME_MAX] = {0};
    struct dname longest = {octets, 1};
    for (size_t i = 0; i < COUNT_OF(labels); i++) {
        octets[longest.len - 1] = labels[i];
        longest.len += labels[i] + 1u;
    }
    struct dname root = {(const uint8_t *)"", 1};
    struct zone_soa soa = {.mname = longest, .rname = longest, .serial = 7};
    struct rrset *sets[2] = {zone_soa_set(root, 1, &soa)};
    zone_soa_read(sets[0], &soa);
    assert_true(dname_equal(soa.mname, longest));
    assert_true(dname_equal(soa.rname, longest));
    soa.mname = soa.rname = root;
    sets[1] = zone_soa_set(root, 1, &soa);
    zone_soa_read(sets[1], &soa);
    assert_true(dname_is_root(soa.mname));
    assert_int_equal(soa.serial, 7);
    rrset_unref(sets[0]);
    rrset_unref(sets[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rdatas_are_sorted_by_octets_and_equal_ones_merged),
        cmocka_unit_test(a_set_keeps_its_owner_type_and_ttl),
        cmocka_unit_test(a_set_lives_as_long_as_somebody_refers_to_it),
        cmocka_unit_test(an_rdata_may_have_65535_octets),
        cmocka_unit_test(a_set_may_have_more_than_65535_records),
        cmocka_unit_test(sets_are_equal_only_in_all),
        cmocka_unit_test(sets_are_ordered_by_owner_then_type),
        cmocka_unit_test(an_soa_is_read_as_it_was_made),
        cmocka_unit_test(names_of_any_length_make_an_soa),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
