#include "kinds/dnspublication/dnspublication_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

// A whole object that has these members besides those that it must have.
static struct value *publication_of(const char *members)
{
    return manifest_of(&dnspublication_kind, "'name':'dig-1'",
                       arena_printf(arena,
                                    "{'compositeApp':'webshop','version':'v1',"
                                    "'deploymentIntentGroup':'dig-1','logicalCloud':'edge'%s}",
                                    members));
}

static struct dnspublication unpacked(const struct value *object,
                                      struct dnspublication_status *status)
{
    struct dnspublication publication;
    struct bodies bodies = bodies_of(&dnspublication_kind, object);
    dnspublication_unpack(arena, bodies.spec, bodies.ours, &publication, status);
    return publication;
}

static void what_is_asked_for_survives_packing(void **state)
{
    (void)state;
    struct dnspublication publication = unpacked(
        publication_of(",'compositeProfile':'p','release':'r','shareGroup':'s','holdDown':'1h30m',"
                       "'desired':'Terminated','update':3,'placement':[{'app':'front','clusters':["
                       "{'provider':'vendor-a','cluster':'edge01'},{'provider':'b','cluster':'c'}]"
                       "}]"),
        NULL);
    assert_true(text_is(publication.metadata.name, "dig-1"));
    assert_true(text_is(publication.coordinates.version, "v1"));
    assert_true(text_is(publication.logical_cloud, "edge"));
    assert_true(text_is(publication.composite_profile, "p"));
    assert_true(text_is(publication.release, "r"));
    assert_true(text_is(publication.share_group, "s"));
    assert_int_equal(publication.hold_down_ms, 5400000);
    assert_int_equal(publication.desired, DNSPUBLICATION_WANTS_TERMINATED);
    assert_int_equal(publication.update, 3);
    assert_int_equal(publication.placement_count, 1);
    assert_int_equal(publication.placements[0].cluster_count, 2);
    assert_true(text_is(publication.placements[0].clusters[0].cluster, "edge01"));
}

static void it_is_created_and_holds_for_ever_when_nothing_is_said(void **state)
{
    (void)state;
    struct dnspublication publication = unpacked(publication_of(""), NULL);
    assert_int_equal(publication.desired, DNSPUBLICATION_WANTS_CREATED);
    assert_int_equal(publication.hold_down_ms, -1);
    assert_int_equal(publication.placement_count, 0);
    assert_false(publication.is_approved);
    struct value *approved = publication_of("");
    value_put_text(arena, approved, "metadata.annotations[" DNSPUBLICATION_APPROVED_ANNOTATION "]",
                   "true");
    assert_true(unpacked(approved, NULL).is_approved);
}

