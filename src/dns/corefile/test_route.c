#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/test_arena.h"
#include "dns/corefile/lint.h"
#include "dns/corefile/route.h"
#include "dns/rr_type.h"

static struct corefile *read_corefile(const char *text, const char *version,
                                      struct served_options *served)
{
    const struct corefile_file file = {"Corefile", text_of(text)};
    struct corefile_problems problems = {.arena = arena};
    struct corefile_lint_options options = {.version = coredns_newest};
    assert_true(!version || coredns_version_read(text_of(version), &options.version));
    struct corefile *corefile = corefile_lint(&file, &options, &problems);
    assert_true(corefile_is_accepted(&problems));
    *served = (struct served_options){.version = options.version};
    return corefile;
}

static struct corefile_query query_of(const char *name)
{
    struct error err;
    struct corefile_query query = {.type = RR_A};
    static const struct {
        const char *mark;
        uint16_t type;
    } types[] = {{"DS ", RR_DS}, {"AAAA ", RR_AAAA}, {"PTR ", RR_PTR}};
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (text_starts(text_of(name), types[i].mark)) {
            query.type = types[i].type;
            name += strlen(types[i].mark);
        }
    assert_true(corefile_query_name(arena, text_of(name), &query.name, &err));
    return query;
}

// "53 corp.example. @2 longest": port, zone, line and reason of each route, those of further ones
// behind a ";", with a "?" in front if a view decides.
static const char *route(const char *version, const char *text, const char *name)
{
    static const char *const reasons[] = {"longest", "parent", "root", "none"};
    AUTO_BUFFER out = {0};
    struct served_options served;
    struct corefile_routes routes;
    CLEANUP(corefile) struct corefile *corefile = read_corefile(text, version, &served);
    const struct corefile_query query = query_of(name);
    corefile_find_routes(arena, corefile, &served, &query, &routes);
    for (size_t i = 0; i < routes.count; i++) {
        const struct corefile_route *found = &routes.items[i];
        buffer_printf(&out, "%s%s%s%.*s%.*s", i ? "; " : "", found->is_conditional ? "?" : "",
                      strcmp(found->transport, "dns") ? found->transport : "",
                      TEXT_ARGS(found->host), (int)found->port.len, found->port.at);
        if (found->block)
            buffer_printf(&out, " %.*s @%u", TEXT_ARGS(found->zone),
                          corefile->tokens[found->token].line);
        buffer_printf(&out, " %s", reasons[found->reason]);
    }
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

struct row {
    const char *text;
    const char *name;
    const char *expected;
};
static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_string_equal(route(NULL, rows[i].text, rows[i].name), rows[i].expected);
}
#define CHECK(rows) check(rows, COUNT_OF(rows))

#define ZONES                                                                                      \
    ". {\n whoami\n}\n"                                                                            \
    "example {\n whoami\n}\n"                                                                      \
    "corp.example lab.example {\n whoami\n}\n"

static void the_longest_zone_wins_whatever_the_order(void **state)
{
    (void)state;
    const struct row rows[] = {
        {ZONES, "db.corp.example", "53 corp.example. @7 longest"},
        {ZONES, "DB.Corp.Example.", "53 corp.example. @7 longest"},
        {ZONES, "lab.example", "53 lab.example. @7 longest"},
        {ZONES, "www.example", "53 example. @4 longest"},
        {ZONES, "www.elsewhere", "53 . @1 root"},
        {ZONES, ".", "53 . @1 root"},
        {"10.1.0.0/16 {\n whoami\n}\n. {\n whoami\n}\n", "PTR 4.3.1.10.in-addr.arpa",
         "53 1.10.in-addr.arpa. @1 longest"},
    };
    CHECK(rows);
}

static void zones_end_where_labels_do(void **state)
{
    (void)state;
    const struct row rows[] = {
        {ZONES, "notcorp.example", "53 example. @4 longest"},
        {ZONES, "myexample", "53 . @1 root"},
        {ZONES, "a\\.corp.example", "53 example. @4 longest"},
    };
    CHECK(rows);
}

static void a_name_of_no_zone_is_refused(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"example {\n whoami\n}\n", "elsewhere", "53 none"},
        {"example {\n whoami\n}\n", ".", "53 none"},
    };
    CHECK(rows);
}

