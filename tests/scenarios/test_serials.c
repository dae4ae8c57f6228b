#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_rounds.h"
#include "model/faulty_disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/stage.h"

// A zone lives through changes, deaths, other leaders, clocks that jump, minima up to the wrap,
// writes and messages that fail. Its servers see to it that no serial stands for two contents and
// none steps back (model_dns.h); at the end they have what the store has.

enum { STORIES = RANDOM_ROUNDS(40), EVENTS = 50, CLOSE_MS = 20, REST_MS = 20 * 60 * 1000 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

struct story {
    struct stage *stage;
    uint64_t seed;
    uint64_t state;
    uint32_t minimum;
    unsigned address;
    bool is_frozen;
};

static uint32_t draw(struct story *story, uint32_t below)
{
    story->state = story->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(story->state >> 33) % below;
}

static void write_file(struct story *story, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void write_file(struct story *story, const char *name, const char *format, ...)
{
    char text[1024];
    struct error err;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    assert_true(stage_write_file(story->stage, name, text, &err));
}

// Nobody may have fetched it: it was there to be fetched.
static void look(const struct story *story)
{
    const struct published_zone *zone = stage_zone(story->stage, shop);
    if (zone && zone->state != PUBLISHED_WITHHELD && zone_history_newest(zone->history))
        model_dns_witness(story->stage->dns, zone_history_newest(zone->history));
    const char *breach = model_dns_breach(story->stage->dns);
    if (breach)
        fail_msg("story %" PRIu64 ": %s", story->seed, breach);
}

static void step(struct story *story, int64_t ms)
{
    struct error err = {0};
    story->stage->may_fail_to_start = true;
    if (!stage_advance(story->stage, ms, &err))
        fail_msg("story %" PRIu64 ": %s", story->seed, err.text);
    look(story);
}

// What stands for milliseconds alone is to be seen, too.
static void advance(struct story *story, int64_t ms)
{
    for (int i = 0; i < CLOSE_MS && ms > 0; i++, ms--)
        step(story, 1);
    step(story, ms);
}

// ---- events -------------------------------------------------------------------------------------

static void write_zone(struct story *story)
{
    static const char *const policies[] = {"date", "unixtime", "counter"};
    write_file(story, "shop.yaml",
               "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: shop}\n"
               "spec:\n  domainName: shop.example.\n  delegations: [{records: [{pattern: '*'}]}]\n"
               "  serialPolicy: %s\n  minimumSerial: %" PRIu32 "\n"
               "  nameservers: [{name: ns1%s}]\n",
               policies[draw(story, 3)], story->minimum,
               story->is_frozen ? "" : ", addresses: [192.0.2.53]");
}

static void change_record(struct story *story)
{
    story->address = story->address % 250 + 1;
    // Contents come back now and then.
    unsigned address = draw(story, 4) ? story->address : 7;
    write_file(story, "www.yaml",
               "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: www}\n"
               "spec: {domainName: www, zoneRef: {name: shop}, type: A, rdata: 192.0.2.%u}\n",
               address);
}

static void raise_minimum(struct story *story)
{
    uint32_t serial = story->minimum;
    model_secondary_serial(model_dns_find(story->stage->dns, "ns1"), shop, &serial);
    // All of a story lies within half of the circle: what a server lags by more looks like a lead.
    story->minimum = serial + draw(story, 1000);
    write_zone(story);
}

static void freeze_or_thaw(struct story *story)
{
    story->is_frozen = !story->is_frozen;
    write_zone(story);
}

static void die(struct story *story)
{
    if (draw(story, 2))
        stage_crash(story->stage);
    else
        stage_kill(story->stage);
}

// Between the write of a serial and what follows it.
static void change_and_die(struct story *story)
{
    for (int i = 0; i < 2; i++) {
        change_record(story);
        advance(story, 100 + draw(story, 5)); // a folder collects edits for 100 ms
    }
    die(story);
    change_record(story);
}

static void another_leads(struct story *story)
{
    if (!story->stage->server)
        return;
    story->stage->is_without_lease = !story->stage->is_without_lease;
    if (story->stage->is_without_lease)
        model_cluster_take_lease(story->stage->server);
    else
        model_cluster_free_lease(story->stage->server);
}

static void jump(struct story *story)
{
    int64_t hours = (int64_t)draw(story, 24 * 60) - 24 * 30;
    virtual_loop_jump_wall(story->stage->loop, hours * 3600 * 1000);
}

static void fail_write(struct story *story)
{
    static const enum model_fault faults[] = {MODEL_FAILS, MODEL_LOSES, MODEL_CONFLICT,
                                              MODEL_MISSING};
    if (story->stage->server)
        model_server_fault(story->stage->server, MODEL_PATCH_STATUS, draw(story, 3),
                           faults[draw(story, 4)]);
}

// What is not on the disk, a process that dies leaves to nobody.
static void fail_disk(struct story *story)
{
    static const enum disk_fault faults[] = {DISK_FAILS, DISK_ACTS_LAST, DISK_STOPS, DISK_TORN};
    faulty_disk_fault(story->stage->disk, draw(story, 6), faults[draw(story, 4)]);
    change_record(story);
}

static void change_with_full_disk(struct story *story)
{
    change_record(story);
    faulty_disk_fill(story->stage->disk, true);
    advance(story, 100 + draw(story, 100));
    if (draw(story, 2))
        die(story);
    faulty_disk_fill(story->stage->disk, false);
    change_record(story);
}

static void fail_message(struct story *story)
{
    model_dns_fault(story->stage->dns, draw(story, 5), draw(story, 3) ? DNS_LOSES : DNS_SILENCE);
}

static void move_server(struct story *story)
{
    static const enum model_mood moods[] = {MOOD_WELL, MOOD_WELL, MOOD_DOWN, MOOD_SILENT};
    model_secondary_set_mood(model_dns_find(story->stage->dns, draw(story, 2) ? "ns1" : "ns2"),
                             moods[draw(story, 4)]);
}

static void take_event(struct story *story)
{
    static void (*const events[])(struct story * story) = {
        change_record,         change_record,  change_and_die,
        raise_minimum,         freeze_or_thaw, die,
        another_leads,         jump,           fail_write,
        fail_message,          move_server,    fail_disk,
        change_with_full_disk,
    };
    static const int64_t pauses_ms[] = {0, 1, 2, 3, 5, 20, 1500, 70000};
    events[draw(story, COUNT_OF(events))](story);
    advance(story, pauses_ms[draw(story, COUNT_OF(pauses_ms))]);
}

// ---- the story ----------------------------------------------------------------------------------

static void begin(struct story *story, uint64_t seed)
{
    static const char zones[] = "groups:\n- name: default\n  servers:\n"
                                "  - {name: ns1, address: 192.0.2.53}\n"
                                "  - {name: ns2, address: 192.0.2.54}\n";
    struct error err;
    *story = (struct story){.stage = stage_new(seed % 2 ? STAGE_CLUSTER : STAGE_FOLDER, seed % 3),
                            .seed = seed,
                            .state = seed,
                            .minimum = seed % 4 ? 1 : UINT32_MAX - 3};
    assert_true(stage_set_zones(story->stage, zones, &err));
    write_zone(story);
    change_record(story);
    advance(story, 100);
}

static void heal(struct story *story)
{
    struct stage *stage = story->stage;
    story->is_frozen = false;
    model_secondary_set_mood(model_dns_find(stage->dns, "ns1"), MOOD_WELL);
    model_secondary_set_mood(model_dns_find(stage->dns, "ns2"), MOOD_WELL);
    if (stage->is_without_lease)
        another_leads(story);
    write_zone(story);
    advance(story, REST_MS);
    // Faults that nothing has met so far.
    change_record(story);
    advance(story, REST_MS);
}

static void expect_all_current(const struct story *story)
{
    const struct published_zone *zone = stage_zone(story->stage, shop);
    assert_non_null(zone);
    const struct zone *newest = zone_history_newest(zone->history);
    assert_non_null(newest);
    for (size_t i = 0; i < 2; i++) {
        uint32_t serial = 0;
        assert_true(model_secondary_serial(model_dns_at(story->stage->dns, i), shop, &serial));
        assert_int_equal(serial, zone_serial(newest));
    }
}

static void serials_stand_for_one_content_and_never_step_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= STORIES; seed++) {
        struct story story;
        begin(&story, seed);
        for (size_t i = 0; i < EVENTS; i++)
            take_event(&story);
        heal(&story);
        expect_all_current(&story);
        stage_free(story.stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serials_stand_for_one_content_and_never_step_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
