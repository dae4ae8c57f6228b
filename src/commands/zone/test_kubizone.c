#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "commands/zone/kubizone.h"

static void input(void *context, const char *text)
{
    buffer_printf(context, "%s\n", text);
}

static void expect_name(const char *name, const char *why)
{
    AUTO_BUFFER found = {0};
    AUTO_BUFFER wanted = {0};
    const struct record_spec record = {.domain_name = text_of(name), .type = TEXT("A")};
    kubizone_judge_record(&record, input, &found);
    if (why)
        buffer_printf(&wanted, "spec.domainName: %s: %s\n", name, why);
    assert_string_equal(buffer_text(&found).at, buffer_text(&wanted).at);
}

static void names_of_kubizone_pass(void **state)
{
    static const char *const names[] = {
        "www", "WWW.Example.org.", "_dmarc", "*.shop.example.", "a.b..", "*", "1-2.x_y"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        expect_name(names[i], NULL);
}

static void other_names_are_told_in_its_words(void **state)
{
    (void)state;
    expect_name("@", "invalid character @");
    expect_name("b\xc3\xbc"
                "cher.example.",
                "invalid character \xc3\xbc");
    expect_name("0/25.2.0.192.in-addr.arpa.", "invalid character /");
    expect_name("a\\.b", "invalid character \\");
    expect_name("-a", "illegal hyphen at position 1");
    expect_name("x.abc-", "illegal hyphen at position 4");
    expect_name("xn--bcher-kva.example.", "illegal hyphen at position 3");
    expect_name("a..b", "segment is an empty string");
    expect_name("", "segment is an empty string");
    expect_name("a*.example.", "wildcard segments must have length 1");
    expect_name("a.*.example.", "a wildcard stands in front only");
    expect_name("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                "segment too long 64 > 63");
}

static void types_and_numbers_are_those_of_its_schema(void **state)
{
    AUTO_BUFFER found = {0};
    static const char *const types[] = {"SPF", "TYPE1", "a", "NID", "A", "ZONEMD"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        const struct record_spec record = {.domain_name = TEXT("www"), .type = text_of(types[i])};
        kubizone_judge_record(&record, input, &found);
    }
    const struct record_spec late = {
        .domain_name = TEXT("www"), .type = TEXT("A"), .has_ttl = true, .ttl_s = 4294967296};
    kubizone_judge_record(&late, input, &found);
    assert_string_equal(buffer_text(&found).at, "spec.type: SPF: Kubizone has no such type\n"
                                                "spec.type: TYPE1: Kubizone has no such type\n"
                                                "spec.type: a: Kubizone has no such type\n"
                                                "spec.type: NID: Kubizone has no such type\n"
                                                "spec.ttl: 4294967296: not a number of 32 bits\n");
}

static void all_of_a_zone_is_looked_at(void **state)
{
    AUTO_BUFFER found = {0};
    struct text zones[] = {TEXT("@"), TEXT("dev*")};
    struct text types[] = {TEXT("A"), TEXT("L32")};
    struct text address[] = {TEXT("192.0.2.1")};
    struct zone_delegation_records records[] = {
        {.pattern = TEXT("a*b*"), .types = types, .type_count = 2}};
    struct zone_delegation delegations[] = {
        {.zones = zones, .zone_count = 2, .records = records, .record_count = 1}};
    struct zone_spec_nameserver nameservers[] = {
        {.name = TEXT("ns-"), .addresses = address, .address_count = 1},
        {.name = TEXT("ns-")},
        {.name = TEXT("ns-.other."), .addresses = address, .address_count = 1},
        {.name = TEXT("ns-.a--b.example."), .addresses = address, .address_count = 1}};
    const struct zone_spec zone = {.domain_name = TEXT("a--b.example."),
                                   .delegations = delegations,
                                   .delegation_count = 1,
                                   .nameservers = nameservers,
                                   .nameserver_count = 4,
                                   .ttl_s = -1};
    (void)state;
    kubizone_judge_zone(&zone, input, &found);
    assert_string_equal(
        buffer_text(&found).at,
        "spec.delegations[0].zones[0]: @: invalid character @\n"
        "spec.delegations[0].records[0].pattern: a*b*: patterns can only have one wildcard\n"
        "spec.delegations[0].records[0].types[1]: L32: Kubizone has no such type\n"
        "spec.ttl: -1: not a number of 32 bits\n"
        "spec.nameservers[0].name: ns-: illegal hyphen at position 3\n"
        "spec.nameservers[3].name: ns-.a--b.example.: illegal hyphen at position 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_kubizone_pass),
        cmocka_unit_test(other_names_are_told_in_its_words),
        cmocka_unit_test(types_and_numbers_are_those_of_its_schema),
        cmocka_unit_test(all_of_a_zone_is_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
