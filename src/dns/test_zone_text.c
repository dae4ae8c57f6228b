#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "dns/rdata.h"
#include "dns/test_zones.h"
#include "dns/zone_file.h"

static void expect_file(const struct zone *zone, const char *wanted)
{
    AUTO_BUFFER out = {0};
    zone_write_file(&out, zone);
    assert_string_equal(out.at, wanted);
}

static void a_file_has_the_soa_first_and_then_the_canonical_order(void **state)
{
    (void)state;
    CLEANUP(zone) struct zone *zone = shop_zone(2026112100);
    expect_file(zone, "$ORIGIN shop.example.\n"
                      "@   3600   IN SOA   ns1.shop.example. hostmaster.shop.example. "
                      "2026112100 86400 7200 3600000 360\n"
                      "@   3600   IN NS    ns1.shop.example.\n"
                      "*   360    IN TXT   \"hello\"\n"
                      "ns1 3600   IN A     192.0.2.53\n"
                      "www 300    IN A     192.0.2.7\n"
                      "www 300    IN A     192.0.2.10\n");
}

static void kubizones_text_is_met_to_the_octet(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    CLEANUP(zone) struct zone *zone = shop_zone(2026112100);
    zone_write_kubizone(&out, zone);
    assert_string_equal(out.at, "$ORIGIN shop.example.\n"
                                "\n"
                                "@                 3600     IN SOA ns1.shop.example. "
                                "hostmaster.shop.example. (2026112100 86400 7200 3600000 360)\n"
                                "@                 3600     IN NS ns1.shop.example.\n"
                                "*                 360      IN TXT \"hello\"\n"
                                "ns1               3600     IN A 192.0.2.53\n"
                                "www               300      IN A 192.0.2.7\n"
                                "www               300      IN A 192.0.2.10");
}

static void names_that_mean_something_in_a_file_are_escaped(void **state)
{
    (void)state;
    struct rrset *sets[] = {host("$origin", 1), host("@", 2), host("a b", 3), host(";", 4),
                            host("a.", 5)};
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT_OF(sets));
    expect_file(zone, "$ORIGIN shop.example.\n"
                      "@        3600   IN SOA   ns1.shop.example. hostmaster.shop.example. "
                      "1 86400 7200 3600000 360\n"
                      "\\$origin 300    IN A     10.0.0.1\n"
                      "\\;       300    IN A     10.0.0.4\n"
                      "\\@       300    IN A     10.0.0.2\n"
                      "a\\032b   300    IN A     10.0.0.3\n"
                      "a\\.      300    IN A     10.0.0.5\n");
}

static void a_long_owner_pushes_its_own_line_only(void **state)
{
    (void)state;
    struct rrset *sets[] = {host("a", 1), host("a-name-that-is-longer-than-its-column", 2)};
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT_OF(sets));
    expect_file(zone, "$ORIGIN shop.example.\n"
                      "@                                3600   IN SOA   ns1.shop.example. "
                      "hostmaster.shop.example. 1 86400 7200 3600000 360\n"
                      "a                                300    IN A     10.0.0.1\n"
                      "a-name-that-is-longer-than-its-column 300    IN A     10.0.0.2\n");
}

static void types_that_nobody_knows_are_written_as_octets(void **state)
{
    (void)state;
    struct rrset *set = set_of("x", 65280, 60, &(struct text){"\1\377", 2}, 1);
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), &set, 1);
    expect_file(zone, "$ORIGIN shop.example.\n"
                      "@ 3600   IN SOA   ns1.shop.example. hostmaster.shop.example. "
                      "1 86400 7200 3600000 360\n"
                      "x 60     IN TYPE65280 \\# 2 01FF\n");
}

static void types_that_some_servers_do_not_know_are_written_as_octets(void **state)
{
    (void)state;
    struct text hip = {"\1\2\0\1\1\2", 6}; // tag, algorithm and key are of one octet
    struct text csync = {"\0\0\0\7\0\3\0\7\100\0\0\0\0\0\1", 15};
    struct rrset *sets[] = {set_of("x", 55, 60, &hip, 1), set_of("y", 62, 60, &csync, 1)};
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(1), sets, COUNT_OF(sets));
    expect_file(zone, "$ORIGIN shop.example.\n"
                      "@ 3600   IN SOA   ns1.shop.example. hostmaster.shop.example. "
                      "1 86400 7200 3600000 360\n"
                      "x 60     IN TYPE55 \\# 6 010200010102\n"
                      "y 60     IN CSYNC 7 3 A TYPE55\n");
}

