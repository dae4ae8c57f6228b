#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_arena.h"
#include "commands/wait_goal.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"

static const struct kind *const known[] = {&dnsclass_kind, &dnsrecord_kind};
static const struct wait_scope scope = {known, COUNT_OF(known), TEXT("default")};

static struct wait_goal goal_of(const char *text)
{
    struct wait_goal goal;
    struct error err;
    assert_true(wait_goal_read(&goal, text_of(text), &err));
    return goal;
}

// ---- words --------------------------------------------------------------------------------------

static void goals_are_read_as_kubectl_has_them(void **state)
{
    struct wait_goal goal = goal_of("condition=Ready");
    (void)state;
    assert_int_equal(goal.what, WAIT_CONDITION);
    assert_true(text_is(goal.type, "Ready") && text_is(goal.status, "True"));
    goal = goal_of("condition=Ready=false");
    assert_true(text_is(goal.type, "Ready") && text_is(goal.status, "false"));
    goal = goal_of("programmed");
    assert_true(goal.what == WAIT_CONDITION && text_is(goal.type, "programmed"));
    assert_int_equal(goal_of("delete").what, WAIT_DELETED);
    assert_int_equal(goal_of("Declared").what, WAIT_DECLARED);
}

static void goals_that_mean_nothing_are_refused(void **state)
{
    static const char *const wrong[] = {"", "condition=", "condition=Ready=", "=True",
                                        "jsonpath={.status.phase}=Running"};
    struct wait_goal goal;
    struct error err;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(wait_goal_read(&goal, text_of(wrong[i]), &err));
}

static void assert_target(const char *text, const char *object)
{
    struct wait_target target;
    struct error err;
    const struct wait_goal goal = goal_of("declared");
    assert_true(wait_target_read(&target, arena, &scope, text_of(text), &goal, &err));
    assert_string_equal(target.object, object);
}

static void targets_are_named_as_for_kubectl(void **state)
{
    (void)state;
    assert_target("DNSRecord/shop/web", "DNSRecord/shop/web");
    assert_target("dnsrecords/web", "DNSRecord/default/web");
    assert_target("dnsrecord." DNS_GROUP "/web", "DNSRecord/default/web");
    assert_target("dnsclass/home", "DNSClass/home");
}

static void assert_refused(const char *text, const char *goal_text, const char *wanted)
{
    struct wait_target target;
    struct error err;
    const struct wait_goal goal = goal_of(goal_text);
    assert_false(wait_target_read(&target, arena, &scope, text_of(text), &goal, &err));
    assert_string_equal(err.text, wanted);
}

static void faults_of_targets_say_what_there_is(void **state)
{
    (void)state;
    assert_refused("DNSRecrd/web", "declared",
                   "there is no kind DNSRecrd (did you mean DNSRecord?); the kinds are DNSClass, "
                   "DNSRecord");
    assert_refused("pods/web", "declared",
                   "there is no kind pods; the kinds are DNSClass, DNSRecord");
    assert_refused("dnsrecords.example.org/web", "declared",
                   "there is no kind dnsrecords.example.org; the kinds are DNSClass, DNSRecord");
    assert_refused("web", "declared", "web: expected KIND/NAMESPACE/NAME or KIND/NAME");
    assert_refused("dnsrecord/a/b/c", "declared",
                   "dnsrecord/a/b/c: expected KIND/NAMESPACE/NAME or KIND/NAME");
    assert_refused("dnsclass/x/home", "declared",
                   "dnsclass/x/home: objects of kind DNSClass are in no namespace");
    assert_refused("dnsrecord/web", "programmed",
                   "DNSRecord has no condition programmed; it has Ready, Accepted");
}

// ---- judging ------------------------------------------------------------------------------------

static void assert_judged(const char *goal_text, const char *json, const char *wanted, bool is_met)
{
    AUTO_BUFFER out = {0};
    struct view view = {.arena = arena};
    const struct wait_goal goal = goal_of(goal_text);
    const struct wait_target target = {.kind = &dnsrecord_kind, .object = "DNSRecord/default/web"};
    struct value *tree =
        json ? value_read_json(arena, text_of(json), &value_reply_limits, NULL) : NULL;
    if (tree)
        view_add(&view, &(struct folder_entry){
                            .kind = &dnsrecord_kind, .tree = tree, .path = "", .has_good = true});
    view_close(&view);
    assert_int_equal(wait_judge(&goal, &target, view_find(&view, target.object), &out), is_met);
    assert_string_equal(out.at, wanted);
    free(view.rows);
}

#define OBJECT(generation, observed, status)                                                       \
    "{\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"generation\":" generation         \
    "},\"spec\":{},\"status\":{\"observedGeneration\":" observed ",\"conditions\":[{\"type\":"     \
    "\"Ready\",\"status\":\"" status "\",\"reason\":\"Because\",\"message\":\"of it\","            \
    "\"observedGeneration\":" observed "}]}}"

static void an_object_is_judged_by_what_it_asks_for_now(void **state)
{
    (void)state;
    assert_judged("declared", OBJECT("2", "2", "True"),
                  "DNSRecord/default/web is as declared: Because: of it", true);
    assert_judged("declared", OBJECT("2", "2", "False"),
                  "DNSRecord/default/web is not as declared: Because: of it", false);
    assert_judged("declared", OBJECT("3", "2", "True"),
                  "DNSRecord/default/web is not as declared: Because: edited since; `signpost run` "
                  "has not acted on it yet",
                  false);
    assert_judged("condition=Ready", OBJECT("2", "2", "True"),
                  "DNSRecord/default/web has Ready=True: Because: of it", true);
    assert_judged("ready=false", OBJECT("2", "2", "False"),
                  "DNSRecord/default/web has Ready=False: Because: of it", true);
    assert_judged("ready", OBJECT("3", "2", "True"),
                  "DNSRecord/default/web has no condition ready of what it asks for now: edited "
                  "since; `signpost run` has not acted on it yet",
                  false);
}

static void an_object_that_is_not_there_is_deleted_and_nothing_else(void **state)
{
    (void)state;
    assert_judged("delete", NULL, "DNSRecord/default/web is not there", true);
    assert_judged("declared", NULL, "DNSRecord/default/web is not there: nothing declares it",
                  false);
    assert_judged("delete", OBJECT("2", "2", "True"), "DNSRecord/default/web is still there",
                  false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(goals_are_read_as_kubectl_has_them),
        UNIT(goals_that_mean_nothing_are_refused),
        UNIT(targets_are_named_as_for_kubectl),
        UNIT(faults_of_targets_say_what_there_is),
        UNIT(an_object_is_judged_by_what_it_asks_for_now),
        UNIT(an_object_that_is_not_there_is_deleted_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
