#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/zone/zone_text.h"
#include "dns/rr_type.h"

// shop. with SOA, NS ns.shop. and its address.
static const struct dname apex = {(const uint8_t *)"\4shop", 6};
static const struct dname ns = {(const uint8_t *)"\2ns\4shop", 9};
static struct arena *arena;
static struct zone *zone;

static int set_up(void **state)
{
    (void)state;
    const struct zone_soa soa = {.mname = ns, .rname = apex, .serial = 7, .refresh_s = 1};
    const struct text target = {(const char *)ns.at, ns.len};
    const struct text address = {"\300\0\2\1", 4};
    struct rrset *sets[] = {rrset_new(apex, RR_NS, 60, &target, 1),
                            rrset_new(ns, RR_A, 60, &address, 1)};
    arena = arena_new();
    zone = zone_new(zone_soa_set(apex, 360, &soa), sets, COUNT_OF(sets));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    zone_unref(zone);
    arena_free(arena);
    return 0;
}

// As it stands in the store.
static struct zone_status status_with(size_t limit)
{
    char hash[21];
    struct zone_status status = {.has_serial = true, .serial = 7};
    zone_entries_put(arena, zone, limit, &status);
    zone_write_hash(zone, hash);
    status.hash = text_of(arena_copy_text(arena, hash));
    return status;
}

static void entries_are_all_of_the_zone_the_soa_first(void **state)
{
    (void)state;
    const struct zone_status status = status_with(3);
    assert_true(status.entries_complete);
    assert_int_equal(status.entries_total, 3);
    assert_int_equal(status.entry_count, 3);
    assert_true(text_is(status.entries[0].fqdn, "shop."));
    assert_true(text_is(status.entries[0].type, "SOA"));
    assert_true(text_is(status.entries[0].class_, "IN"));
    assert_int_equal(status.entries[0].ttl_s, 360);
    assert_true(text_is(status.entries[0].rdata, "ns.shop. shop. (7 1 0 0 0)"));
    assert_true(text_is(status.entries[1].rdata, "ns.shop."));
    assert_true(text_is(status.entries[2].fqdn, "ns.shop."));
    assert_true(text_is(status.entries[2].rdata, "192.0.2.1"));
}

static void above_the_limit_there_are_soa_and_ns_of_the_apex(void **state)
{
    (void)state;
    for (size_t limit = 0; limit < 3; limit++) {
        const struct zone_status status = status_with(limit);
        assert_false(status.entries_complete);
        assert_int_equal(status.entries_total, 3);
        assert_int_equal(status.entry_count, 2);
        assert_true(text_is(status.entries[0].type, "SOA"));
        assert_true(text_is(status.entries[1].type, "NS"));
    }
}

static void name_servers_are_those_of_the_apex(void **state)
{
    (void)state;
    const struct zone_status status = status_with(0);
    assert_int_equal(status.nameserver_count, 1);
    assert_true(text_is(status.nameservers[0], "ns.shop."));
}

static void entries_are_read_back_as_the_zone(void **state)
{
    (void)state;
    uint8_t before[32];
    uint8_t after[32];
    const struct zone_status status = status_with(3);
    struct zone *read = zone_entries_read(arena, apex, &status);
    assert_non_null(read);
    assert_int_equal(zone_serial(read), 7);
    zone_digest(zone, before);
    zone_digest(read, after);
    assert_memory_equal(before, after, sizeof before);
    zone_unref(read);
}

static void refuse(const struct zone_status *status)
{
    assert_null(zone_entries_read(arena, apex, status));
}

static void entries_that_somebody_changed_are_not_served(void **state)
{
    (void)state;
    struct zone_status status = status_with(3);
    status.entries[2].rdata = TEXT("192.0.2.66");
    refuse(&status);
    status = status_with(3);
    status.entry_count--;
    refuse(&status);
    status = status_with(3);
    status.entries[2].fqdn = TEXT("ns.elsewhere.");
    refuse(&status);
    status = status_with(3);
    status.entries[2].rdata = TEXT("nonsense");
    refuse(&status);
    status = status_with(3);
    status.hash = TEXT("1");
    refuse(&status);
    status = status_with(3);
    status.serial = 8;
    refuse(&status);
    status = status_with(3);
    assert_null(zone_entries_read(arena, ns, &status));
    status.entry_count = 0;
    refuse(&status);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_are_all_of_the_zone_the_soa_first),
        TEST(above_the_limit_there_are_soa_and_ns_of_the_apex),
        TEST(name_servers_are_those_of_the_apex),
        TEST(entries_are_read_back_as_the_zone),
        TEST(entries_that_somebody_changed_are_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
