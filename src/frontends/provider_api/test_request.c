#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/must.h"
#include "frontends/provider_api/request.h"

static const struct text zones[] = {
    {"example.com", 11}, {"sub.example.com", 15}, {"2.0.192.in-addr.arpa", 20}};

struct bench {
    struct arena *arena;
    struct request_scope scope;
    struct change change;
    struct error err;
};

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    bench->arena = arena_new();
    memset(bench->scope.has_type, true, sizeof bench->scope.has_type);
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static bool read_path(struct bench *bench, const char *path)
{
    bench->change = (struct change){0};
    bench->err = (struct error){0};
    return request_read_path(bench->arena, &bench->scope, path, &bench->change, &bench->err);
}

static bool read_body(struct bench *bench, const char *body)
{
    bench->change = (struct change){.op = CHANGE_READ};
    bench->err = (struct error){0};
    return request_read_upsert(bench->arena, &bench->scope, text_of(body), &bench->change,
                               &bench->err);
}

static void check_refusal(const struct bench *bench, const char *code, const char *part)
{
    assert_int_equal(bench->err.fault, FAULT_SPEC);
    assert_int_equal(bench->err.status, 400);
    assert_string_equal(bench->err.code, code);
    if (!strstr(bench->err.text, part))
        fail_msg("'%s' is not in: %s", part, bench->err.text);
}

#define RECORD(fields)                                                                             \
    "{\"record\":{\"domain\":\"example.com\",\"subdomain\":\"www\"," fields                        \
    "},\"operation\":\"upsert\"}"
#define MX(fields) RECORD("\"type\":\"MX\"," fields)
#define SRV(fields) RECORD("\"type\":\"SRV\"," fields)

// ---- paths --------------------------------------------------------------------------------------

static void path_names_the_key(void **state)
{
    struct bench *bench = *state;
    assert_true(read_path(bench, "/records/TXT/Example.COM/_a.B"));
    assert_int_equal(bench->change.set.type, RECORD_TXT);
    assert_true(text_is(bench->change.set.domain, "example.com"));
    assert_true(text_is(bench->change.set.subdomain, "_a.b"));
    assert_int_equal(bench->change.set.priority, -1);
    assert_true(read_path(bench, "/records/A/example.com/@"));
    assert_true(text_is(bench->change.set.subdomain, "@"));
    assert_true(read_path(bench, "/records/A/example.com/*.x"));
}

static void other_paths_are_refused(void **state)
{
    static const struct {
        const char *path, *code, *part;
    } rows[] = {
        {"/records/", "INVALID_RECORD", "the path is"},
        {"/records/A", "INVALID_RECORD", "the path is"},
        {"/records/A/example.com", "INVALID_RECORD", "the path is"},
        {"/records/A/example.com/www/", "INVALID_RECORD", "the path is"},
        {"/records/A/example.com/www/x", "INVALID_RECORD", "the path is"},
        {"/records/a/example.com/www", "INVALID_RECORD", "unsupported record type: a"},
        {"/records/SOA/example.com/@", "INVALID_RECORD", "unsupported record type: SOA"},
        {"/records//example.com/www", "INVALID_RECORD", "unsupported record type: "},
        {"/records/A//www", "INVALID_DOMAIN", "domain: "},
        {"/records/A/example.com/", "INVALID_DOMAIN", "subdomain: "},
        {"/records/A/exa mple.com/www", "INVALID_DOMAIN", "domain: "},
        {"/records/A/example.com/a..b", "INVALID_DOMAIN", "subdomain: "},
        {"/records/A/@/www", "INVALID_DOMAIN", "domain: "},
        {"/records/A/example.com/a.*", "INVALID_DOMAIN", "subdomain: "},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (read_path(bench, rows[i].path))
            fail_msg("accepted: %s", rows[i].path);
        check_refusal(bench, rows[i].code, rows[i].part);
    }
}

static void name_over_253_octets_is_refused(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER path = {0};
    buffer_add_text(&path, "/records/A/example.com/");
    for (size_t i = 0; i < 61; i++)
        buffer_add_text(&path, "abc.");
    buffer_add_text(&path, "abc");
    assert_false(read_path(bench, path.at));
    check_refusal(bench, "INVALID_DOMAIN", "domain: ");
}

