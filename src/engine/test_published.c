#include "engine/published.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// "shop" stands for shop.example.
struct name {
    uint8_t octets[DNAME_MAX];
    struct dname dname;
};

static struct dname name_of(struct name *out, const char *label)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text, "%s.example.", label);
    assert_true(
        dname_read(buffer_text(&text), NULL, DNAME_OF_OBJECT, out->octets, &out->dname, NULL));
    return out->dname;
}

static struct zone *zone_of(const char *label, uint32_t serial)
{
    struct name apex;
    struct dname name = name_of(&apex, label);
    return zone_new(
        zone_soa_set(name, 300, &(struct zone_soa){.mname = name, .rname = name, .serial = serial}),
        NULL, 0);
}

struct story {
    struct published *published;
    unsigned heard;
    char last[DNAME_TEXT_MAX + 20];
};

static void on_server_report(void *context, const struct published_sign *sign)
{
    struct story *story = context;
    AUTO_BUFFER text = {0};
    dname_write(&text, sign->apex);
    snprintf(story->last, sizeof story->last, "%s %s %s", text.at, sign->server,
             sign->has_fetched ? "fetched" : "asked");
    story->heard++;
}

static int set_up(void **state)
{
    struct story *story = mem_new_of(struct story);
    story->published = published_new(on_server_report, story);
    *state = story;
    return 0;
}

static int tear_down(void **state)
{
    struct story *story = *state;
    published_free(story->published);
    mem_cleanup_free(state);
    return 0;
}

static void serve(struct story *story, const char *label, const char *group, uint32_t serial)
{
    CLEANUP(zone) struct zone *zone = zone_of(label, serial);
    published_serve(story->published, group, zone);
}

static const struct published_zone *find(struct story *story, const char *label)
{
    struct name name;
    return published_find(story->published, name_of(&name, label));
}

static uint32_t served_serial(struct story *story, const char *label)
{
    const struct published_zone *zone = find(story, label);
    assert_non_null(zone);
    assert_non_null(zone_history_newest(zone->history));
    return zone_serial(zone_history_newest(zone->history));
}

// ---- tests --------------------------------------------------------------------------------------

static void a_zone_is_found_by_its_apex(void **state)
{
    struct story *story = *state;
    serve(story, "shop", "default", 1);
    serve(story, "bank", "inside", 7);
    assert_int_equal(served_serial(story, "shop"), 1);
    assert_int_equal(served_serial(story, "bank"), 7);
    assert_string_equal(find(story, "bank")->group, "inside");
    assert_int_equal(find(story, "bank")->state, PUBLISHED_SERVED);
    assert_null(find(story, "www.shop"));
    assert_null(find(story, "other"));
}

static void versions_become_a_history(void **state)
{
    struct story *story = *state;
    struct zone_step *const *steps;
    for (uint32_t serial = 1; serial <= 4; serial++)
        serve(story, "shop", "default", serial);
    assert_int_equal(served_serial(story, "shop"), 4);
    assert_int_equal(zone_history_steps(find(story, "shop")->history, 2, &steps), 2);
}

static void a_version_that_is_served_may_be_served_again(void **state)
{
    struct story *story = *state;
    struct zone_step *const *steps;
    CLEANUP(zone) struct zone *zone = zone_of("shop", 2);
    serve(story, "shop", "default", 1);
    published_serve(story->published, "default", zone);
    published_serve(story->published, "default", zone);
    assert_int_equal(zone_history_steps(find(story, "shop")->history, 1, &steps), 1);
}

static void a_zone_may_be_known_without_a_version(void **state)
{
    struct story *story = *state;
    struct name name;
    published_withhold(story->published, name_of(&name, "shop"), "default", PUBLISHED_FROZEN);
    assert_int_equal(find(story, "shop")->state, PUBLISHED_WITHHELD);
    assert_null(zone_history_newest(find(story, "shop")->history));
    serve(story, "shop", "default", 1);
    assert_int_equal(find(story, "shop")->state, PUBLISHED_SERVED);
}

static void a_zone_that_is_held_keeps_its_history(void **state)
{
    struct story *story = *state;
    struct zone_step *const *steps;
    struct name name;
    serve(story, "shop", "default", 1);
    published_withhold(story->published, name_of(&name, "shop"), "default", PUBLISHED_FROZEN);
    assert_int_equal(find(story, "shop")->state, PUBLISHED_FROZEN);
    published_withhold(story->published, name.dname, "default", PUBLISHED_WITHHELD);
    assert_int_equal(find(story, "shop")->state, PUBLISHED_WITHHELD);
    serve(story, "shop", "default", 2);
    assert_int_equal(zone_history_steps(find(story, "shop")->history, 1, &steps), 1);
}

static void what_is_removed_is_gone_and_nothing_else(void **state)
{
    static const char *const labels[] = {"a", "b", "c", "d", "e"};
    struct story *story = *state;
    struct name name;
    for (size_t gone = 0; gone < 5; gone++) {
        for (uint32_t i = 0; i < 5; i++)
            serve(story, labels[i], "default", i + 1);
        assert_true(published_remove(story->published, name_of(&name, labels[gone])));
        assert_false(published_remove(story->published, name.dname));
        for (uint32_t i = 0; i < 5; i++) {
            if (i == gone)
                assert_null(find(story, labels[i]));
            else
                assert_int_equal(served_serial(story, labels[i]), i + 1);
        }
        size_t cursor = 0;
        size_t left = 0;
        while (published_next(story->published, &cursor))
            left++;
        assert_int_equal(left, 4);
    }
}

