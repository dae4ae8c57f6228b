#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "commands/who_text.h"
#include "dns/rr_type.h"
#include "kinds/kinds.h"

static const struct kind *kind_of(const char *name)
{
    for (size_t i = 0; i < kind_count; i++)
        if (!strcmp(kinds[i]->name, name))
            return kinds[i];
    fail_msg("no kind %s", name);
    return NULL;
}

static int set_up(void **state)
{
    static struct view view;
    view = (struct view){.arena = arena_new(), .has_names = true};
    *state = &view;
    return 0;
}

static int tear_down(void **state)
{
    struct view *view = *state;
    view_done(view);
    arena_free(view->arena);
    return 0;
}

static void add(struct view *view, const char *kind, const char *json)
{
    struct error err;
    struct value *tree = value_read_json(view->arena, text_of(json), &value_reply_limits, &err);
    if (!tree)
        fail_msg("%s", err.text);
    view_add(
        view,
        &(struct folder_entry){
            .kind = kind_of(kind), .tree = tree, .path = "web.yaml", .line = 3, .has_good = true});
}

#define SINCE "\"lastTransitionTime\":\"2026-11-30T02:38:23Z\""
#define READY                                                                                      \
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"              \
    "\"RecordCreated\",\"message\":\"it stands\"," SINCE "}]}"
#define CONFLICT                                                                                   \
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"reason\":"             \
    "\"Conflict\",\"message\":\"www.home.example A is held by default/web\"," SINCE "}]}"
#define DNSRECORD(name, type, subdomain, values, status)                                           \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"default\"},\"spec\":{\"type\":\"" type   \
    "\",\"domain\":\"home.example\",\"subdomain\":\"" subdomain "\",\"values\":[" values           \
    "],\"dnsClassRef\":{\"name\":\"home\"}}," status "}"

static struct who look(struct view *view, const char *name, uint16_t type)
{
    struct who who;
    struct error err;
    view_close(view);
    if (!who_find(&who, view, text_of(name), type, &err))
        fail_msg("%s", err.text);
    return who;
}

static void assert_headline(struct view *view, const char *name, uint16_t type, const char *wanted)
{
    AUTO_BUFFER out = {0};
    struct who who = look(view, name, type);
    who_write_headline(&out, &who);
    assert_string_equal(out.at, wanted);
}

// ---- who declares it ----------------------------------------------------------------------------

static void a_name_is_found_in_any_spelling(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("web", "A", "www", "\"192.0.2.1\",\"192.0.2.2\"", READY));
    assert_headline(view, "WWW.Home.Example.", 0,
                    "www.home.example is as declared: A 192.0.2.1, 192.0.2.2.");
    struct who who = look(view, "www.home.example", 0);
    assert_true(who_is_right(&who));
    assert_int_equal(who.entries[0].state, WHO_RIGHT);
    assert_string_equal(who.entries[0].since, "2026-11-30T02:38:23Z");
    assert_int_equal(who.entries[0].row->line, 3);
}

static void a_name_of_another_script_is_shown_in_both_forms(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord",
        DNSRECORD("web", "A",
                  "b\xc3\xbc"
                  "cher",
                  "\"192.0.2.1\"", READY));
    assert_headline(view, "xn--bcher-kva.home.example", 0,
                    "xn--bcher-kva.home.example is as declared: A 192.0.2.1.");
    assert_headline(view,
                    "B\xc3\x9c"
                    "CHER.home.example",
                    0,
                    "xn--bcher-kva.home.example (B\xc3\x9c"
                    "CHER.home.example) is as declared: A 192.0.2.1.");
}

static void the_object_that_lost_its_name_comes_first(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("web", "A", "www", "\"192.0.2.1\"", READY));
    add(view, "DNSRecord", DNSRECORD("zz", "A", "www", "\"192.0.2.9\"", CONFLICT));
    assert_headline(view, "www.home.example", RR_A,
                    "www.home.example is declared 2 times, and 1 of these is not as declared: "
                    "DNSRecord/default/zz: Conflict: www.home.example A is held by default/web.");
    struct who who = look(view, "www.home.example", 0);
    assert_false(who_is_right(&who));
}

