#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/faulty_disk.h"
#include "model/model_cluster.h"
#include "model/virtual_loop.h"
#include "scenarios/stage.h"

// Days in which clocks jump: records at a server and in a zone change all the while, the wall clock
// of this machine and that of the server go their own ways, the machine sleeps, the process is
// stopped, dies, and calls fail. Now and then everything comes to rest and has to be as it was
// saved.
//
//     test_days [HOURS [SEED]]    as many hours of virtual time on each store

enum {
    HOURS = 3,
    RECORDS = 12,
    MINUTE_MS = 60 * 1000,
    HOUR_MS = 60 * MINUTE_MS,
    STORM_MS = 40 * MINUTE_MS,
    SHORT_REST_MS = 20 * MINUTE_MS,
    // Whoever starts anew under a clock that was set back waits an hour for a retry at most.
    REST_MS = 65 * MINUTE_MS,
};

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};
static int64_t hours = HOURS;
static uint64_t first_seed = 1;

struct day {
    struct stage *stage;
    struct model_webhook *server;
    uint64_t state;
    unsigned addresses[RECORDS]; // 0: the record is not there
};

static uint32_t draw(struct day *day, uint32_t below)
{
    day->state = day->state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(day->state >> 33) % below;
}

static int64_t draw_between(struct day *day, int64_t from, int64_t until)
{
    return from + draw(day, (uint32_t)(until - from + 1));
}

static void advance(const struct day *day, int64_t ms)
{
    struct error err = {0};
    day->stage->may_fail_to_start = true;
    if (!stage_advance(day->stage, ms, &err))
        fail_msg("%s", err.text);
    const char *breach = model_dns_breach(day->stage->dns);
    if (breach)
        fail_msg("%s", breach);
}

static void write_file(const struct day *day, const char *name, const char *content)
{
    struct error err;
    if (!stage_write_file(day->stage, name, content, &err))
        fail_msg("%s", err.text);
}

// ---- records ------------------------------------------------------------------------------------

static void write_record(const struct day *day, unsigned number)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER text = {0};
    unsigned address = day->addresses[number];
    buffer_printf(&name, "r%u.yaml", number);
    buffer_printf(&text,
                  "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n"
                  "metadata: {name: r%u}\n"
                  "spec: {type: A, domain: example.com, subdomain: r%u, values: [192.0.2.%u],\n"
                  "  dnsClassRef: {name: home}}\n"
                  "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: r%u}\n"
                  "spec: {domainName: r%u, zoneRef: {name: shop}, type: A, rdata: 192.0.2.%u}\n",
                  number, number, address, number, number, address);
    write_file(day, name.at, address ? text.at : NULL);
}

static void change_record(struct day *day)
{
    unsigned number = draw(day, RECORDS);
    day->addresses[number] = draw(day, 5) ? 1 + draw(day, 250) : 0;
    write_record(day, number);
}

// ---- clocks -------------------------------------------------------------------------------------

// To both sides of what the protocol allows, by hours, and by weeks.
static void jump(struct day *day)
{
    static const int64_t most_ms[] = {2000, 310 * 1000, 2 * (int64_t)HOUR_MS,
                                      30 * 24 * (int64_t)HOUR_MS};
    int64_t most = most_ms[draw(day, COUNT_OF(most_ms))] / 1000;
    virtual_loop_jump_wall(day->stage->loop, draw_between(day, -most, most) * 1000);
}

static void part_clocks(struct day *day)
{
    model_webhook_set_clock(day->server, draw_between(day, -400, 400) * 1000);
}

static void sleep_a_while(struct day *day)
{
    virtual_loop_suspend(day->stage->loop, draw_between(day, 1, 40 * MINUTE_MS));
}

static void stop_a_while(struct day *day)
{
    virtual_loop_stall(day->stage->loop, draw_between(day, 1, 2 * MINUTE_MS));
}

// ---- failures -----------------------------------------------------------------------------------

static void die(struct day *day)
{
    if (draw(day, 2))
        stage_crash(day->stage);
    else
        stage_kill(day->stage);
}

static void fail_request(struct day *day)
{
    static const enum model_network_fault faults[] = {NETWORK_FAILS, NETWORK_LOSES,
                                                      NETWORK_SILENCE};
    model_backend_fault(day->stage->backend, draw(day, 4), faults[draw(day, COUNT_OF(faults))]);
}

static void limit_rate(struct day *day)
{
    static const char *const pauses[] = {"1", "90", "0", "700"};
    model_webhook_add_rule(day->server,
                           &(struct webhook_rule){.times = 1,
                                                  .behaviour = WEBHOOK_ANSWERS,
                                                  .status = 429,
                                                  .retry_after = pauses[draw(day, 4)]});
}

