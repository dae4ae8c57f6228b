#include "kinds/dnsplan/dnsplan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

#define SUM "41f56d72c54d82605d85329eaa13287e8cd4c08db026fd19ebb6b076cdd52294"

static const struct text old[] = {{"300 192.0.2.7", 13}};
static const struct text two[] = {{"300 192.0.2.10", 14}, {"300 192.0.2.11", 14}};
static const struct dnsplan_change changes[] = {
    {.act = DNSPLAN_CREATE,
     .name = {"www.example.com", 15},
     .type = {"A", 1},
     .after = two,
     .after_count = 2,
     .object = {"ingress/shop/web", 16}},
    {.act = DNSPLAN_DELETE,
     .name = {"old.example.com", 15},
     .type = {"A", 1},
     .set = {"eu", 2},
     .before = old,
     .before_count = 1},
};

static struct dnsplan example(void)
{
    return (struct dnsplan){.class_name = TEXT("public"),
                            .zone = TEXT("example.com"),
                            .checksum = TEXT(SUM),
                            .reason = DNSPLAN_GUARD,
                            .approve = TEXT(""),
                            .changes = changes,
                            .change_count = 2,
                            .counts = {1, 0, 1}};
}

// As a server would keep it.
static struct value *whole(const struct dnsplan *plan)
{
    struct value *root = dnsplan_encode(arena, plan);
    value_put_text(arena, root, "apiVersion", "dns.homelab.mortenolsen.pro/v1alpha1");
    value_put_text(arena, root, "kind", "DNSPlan");
    value_put_text(arena, root, "metadata.name", "public-41f56d72");
    return root;
}

static const char *refusal(const struct value *object)
{
    struct findings findings = {.arena = arena};
    kind_check(&dnsplan_kind, object, &findings);
    return findings_join(&findings, FINDING_ERROR);
}

static void a_plan_shows_what_would_be_done(void **state)
{
    (void)state;
    const struct dnsplan plan = example();
    const struct value *root = whole(&plan);
    assert_null(refusal(root));
    assert_string_equal(
        json_of(value_at(root, "spec.changes", NULL)),
        "[{\"operation\":\"Create\",\"name\":\"www.example.com\",\"type\":\"A\","
        "\"after\":[\"300 192.0.2.10\",\"300 192.0.2.11\"],\"object\":\"ingress/shop/web\"},"
        "{\"operation\":\"Delete\",\"name\":\"old.example.com\",\"type\":\"A\",\"set\":\"eu\","
        "\"before\":[\"300 192.0.2.7\"]}]");
    assert_string_equal(json_of(value_at(root, "spec.counts", NULL)),
                        "{\"create\":1,\"update\":0,\"delete\":1}");
    assert_string_equal(json_of(value_at(root, "spec.approve", NULL)), "\"\"");
}

static void of_many_changes_the_first_are_shown(void **state)
{
    (void)state;
    struct dnsplan plan = example();
    struct dnsplan_change *many = arena_new_array(arena, struct dnsplan_change, 600);
    struct text *values = arena_new_array(arena, struct text, 100);
    char *large = arena_alloc(arena, 1, 5001);
    memset(large, 'a', 5000);
    for (size_t i = 0; i < 100; i++)
        values[i] = text_of(large);
    for (size_t i = 0; i < 600; i++)
        many[i] = changes[0];
    many[0].after = values;
    many[0].after_count = 100;
    plan.changes = many;
    plan.change_count = plan.counts[DNSPLAN_CREATE] = 600;
    const struct value *root = whole(&plan);
    assert_null(refusal(root));
    assert_int_equal(value_count(value_at(root, "spec.changes", NULL)), 500);
    assert_int_equal(value_count(value_at(root, "spec.changes[0].after", NULL)), 16);
    assert_int_equal(value_int_at(root, "spec.counts.create", 0), 600);
}

static void the_largest_plan_fits_into_an_object(void **state)
{
    (void)state;
    struct dnsplan plan = example();
    struct dnsplan_change *many = arena_new_array(arena, struct dnsplan_change, 500);
    struct text values[16];
    char *large = arena_alloc(arena, 1, 5001);
    memset(large, 'a', 5000);
    for (size_t i = 0; i < 16; i++)
        values[i] = text_of(large);
    for (size_t i = 0; i < 500; i++) {
        many[i] = changes[0];
        many[i].before = many[i].after = values;
        many[i].before_count = many[i].after_count = 16;
    }
    plan.changes = many;
    plan.change_count = 500;
    assert_in_range(strlen(json_of(whole(&plan))), 100000, 1024 * 1024);
}

