#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/dnsplan/dnsplan_controller.h"
#include "controllers/test_bench.h"
#include "kinds/dnsplan/dnsplan.h"

#define SUM "41f56d72c54d82605d85329eaa13287e8cd4c08db026fd19ebb6b076cdd52294"
#define OTHER "51f56d72c54d82605d85329eaa13287e8cd4c08db026fd19ebb6b076cdd52294"
#define BEGAN "2025-12-30T10:00:00Z"
enum { BEGAN_S = 1767088800, DAY_S = 24 * 3600 };

static struct world {
    struct arena *arena;
    const char *approve;
    const char *phase; // as stored, or NULL
    const char *reason;
    bool has_backend;
    struct backend_view backend;
    size_t younger;
    int64_t age_s;
    struct decision decision;
    const struct object *objects[32];
    size_t object_count;
} world;

static int set_up(void **state)
{
    (void)state;
    world = (struct world){
        .arena = arena_new(),
        .approve = "",
        .has_backend = true,
        .backend = {.name = "pihole-home", .is_judged = true, .guarded_checksum = SUM},
    };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (world.object_count)
        object_unref(world.objects[--world.object_count]);
    arena_free(world.arena);
    return 0;
}

static const struct object *plan_made(const char *name, const char *began)
{
    const char *status =
        world.phase
            ? arena_printf(world.arena,
                           ",'status':{'phase':'%s','conditions':[{'type':'Applied','status':"
                           "'False','reason':'%s','message':'x','lastTransitionTime':'" BEGAN
                           "'}]}",
                           world.phase, world.reason)
            : "";
    const struct object *object = object_new(
        &dnsplan_kind, NULL,
        quote(world.arena,
              arena_printf(world.arena,
                           "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSPlan',"
                           "'metadata':{'name':'%s','creationTimestamp':'%s'},'spec':{'class':"
                           "'pihole-home','zone':'.','checksum':'" SUM
                           "','reason':'Guard','approve':'%s'}%s}",
                           name, began, world.approve, status)));
    must(world.object_count < COUNT_OF(world.objects));
    world.objects[world.object_count++] = object;
    return object;
}

static const struct decision *decide(void)
{
    const struct object *subject = plan_made("pihole-home-41f56d72", BEGAN);
    const struct object **plans =
        arena_new_array(world.arena, const struct object *, world.younger + 1);
    struct input_objects input_objects = {.objects = plans, .is_synced = true};
    plans[input_objects.count++] = subject;
    for (size_t i = 0; i < world.younger; i++)
        plans[input_objects.count++] =
            plan_made(arena_printf(world.arena, "pihole-home-%zu", i), "2025-12-30T10:00:01Z");
    struct strings wants = {.arena = world.arena};
    dnsplan_controller.backends->lookup_keys(subject, &wants);
    assert_string_equal(wants.items[0], "pihole-home");
    const struct backend_view *view = world.has_backend ? &world.backend : NULL;
    const struct snapshot snapshot = {
        .arena = world.arena,
        .namespace_ = TEXT(""),
        .name = object_name(subject),
        .subject = subject,
        .inputs = &input_objects,
        .backends = &view,
        .backend_count = 1,
        .backend_names = wants.items,
        .now_ms = (BEGAN_S + world.age_s) * 1000LL,
    };
    world.decision = (struct decision){0};
    dnsplan_controller.decide(&snapshot, NULL, &world.decision);
    return &world.decision;
}

static const char *phase_of(const struct decision *decision)
{
    struct text phase = value_text_at(decision->status, "phase");
    return arena_copy(world.arena, phase.at, phase.len);
}

static void assert_outcome(const char *phase, const char *condition)
{
    const struct decision *decision = decide();
    assert_string_equal(phase_of(decision), phase);
    assert_string_equal(condition_of(world.arena, decision->status, "Applied"), condition);
}

static void stands_as(const char *phase, const char *reason)
{
    world.phase = phase;
    world.reason = reason;
}

// ---- phases -------------------------------------------------------------------------------------

