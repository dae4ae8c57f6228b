#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_rounds.h"
#include "dns/serial.h"
#include "kinds/zone/zone_kind.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/replica.h"
#include "store/cache.h"

// Two processes on one cluster, of which one leads: they die, stop and wake up, lose sight of the
// API server, have clocks of their own. What must hold of all that either of them ever had to hand
// over and ever told:
//
// - A serial stands for one content, whoever has it.
// - A server never comes to have a smaller serial (RFC 1982), nor is it told of one by NOTIFY.
// - While one leads, the other sends nothing to servers, however long it was stopped.
// - Who leads never answers or tells a smaller one than whoever led before, unless it has just been
//   cut off from the API server or stopped: until it has caught up it knows no better, and servers
//   leave alone what is no step forward.
// - Who stands by answers what the store names as it sees it, in content and serial, or nothing.
//
// SERIAL_STORY=7 plays that one alone, and tells what happens.

enum { STORIES = RANDOM_ROUNDS(40), EVENTS = 40, REST_MS = 20 * 60 * 1000, REPLICAS = 2 };
// Until one that was cut off sees again; a stream that fell silent at its start may do so for long.
enum { SIGHT_MS = 3 * 60 * 1000, SILENCE_MS = 15 * 60 * 1000 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

struct story {
    uint64_t seed;
    uint64_t state;
    struct stage *stage;
    struct replica replicas[REPLICAS];
    int64_t blind_until_ms[REPLICAS]; // may not see all that happened
    bool has_led;
    uint32_t led; // what a leader answered last
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

static int64_t now_ms(const struct story *story)
{
    return loop_mono_ms(story->stage->loop);
}

static void breach(const struct story *story, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

static void breach(const struct story *story, const char *format, ...)
{
    char text[512];
    AUTO_BUFFER messages = {0};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    model_dns_write_log(story->stage->dns, &messages);
    if (getenv("SERIAL_STORY"))
        fprintf(stderr, "%s%s", buffer_text(&story->stage->log_text).at, buffer_text(&messages).at);
    fail_msg("story %" PRIu64 " at %" PRId64 " ms: %s", story->seed, now_ms(story), text);
    abort();
}

// ---- what must hold -----------------------------------------------------------------------------

static bool is_blind(const struct story *story, const struct replica *replica)
{
    return story->blind_until_ms[replica->at] > now_ms(story);
}

static void expect_no_breach(const struct story *story)
{
    const char *found = model_dns_breach(story->stage->dns);
    if (found)
        breach(story, "%s", found);
}

static void expect_stored(const struct story *story, const struct replica *replica,
                          const struct zone *zone)
{
    char hash[21];
    struct zone_spec spec;
    struct zone_status status;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct object *object =
        cache_find(replica->store->cache, &zone_kind, TEXT("default"), TEXT("shop"));
    assert_non_null(object);
    zone_unpack(arena, object_spec(object), object_managed(object), &spec, &status);
    zone_write_hash(zone, hash);
    if (!text_is(status.hash, hash) || status.serial != zone_serial(zone))
        breach(story, "%zu stands by and answers %u, where the store has %u", replica->at,
               zone_serial(zone), status.serial);
}

static void look_at_leader(struct story *story, struct replica *replica, const struct zone *zone)
{
    if (is_blind(story, replica))
        story->has_led = false;
    if (!zone)
        return;
    if (story->has_led && serial_is_before(zone_serial(zone), story->led))
        breach(story, "after %u whoever leads answers %u", story->led, zone_serial(zone));
    story->has_led = true;
    story->led = zone_serial(zone);
}

static void look(struct story *story)
{
    expect_no_breach(story);
    for (size_t i = 0; i < REPLICAS; i++) {
        struct replica *replica = &story->replicas[i];
        const struct zone *zone = replica_zone(replica, shop);
        if (zone)
            model_dns_witness(story->stage->dns, zone);
        if (replica_leads(replica))
            look_at_leader(story, replica, zone);
        else if (zone && !replica->is_stopped)
            expect_stored(story, replica, zone);
    }
    expect_no_breach(story);
}

static void see_again(struct story *story, int64_t ms)
{
    for (size_t i = 0; i < REPLICAS; i++) {
        const struct replica *replica = &story->replicas[i];
        if (replica->is_stopped && is_blind(story, replica))
            story->blind_until_ms[i] += ms;
        model_dns_excuse(replica->net, is_blind(story, replica));
    }
}

static void advance(struct story *story, int64_t ms)
{
    enum { LOOK_MS = 10000 };
    for (int64_t left_ms = ms; left_ms >= 0; left_ms -= LOOK_MS) {
        int64_t step_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
        replicas_advance(story->replicas, REPLICAS, step_ms);
        look(story);
        see_again(story, step_ms);
    }
}

// ---- events -------------------------------------------------------------------------------------

static struct replica *any(struct story *story)
{
    return &story->replicas[draw(story, REPLICAS)];
}

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

static void change_often(struct story *story)
{
    for (unsigned i = draw(story, 4) + 1; i--;) {
        change_record(story);
        advance(story, draw(story, 3));
    }
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

static void change_and_freeze(struct story *story)
{
    change_record(story);
    advance(story, draw(story, 3));
    freeze_or_thaw(story);
}

static void die(struct story *story)
{
    struct replica *replica = any(story);
    bool has_led = replica_leads(replica);
    replica_kill(replica);
    if (has_led && draw(story, 2))
        model_cluster_free_lease(story->stage->server);
}

static void change_and_die(struct story *story)
{
    change_often(story);
    die(story);
    change_record(story);
}

static void start(struct story *story)
{
    for (size_t i = 0; i < REPLICAS; i++)
        replica_start(&story->replicas[i]);
}

static void go_blind(struct story *story, const struct replica *replica, int64_t ms)
{
    int64_t until_ms = now_ms(story) + ms;
    if (story->blind_until_ms[replica->at] < until_ms)
        story->blind_until_ms[replica->at] = until_ms;
    model_dns_excuse(replica->net, true);
}

// Its watches have been silent for too long, perhaps.
static void wake_up(struct story *story, struct replica *replica)
{
    if (replica->is_stopped)
        go_blind(story, replica, SIGHT_MS);
    replica_continue(replica);
}

static void stop(struct story *story)
{
    replica_stop(any(story));
}

static void wake(struct story *story)
{
    wake_up(story, any(story));
}

// Another has led meanwhile, and what the old leader was about to tell is due.
static void stop_for_long(struct story *story)
{
    struct replica *replica = any(story);
    change_often(story);
    replica_stop(replica);
    change_record(story);
    advance(story, 400000);
    change_record(story);
    advance(story, draw(story, 3));
    wake_up(story, replica);
}

static void break_watch(struct story *story)
{
    static const enum model_stream_fault faults[] = {STREAM_ENDS,   STREAM_BREAKS,  STREAM_TORN,
                                                     STREAM_DIES,   STREAM_EXPIRES, STREAM_FAILS,
                                                     STREAM_REPEATS};
    static const char *const resources[] = {"zones", "records", NULL};
    struct replica *replica = any(story);
    model_api_meet(replica->api, resources[draw(story, 3)], faults[draw(story, COUNT_OF(faults))]);
    go_blind(story, replica, SIGHT_MS);
}

static void lose_api(struct story *story)
{
    struct replica *replica = any(story);
    model_api_set_down(replica->api, true);
    model_api_meet(replica->api, NULL, STREAM_BREAKS);
    change_record(story);
    advance(story, draw(story, 2) ? 1000 : 400000);
    model_api_set_down(replica->api, false);
    go_blind(story, replica, SIGHT_MS);
}

// The other one leads on with a zone of before, and records of now.
static void take_over_blind(struct story *story)
{
    struct replica *leader = &story->replicas[replica_leads(&story->replicas[1])];
    struct replica *other = &story->replicas[!leader->at];
    if (!replica_leads(leader) || !other->engine || other->is_stopped)
        return;
    model_api_meet(other->api, "zones", STREAM_FREEZES);
    go_blind(story, other, SILENCE_MS);
    change_often(story);
    advance(story, draw(story, 20));
    change_record(story);
    replica_kill(leader);
    model_cluster_free_lease(story->stage->server);
}

static void jump(struct story *story)
{
    int64_t hours = (int64_t)draw(story, 24 * 60) - 24 * 30;
    virtual_loop_jump_wall(any(story)->loop, hours * 3600 * 1000);
}

static void fail_write(struct story *story)
{
    static const enum model_fault faults[] = {MODEL_FAILS, MODEL_LOSES, MODEL_CONFLICT,
                                              MODEL_MISSING};
    model_server_fault(story->stage->server, MODEL_PATCH_STATUS, draw(story, 3),
                       faults[draw(story, 4)]);
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

static void delay(struct story *story)
{
    model_server_set_delays(story->stage->server, draw(story, 20), draw(story, 20));
}

static void take_event(struct story *story)
{
    static void (*const events[])(struct story * story) = {
        change_often,
        change_often,
        change_and_die,
        change_and_freeze,
        raise_minimum,
        freeze_or_thaw,
        die,
        start,
        start,
        stop,
        wake,
        stop_for_long,
        break_watch,
        lose_api,
        jump,
        fail_write,
        fail_message,
        move_server,
        delay,
        take_over_blind,
    };
    static const int64_t pauses_ms[] = {0, 1, 2, 3, 5, 20, 1500, 70000, 400000};
    events[draw(story, COUNT_OF(events))](story);
    advance(story, pauses_ms[draw(story, COUNT_OF(pauses_ms))]);
}

static bool may_send(void *context)
{
    const struct replica *replica = context;
    const struct replica *other = replica->at ? replica - 1 : replica + 1;
    return !replica_leads(other);
}

// ---- the story ----------------------------------------------------------------------------------

static void begin(struct story *story, uint64_t seed)
{
    static const char zones[] = "groups:\n- name: default\n  servers:\n"
                                "  - {name: ns1, address: 192.0.2.53}\n"
                                "  - {name: ns2, address: 192.0.2.54}\n";
    struct error err;
    *story = (struct story){.seed = seed,
                            .state = seed,
                            .stage = stage_new(STAGE_CLUSTER, seed % 3),
                            .minimum = seed % 4 ? 1 : UINT32_MAX - 3};
    assert_true(stage_set_zones(story->stage, zones, &err));
    for (size_t i = 0; i < REPLICAS; i++) {
        replica_init(&story->replicas[i], story->stage, i);
        model_dns_guard(story->replicas[i].net, may_send, &story->replicas[i]);
    }
    write_zone(story);
    change_record(story);
    start(story);
    advance(story, 100);
}

static void end(struct story *story)
{
    for (size_t i = 0; i < REPLICAS; i++)
        replica_done(&story->replicas[i]);
    stage_free(story->stage);
}

static void heal(struct story *story)
{
    struct stage *stage = story->stage;
    story->is_frozen = false;
    model_secondary_set_mood(model_dns_find(stage->dns, "ns1"), MOOD_WELL);
    model_secondary_set_mood(model_dns_find(stage->dns, "ns2"), MOOD_WELL);
    write_zone(story);
    // Faults that nothing has met so far are met by one of these.
    for (int i = 0; i < 6; i++) {
        for (size_t at = 0; at < REPLICAS; at++)
            wake_up(story, &story->replicas[at]);
        start(story);
        change_record(story);
        advance(story, REST_MS);
    }
}

static void expect_all_current(const struct story *story)
{
    const struct zone *first = replica_zone(&story->replicas[0], shop);
    const struct zone *second = replica_zone(&story->replicas[1], shop);
    if (!first || !second || zone_serial(first) != zone_serial(second))
        breach(story, "the two end with different serials");
    for (size_t i = 0; i < 2; i++) {
        uint32_t serial = 0;
        assert_true(model_secondary_serial(model_dns_at(story->stage->dns, i), shop, &serial));
        if (serial != zone_serial(first))
            breach(story, "a server ends with another serial");
    }
}

static void play(uint64_t seed)
{
    struct story story;
    begin(&story, seed);
    for (size_t i = 0; i < EVENTS; i++)
        take_event(&story);
    heal(&story);
    expect_all_current(&story);
    end(&story);
}

static void serials_hold_whoever_leads(void **state)
{
    (void)state;
    const char *only = getenv("SERIAL_STORY");
    for (uint64_t seed = 1; seed <= STORIES && !only; seed++)
        play(seed);
    if (only)
        play(strtoull(only, NULL, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serials_hold_whoever_leads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