static void fail_call(struct day *day)
{
    static const enum model_fault faults[] = {MODEL_FAILS, MODEL_LOSES, MODEL_CONFLICT, MODEL_LIMIT,
                                              MODEL_MISSING};
    static const enum model_write writes[] = {MODEL_ANY_WRITE, MODEL_PATCH_STATUS, MODEL_LEASE,
                                              MODEL_EVENT};
    if (day->stage->server)
        model_server_fault(day->stage->server, writes[draw(day, COUNT_OF(writes))], draw(day, 5),
                           faults[draw(day, COUNT_OF(faults))]);
    else
        faulty_disk_fault(day->stage->disk, draw(day, 6), DISK_FAILS);
}

static void fail_message(struct day *day)
{
    model_dns_fault(day->stage->dns, draw(day, 5), draw(day, 3) ? DNS_LOSES : DNS_SILENCE);
}

static void take_event(struct day *day)
{
    static void (*const events[])(struct day * day) = {
        change_record, change_record, change_record, jump,       jump,      part_clocks,  die,
        sleep_a_while, stop_a_while,  fail_request,  limit_rate, fail_call, fail_message,
    };
    static const int64_t pauses_ms[] = {0, 1, 20, 150, 1500, 20000, 70000, 5 * MINUTE_MS};
    events[draw(day, COUNT_OF(events))](day);
    advance(day, pauses_ms[draw(day, COUNT_OF(pauses_ms))]);
}

// ---- the day ------------------------------------------------------------------------------------

static void begin(struct day *day, enum stage_store store, uint64_t seed)
{
    struct error err;
    *day = (struct day){.stage = stage_new(store, false), .state = seed};
    day->server = stage_add_server(day->stage, "home", "http://dns.test");
    model_webhook_set_keys(day->server, (const char *const[]){"abc"}, 1);
    assert_true(stage_set_zones(day->stage,
                                "groups:\n- name: default\n  servers:\n"
                                "  - {name: ns1, address: 192.0.2.53}\n",
                                &err));
    write_file(day, "class.yaml",
               "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\n"
               "metadata: {name: home}\n"
               "spec: {server: 'http://dns.test', hmacAuth: {secret: abc}}\n");
    write_file(day, "shop.yaml",
               "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: shop}\n"
               "spec:\n  domainName: shop.example.\n  delegations: [{records: [{pattern: '*'}]}]\n"
               "  nameservers: [{name: ns1, addresses: [192.0.2.53]}]\n");
    for (unsigned number = 0; number < RECORDS; number++)
        change_record(day);
    advance(day, 100);
}

// What nothing has met so far meets the changes here; then all is well for a while.
static void rest(struct day *day)
{
    model_webhook_clear_rules(day->server);
    model_webhook_set_clock(day->server, 0);
    for (unsigned number = 0; number < RECORDS; number++) {
        change_record(day);
        advance(day, MINUTE_MS);
    }
    advance(day, SHORT_REST_MS);
    // What was saved while its deletion was under way went with it, as in any cluster.
    for (unsigned number = 0; number < RECORDS; number++)
        write_record(day, number);
    advance(day, REST_MS);
}

static void expect_record(const struct day *day, unsigned number)
{
    AUTO_BUFFER name = {0};
    AUTO_BUFFER address = {0};
    buffer_printf(&name, "r%u.example.com", number);
    buffer_printf(&address, "\"192.0.2.%u\"", day->addresses[number]);
    const struct webhook_record *found = model_webhook_find(day->server, "A", name.at);
    if ((found != NULL) != (day->addresses[number] != 0))
        fail_msg("%s is %s", name.at, found ? "there" : "not there");
    if (found && !memmem(found->content.at, found->content.len, address.at, address.len))
        fail_msg("%s is %.*s, not %s", name.at, TEXT_ARGS(found->content), address.at);
}

static void expect_rest(const struct day *day)
{
    uint32_t serial = 0;
    const struct published_zone *zone = stage_zone(day->stage, shop);
    for (unsigned number = 0; number < RECORDS; number++)
        expect_record(day, number);
    assert_non_null(zone);
    assert_non_null(zone_history_newest(zone->history));
    assert_true(model_secondary_serial(model_dns_find(day->stage->dns, "ns1"), shop, &serial));
    assert_int_equal(serial, zone_serial(zone_history_newest(zone->history)));
}

static void live(enum stage_store store)
{
    struct day day;
    begin(&day, store, first_seed + store);
    int64_t end_ms = loop_mono_ms(day.stage->loop) + hours * HOUR_MS;
    while (loop_mono_ms(day.stage->loop) < end_ms) {
        int64_t storm_ms = loop_mono_ms(day.stage->loop) + STORM_MS;
        while (loop_mono_ms(day.stage->loop) < storm_ms)
            take_event(&day);
        rest(&day);
        expect_rest(&day);
    }
    stage_free(day.stage);
}

static void clocks_jump_before_a_cluster(void **state)
{
    (void)state;
    live(STAGE_CLUSTER);
}

static void clocks_jump_before_a_folder(void **state)
{
    (void)state;
    live(STAGE_FOLDER);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_jump_before_a_cluster),
        cmocka_unit_test(clocks_jump_before_a_folder),
    };
    if (argc > 1)
        hours = strtoll(argv[1], NULL, 10);
    if (argc > 2)
        first_seed = strtoull(argv[2], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