static void names_outside_of_the_zones_are_refused(void **state)
{
    struct bench *bench = *state;
    bench->scope.zones = zones;
    bench->scope.zone_count = COUNT_OF(zones);
    assert_true(read_path(bench, "/records/A/example.com/www"));
    assert_true(read_path(bench, "/records/A/com/example"));
    assert_true(read_path(bench, "/records/A/a.b.example.com/www"));
    assert_false(read_path(bench, "/records/A/notexample.com/www"));
    check_refusal(bench, "INVALID_DOMAIN", "www.notexample.com lies in no zone");
    assert_false(read_path(bench, "/records/A/com/@"));
    check_refusal(bench, "INVALID_DOMAIN", "com lies in no zone");
}

static void longest_matching_zone_takes_the_name(void **state)
{
    (void)state;
    assert_true(text_is(request_zone(zones, 3, TEXT("www.example.com")), "example.com"));
    assert_true(text_is(request_zone(zones, 3, TEXT("a.sub.example.com")), "sub.example.com"));
    assert_true(text_is(request_zone(zones, 3, TEXT("sub.example.com")), "sub.example.com"));
    assert_true(text_is(request_zone(zones, 3, TEXT("xsub.example.com")), "example.com"));
    assert_null(request_zone(zones, 3, TEXT("example.org")).at);
    assert_null(request_zone(NULL, 0, TEXT("example.org")).at);
}

static void types_that_are_not_served_are_refused(void **state)
{
    struct bench *bench = *state;
    bench->scope.has_type[RECORD_NS] = false;
    assert_false(read_path(bench, "/records/NS/example.com/@"));
    check_refusal(bench, "NOT_SUPPORTED", "type NS is not served here");
    assert_false(read_body(bench, RECORD("\"type\":\"NS\",\"values\":[\"ns1.example.com\"]")));
    check_refusal(bench, "NOT_SUPPORTED", "type NS is not served here");
}

// ---- bodies -------------------------------------------------------------------------------------

static void body_gives_the_record(void **state)
{
    struct bench *bench = *state;
    assert_true(read_body(
        bench, "{\"record\":{\"type\":\"A\",\"domain\":\"Example.com.\",\"subdomain\":\"WWW\","
               "\"values\":[\"192.0.2.1\",\"192.0.2.2\",\"192.0.2.1\"],\"ttl\":60},"
               "\"operation\":\"upsert\",\"owner\":\"someone\"}"));
    const struct record_set *set = &bench->change.set;
    assert_int_equal(bench->change.op, CHANGE_SET);
    assert_int_equal(set->type, RECORD_A);
    assert_true(text_is(set->domain, "example.com"));
    assert_true(text_is(set->subdomain, "www"));
    assert_int_equal(set->ttl_s, 60);
    assert_int_equal(set->value_count, 2);
    must(set->values);
    assert_true(text_is(set->values[0], "192.0.2.1"));
    assert_true(text_is(set->values[1], "192.0.2.2"));
}

static void ttl_is_300_when_absent(void **state)
{
    struct bench *bench = *state;
    assert_true(read_body(bench, RECORD("\"type\":\"A\",\"values\":[\"192.0.2.1\"]")));
    assert_int_equal(bench->change.set.ttl_s, 300);
}