static void a_new_plan_asks(void **state)
{
    (void)state;
    assert_outcome("Pending", "False/Held");
    assert_non_null(strstr(event_of(&world.decision, "PlanPending"),
                           "set spec.approve to " SUM
                           ", or run `signpost plan approve pihole-home-41f56d72`"));
    assert_null(world.decision.approval);
    assert_int_equal(world.decision.wake_ms, (BEGAN_S + DAY_S) * 1000LL);
}

static void it_asks_once(void **state)
{
    (void)state;
    stands_as("Pending", "Held");
    assert_outcome("Pending", "False/Held");
    assert_int_equal(world.decision.event_count, 0);
}

static void another_checksum_approves_nothing(void **state)
{
    (void)state;
    stands_as("Pending", "Held");
    world.approve = OTHER;
    assert_outcome("Pending", "False/WrongChecksum");
    assert_non_null(strstr(event_of(&world.decision, "WrongChecksum"), SUM));
    assert_null(world.decision.approval);
}

static void approval_is_written_before_anything_goes(void **state)
{
    (void)state;
    stands_as("Pending", "Held");
    world.approve = SUM;
    assert_outcome("Approved", "False/Approved");
    assert_non_null(event_of(&world.decision, "PlanApproved"));
    assert_null(world.decision.approval);
    stands_as("Approved", "Approved");
    assert_outcome("Approved", "False/Approved");
    assert_int_equal(world.decision.event_count, 0);
    assert_string_equal(world.decision.approval->backend, "pihole-home");
    assert_string_equal(world.decision.approval->checksum, SUM);
}

static void what_is_not_held_any_more_was_applied(void **state)
{
    (void)state;
    stands_as("Approved", "Approved");
    world.approve = SUM;
    world.backend.guarded_checksum = NULL;
    assert_outcome("Applied", "True/Applied");
    assert_non_null(event_of(&world.decision, "PlanApplied"));
    assert_null(world.decision.approval);
}

static void other_removals_void_the_plan(void **state)
{
    (void)state;
    static const char *const guarded_checksum[] = {OTHER, NULL};
    for (size_t i = 0; i < COUNT_OF(guarded_checksum); i++) {
        stands_as("Pending", "Held");
        world.approve = SUM;
        world.backend.guarded_checksum = guarded_checksum[i];
        assert_outcome("Superseded", "False/Superseded");
        assert_null(world.decision.approval);
    }
}

static void approval_of_what_is_held_with_others_is_void(void **state)
{
    (void)state;
    stands_as("Approved", "Approved");
    world.approve = SUM;
    world.backend.guarded_checksum = OTHER;
    assert_outcome("Superseded", "False/Superseded");
    assert_null(world.decision.approval);
}

static void before_the_backend_was_listed_nothing_is_known_to_be_over(void **state)
{
    (void)state;
    world.backend.guarded_checksum = NULL;
    world.backend.is_judged = false;
    stands_as("Pending", "Held");
    assert_outcome("Pending", "False/Held");
    stands_as("Approved", "Approved");
    assert_outcome("Approved", "False/Approved");
    world.has_backend = false;
    assert_outcome("Approved", "False/Approved");
    assert_null(world.decision.approval);
}

static void nobody_has_more_than_a_day(void **state)
{
    (void)state;
    stands_as("Pending", "Held");
    world.age_s = DAY_S - 1;
    assert_outcome("Pending", "False/Held");
    world.age_s = DAY_S;
    assert_outcome("Expired", "False/Expired");
    assert_int_equal(world.decision.wake_ms, 0);
}

static void what_is_over_stays_so(void **state)
{
    (void)state;
    static const char *const over[] = {"Applied", "Expired", "Superseded"};
    world.approve = SUM;
    for (size_t i = 0; i < COUNT_OF(over); i++) {
        stands_as(over[i], over[i]);
        assert_string_equal(phase_of(decide()), over[i]);
        assert_null(world.decision.approval);
        assert_int_equal(world.decision.event_count, 0);
    }
}