static void a_query_for_ds_goes_to_the_parent(void **state)
{
    (void)state;
    const struct row rows[] = {
        {ZONES, "DS corp.example", "53 example. @4 parent"},
        {ZONES, "DS example", "53 example. @4 parent"},
        {ZONES, "DS elsewhere", "53 . @1 root"},
        {"corp.example {\n whoami\n}\n. {\n whoami\n}\n", "DS corp.example",
         "53 corp.example. @1 parent"},
    };
    CHECK(rows);
}

static void each_address_has_zones_of_its_own(void **state)
{
    (void)state;
    const struct row rows[] = {
        {".:53 {\n whoami\n}\nexample:1053 tls://example {\n whoami\n}\n", "www.example",
         "53 . @1 root; 1053 example. @4 longest; tls853 example. @4 longest"},
        {". {\n bind 127.0.0.1\n whoami\n}\n"
         "example {\n bind 127.0.0.1 127.0.0.2\n whoami\n}\n",
         "elsewhere", "127.0.0.153 . @1 root; 127.0.0.253 none"},
    };
    CHECK(rows);
}

static void a_view_decides_before_the_next_block_is_asked(void **state)
{
    (void)state;
    static const char views[] = "example {\n view a {\n  expr true\n }\n whoami\n}\n"
                                "example {\n whoami\n}\n"
                                "www.example {\n view b {\n  expr true\n }\n whoami\n}\n";
    const struct row rows[] = {
        {views, "www.example",
         "?53 www.example. @10 longest; ?53 example. @1 longest; "
         "53 example. @7 longest"},
        {views, "DS www.example", "53 example. @7 parent"},
    };
    CHECK(rows);
}

static void zones_in_upper_case_match_since_1_14_7(void **state)
{
    (void)state;
    static const char text[] = "Example {\n whoami\n}\n. {\n whoami\n}\n";
    assert_string_equal(route("1.14.6", text, "www.example"), "53 . @4 root");
    assert_string_equal(route("1.14.7", text, "www.example"), "53 example. @1 longest");
}

static void names_are_checked(void **state)
{
    (void)state;
    struct text name;
    struct error err;
    assert_false(corefile_query_name(arena, TEXT("a..b"), &name, &err));
    assert_false(corefile_query_name(arena, TEXT(""), &name, &err));
    assert_true(corefile_query_name(arena,
                                    TEXT("b\xc3\xbc"
                                         "cher.example"),
                                    &name, &err));
    assert_true(text_is(name, "xn--bcher-kva.example."));
}

// ---- plugins ------------------------------------------------------------------------------------