static void bodies_that_are_no_upsert_are_refused(void **state)
{
    static const struct {
        const char *body, *code, *part;
    } rows[] = {
        {"", "INVALID_RECORD", "body: "},
        {"{", "INVALID_RECORD", "body: "},
        {"[]", "INVALID_RECORD", "operation"},
        {"{}", "INVALID_RECORD", "operation"},
        {"{\"operation\":\"delete\"}", "INVALID_RECORD", "operation"},
        {"{\"operation\":\"upsert\"}", "INVALID_RECORD", "record: "},
        {"{\"operation\":\"upsert\",\"record\":[]}", "INVALID_RECORD", "record: "},
        {RECORD("\"values\":[\"192.0.2.1\"]"), "INVALID_RECORD", "unsupported record type"},
        {RECORD("\"type\":\"A\""), "INVALID_RECORD", "values: "},
        {RECORD("\"type\":\"A\",\"values\":[]"), "INVALID_RECORD", "values: "},
        {RECORD("\"type\":\"A\",\"values\":\"192.0.2.1\""), "INVALID_RECORD", "values: "},
        {RECORD("\"type\":\"A\",\"values\":[7]"), "INVALID_RECORD", "values: "},
        {RECORD("\"type\":\"A\",\"values\":[\"192.0.2.256\"]"), "INVALID_VALUE", "IPv4 address"},
        {RECORD("\"type\":\"A\",\"values\":[\"192.0.2.1\"],\"ttl\":-1"), "INVALID_RECORD", "ttl: "},
        {RECORD("\"type\":\"A\",\"values\":[\"192.0.2.1\"],\"ttl\":2147483648"), "INVALID_RECORD",
         "ttl: "},
        {RECORD("\"type\":\"A\",\"values\":[\"192.0.2.1\"],\"ttl\":\"60\""), "INVALID_RECORD",
         "ttl: "},
        {RECORD("\"type\":\"CNAME\",\"values\":[\"a.example.org\",\"b.example.org\"]"),
         "INVALID_RECORD", "CNAME records must have exactly one value"},
        {RECORD("\"type\":\"MX\",\"values\":[\".\",\"a.example.org\"],"
                "\"metadata\":{\"priority\":0}"),
         "INVALID_RECORD", ". stands alone"},
        {RECORD("\"type\":\"MX\",\"values\":[\".\"],\"metadata\":{\"priority\":5}"),
         "INVALID_RECORD", ". stands alone"},
        {RECORD("\"type\":\"SRV\",\"values\":[\"a.example.org\",\".\"],"
                "\"metadata\":{\"priority\":0,\"weight\":0,\"port\":0}"),
         "INVALID_RECORD", ". stands alone"},
        {"{\"record\":{\"type\":\"A\",\"subdomain\":\"www\",\"values\":[\"192.0.2.1\"]},"
         "\"operation\":\"upsert\"}",
         "INVALID_DOMAIN", "domain: "},
        {"{\"record\":{\"type\":\"A\",\"domain\":\"example.com\",\"values\":[\"192.0.2.1\"]},"
         "\"operation\":\"upsert\"}",
         "INVALID_DOMAIN", "subdomain: "},
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (read_body(bench, rows[i].body))
            fail_msg("accepted: %s", rows[i].body);
        check_refusal(bench, rows[i].code, rows[i].part);
    }
}

static void write_many(struct buffer *out, size_t count)
{
    buffer_add_text(out, "{\"record\":{\"type\":\"A\",\"domain\":\"example.com\",\"subdomain\":"
                         "\"www\",\"values\":[\"192.0.2.0\"");
    for (size_t i = 1; i < count; i++)
        buffer_printf(out, ",\"192.0.%zu.%zu\"", i / 256, i % 256);
    buffer_add_text(out, "]},\"operation\":\"upsert\"}");
}

static void at_most_256_values_are_accepted(void **state)
{
    struct bench *bench = *state;
    AUTO_BUFFER most = {0};
    AUTO_BUFFER more = {0};
    write_many(&most, 256);
    write_many(&more, 257);
    assert_true(read_body(bench, most.at));
    assert_int_equal(bench->change.set.value_count, 256);
    assert_false(read_body(bench, more.at));
    check_refusal(bench, "INVALID_RECORD", "1 to 256");
}

static void cname_at_a_zone_apex_is_refused(void **state)
{
    struct bench *bench = *state;
    bench->scope.zones = zones;
    bench->scope.zone_count = COUNT_OF(zones);
    assert_true(read_body(bench, RECORD("\"type\":\"CNAME\",\"values\":[\"a.example.org\"]")));
    assert_false(read_body(
        bench, "{\"record\":{\"type\":\"CNAME\",\"domain\":\"example.com\",\"subdomain\":\"sub\","
               "\"values\":[\"a.example.org\"]},\"operation\":\"upsert\"}"));
    check_refusal(bench, "INVALID_RECORD", "apex");
    assert_true(read_path(bench, "/records/CNAME/example.com/sub"));
}

// ---- numbers ------------------------------------------------------------------------------------