static void the_checksum_approves_and_nothing_else_does(void **state)
{
    (void)state;
    struct dnsplan plan = example();
    struct dnsplan read;
    struct bodies bodies = bodies_of(&dnsplan_kind, whole(&plan));
    dnsplan_unpack(bodies.spec, bodies.ours, &read, NULL);
    assert_false(dnsplan_is_approved(&read));
    plan.approve = TEXT(SUM);
    assert_null(refusal(whole(&plan)));
    bodies = bodies_of(&dnsplan_kind, whole(&plan));
    dnsplan_unpack(bodies.spec, bodies.ours, &read, NULL);
    assert_true(dnsplan_is_approved(&read));
    assert_true(text_is(read.class_name, "public"));
    assert_true(text_is(read.zone, "example.com"));
    assert_int_equal(read.reason, DNSPLAN_GUARD);
    plan.approve = TEXT("0000000000000000000000000000000000000000000000000000000000000000");
    assert_null(refusal(whole(&plan)));
    bodies = bodies_of(&dnsplan_kind, whole(&plan));
    dnsplan_unpack(bodies.spec, bodies.ours, &read, NULL);
    assert_false(dnsplan_is_approved(&read));
}

static void a_plan_without_checksum_is_never_approved(void **state)
{
    (void)state;
    struct dnsplan read;
    struct bodies bodies = bodies_of(&dnsplan_kind, quote(arena, "{'spec':{'approve':''}}"));
    dnsplan_unpack(bodies.spec, bodies.ours, &read, NULL);
    assert_false(dnsplan_is_approved(&read));
}

static void only_the_approval_may_change(void **state)
{
    (void)state;
    static const char *const fixed[] = {"class", "zone", "checksum", "reason"};
    const struct dnsplan plan = example();
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        struct findings findings = {.arena = arena};
        struct value *next = whole(&plan);
        value_set(value_find(next, "spec"), text_of(fixed[i]),
                  value_make_text(arena, TEXT("another")));
        kind_check_update(&dnsplan_kind, whole(&plan), next, &findings);
        assert_int_equal(findings_errors(&findings), 1);
    }
    struct findings findings = {.arena = arena};
    struct value *next = whole(&plan);
    value_put_text(arena, next, "spec.approve", SUM);
    kind_check_update(&dnsplan_kind, whole(&plan), next, &findings);
    assert_int_equal(findings_errors(&findings), 0);
}

static void what_became_of_it_reads_back(void **state)
{
    (void)state;
    const struct dnsplan plan = example();
    struct dnsplan read;
    struct dnsplan_status status = {.phase = DNSPLAN_SUPERSEDED, .observed_generation = 3};
    struct dnsplan_status found;
    struct value *root = whole(&plan);
    conditions_set(&status.conditions, NULL,
                   (struct condition){.type = "Applied",
                                      .status = CONDITION_FALSE,
                                      .reason = REASON_PENDING,
                                      .message = "not yet"},
                   1767225600);
    value_set(root, TEXT("status"), dnsplan_status_encode(arena, &status));
    assert_null(refusal(root));
    struct bodies bodies = bodies_of(&dnsplan_kind, root);
    dnsplan_unpack(bodies.spec, bodies.ours, &read, &found);
    assert_int_equal(found.phase, DNSPLAN_SUPERSEDED);
    assert_int_equal(found.observed_generation, 3);
    assert_int_equal(conditions_find(&found.conditions, "Applied")->reason, REASON_PENDING);
    assert_string_equal(json_of(value_at(root, "status.phase", NULL)), "\"Superseded\"");
}

static void names_are_of_class_and_checksum(void **state)
{
    (void)state;
    char name[DNSPLAN_NAME_MAX];
    char class_name[254];
    dnsplan_name_write(TEXT("public"), TEXT(SUM), name);
    assert_string_equal(name, "public-41f56d72");
    memset(class_name, 'a', 253);
    class_name[179] = '.';
    dnsplan_name_write((struct text){class_name, 253}, TEXT(SUM), name);
    assert_true(kind_is_name(text_of(name)));
    assert_null(strstr(name, ".-"));
    dnsplan_name_write(TEXT("update-record-shop/public-0"), TEXT(SUM), name);
    assert_string_equal(name, "update-record-shop-public-0-a00780e7-41f56d72");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_plan_shows_what_would_be_done),
        UNIT(of_many_changes_the_first_are_shown),
        UNIT(the_largest_plan_fits_into_an_object),
        UNIT(the_checksum_approves_and_nothing_else_does),
        UNIT(a_plan_without_checksum_is_never_approved),
        UNIT(only_the_approval_may_change),
        UNIT(what_became_of_it_reads_back),
        UNIT(names_are_of_class_and_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
