#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dns/test_zones.h"
#include "dns/zone_history.h"

enum { HOSTS = 400 };

static uint32_t serial_of(const struct rrset *soa)
{
    struct zone_soa read;
    zone_soa_read(soa, &read);
    return read.serial;
}

static size_t steps_from(const struct zone_history *history, uint32_t serial)
{
    struct zone_step *const *steps;
    return zone_history_steps(history, serial, &steps);
}

// The version after the newest, with one change.
static void publish_change(struct zone_history *history, uint32_t serial)
{
    CLEANUP(zone)
    struct zone *zone =
        with_host(zone_history_newest(history), serial, serial % HOSTS, serial + HOSTS);
    zone_history_publish(history, zone);
}

static struct zone_history *history_of_hosts(uint32_t serial, uint32_t count)
{
    struct zone_history *history = zone_history_new();
    CLEANUP(zone) struct zone *zone = zone_of_hosts(serial, count);
    zone_history_publish(history, zone);
    return history;
}

static void steps_lead_from_an_old_serial_to_the_newest(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(10, HOSTS);
    struct zone_step *const *steps;
    for (uint32_t serial = 11; serial <= 15; serial++)
        publish_change(history, serial);
    assert_int_equal(zone_serial(zone_history_newest(history)), 15);
    assert_int_equal(zone_history_steps(history, 12, &steps), 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(serial_of(steps[i]->old_soa), 12 + i);
        assert_int_equal(serial_of(steps[i]->new_soa), 13 + i);
        assert_int_equal(steps[i]->delta.record_count, 2);
    }
    assert_int_equal(steps_from(history, 10), 5);
    assert_int_equal(steps_from(history, 15), 0);
    assert_int_equal(steps_from(history, 9), 0);
    assert_int_equal(steps_from(history, 16), 0);
}

static void a_new_history_has_nothing(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = zone_history_new();
    assert_null(zone_history_newest(history));
    assert_int_equal(steps_from(history, 0), 0);
    assert_int_equal(zone_history_octets(history), 0);
    zone_history_free(NULL);
}

static void a_serial_that_does_not_follow_begins_it_anew(void **state)
{
    (void)state;
    static const uint32_t serials[] = {11, 10, 11 + (1u << 31), 12 + (1u << 31)};
    for (size_t i = 0; i < COUNT_OF(serials); i++) {
        CLEANUP(zone_history) struct zone_history *history = history_of_hosts(10, HOSTS);
        publish_change(history, 11);
        assert_int_equal(steps_from(history, 10), 1);
        CLEANUP(zone)
        struct zone *zone = with_host(zone_history_newest(history), serials[i], 3, 12345);
        zone_history_publish(history, zone);
        assert_int_equal(zone_serial(zone_history_newest(history)), serials[i]);
        assert_int_equal(steps_from(history, 10), 0);
        assert_int_equal(zone_history_octets(history), 0);
    }
}

static void the_same_serial_and_content_again_changes_nothing(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(10, HOSTS);
    CLEANUP(zone) struct zone *first = zone_of_hosts(11, HOSTS + 1);
    CLEANUP(zone) struct zone *second = zone_of_hosts(11, HOSTS + 1);
    zone_history_publish(history, first);
    zone_history_publish(history, first);
    zone_history_publish(history, second);
    assert_ptr_equal(zone_history_newest(history), second);
    assert_int_equal(steps_from(history, 10), 1);
}

static void steps_go_on_over_the_wrap_of_serials(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(UINT32_MAX, HOSTS);
    publish_change(history, 1);
    publish_change(history, 2);
    assert_int_equal(steps_from(history, UINT32_MAX), 2);
    assert_int_equal(steps_from(history, 1), 1);
}

static void a_serial_that_came_round_is_not_taken_for_its_older_self(void **state)
{
    (void)state;
    const uint32_t longest = (1u << 31) - 1;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(7, HOSTS);
    publish_change(history, 7 + longest);
    publish_change(history, 7 + 2 * longest);
    publish_change(history, 8 + 2 * longest);
    publish_change(history, 7); // once more
    assert_int_equal(steps_from(history, 7), 0);
    publish_change(history, 8);
    assert_int_equal(steps_from(history, 7), 1);
}

