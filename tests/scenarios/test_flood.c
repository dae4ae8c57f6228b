#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "model/virtual_loop.h"
#include "scenarios/stage.h"

// Hundreds of Records came at once, and the API server is slow: their labels and statuses take it
// half a minute. Who changes one of them meanwhile need not wait for that.

enum { RECORDS = 500, FILE_RECORDS = 60, SLOW_MS = 400, MINUTE_MS = 60000 };

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

static void advance(struct stage *stage, int64_t ms)
{
    struct error err = {0};
    if (!stage_advance(stage, ms, &err))
        fail_msg("%s", err.text);
}

static void write_record(struct buffer *out, int number, const char *address)
{
    buffer_printf(out,
                  "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\n"
                  "metadata: {name: host-%d}\n"
                  "spec: {domainName: host-%d, zoneRef: {name: shop}, type: A, rdata: %s}\n",
                  number, number, address);
}

static void save(struct stage *stage, const char *name, const struct buffer *text)
{
    struct error err;
    if (!stage_write_file(stage, name, text->at, &err))
        fail_msg("%s", err.text);
}

static void save_records(struct stage *stage, int count, const char *address)
{
    AUTO_BUFFER text = {0};
    for (int i = 0; i < count; i++)
        write_record(&text, i, address);
    save(stage, "hosts.yaml", &text);
}

static void flood(struct stage *stage, const char *address)
{
    save_records(stage, RECORDS, address);
}

static void change(struct stage *stage, int number)
{
    AUTO_BUFFER text = {0};
    write_record(&text, number, "192.0.2.8");
    AUTO_BUFFER name = {0};
    buffer_printf(&name, "host-%d.yaml", number);
    save(stage, name.at, &text);
}

static void save_zone(struct stage *stage, const char *delegations)
{
    AUTO_BUFFER zone = {0};
    buffer_printf(&zone,
                  "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: shop}\n"
                  "spec:\n  domainName: shop.example.\n"
                  "  delegations: %s\n"
                  "  nameservers: [{name: ns1, addresses: [192.0.2.53]}]\n",
                  delegations);
    save(stage, "shop.yaml", &zone);
}

static struct stage *stage_with_zone(enum stage_store store)
{
    struct error err;
    struct stage *stage = stage_new(store, false);
    assert_true(stage_set_zones(stage,
                                "groups:\n- name: default\n  servers:\n"
                                "  - {name: ns1, address: 192.0.2.53}\n",
                                &err));
    save_zone(stage, "[{records: [{pattern: '*'}]}]");
    return stage;
}

static uint32_t served(const struct stage *stage)
{
    uint32_t serial = 0;
    model_secondary_serial(model_dns_find(stage->dns, "ns1"), shop, &serial);
    return serial;
}

static void a_change_overtakes_the_statuses_of_a_flood(void **state)
{
    (void)state;
    struct stage *stage = stage_with_zone(STAGE_CLUSTER);
    advance(stage, MINUTE_MS);
    model_server_set_delays(stage->server, SLOW_MS, 1);
    flood(stage, "192.0.2.7");
    advance(stage, 2000);
    for (int number = 0; number < 20; number++) {
        uint32_t before = served(stage);
        change(stage, number);
        // A slot gets free, the zone's status is written, the server fetches.
        advance(stage, 3 * SLOW_MS);
        assert_int_not_equal(served(stage), before);
        advance(stage, 200);
    }
    stage_free(stage);
}

static void remove_flood(struct stage *stage)
{
    struct error err;
    if (!stage_write_file(stage, "hosts.yaml", NULL, &err))
        fail_msg("%s", err.text);
}

// A file is read over many steps of the loop: its zone is numbered once for all that stands in it.
static void a_file_makes_one_serial_with_each_edit(void **state)
{
    (void)state;
    static const char *const addresses[] = {"192.0.2.8", "192.0.2.9", "192.0.2.10"};
    struct stage *stage = stage_with_zone(STAGE_FOLDER);
    advance(stage, MINUTE_MS);
    virtual_loop_slow_down(stage->loop, 1);
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        uint32_t before = served(stage);
        save_records(stage, FILE_RECORDS, addresses[i]);
        advance(stage, MINUTE_MS);
        assert_int_equal(served(stage), before + 1);
    }
    uint32_t before = served(stage);
    remove_flood(stage);
    advance(stage, MINUTE_MS);
    assert_int_equal(served(stage), before + 1);
    virtual_loop_slow_down(stage->loop, 0);
    stage_free(stage);
}

static void save_other_zone(struct stage *stage, const char *address)
{
    AUTO_BUFFER zone = {0};
    buffer_printf(&zone,
                  "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: other}\n"
                  "spec:\n  domainName: other.example.\n  delegations: []\n"
                  "  nameservers: [{name: ns1, addresses: [%s]}]\n",
                  address);
    save(stage, "a-zone.yaml", &zone);
}

static uint32_t served_other(const struct stage *stage)
{
    static const struct dname other = {(const uint8_t *)"\5other\7example", 15};
    uint32_t serial = 0;
    model_secondary_serial(model_dns_find(stage->dns, "ns1"), other, &serial);
    return serial;
}

// Reading all of the file takes ten seconds here.
static void another_zone_waits_two_seconds_for_a_large_file(void **state)
{
    (void)state;
    struct stage *stage = stage_with_zone(STAGE_FOLDER);
    flood(stage, "192.0.2.7");
    save_other_zone(stage, "192.0.2.53");
    advance(stage, MINUTE_MS);
    uint32_t before = served_other(stage);
    virtual_loop_slow_down(stage->loop, 1);
    flood(stage, "192.0.2.8");
    save_other_zone(stage, "192.0.2.54");
    int64_t begun_ms = loop_mono_ms(stage->loop);
    while (served_other(stage) == before && loop_mono_ms(stage->loop) - begun_ms < MINUTE_MS)
        advance(stage, 10);
    assert_in_range(loop_mono_ms(stage->loop) - begun_ms, 1, 5000);
    virtual_loop_slow_down(stage->loop, 0);
    stage_free(stage);
}

