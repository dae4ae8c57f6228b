#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/must.h"
#include "base/test_arena.h"
#include "controllers/zone/zone_controller.h"

static struct value *zone_of(const char *spec)
{
    struct error err;
    bool has;
    struct value *tree;
    AUTO_BUFFER yaml = {0};
    buffer_printf(&yaml, "metadata: {name: shop}\nspec: {%s}\n", spec);
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(buffer_text(&yaml), &value_manifest_limits);
    must(yaml_reader_next(reader, arena, &tree, &has, &err) && has);
    return tree;
}

static void expect(const char *spec, const char *errors, const char *warnings)
{
    struct findings findings = {.arena = arena};
    zone_controller.admit(zone_of(spec), &findings);
    const char *text = findings_join(&findings, FINDING_ERROR);
    assert_string_equal(text ? text : "", errors);
    text = findings_join(&findings, FINDING_WARNING);
    assert_string_equal(text ? text : "", warnings);
}

#define SHOP "domainName: shop.example., delegations: []"

static void a_zone_in_order_is_no_news(void **state)
{
    (void)state;
    expect(SHOP, "", "");
    expect(SHOP ", mname: ns1, rname: a.b@shop.example, nameservers: "
                "[{name: ns1, addresses: [192.0.2.1, '2001:db8::1']}]",
           "", "");
    expect("domainName: shop, zoneRef: {name: top}, delegations: "
           "[{records: [{pattern: www.shop.example.}, {pattern: shop}]}], "
           "nameservers: [{name: ns1}, {name: ns2.shop.top.example., addresses: [192.0.2.1]}]",
           "", "");
}

static void what_the_status_calls_invalid_is_an_error(void **state)
{
    (void)state;
    expect(SHOP ", mname: a..b", "spec.mname: segment is an empty string", "");
    expect(SHOP ", rname: a@b..c", "spec.rname: segment is an empty string", "");
    expect(SHOP ", nameservers: [{name: ns1}, {name: n%s}]",
           "spec.nameservers[1]: invalid character %", "");
    expect(
        SHOP ", nameservers: [{name: 192.0.2.1}]",
        "spec.nameservers[0]: 192.0.2.1 is an address: give a name, and the address in addresses",
        "");
    expect(SHOP ", nameservers: [{name: ns1, addresses: [192.0.2]}]",
           "spec.nameservers[0]: 192.0.2 is no address", "");
}

static void faults_of_either_condition_come_together(void **state)
{
    (void)state;
    expect(SHOP ", mname: a..b, nameservers: [{name: ns1, addresses: [x]}]",
           "spec.mname: segment is an empty string; spec.nameservers[0]: x is no address", "");
}

static void what_the_status_warns_of_is_a_warning(void **state)
{
    (void)state;
    expect(SHOP ", retry: 86400", "", "SOATimers: retry 86400 is not below refresh 86400");
    expect(SHOP ", nameservers: [{name: ns.other.example., addresses: [192.0.2.1]}]", "",
           "AddressIgnored: ns.other.example. does not lie in the zone: its addresses are left "
           "out");
    expect("domainName: shop.example., delegations: [{zones: ['a*b*'], records: "
           "[{pattern: www.shop.example}, {pattern: www.other.example.}]}]",
           "",
           "InvalidPattern: pattern a*b*: patterns can only have one wildcard: delegates nothing; "
           "PatternLooksAbsolute: pattern www.shop.example: ends in the zone's own name, which is "
           "added once more; end it with a dot; "
           "PatternOutsideZone: pattern www.other.example.: is not within the zone, and so "
           "delegates nothing");
}

static void other_objects_are_not_waited_for(void **state)
{
    (void)state;
    expect(SHOP ", servers: unknown", "", "");
    expect("domainName: shop, zoneRef: {name: missing}, delegations: []", "", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_zone_in_order_is_no_news),
        UNIT(what_the_status_calls_invalid_is_an_error),
        UNIT(faults_of_either_condition_come_together),
        UNIT(what_the_status_warns_of_is_a_warning),
        UNIT(other_objects_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