static void other_types_do_not_count_but_an_alias_does(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("web", "A", "www", "\"192.0.2.1\"", READY));
    add(view, "DNSRecord", DNSRECORD("blog", "CNAME", "blog", "\"www.home.example\"", READY));
    assert_headline(view, "www.home.example", RR_MX,
                    "Nobody declares www.home.example MX; the name has A.");
    assert_headline(view, "blog.home.example", RR_A,
                    "blog.home.example A is as declared: CNAME www.home.example.");
}

static void what_nobody_acted_on_is_not_known(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("web", "A", "www", "\"192.0.2.1\"", "\"status\":{}"));
    assert_headline(view, "www.home.example", 0,
                    "www.home.example is declared by DNSRecord/default/web, and what became of "
                    "that is not known: `signpost run` has not acted on it yet.");
}

static void a_guarded_removal_stands_in_the_way(void **state)
{
    struct view *view = *state;
    add(view, "DNSPlan",
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"changes\":[{\"operation\":\"Delete\",\"name\":"
        "\"www.home.example\",\"type\":\"A\"}]},\"status\":{\"phase\":\"Pending\",\"conditions\":"
        "[{\"type\":\"Applied\",\"status\":\"False\",\"reason\":\"Pending\",\"message\":\"it waits"
        "\"}]}}");
    struct who who = look(view, "www.home.example", 0);
    assert_int_equal(who.count, 1);
    assert_false(who_is_right(&who));
}

static void names_of_a_publication_have_a_state_each(void **state)
{
    struct view *view = *state;
    add(view, "DNSUpdateRecord",
        "{\"metadata\":{\"name\":\"public\",\"namespace\":\"p\"},\"spec\":{\"provider\":"
        "\"rfc2136\","
        "\"external-dns-parameters\":{\"domain-filter\":\"home.example\"}}}");
    add(view, "DNSPublication",
        "{\"metadata\":{\"name\":\"app\",\"namespace\":\"p\"},\"spec\":{\"desired\":"
        "\"Instantiated\"},\"status\":{\"names\":[{\"name\":\"a.home.example\",\"type\":\"A\","
        "\"record\":\"public\",\"targets\":[\"192.0.2.1\"],\"state\":\"Verified\",\"since\":"
        "\"2026-11-30T02:38:23Z\"},{\"name\":\"b.home.example\",\"type\":\"A\",\"record\":"
        "\"public\",\"state\":\"Conflict\",\"reason\":\"NameConflict\",\"message\":\"p/other has "
        "it\"}],\"records\":[{\"namespace\":\"p\",\"name\":\"public\"}]}}");
    assert_headline(view, "a.home.example", 0, "a.home.example is as declared: A 192.0.2.1.");
    assert_headline(view, "b.home.example", 0,
                    "b.home.example A is not as DNSPublication/p/app declares it: NameConflict: "
                    "p/other has it.");
    struct who who = look(view, "a.home.example", 0);
    assert_string_equal(who.entries[0].through->object, "DNSUpdateRecord/p/public");
    assert_string_equal(who.entries[0].since, "2026-11-30T02:38:23Z");
    assert_headline(view, "c.home.example", 0,
                    "Nobody declares c.home.example; it would be in home.example, which "
                    "DNSUpdateRecord/p/public takes.");
}

#define UPDATE_RECORD(namespace, name)                                                             \
    "{\"metadata\":{\"name\":\"" name                                                              \
    "\",\"namespace\":\"" namespace "\"},\"spec\":{\"provider\":"                                  \
                                    "\"rfc2136\"}}"
#define PUBLISHED(record, state)                                                                   \
    "{\"name\":\"a.home.example\",\"type\":\"A\",\"record\":\"" record "\",\"targets\":["          \
    "\"192.0.2.1\"],\"state\":\"" state "\"}"