static void all_zones_are_walked(void **state)
{
    struct story *story = *state;
    uint32_t sum = 0;
    size_t cursor = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        char label[16];
        snprintf(label, sizeof label, "z%u", i);
        serve(story, label, "default", i);
    }
    for (const struct published_zone *at; (at = published_next(story->published, &cursor));)
        sum += zone_serial(zone_history_newest(at->history));
    assert_int_equal(sum, 5050);
}

static void what_a_server_fetched_is_kept_and_told(void **state)
{
    struct story *story = *state;
    struct name name;
    serve(story, "shop", "default", 7);
    published_asked(story->published, name_of(&name, "shop"), "ns1", 7);
    published_fetched(story->published, name.dname, "ns1", 7, 0);
    published_asked(story->published, name.dname, "ns2", 6);
    assert_int_equal(story->heard, 3);
    assert_string_equal(story->last, "shop.example. ns2 asked");
    const struct published_zone *zone = find(story, "shop");
    assert_int_equal(zone->fetch_count, 2);
    assert_string_equal(zone->fetches[0].server, "ns1");
    assert_true(zone->fetches[0].has_asked && zone->fetches[0].has_fetched);
    assert_int_equal(zone->fetches[0].fetched_serial, 7);
    assert_int_equal(zone->fetches[1].asked_serial, 6);
    assert_false(zone->fetches[1].has_fetched);
}

static void what_a_server_does_again_is_told_and_of_other_zones_nothing(void **state)
{
    struct story *story = *state;
    struct name name;
    serve(story, "shop", "default", 7);
    for (unsigned i = 0; i < 3; i++) {
        published_asked(story->published, name_of(&name, "shop"), "ns1", 0);
        published_fetched(story->published, name.dname, "ns1", 0, 0);
    }
    assert_int_equal(story->heard, 6);
    assert_string_equal(story->last, "shop.example. ns1 fetched");
    published_fetched(story->published, name_of(&name, "other"), "ns1", 7, 0);
    published_asked(story->published, name.dname, "ns1", 7);
    assert_int_equal(story->heard, 6);
    assert_null(find(story, "other"));
}

static void another_group_has_fetched_nothing(void **state)
{
    struct story *story = *state;
    struct name name;
    serve(story, "shop", "default", 7);
    published_fetched(story->published, name_of(&name, "shop"), "ns1", 7, 0);
    serve(story, "shop", "default", 8);
    assert_int_equal(find(story, "shop")->fetch_count, 1);
    serve(story, "shop", "inside", 8);
    assert_int_equal(find(story, "shop")->fetch_count, 0);
}

static void a_zone_may_have_no_group_and_lose_it(void **state)
{
    struct story *story = *state;
    struct name name;
    published_withhold(story->published, name_of(&name, "shop"), NULL, PUBLISHED_WITHHELD);
    serve(story, "shop", NULL, 7);
    assert_null(find(story, "shop")->group);
    serve(story, "shop", "default", 8);
    assert_string_equal(find(story, "shop")->group, "default");
    published_fetched(story->published, name.dname, "ns1", 8, 0);
    published_withhold(story->published, name.dname, NULL, PUBLISHED_FROZEN);
    assert_null(find(story, "shop")->group);
    assert_int_equal(find(story, "shop")->fetch_count, 0);
    assert_int_equal(find(story, "shop")->state, PUBLISHED_FROZEN);
}

static void facts_of_many_servers_are_bounded(void **state)
{
    struct story *story = *state;
    struct name name;
    serve(story, "shop", "default", 7);
    for (unsigned i = 0; i <= PUBLISHED_FETCHES_MAX; i++) {
        char server[16];
        snprintf(server, sizeof server, "ns%u", i);
        published_fetched(story->published, name_of(&name, "shop"), server, i, 0);
    }
    const struct published_zone *zone = find(story, "shop");
    assert_int_equal(zone->fetch_count, PUBLISHED_FETCHES_MAX);
    assert_string_equal(zone->fetches[0].server, "ns1");
    assert_int_equal(zone->fetches[PUBLISHED_FETCHES_MAX - 1].fetched_serial,
                     PUBLISHED_FETCHES_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static void a_server_is_stuck_that_has_an_older_serial_long_after_it_fetched(void **state)
{
    struct story *story = *state;
    struct name name;
    serve(story, "shop", "default", 7);
    name_of(&name, "shop");
    assert_false(published_is_stuck(story->published, name.dname, "ns1", 6, 99000));
    published_fetched(story->published, name.dname, "ns1", 7, 1000);
    assert_false(published_is_stuck(story->published, name.dname, "ns1", 6, 10999));
    assert_true(published_is_stuck(story->published, name.dname, "ns1", 6, 11000));
    published_fetched(story->published, name.dname, "ns1", 8, 11000);
    assert_true(published_is_stuck(story->published, name.dname, "ns1", 6, 11001));
    assert_false(published_is_stuck(story->published, name.dname, "ns2", 6, 99000));
    assert_false(published_is_stuck(story->published, name.dname, "ns1", 8, 12000));
    assert_false(published_is_stuck(story->published, name.dname, "ns1", 7, 12000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_zone_is_found_by_its_apex),
        TEST(versions_become_a_history),
        TEST(a_version_that_is_served_may_be_served_again),
        TEST(a_zone_may_be_known_without_a_version),
        TEST(a_zone_that_is_held_keeps_its_history),
        TEST(what_is_removed_is_gone_and_nothing_else),
        TEST(all_zones_are_walked),
        TEST(what_a_server_fetched_is_kept_and_told),
        TEST(what_a_server_does_again_is_told_and_of_other_zones_nothing),
        TEST(another_group_has_fetched_nothing),
        TEST(a_zone_may_have_no_group_and_lose_it),
        TEST(facts_of_many_servers_are_bounded),
        TEST(a_server_is_stuck_that_has_an_older_serial_long_after_it_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