static void at_most_1000_steps_are_kept(void **state)
{
    (void)state;
    enum { COUNT = 20000, LAST = ZONE_STEPS_MAX + 50 };
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(1, COUNT);
    for (uint32_t serial = 2; serial <= LAST; serial++)
        publish_change(history, serial);
    assert_int_equal(steps_from(history, LAST - ZONE_STEPS_MAX), ZONE_STEPS_MAX);
    assert_int_equal(steps_from(history, LAST - ZONE_STEPS_MAX - 1), 0);
}

static void at_most_a_quarter_of_the_zone_is_kept(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(1, HOSTS);
    for (uint32_t serial = 2; serial <= HOSTS; serial++) {
        publish_change(history, serial);
        assert_true(zone_history_octets(history) <= zone_octets(zone_history_newest(history)) / 4);
    }
    size_t count = 1;
    while (steps_from(history, HOSTS - (uint32_t)count) == count)
        count++;
    assert_in_range(count, HOSTS / 8 - 2, HOSTS / 8 + 2); // each step has two records
}

static void a_step_of_more_than_a_quarter_leaves_none(void **state)
{
    (void)state;
    CLEANUP(zone_history) struct zone_history *history = history_of_hosts(1, HOSTS);
    publish_change(history, 2);
    CLEANUP(zone) struct zone *zone = zone_of_hosts(3, HOSTS * 2);
    zone_history_publish(history, zone);
    assert_int_equal(steps_from(history, 2), 0);
    assert_int_equal(zone_history_octets(history), 0);
}

static void at_most_4_mib_are_kept(void **state)
{
    (void)state;
    enum { LEN = 60000, COUNT = 700, LAST = 100 };
    autofree char *octets = mem_new(1, LEN + COUNT);
    struct rrset *sets[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        char label[DNAME_LABEL_MAX + 1];
        snprintf(label, sizeof label, "big-%u", i);
        sets[i] = set_of(label, 65280, 60, &(struct text){octets, LEN + i}, 1);
    }
    CLEANUP(zone_history) struct zone_history *history = zone_history_new();
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT);
    zone_history_publish(history, zone);
    for (uint32_t serial = 2; serial <= LAST; serial++) {
        char label[DNAME_LABEL_MAX + 1];
        snprintf(label, sizeof label, "big-%u", serial);
        struct rrset *put = nothing_at(label, 65280);
        CLEANUP(zone)
        struct zone *next = zone_next(zone_history_newest(history), shop_soa(serial), &put, 1);
        zone_history_publish(history, next);
    }
    assert_true(zone_history_octets(history) <= ZONE_STEPS_OCTETS_MAX);
    assert_int_equal(steps_from(history, LAST - ZONE_STEPS_OCTETS_MAX / (LEN + 100 + 30)),
                     ZONE_STEPS_OCTETS_MAX / (LEN + 100 + 30));
    assert_int_equal(steps_from(history, LAST - ZONE_STEPS_OCTETS_MAX / LEN - 1), 0);
}

static void a_step_outlives_its_history(void **state)
{
    (void)state;
    struct zone_step *const *steps;
    struct zone_history *history = history_of_hosts(1, HOSTS);
    publish_change(history, 2);
    assert_int_equal(zone_history_steps(history, 1, &steps), 1);
    struct zone_step *step = zone_step_ref(steps[0]);
    zone_history_free(history);
    assert_int_equal(serial_of(step->new_soa), 2);
    assert_int_equal(step->delta.added[0]->count, 1);
    zone_step_unref(step);
    zone_step_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_lead_from_an_old_serial_to_the_newest),
        cmocka_unit_test(a_new_history_has_nothing),
        cmocka_unit_test(a_serial_that_does_not_follow_begins_it_anew),
        cmocka_unit_test(the_same_serial_and_content_again_changes_nothing),
        cmocka_unit_test(steps_go_on_over_the_wrap_of_serials),
        cmocka_unit_test(a_serial_that_came_round_is_not_taken_for_its_older_self),
        cmocka_unit_test(at_most_1000_steps_are_kept),
        cmocka_unit_test(at_most_a_quarter_of_the_zone_is_kept),
        cmocka_unit_test(a_step_of_more_than_a_quarter_leaves_none),
        cmocka_unit_test(at_most_4_mib_are_kept),
        cmocka_unit_test(a_step_outlives_its_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