static void old_ones_go(void **state)
{
    (void)state;
    stands_as("Superseded", "Superseded");
    world.younger = 4;
    assert_int_equal(decide()->object_count, 0);
    world.younger = 5;
    assert_int_equal(decide()->object_count, 1);
    assert_null(world.decision.objects[0].tree);
    assert_true(text_is(world.decision.objects[0].key.name, "pihole-home-41f56d72"));
    stands_as("Approved", "Approved");
    assert_int_equal(decide()->object_count, 0);
}

// ---- making one ---------------------------------------------------------------------------------

static const struct text old_values[] = {{"192.0.2.7", 9}};
static const struct text alias_values[] = {{"app.lan", 7}};
static const struct record_set sets[] = {
    {.type = RECORD_A,
     .domain = {"example.com", 11},
     .subdomain = {"old", 3},
     .ttl_s = 300,
     .values = old_values,
     .value_count = 1,
     .priority = -1,
     .weight = -1,
     .port = -1},
    {.type = RECORD_CNAME,
     .domain = {"www.lan", 7},
     .subdomain = {"@", 1},
     .values = alias_values,
     .value_count = 1,
     .priority = -1,
     .weight = -1,
     .port = -1},
};
static const struct guarded_removals guarded_checksum = {"pihole-home", SUM, sets, 2};

static void what_is_held_becomes_an_object(void **state)
{
    (void)state;
    struct object_want want;
    struct findings findings = {.arena = world.arena};
    assert_true(dnsplan_controller.ask_approval(&guarded_checksum, NULL, world.arena, &want));
    assert_true(text_is(want.key.name, "pihole-home-41f56d72"));
    assert_null(want.seen);
    assert_string_equal(
        json_of(world.arena, value_find(want.tree, "spec")),
        "{\"class\":\"pihole-home\",\"zone\":\".\",\"checksum\":\"" SUM
        "\",\"reason\":\"Guard\",\"approve\":\"\",\"counts\":{\"create\":0,\"update\":0,"
        "\"delete\":2},\"changes\":[{\"operation\":\"Delete\",\"name\":\"old.example.com\","
        "\"type\":\"A\",\"before\":[\"300 192.0.2.7\"]},{\"operation\":\"Delete\",\"name\":"
        "\"www.lan\",\"type\":\"CNAME\",\"before\":[\"0 app.lan.\"]}]}");
    struct value *whole = value_copy(world.arena, want.tree);
    value_put_text(world.arena, whole, "apiVersion", "dns.homelab.mortenolsen.pro/v1alpha1");
    value_put_text(world.arena, whole, "kind", "DNSPlan");
    value_put_text(world.arena, whole, "metadata.name", "pihole-home-41f56d72");
    kind_check(&dnsplan_kind, whole, &findings);
    assert_int_equal(findings_errors(&findings), 0);
}

static void one_that_is_over_makes_room_for_the_next(void **state)
{
    (void)state;
    static const struct {
        const char *phase;
        bool is_over;
    } rows[] = {
        {"Pending", false}, {"Approved", false},  {"Applied", true},
        {"Expired", true},  {"Superseded", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct object_want want;
        stands_as(rows[i].phase, "Held");
        const struct object *there = plan_made("pihole-home-41f56d72", BEGAN);
        assert_int_equal(
            dnsplan_controller.ask_approval(&guarded_checksum, there, world.arena, &want),
            rows[i].is_over);
        assert_null(want.tree);
        assert_ptr_equal(want.seen, there);
    }
}

#define UNIT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT_TEST(a_new_plan_asks),
        UNIT_TEST(it_asks_once),
        UNIT_TEST(another_checksum_approves_nothing),
        UNIT_TEST(approval_is_written_before_anything_goes),
        UNIT_TEST(what_is_not_held_any_more_was_applied),
        UNIT_TEST(other_removals_void_the_plan),
        UNIT_TEST(approval_of_what_is_held_with_others_is_void),
        UNIT_TEST(before_the_backend_was_listed_nothing_is_known_to_be_over),
        UNIT_TEST(nobody_has_more_than_a_day),
        UNIT_TEST(what_is_over_stays_so),
        UNIT_TEST(old_ones_go),
        UNIT_TEST(what_is_held_becomes_an_object),
        UNIT_TEST(one_that_is_over_makes_room_for_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