static void each_rule_has_its_words(void **state)
{
    static const char *const faults[][2] = {
        {"", NULL},
        {",'holdDown':'0','desired':'Instantiated','extra':{'overrideValues':[]}", NULL},
        {",'holdDown':'-1h'", "spec.holdDown: must not be negative"},
        {",'desired':'Gone'", "spec.desired must be Created, Instantiated or Terminated"},
        {",'update':-1", "spec.update: must be at least 0"},
        {",'placement':[{'app':'front','clusters':[]}]", "spec.placement[0].clusters is required"},
        {",'shareGroup':''", "spec.shareGroup cannot be empty"},
        {",'compositeProfile':'-'",
         "spec.compositeProfile: must match ^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        assert_findings(&dnspublication_kind, publication_of(faults[i][0]), FINDING_ERROR,
                        faults[i][1]);
    assert_non_null(
        findings_of(&dnspublication_kind, publication_of(",'holdDown':'5'"), FINDING_ERROR));
}

static void the_group_names_the_object(void **state)
{
    static const struct text coordinates[] = {TEXT("webshop"), TEXT("v1")};
    static const char annotation[] = "metadata.annotations[dns.homelab.mortenolsen.pro/name]";
    (void)state;
    struct value *object = publication_of("");
    value_put_text(arena, object, "metadata.name", "other");
    assert_findings(&dnspublication_kind, object, FINDING_ERROR,
                    "spec.deploymentIntentGroup: must be the name of the object, or that in its "
                    "annotation dns.homelab.mortenolsen.pro/name");
    value_put_text(arena, object, annotation, "dig-1");
    value_put_text(arena, object, "metadata.name",
                   emco_object_name_below(arena, coordinates, 2, TEXT("dig-1")));
    assert_findings(&dnspublication_kind, object, FINDING_ERROR, NULL);
}

static void it_stays_with_its_group(void **state)
{
    static const char *const fixed[] = {"compositeApp", "version", "deploymentIntentGroup"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        struct findings findings = {.arena = arena};
        struct value *next = publication_of("");
        value_set(value_find(next, "spec"), text_of(fixed[i]),
                  value_make_text(arena, TEXT("another")));
        kind_check_update(&dnspublication_kind, publication_of(""), next, &findings);
        assert_int_equal(findings_errors(&findings), 1);
    }
}

static const struct text targets[] = {TEXT("192.0.2.1"), TEXT("192.0.2.2")};
static const struct published_name names[] = {
    {.name = TEXT("b.example"),
     .type = TEXT("A"),
     .record = TEXT("public-dns"),
     .targets = targets,
     .target_count = 2,
     .state = NAME_SYNCED},
    {.name = TEXT("a.example"),
     .type = TEXT("A"),
     .record = TEXT("other/site-dns"),
     .cluster = TEXT("vendor-a/edge01"),
     .state = NAME_CONFLICT,
     .reason = REASON_NAME_CONFLICT,
     .message = "webshop/v1/dig-2 holds the name",
     .since_s = 1767088800},
};

static void how_far_it_is_reads_back_sorted(void **state)
{
    struct dnspublication_status status = {.state = DNSPUBLICATION_UPDATING,
                                           .names = names,
                                           .name_count = 2,
                                           .observed_generation = 4};
    struct dnspublication_status found;
    (void)state;
    conditions_set(&status.conditions, NULL,
                   (struct condition){.type = "Published",
                                      .status = CONDITION_FALSE,
                                      .reason = REASON_NAME_CONFLICT,
                                      .message = "wait"},
                   1767225600);
    struct value *object = publication_of("");
    value_set(
        object, TEXT("status"),
        value_copy(arena, dnspublication_status_encode(arena, &status, DNSPUBLICATION_NAMES_MAX)));
    assert_null(schema_errors_of(&dnspublication_kind, object));
    unpacked(object, &found);
    assert_int_equal(found.state, DNSPUBLICATION_UPDATING);
    assert_int_equal(found.observed_generation, 4);
    assert_int_equal(found.name_count, 2);
    assert_int_equal(found.name_total, 2);
    assert_true(text_is(found.names[0].name, "a.example"));
    assert_true(text_is(found.names[0].cluster, "vendor-a/edge01"));
    assert_int_equal(found.names[0].state, NAME_CONFLICT);
    assert_int_equal(found.names[0].reason, REASON_NAME_CONFLICT);
    assert_int_equal(found.names[0].since_s, 1767088800);
    assert_true(text_is(found.names[1].targets[1], "192.0.2.2"));
    assert_int_equal(conditions_find(&found.conditions, "Published")->reason, REASON_NAME_CONFLICT);
}

static void a_name_is_shown_with_what_there_is_to_say(void **state)
{
    (void)state;
    assert_string_equal(json_of(published_name_encode(arena, &names[0])),
                        quote_text(arena, "{'name':'b.example','type':'A','record':'public-dns',"
                                          "'targets':['192.0.2.1','192.0.2.2'],'state':'Synced'}"));
    assert_string_equal(
        json_of(published_name_encode(arena, &names[1])),
        quote_text(arena, "{'name':'a.example','type':'A','record':'other/site-dns','cluster':"
                          "'vendor-a/edge01','targets':[],'state':'Conflict','reason':"
                          "'NameConflict','message':'webshop/v1/dig-2 holds the name','since':"
                          "'2025-12-30T10:00:00Z'}"));
}

static void of_many_names_the_first_are_shown(void **state)
{
    (void)state;
    struct published_name *many = arena_new_array(arena, struct published_name, 600);
    for (size_t i = 0; i < 600; i++)
        many[i].name = text_of(arena_printf(arena, "n%03zu.example", 599 - i));
    const struct dnspublication_status status = {.names = many, .name_count = 600};
    const struct value *shown =
        dnspublication_status_encode(arena, &status, DNSPUBLICATION_NAMES_MAX);
    assert_int_equal(value_count(value_find(shown, "names")), 500);
    assert_true(text_is(value_text_at(shown, "names[0].name"), "n000.example"));
    assert_int_equal(value_int_at(shown, "namesTotal", 0), 600);
    shown = dnspublication_status_encode(arena, &status, SIZE_MAX);
    assert_int_equal(value_count(value_find(shown, "names")), 600);
}

static void an_object_without_status_has_none(void **state)
{
    struct dnspublication_status status;
    (void)state;
    unpacked(publication_of(""), &status);
    assert_int_equal(status.state, DNSPUBLICATION_CREATED);
    assert_int_equal(status.name_count + status.conditions.count, 0);
    dnspublication_unpack(arena, spec_body_of(&dnspublication_kind, "{}"), (struct text){0},
                          &(struct dnspublication){0}, &status);
    assert_int_equal(status.observed_generation, 0);
}

static void it_is_over_when_nothing_is_published_nor_meant_to_be(void **state)
{
    static const struct {
        const char *desired;
        const char *status;
        bool is_over;
    } cases[] = {
        {"Created", "Created", true},          {"Terminated", "Terminated", true},
        {"Terminated", "Terminating", false},  {"Instantiated", "Instantiated", false},
        {"Instantiated", "Terminated", false}, {"Created", "Approved", true},
        {"Instantiated", "Approved", false},   {"Created", "Terminating", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct value *object =
            publication_of(arena_printf(arena, ",'desired':'%s'", cases[i].desired));
        value_put_text(arena, object, "status.state", cases[i].status);
        assert_int_equal(dnspublication_kind.is_over(object), cases[i].is_over);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_is_asked_for_survives_packing),
        UNIT(it_is_created_and_holds_for_ever_when_nothing_is_said),
        UNIT(each_rule_has_its_words),
        UNIT(the_group_names_the_object),
        UNIT(it_stays_with_its_group),
        UNIT(how_far_it_is_reads_back_sorted),
        UNIT(a_name_is_shown_with_what_there_is_to_say),
        UNIT(of_many_names_the_first_are_shown),
        UNIT(an_object_without_status_has_none),
        UNIT(it_is_over_when_nothing_is_published_nor_meant_to_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