static void a_name_goes_through_the_record_that_its_project_has(void **state)
{
    static const struct {
        const char *called;
        const char *through;
    } cases[] = {
        {PUBLISHED("public", "Verified"), "DNSUpdateRecord/p/public"},
        {PUBLISHED("other/public", "Verified"), "DNSUpdateRecord/other/public"},
        {PUBLISHED("Public.Z", "Verified"), "DNSUpdateRecord/p/public-z-c064c706"},
        {PUBLISHED("gone", "Verified"), "none"},
        {PUBLISHED("third/public", "Verified"), "none"},
    };
    static const char *const records[] = {
        UPDATE_RECORD("p", "public"),
        UPDATE_RECORD("other", "public"),
        UPDATE_RECORD("third", "public"),
        UPDATE_RECORD("p", "public-z-c064c706"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct view view = {.arena = arena, .has_names = true};
        add(&view, "DNSPublication",
            arena_printf(
                arena,
                "{\"metadata\":{\"name\":\"app\",\"namespace\":\"p\"},\"spec\":{},\"status\":{"
                "\"names\":[%s],\"records\":[{\"namespace\":\"other\",\"name\":\"public\"},"
                "{\"namespace\":\"p\",\"name\":\"public\"},"
                "{\"namespace\":\"p\",\"name\":\"public-z-c064c706\"}]}}",
                cases[i].called));
        for (size_t at = 0; at < sizeof records / sizeof records[0]; at++)
            add(&view, "DNSUpdateRecord", records[at]);
        struct who who = look(&view, "a.home.example", 0);
        const struct view_row *through = who.entries[0].through;
        assert_string_equal(through ? through->object : "none", cases[i].through);
        view_done(&view);
    }
    (void)state;
}

static void a_name_that_is_being_removed_is_told_once(void **state)
{
    struct view *view = *state;
    add(view, "DNSPublication",
        "{\"metadata\":{\"name\":\"app\",\"namespace\":\"p\"},\"spec\":{},\"status\":{\"names\":"
        "[" PUBLISHED("public", "Removing") "],\"records\":[{\"namespace\":\"p\",\"name\":"
                                            "\"public\",\"names\":[\"a.home.example\",\"b.home."
                                            "example\"]}],\"retained\":[{"
                                            "\"namespace\":\"p\",\"name\":\"public\",\"names\":["
                                            "\"c.home.example\"],\"message\":"
                                            "\"its policy is upsert-only\"}]}}");
    assert_int_equal(look(view, "a.home.example", 0).count, 1);
    assert_headline(
        view, "b.home.example", 0,
        "b.home.example is not as DNSPublication/p/app declares it: Removing: it is not "
        "wanted any more, and may stand there until it is proven gone.");
    assert_headline(view, "c.home.example", 0,
                    "c.home.example is not as DNSPublication/p/app declares it: RecordsRetained: "
                    "its policy is upsert-only.");
}

// ---- wildcards ----------------------------------------------------------------------------------

static void a_wildcard_covers_what_no_name_stands_before(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("any", "A", "*", "\"192.0.2.1\"", READY));
    add(view, "DNSRecord", DNSRECORD("deep", "A", "a.lab", "\"192.0.2.2\"", READY));
    assert_headline(view, "x.y.home.example", 0,
                    "x.y.home.example is as declared by the wildcard *.home.example: A 192.0.2.1.");
    assert_int_equal(look(view, "b.lab.home.example", 0).count, 0);
    assert_int_equal(look(view, "lab.home.example", 0).count, 0);
    assert_int_equal(look(view, "home.example", 0).count, 0);
    assert_null(look(view, "*.home.example", 0).wildcard);
}

// ---- what is around it --------------------------------------------------------------------------

#define ZONE                                                                                       \
    "{\"metadata\":{\"name\":\"shop\",\"namespace\":\"default\"},\"spec\":{\"domainName\":"        \
    "\"shop.example.\",\"nameservers\":[{\"name\":\"ns1\",\"addresses\":[\"192.0.2.53\"]}]}"       \
    "," READY "}"

static void a_name_that_nobody_declares_is_placed(void **state)
{
    struct view *view = *state;
    add(view, "Zone", ZONE);
    add(view, "Record",
        "{\"metadata\":{\"name\":\"lab\",\"namespace\":\"default\"},\"spec\":{\"zoneRef\":{"
        "\"name\":"
        "\"shop\"},\"domainName\":\"lab\",\"type\":\"NS\",\"rdata\":\"ns.elsewhere.example.\"},"
        "\"status\":{}}");
    assert_headline(view, "ns1.shop.example", 0,
                    "ns1.shop.example is declared by Zone/default/shop, and what became of that is "
                    "not known: `signpost run` has not acted on it yet.");
    assert_headline(view, "ww.shop.example", 0,
                    "Nobody declares ww.shop.example; it would be in the zone shop.example of "
                    "Zone/default/shop.");
    assert_headline(view, "a.lab.shop.example", 0,
                    "Nobody declares a.lab.shop.example; it lies below lab.shop.example, which "
                    "Record/default/lab would delegate to ns.elsewhere.example.");
    assert_headline(view, "www.other.example", 0,
                    "Nobody declares www.other.example, and no zone here has it; the closest is "
                    "shop.example.");
}

