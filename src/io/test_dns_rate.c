#include "io/dns_rate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "io/address.h"

static const struct dns_rate_limit limit = {.per_s = 20, .burst = 50};

static unsigned take_all(struct dns_rate *rate, const char *address, int64_t now_ms)
{
    uint8_t octets[ADDRESS_OCTETS];
    unsigned taken = 0;
    assert_true(address_read(address, octets));
    while (dns_rate_take(rate, octets, now_ms))
        taken++;
    return taken;
}

static struct dns_rate *rate_new(uint64_t seed)
{
    struct dns_rate *rate = mem_new_of(struct dns_rate);
    rate->limit = limit;
    rate->seed = seed;
    return rate;
}

static void a_burst_is_let_through_and_no_more(void **state)
{
    autofree struct dns_rate *rate = rate_new(7);
    (void)state;
    assert_int_equal(take_all(rate, "192.0.2.1", 0), 50);
    assert_int_equal(take_all(rate, "192.0.2.1", 0), 0);
}

static void what_was_spent_comes_back_with_time(void **state)
{
    autofree struct dns_rate *rate = rate_new(7);
    (void)state;
    take_all(rate, "192.0.2.1", 1000);
    assert_int_equal(take_all(rate, "192.0.2.1", 1049), 0);
    assert_int_equal(take_all(rate, "192.0.2.1", 1050), 1);
    assert_int_equal(take_all(rate, "192.0.2.1", 2050), 20);
    assert_int_equal(take_all(rate, "192.0.2.1", INT64_MAX / 2), 50);
    assert_int_equal(take_all(rate, "192.0.2.1", 5000), 0); // a clock that steps back
}

static void one_address_leaves_the_others_theirs(void **state)
{
    autofree struct dns_rate *rate = rate_new(7);
    (void)state;
    take_all(rate, "192.0.2.1", 0);
    assert_int_equal(take_all(rate, "192.0.2.2", 0), 50);
    assert_int_equal(take_all(rate, "2001:db8:0:1::1", 0), 50);
    assert_int_equal(take_all(rate, "2001:db8:0:2::1", 0), 50);
}

static void an_ipv6_network_is_one_peer(void **state)
{
    autofree struct dns_rate *rate = rate_new(7);
    (void)state;
    take_all(rate, "2001:db8:0:1::1", 0);
    assert_int_equal(take_all(rate, "2001:db8:0:1:ffff::2", 0), 0);
}

static void the_seed_says_who_shares(void **state)
{
    unsigned sharing = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 4096; seed++) {
        uint8_t a[ADDRESS_OCTETS], b[ADDRESS_OCTETS];
        autofree struct dns_rate *rate = rate_new(seed * 0x9e3779b97f4a7c15U);
        assert_true(address_read("192.0.2.1", a) && address_read("192.0.2.2", b));
        rate->limit.burst = 1;
        assert_true(dns_rate_take(rate, a, 0));
        sharing += !dns_rate_take(rate, b, 0);
    }
    assert_in_range(sharing, 1, 16); // 4 by chance
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_let_through_and_no_more),
        cmocka_unit_test(what_was_spent_comes_back_with_time),
        cmocka_unit_test(one_address_leaves_the_others_theirs),
        cmocka_unit_test(an_ipv6_network_is_one_peer),
        cmocka_unit_test(the_seed_says_who_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