// "cache; forward . !": the steps in the first block, with the zone of each, and a "!" behind the
// one that ends; then how it ends.
static const char *steps(const char *plugins, const char *name)
{
    static const char *const ends[] = {"answered", "SERVFAIL", "REFUSED"};
    AUTO_BUFFER out = {0};
    struct served_options served;
    struct route_steps found;
    const char *text = arena_printf(arena, ". {\n%s}\n", plugins);
    CLEANUP(corefile) struct corefile *corefile = read_corefile(text, NULL, &served);
    const struct corefile_query query = query_of(name);
    corefile_find_steps(arena, corefile, &corefile->blocks[0], &query, &found);
    for (size_t i = 0; i < found.count; i++) {
        const struct route_step *step = &found.items[i];
        assert_true(*step->text);
        buffer_printf(&out, "%.*s%s%.*s%s; ", TEXT_ARGS(step->plugin), step->zone.len ? " " : "",
                      (int)step->zone.len, step->zone.len ? step->zone.at : "",
                      step->is_last ? " !" : "");
    }
    buffer_add_text(&out, ends[found.end]);
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

static const char cluster[] = "errors\nforward . /etc/resolv.conf\ncache 30\nready\n"
                              "kubernetes cluster.local in-addr.arpa {\n"
                              "  fallthrough in-addr.arpa\n}\n";

static void plugins_see_the_query_in_compiled_order(void **state)
{
    (void)state;
    assert_string_equal(steps(cluster, "www.example"), "cache; forward . !; answered");
    assert_string_equal(steps(cluster, "a.svc.cluster.local"),
                        "cache; kubernetes cluster.local. !; answered");
    assert_string_equal(steps(cluster, "PTR 1.0.0.10.in-addr.arpa"),
                        "cache; kubernetes in-addr.arpa.; forward . !; answered");
    assert_string_equal(steps("cache 30 a b\nwhoami\n", "x.b"), "cache b.; whoami !; answered");
    assert_string_equal(steps("cache 30 a b\nwhoami\n", "x.c"), "whoami !; answered");
}

static void a_forward_is_passed_by_for_what_it_excepts(void **state)
{
    (void)state;
    static const char text[] = "forward corp.example 192.0.2.1 {\n except a.corp.example b\n"
                               " except c.corp.example\n}\nforward . 192.0.2.2\n";
    assert_string_equal(steps(text, "www.corp.example"), "forward corp.example. !; answered");
    assert_string_equal(steps(text, "www.a.corp.example"), "forward . !; answered");
    assert_string_equal(steps(text, "c.corp.example"), "forward . !; answered");
    assert_string_equal(steps("forward a 192.0.2.1 {\n except a\n}\n", "a"),
                        "forward a. !; answered");
}

static void templates_take_the_type_that_they_name(void **state)
{
    (void)state;
    static const char text[] = "template IN AAAA . {\n rcode NOERROR\n}\nforward . 192.0.2.1\n";
    assert_string_equal(steps(text, "AAAA www.example"), "template . !; answered");
    assert_string_equal(steps(text, "www.example"), "forward . !; answered");
    assert_string_equal(steps("template IN A {\n match x\n fallthrough\n}\nwhoami\n", "a"),
                        "template; whoami !; answered");
    assert_string_equal(steps("template IN A {\n match x\n}\nwhoami\n", "a"),
                        "template !; answered");
}

static void what_no_plugin_answers_fails(void **state)
{
    (void)state;
    assert_string_equal(steps("errors\nlog\n", "a"), "SERVFAIL");
    assert_string_equal(steps("chaos\n", "a"), "chaos; SERVFAIL");
    assert_string_equal(steps("health\nready\nreload\n", "a"), "REFUSED");
    assert_string_equal(steps("", "a"), "REFUSED");
    assert_string_equal(steps("hosts {\n 192.0.2.1 a\n fallthrough\n}\n", "a"), "hosts; SERVFAIL");
    assert_string_equal(steps("hosts {\n 192.0.2.1 a\n}\n", "a"), "hosts !; answered");
    assert_string_equal(steps("hosts {\n 192.0.2.1 a\n}\n", "PTR a"), "hosts; SERVFAIL");
}

static void upstreams_are_named_with_their_policy(void **state)
{
    (void)state;
    static const struct {
        const char *forward;
        const char *text;
    } rows[] = {
        {"forward . 192.0.2.1\n", "sends the query to 192.0.2.1"},
        {"forward . /etc/resolv.conf\n", "sends the query to the name servers in /etc/resolv.conf"},
        {"forward . 192.0.2.1 192.0.2.2\n",
         "sends the query to 192.0.2.1 and 192.0.2.2, one of them at random"},
        {"forward . tls://192.0.2.1 192.0.2.2:5353 192.0.2.3 {\n policy sequential\n}\n",
         "sends the query to tls://192.0.2.1, 192.0.2.2:5353 and 192.0.2.3, the first of them that "
         "is healthy"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct served_options served;
        struct route_steps found;
        const char *text = arena_printf(arena, ". {\n%s}\n", rows[i].forward);
        CLEANUP(corefile) struct corefile *corefile = read_corefile(text, NULL, &served);
        const struct corefile_query query = query_of("a");
        corefile_find_steps(arena, corefile, &corefile->blocks[0], &query, &found);
        assert_int_equal(found.count, 1);
        assert_string_equal(found.items[0].text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_longest_zone_wins_whatever_the_order),
        UNIT(zones_end_where_labels_do),
        UNIT(a_name_of_no_zone_is_refused),
        UNIT(a_query_for_ds_goes_to_the_parent),
        UNIT(each_address_has_zones_of_its_own),
        UNIT(a_view_decides_before_the_next_block_is_asked),
        UNIT(zones_in_upper_case_match_since_1_14_7),
        UNIT(names_are_checked),
        UNIT(plugins_see_the_query_in_compiled_order),
        UNIT(a_forward_is_passed_by_for_what_it_excepts),
        UNIT(templates_take_the_type_that_they_name),
        UNIT(what_no_plugin_answers_fails),
        UNIT(upstreams_are_named_with_their_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