static void the_root_is_a_zone_as_well(void **state)
{
    (void)state;
    static const struct dname root = {(const uint8_t *)"", 1};
    static const struct text address = {"\12\0\0\1", 4};
    struct zone_soa soa = {.mname = root, .rname = root, .serial = UINT32_MAX};
    struct rrset *sets[] = {
        rrset_new(shop, RR_A, UINT32_MAX, &address, 1),
        rrset_new(root, RR_NS, 1, &(struct text){(const char *)shop.at, shop.len}, 1),
    };
    CLEANUP(zone) struct zone *zone = zone_new(zone_soa_set(root, 0, &soa), sets, COUNT_OF(sets));
    expect_file(zone, "$ORIGIN .\n"
                      "@            0      IN SOA   . . 4294967295 0 0 0 0\n"
                      "@            1      IN NS    shop.example.\n"
                      "shop.example 4294967295 IN A     10.0.0.1\n");
}

static void a_record_is_written_in_one_line(void **state)
{
    (void)state;
    struct text rdata = {0};
    size_t cursor = 0;
    AUTO_BUFFER out = {0};
    struct rrset *set = host("www", 7);
    assert_true(rrset_next(set, &cursor, &rdata));
    zone_write_record(&out, set, rdata);
    assert_string_equal(out.at, "www.shop.example. 300 IN A 10.0.0.7");
    rrset_unref(set);
}

// ---- and back -----------------------------------------------------------------------------------

struct reading {
    struct rrset *soa;
    struct rrset *sets[1000];
    size_t count;
};

static void handle_entry(void *context, const struct zone_file_entry *entry)
{
    struct reading *reading = context;
    AUTO_BUFFER rdata = {0};
    unsigned marks = 0;
    struct error err = {0};
    const struct rdata_rules rules = {&entry->origin, DNAME_OF_FILE};
    if (!rdata_read_words(entry->type, entry->words, entry->word_count, &rules, &rdata, &marks,
                          &err))
        fail_msg("line %u: %s", entry->line, err.text);
    struct text octets = buffer_text(&rdata);
    struct rrset *set = rrset_new(entry->owner, entry->type, entry->ttl_s, &octets, 1);
    assert_int_equal(entry->class_, 1);
    assert_true(entry->has_ttl);
    if (entry->type == RR_SOA)
        reading->soa = set;
    else
        reading->sets[reading->count++] = set;
}

static void handle_fault(void *context, const char *file, uint32_t line, uint32_t column,
                         const struct error *error)
{
    (void)context;
    fail_msg("%s:%u:%u: %s", file, line, column, error->text);
}

static void expect_read_back(struct text text, struct dname origin, const struct zone *zone)
{
    struct reading reading = {0};
    const struct zone_file_calls calls = {handle_entry, handle_fault, NULL, &reading};
    struct zone_delta delta;
    zone_file_read(text, "file", origin, &calls);
    CLEANUP(zone) struct zone *read = zone_new(reading.soa, reading.sets, reading.count);
    zone_compare(zone, read, &delta);
    assert_int_equal(delta.record_count, 0);
    assert_true(rrset_equal(zone_soa(zone), zone_soa(read)));
    zone_delta_done(&delta);
}

// Every octet, in names and strings.
static void both_texts_read_back_give_the_zone(void **state)
{
    (void)state;
    struct rrset *sets[3 * 256];
    size_t count = 0;
    for (unsigned octet = 0; octet < 256; octet++) {
        uint8_t owner[DNAME_MAX] = {3, 'x', (uint8_t)octet, 'y'};
        char text[] = {3, 'x', (char)octet, 'y', 1, (char)octet};
        if (octet >= 'A' && octet <= 'Z')
            continue;
        memcpy(owner + 4, shop.at, shop.len);
        struct dname name = {owner, 4 + shop.len};
        sets[count++] = rrset_new(name, RR_TXT, octet, &(struct text){text, sizeof text}, 1);
        sets[count++] = rrset_new(name, 65280, 1, &(struct text){text, octet % 7}, 1);
        sets[count++] = rrset_new(name, RR_NS, UINT32_MAX >> 1,
                                  &(struct text){(const char *)owner, name.len}, 1);
    }
    CLEANUP(zone) struct zone *zone = zone_new(shop_soa(UINT32_MAX), sets, count);
    AUTO_BUFFER file = {0};
    AUTO_BUFFER kubizone = {0};
    zone_write_file(&file, zone);
    zone_write_kubizone(&kubizone, zone);
    expect_read_back(buffer_text(&file), (struct dname){(const uint8_t *)"", 1}, zone);
    expect_read_back(buffer_text(&kubizone), (struct dname){(const uint8_t *)"", 1}, zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_the_soa_first_and_then_the_canonical_order),
        cmocka_unit_test(kubizones_text_is_met_to_the_octet),
        cmocka_unit_test(names_that_mean_something_in_a_file_are_escaped),
        cmocka_unit_test(a_long_owner_pushes_its_own_line_only),
        cmocka_unit_test(types_that_nobody_knows_are_written_as_octets),
        cmocka_unit_test(types_that_some_servers_do_not_know_are_written_as_octets),
        cmocka_unit_test(the_root_is_a_zone_as_well),
        cmocka_unit_test(a_record_is_written_in_one_line),
        cmocka_unit_test(both_texts_read_back_give_the_zone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
