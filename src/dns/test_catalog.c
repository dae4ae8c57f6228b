#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/catalog.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"

#define UID "7d3f1c52-0000-4000-8000-000000000001"
#define LABEL "7d24b9f730e7020ac255eb1321ae3957"

#define NAME(octets) ((struct dname){(const uint8_t *)(octets), sizeof(octets)})

static const struct catalog_member shop = {NAME("\4shop\7example"), TEXT(UID)};

static void expect(struct zone *made, const char *wanted)
{
    CLEANUP(zone) struct zone *zone = made;
    AUTO_BUFFER text = {0};
    struct zone_walk walk = {.zone = zone};
    const struct rrset *set;
    while ((set = zone_walk(&walk))) {
        struct text rdata;
        for (size_t cursor = 0; rrset_next(set, &cursor, &rdata);) {
            char type[10];
            dname_write(&text, rrset_owner(set));
            buffer_printf(&text, " %u IN %s ", set->ttl_s, rr_type_write(set->type, type));
            rdata_write(&text, set->type, rdata);
            buffer_add_char(&text, '\n');
        }
    }
    assert_string_equal(text.at, wanted);
}

static void label_of_a_member_follows_from_its_name_and_uid(void **state)
{
    (void)state;
    char label[CATALOG_LABEL_LEN + 1];
    catalog_write_label(&shop, label);
    assert_string_equal(label, LABEL);
    struct catalog_member anew = {shop.fqdn, TEXT("7d3f1c52-0000-4000-8000-000000000002")};
    catalog_write_label(&anew, label);
    assert_string_not_equal(label, LABEL);
}

static void catalog_without_members_is_a_zone(void **state)
{
    (void)state;
    expect(catalog_zone_new(NAME("\7catalog\7invalid"), 7, NULL, 0, TEXT("default")),
           "catalog.invalid. 0 IN NS invalid.\n"
           "catalog.invalid. 0 IN SOA invalid. invalid. 7 3600 600 2147483646 0\n"
           "version.catalog.invalid. 0 IN TXT \"2\"\n");
}

static void each_member_has_a_name_and_a_group(void **state)
{
    (void)state;
    expect(catalog_zone_new(NAME("\7catalog\7invalid"), 1795300000, &shop, 1, TEXT("default")),
           "catalog.invalid. 0 IN NS invalid.\n"
           "catalog.invalid. 0 IN SOA invalid. invalid. 1795300000 3600 600 2147483646 0\n"
           "version.catalog.invalid. 0 IN TXT \"2\"\n" LABEL
           ".zones.catalog.invalid. 0 IN PTR shop.example.\n"
           "group." LABEL ".zones.catalog.invalid. 0 IN TXT \"default\"\n");
}

static void a_catalog_without_group_has_no_property(void **state)
{
    (void)state;
    expect(catalog_zone_new(NAME("\1c"), 1, &shop, 1, (struct text){0}),
           "c. 0 IN NS invalid.\n"
           "c. 0 IN SOA invalid. invalid. 1 3600 600 2147483646 0\n"
           "version.c. 0 IN TXT \"2\"\n" LABEL ".zones.c. 0 IN PTR shop.example.\n");
}

static void longest_apex_and_group_fit(void **state)
{
    (void)state;
    uint8_t apex[CATALOG_APEX_MAX];
    char group[255];
    memset(apex, 'a', sizeof apex);
    memset(group, 'g', sizeof group);
    apex[0] = apex[64] = apex[128] = 63;
    apex[192] = 16;
    apex[209] = 0;
    CLEANUP(zone)
    struct zone *zone = catalog_zone_new((struct dname){apex, sizeof apex}, 1, &shop, 1,
                                         (struct text){group, sizeof group});
    assert_int_equal(zone_record_count(zone), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(label_of_a_member_follows_from_its_name_and_uid),
        cmocka_unit_test(catalog_without_members_is_a_zone),
        cmocka_unit_test(each_member_has_a_name_and_a_group),
        cmocka_unit_test(a_catalog_without_group_has_no_property),
        cmocka_unit_test(longest_apex_and_group_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