// All records leave the zone at once, and the first write of its status fails.
static void a_refused_status_of_a_zone_overtakes_the_flood(void **state)
{
    (void)state;
    struct stage *stage = stage_with_zone(STAGE_CLUSTER);
    advance(stage, MINUTE_MS);
    flood(stage, "192.0.2.7");
    advance(stage, MINUTE_MS);
    model_server_set_delays(stage->server, SLOW_MS, 1);
    model_server_fault(stage->server, MODEL_PATCH_STATUS, 0, MODEL_FAILS);
    save_zone(stage, "[]");
    uint32_t before = served(stage);
    advance(stage, 5 * SLOW_MS);
    assert_int_not_equal(served(stage), before);
    stage_free(stage);
}

static void write_class(struct stage *stage)
{
    AUTO_BUFFER text = {0};
    buffer_add_text(&text, "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\n"
                           "metadata: {name: home}\n"
                           "spec: {server: 'http://dns.test', hmacAuth: {secret: abc}}\n");
    save(stage, "class.yaml", &text);
}

static void write_dns_record(struct buffer *out, int number, const char *address)
{
    buffer_printf(out,
                  "---\napiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n"
                  "metadata: {name: host-%d}\n"
                  "spec: {type: A, domain: example.com, subdomain: host-%d, values: [%s],"
                  " dnsClassRef: {name: home}}\n",
                  number, number, address);
}

static void flood_dns_records(struct stage *stage)
{
    AUTO_BUFFER text = {0};
    for (int i = 0; i < RECORDS; i++)
        write_dns_record(&text, i, "192.0.2.1");
    save(stage, "hosts.yaml", &text);
}

static bool is_forbidden(struct stage *stage, int number)
{
    struct arena *arena = arena_new();
    char name[32];
    snprintf(name, sizeof name, "host-%d", number);
    const struct object_ref_key key = {&dnsrecord_kind, TEXT("default"), text_of(name)};
    const struct value *found = model_server_find(stage->server, arena, &key);
    AUTO_BUFFER json = {0};
    value_write_json(&json, found);
    arena_free(arena);
    return strstr(json.at, "Forbidden") != NULL;
}

// The first of them are refused while the others still wait to be written.
static void a_refusal_is_told_however_late_its_turn_comes(void **state)
{
    (void)state;
    struct stage *stage = stage_new(STAGE_CLUSTER, false);
    int reported = 0;
    model_backend_add(stage->backend, "http://dns.test");
    write_class(stage);
    advance(stage, MINUTE_MS);
    model_api_deny(stage->api, "patch", "dnsrecords");
    model_server_set_delays(stage->server, SLOW_MS, 1);
    flood_dns_records(stage);
    advance(stage, 4 * MINUTE_MS);
    for (int number = 0; number < RECORDS; number++)
        reported += is_forbidden(stage, number);
    assert_int_equal(reported, RECORDS);
    stage_free(stage);
}

// All get reconciliations meanwhile, also those that are gone while others of their batch are not
// told yet.
static void what_goes_with_a_large_file_may_be_forgotten_amid_it(void **state)
{
    (void)state;
    struct stage *stage = stage_new(STAGE_FOLDER, false);
    stage->sync_period_ms = 20000;
    save_zone(stage, "[]");
    flood_dns_records(stage);
    advance(stage, MINUTE_MS);
    virtual_loop_slow_down(stage->loop, 1);
    remove_flood(stage);
    advance(stage, MINUTE_MS);
    virtual_loop_slow_down(stage->loop, 0);
    stage_free(stage);
}

static void write_dns_file(struct stage *stage, int ttl_s, const char *address)
{
    AUTO_BUFFER text = {0};
    buffer_printf(&text,
                  "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\n"
                  "metadata: {name: home}\n"
                  "spec: {server: 'http://dns.test', hmacAuth: {secret: abc}, defaultTTL: %d}\n",
                  ttl_s);
    for (int i = 0; i < FILE_RECORDS; i++)
        write_dns_record(&text, i, address);
    save(stage, "hosts.yaml", &text);
}

// The class comes first in the file and wakes all its records, whose own changes come later.
static void a_file_sends_each_record_once_with_each_edit(void **state)
{
    (void)state;
    struct stage *stage = stage_new(STAGE_FOLDER, false);
    model_backend_add(stage->backend, "http://dns.test");
    write_dns_file(stage, 60, "192.0.2.1");
    advance(stage, MINUTE_MS);
    size_t before = model_backend_change_count(stage->backend);
    assert_int_equal(before, FILE_RECORDS);
    virtual_loop_slow_down(stage->loop, 1);
    write_dns_file(stage, 90, "192.0.2.2");
    advance(stage, MINUTE_MS);
    virtual_loop_slow_down(stage->loop, 0);
    assert_int_equal(model_backend_change_count(stage->backend), before + FILE_RECORDS);
    stage_free(stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_is_told_however_late_its_turn_comes),
        cmocka_unit_test(a_change_overtakes_the_statuses_of_a_flood),
        cmocka_unit_test(a_file_sends_each_record_once_with_each_edit),
        cmocka_unit_test(what_goes_with_a_large_file_may_be_forgotten_amid_it),
        cmocka_unit_test(a_file_makes_one_serial_with_each_edit),
        cmocka_unit_test(another_zone_waits_two_seconds_for_a_large_file),
        cmocka_unit_test(a_refused_status_of_a_zone_overtakes_the_flood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
