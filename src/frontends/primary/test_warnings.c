#include "frontends/primary/warnings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static bool is_due(struct warnings *warnings, unsigned peer, int64_t now_ms)
{
    uint8_t address[16] = {(uint8_t)(peer >> 8), (uint8_t)peer};
    uint64_t untold;
    bool is_of_many;
    return warnings_are_due(warnings, address, now_ms, &untold, &is_of_many);
}

static void a_peer_is_warned_of_once_a_minute(void **state)
{
    static const uint8_t address[16] = {0, 1};
    struct warnings warnings = {0};
    uint64_t untold = 99;
    bool is_of_many = true;
    (void)state;
    assert_true(warnings_are_due(&warnings, address, 5, &untold, &is_of_many));
    assert_int_equal(untold, 0);
    assert_false(is_of_many);
    assert_false(is_due(&warnings, 1, 5));
    assert_false(is_due(&warnings, 1, 60004));
    assert_true(is_due(&warnings, 2, 60004));
    assert_true(warnings_are_due(&warnings, address, 60005, &untold, &is_of_many));
    assert_int_equal(untold, 2);
    assert_false(is_due(&warnings, 1, 60006));
}

static void a_flood_of_peers_is_one_line_more(void **state)
{
    struct warnings warnings = {0};
    unsigned lines = 0;
    (void)state;
    for (unsigned i = 0; i < 5000; i++)
        lines += is_due(&warnings, i, 100);
    assert_int_equal(lines, WARNINGS_PEERS_MAX + 1);
    for (unsigned i = 0; i < 5000; i++)
        lines += is_due(&warnings, i, 59000);
    assert_int_equal(lines, WARNINGS_PEERS_MAX + 1);
}

static void peers_of_the_minute_before_make_room(void **state)
{
    static const uint8_t address[16] = {0xff};
    struct warnings warnings = {0};
    uint64_t untold;
    bool is_of_many;
    (void)state;
    for (unsigned i = 0; i < WARNINGS_PEERS_MAX + 3; i++)
        is_due(&warnings, i, 100);
    assert_true(warnings_are_due(&warnings, address, 60100, &untold, &is_of_many));
    assert_false(is_of_many);
    assert_false(is_due(&warnings, 0xff00, 60100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_is_warned_of_once_a_minute),
        cmocka_unit_test(a_flood_of_peers_is_one_line_more),
        cmocka_unit_test(peers_of_the_minute_before_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