static void queries_that_are_forwarded_are_known(void **state)
{
    struct view *view = *state;
    add(view, "DNS",
        "{\"metadata\":{\"name\":\"default\"},\"spec\":{\"servers\":[{\"name\":\"corp\",\"zones\":["
        "\"corp.example\"],\"forwardPlugin\":{\"upstreams\":[\"192.0.2.53\"]}}]},\"status\":{"
        "\"conditions\":[{\"type\":\"Accepted\",\"status\":\"True\"},{\"type\":\"Degraded\","
        "\"status\":\"False\"},{\"type\":\"Converged\",\"status\":\"True\"}]}}");
    assert_headline(view, "db.corp.example", 0,
                    "Nobody declares records of db.corp.example; queries for it are forwarded to "
                    "192.0.2.53, as DNS/default says of corp.example.");
    struct who who = look(view, "db.corp.example", 0);
    assert_true(who_is_right(&who));
}

static void an_object_that_asks_for_nothing_is_a_hint(void **state)
{
    struct view *view = *state;
    add(view, "Ingress",
        "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\"},\"spec\":{\"rules\":[{\"host\":"
        "\"app.home.lan\"}]}}");
    struct who who = look(view, "app.home.lan", 0);
    assert_int_equal(who.count, 0);
    assert_non_null(who.mention);
}

#define MANAGED(by)                                                                                \
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"annotations\":{"                  \
    "\"pihole.io/register\":\"true\",\"pihole.io/managed-hosts\":\"App.home.lan\","                \
    "\"pihole.io/managed-by\":\"" by "\"}},\"spec\":{\"rules\":[{\"host\":\"app.home.lan\"}]}}"

static void hosts_are_in_place_where_signpost_wrote_so(void **state)
{
    static const struct {
        const char *json;
        enum who_state state;
    } cases[] = {
        {MANAGED("signpost:0123456789ab"), WHO_RIGHT},
        {MANAGED("another-operator"), WHO_PENDING},
        {MANAGED(""), WHO_PENDING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct view view = {.arena = arena, .has_names = true};
        add(&view, "Ingress", cases[i].json);
        struct who who = look(&view, "app.home.lan", 0);
        assert_int_equal(who.count, 1);
        assert_int_equal(who.entries[0].state, cases[i].state);
        view_done(&view);
    }
    (void)state;
}

static void mistyped_names_get_those_that_are_spelled_nearly_so(void **state)
{
    struct view *view = *state;
    add(view, "DNSRecord", DNSRECORD("web", "A", "www", "\"192.0.2.1\"", READY));
    add(view, "DNSRecord", DNSRECORD("db", "A", "db", "\"192.0.2.1\"", READY));
    struct who who = look(view, "ww.home.example", 0);
    assert_int_equal(who.nearest_count, 1);
    assert_string_equal(who.nearest[0], "www.home.example");
    who = look(view, "db.home.exmaple", 0);
    assert_int_equal(who.nearest_count, 1);
    assert_string_equal(who.nearest[0], "db.home.example");
    assert_int_equal(look(view, "printer.home.example", 0).nearest_count, 0);
}

static void what_is_no_name_is_refused(void **state)
{
    struct view *view = *state;
    struct who who;
    struct error err;
    assert_false(who_find(&who, view, TEXT("a..b"), 0, &err));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_name_is_found_in_any_spelling),
        TEST(a_name_of_another_script_is_shown_in_both_forms),
        TEST(the_object_that_lost_its_name_comes_first),
        TEST(other_types_do_not_count_but_an_alias_does),
        TEST(what_nobody_acted_on_is_not_known),
        TEST(a_guarded_removal_stands_in_the_way),
        TEST(names_of_a_publication_have_a_state_each),
        TEST(a_name_goes_through_the_record_that_its_project_has),
        TEST(a_name_that_is_being_removed_is_told_once),
        TEST(a_wildcard_covers_what_no_name_stands_before),
        TEST(a_name_that_nobody_declares_is_placed),
        TEST(queries_that_are_forwarded_are_known),
        TEST(an_object_that_asks_for_nothing_is_a_hint),
        TEST(hosts_are_in_place_where_signpost_wrote_so),
        TEST(mistyped_names_get_those_that_are_spelled_nearly_so),
        TEST(what_is_no_name_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
