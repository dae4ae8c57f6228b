#include "controllers/zone/ingress_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "kinds/ingress/ingress_kind.h"
#include "kinds/test_quote.h"

static struct ingress_source ingress_source;

static void make(const char *name, const char *hosts, const char *points)
{
    const char *json =
        arena_printf(arena,
                     "{'metadata':{'name':'%s','namespace':'shop','uid':"
                     "'00000000-0000-4000-8000-000000000001','resourceVersion':'1'},"
                     "'spec':{'rules':[%s]},'status':{'loadBalancer':{'ingress':[%s]}}}",
                     name, hosts, points);
    const struct object *object = object_new(&ingress_kind, NULL, quote(arena, json));
    ingress_source_make(arena, object, &ingress_source);
    for (size_t i = 0; i < ingress_source.count; i++) // they outlive the object
        assert_non_null(ingress_source.records[i].name);
    object_unref(object);
}

static void assert_record(size_t at, const char *name, const char *wanted)
{
    assert_in_range(at, 0, ingress_source.count - 1);
    const struct ingress_source_record *record = &ingress_source.records[at];
    assert_string_equal(record->name, name);
    assert_string_equal(arena_printf(arena, "%s %s %s", record->fqdn, record->type, record->rdata),
                        wanted);
    assert_true(kind_is_name(text_of(record->name)));
    const char *other = ingress_source_other_name(arena, record);
    assert_true(kind_is_name(text_of(other)));
    assert_string_not_equal(record->name, other);
}

static void each_host_has_a_record_for_each_address(void **state)
{
    (void)state;
    make("web", "{'host':'www.example.org'},{'host':'*.example.org'},{'http':{}}",
         "{'ip':'192.0.2.1'},{'ip':'2001:DB8::1'}");
    assert_int_equal(ingress_source.count, 4);
    assert_record(0, "web-www-example-org-192-0-2-1", "www.example.org. A 192.0.2.1");
    assert_record(1, "web-www-example-org-2001-db8--1", "www.example.org. AAAA 2001:db8::1");
    assert_record(2, "web-wildcard-example-org-192-0-2-1", "*.example.org. A 192.0.2.1");
    assert_record(3, "web-wildcard-example-org-2001-db8--1", "*.example.org. AAAA 2001:db8::1");
    assert_int_equal(ingress_source.fault_count, 0);
}

static void what_is_the_same_counts_once(void **state)
{
    (void)state;
    make("web", "{'host':'WWW.example.org'},{'host':'www.example.org'},{'host':'www.example.org.'}",
         "{'ip':'192.0.2.1'},{'ip':'::ffff:192.0.2.1'},{'ip':'192.0.2.1','hostname':'lb.test'}");
    assert_int_equal(ingress_source.count, 1);
    assert_record(0, "web-www-example-org-192-0-2-1", "www.example.org. A 192.0.2.1");
}

static void a_name_ends_in_a_letter_or_digit(void **state)
{
    (void)state;
    make("web.v2", "{'host':'a_b.example.org'}", "{'ip':'2001:db8::'}");
    assert_record(0, "web.v2-a-b-example-org-2001-db8--0", "a_b.example.org. AAAA 2001:db8::");
}

static void hosts_of_other_scripts_have_their_a_labels(void **state)
{
    (void)state;
    make("web",
         "{'host':'b\xc3\xbc"
         "cher.example.org'}",
         "{'ip':'192.0.2.1'}");
    assert_record(0, "web-xn--bcher-kva-example-org-192-0-2-1",
                  "xn--bcher-kva.example.org. A 192.0.2.1");
}

static void a_balancer_without_address_gives_one_cname_for_each_host(void **state)
{
    (void)state;
    make("web", "{'host':'www.example.org'}",
         "{'hostname':'LB.example.net'},{'hostname':'b.test'}");
    assert_int_equal(ingress_source.count, 1);
    assert_true(ingress_source.has_hostnames);
    assert_record(0, "web-www-example-org-lb-example-net",
                  "www.example.org. CNAME lb.example.net.");
    make("web", "{'host':'www.example.org'}", "{'hostname':'lb.example.net'},{'ip':'192.0.2.1'}");
    assert_int_equal(ingress_source.count, 1);
    assert_false(ingress_source.has_hostnames);
}