static void check_numbers(const struct bench *bench, int priority, int weight, int port)
{
    const struct record_set *set = &bench->change.set;
    assert_int_equal(set->priority, priority);
    assert_int_equal(set->weight, weight);
    assert_int_equal(set->port, port);
}

static void numbers_come_as_metadata(void **state)
{
    struct bench *bench = *state;
    assert_true(read_body(bench, MX("\"values\":[\"mail.example.com\"],"
                                    "\"metadata\":{\"priority\":10}")));
    check_numbers(bench, 10, -1, -1);
    assert_true(read_body(bench, SRV("\"values\":[\"sip.example.com\"],\"metadata\":"
                                     "{\"priority\":0,\"weight\":100,\"port\":65535}")));
    check_numbers(bench, 0, 100, 65535);
    must(bench->change.set.values);
    assert_true(text_is(bench->change.set.values[0], "sip.example.com"));
}

static void numbers_come_inside_the_values(void **state)
{
    struct bench *bench = *state;
    assert_true(
        read_body(bench, MX("\"values\":[\"10 mail.example.com\",\"10 mx2.example.com\"]")));
    check_numbers(bench, 10, -1, -1);
    must(bench->change.set.values);
    assert_true(text_is(bench->change.set.values[1], "mx2.example.com"));
    assert_true(read_body(bench, SRV("\"values\":[\"10 100 5060 sip.example.com\"]")));
    check_numbers(bench, 10, 100, 5060);
    must(bench->change.set.values);
    assert_true(text_is(bench->change.set.values[0], "sip.example.com"));
}

static void numbers_of_other_types_are_ignored(void **state)
{
    struct bench *bench = *state;
    assert_true(read_body(bench, RECORD("\"type\":\"A\",\"values\":[\"192.0.2.1\"],"
                                        "\"metadata\":{\"priority\":70000,\"x\":1}")));
    check_numbers(bench, -1, -1, -1);
    assert_true(read_body(bench, MX("\"values\":[\"mail.example.com\"],"
                                    "\"metadata\":{\"priority\":10,\"weight\":7,\"port\":8}")));
    check_numbers(bench, 10, -1, -1);
}

static void incomplete_or_wild_numbers_are_refused(void **state)
{
    static const char *const bodies[] = {
        MX("\"values\":[\"mail.example.com\"]"),
        MX("\"values\":[\"10 a.example.com\",\"20 b.example.com\"]"),
        MX("\"values\":[\"10 a.example.com\",\"b.example.com\"]"),
        MX("\"values\":[\"65536 a.example.com\"]"),
        MX("\"values\":[\"-1 a.example.com\"]"),
        MX("\"values\":[\"10\"]"),
        MX("\"values\":[\"a.example.com\"],\"metadata\":{\"priority\":65536}"),
        MX("\"values\":[\"a.example.com\"],\"metadata\":{\"priority\":-1}"),
        MX("\"values\":[\"a.example.com\"],\"metadata\":{\"priority\":\"10\"}"),
        SRV("\"values\":[\"sip.example.com\"],\"metadata\":{\"priority\":1,\"weight\":2}"),
        SRV("\"values\":[\"1 2 sip.example.com\"]"),
        SRV("\"values\":[\"1 2 3 sip.example.com\"],\"metadata\":{\"priority\":9}"),
    };
    struct bench *bench = *state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (read_body(bench, bodies[i]))
            fail_msg("accepted: %s", bodies[i]);
        check_refusal(bench, "INVALID_RECORD", "");
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(path_names_the_key),
        TEST(other_paths_are_refused),
        TEST(name_over_253_octets_is_refused),
        TEST(names_outside_of_the_zones_are_refused),
        TEST(longest_matching_zone_takes_the_name),
        TEST(types_that_are_not_served_are_refused),
        TEST(body_gives_the_record),
        TEST(ttl_is_300_when_absent),
        TEST(bodies_that_are_no_upsert_are_refused),
        TEST(at_most_256_values_are_accepted),
        TEST(cname_at_a_zone_apex_is_refused),
        TEST(numbers_come_as_metadata),
        TEST(numbers_come_inside_the_values),
        TEST(numbers_of_other_types_are_ignored),
        TEST(incomplete_or_wild_numbers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