static void faults_are_told_one_by_one(void **state)
{
    (void)state;
    make("web",
         "{'host':'a..example.org'},{'host':'x*.example.org'},{'host':'.'},{'host':'ok.test'}",
         "{'ip':'192.0.2.256'},{'ip':''},{'ip':'192.0.2.1'}");
    assert_int_equal(ingress_source.count, 1);
    assert_int_equal(ingress_source.fault_count, 4);
    assert_string_equal(ingress_source.faults[0],
                        "host a..example.org: segment is an empty string");
    assert_string_equal(ingress_source.faults[3], "192.0.2.256 is no address");
}

static void long_names_are_cut_and_stay_apart(void **state)
{
    char first[241];
    char second[241];
    (void)state;
    memset(first, 'a', sizeof first);
    first[60] = first[120] = first[180] = '.';
    first[240] = '\0';
    memcpy(second, first, sizeof first);
    second[239] = 'b';
    make("web", arena_printf(arena, "{'host':'%s'},{'host':'%s'}", first, second),
         "{'ip':'192.0.2.1'}");
    assert_int_equal(ingress_source.count, 2);
    assert_int_equal(strlen(ingress_source.records[0].name), 253);
    assert_true(kind_is_name(text_of(ingress_source.records[0].name)));
    assert_memory_equal(ingress_source.records[0].name, ingress_source.records[1].name, 240);
    assert_string_not_equal(ingress_source.records[0].name, ingress_source.records[1].name);
}

static void the_other_name_tells_apart_what_comes_to_one(void **state)
{
    (void)state;
    make("web", "{'host':'a-b.test'},{'host':'a.b.test'}", "{'ip':'192.0.2.1'}");
    assert_string_equal(ingress_source.records[0].name, ingress_source.records[1].name);
    assert_string_not_equal(ingress_source_other_name(arena, &ingress_source.records[0]),
                            ingress_source_other_name(arena, &ingress_source.records[1]));
}

static void one_ingress_has_a_thousand_records_at_most(void **state)
{
    AUTO_BUFFER hosts = {0};
    (void)state;
    for (int i = 0; i < 600; i++)
        buffer_printf(&hosts, "%s{'host':'h%d.test'}", i ? "," : "", i);
    make("web", hosts.at, "{'ip':'192.0.2.1'},{'ip':'192.0.2.2'}");
    assert_int_equal(ingress_source.count, INGRESS_SOURCE_RECORDS_MAX);
    assert_int_equal(ingress_source.left_out, 200);
}

static void what_is_beyond_all_limits_is_not_looked_at(void **state)
{
    AUTO_BUFFER hosts = {0};
    (void)state;
    for (int i = 0; i < 50000; i++)
        buffer_printf(&hosts, "%s{'host':'h%d.test'}", i ? "," : "", i);
    make("web", hosts.at, "{'ip':'192.0.2.1'}");
    assert_int_equal(ingress_source.count, INGRESS_SOURCE_RECORDS_MAX);
    assert_int_equal(ingress_source.left_out, 50000 - INGRESS_SOURCE_RECORDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_host_has_a_record_for_each_address),
        UNIT(what_is_the_same_counts_once),
        UNIT(a_name_ends_in_a_letter_or_digit),
        UNIT(hosts_of_other_scripts_have_their_a_labels),
        UNIT(a_balancer_without_address_gives_one_cname_for_each_host),
        UNIT(faults_are_told_one_by_one),
        UNIT(long_names_are_cut_and_stay_apart),
        UNIT(the_other_name_tells_apart_what_comes_to_one),
        UNIT(one_ingress_has_a_thousand_records_at_most),
        UNIT(what_is_beyond_all_limits_is_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
