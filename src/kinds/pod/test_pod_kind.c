#include "kinds/pod/pod_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static struct pod pod_of(const char *json)
{
    struct pod pod;
    pod_unpack(spec_body_of(&pod_kind, json), &pod);
    return pod;
}

static const char running[] =
    "{'metadata':{'labels':{'dns.operator.openshift.io/daemonset-dns':'default'}},"
    "'spec':{'nodeName':'n1','containers':[{'name':'dns','image':'d:1'},{'name':'a','image':'a:1'}]"
    "},"
    "'status':{'podIP':'10.1.2.3','phase':'Running','conditions':[{'type':'Initialized','status':"
    "'False'},{'type':'Ready','status':'True'}],'containerStatuses':["
    "{'name':'a','restartCount':9,'state':{'terminated':{'exitCode':9}}},"
    "{'name':'dns','restartCount':2,'state':{'running':{}},'lastState':{'terminated':{"
    "'exitCode':1,'reason':'Error','message':'Corefile:3 - Error',"
    "'finishedAt':'2025-12-30T10:00:00Z'}}}]}}";

static void where_it_runs_and_what_is_kept(void **state)
{
    (void)state;
    struct pod pod = pod_of(running);
    assert_true(text_is(pod.ip, "10.1.2.3"));
    assert_true(text_is(pod.phase, "Running"));
    assert_true(text_is(pod.node, "n1"));
    assert_true(pod.is_ready);
}

static void ends_are_those_of_the_first_container_of_the_spec(void **state)
{
    (void)state;
    struct pod pod = pod_of(running);
    assert_false(pod.end.is_known);
    assert_true(pod.last_end.is_known);
    assert_int_equal(pod.last_end.exit_code, 1);
    assert_int_equal(pod.last_end.finished_s, 1767088800);
    assert_true(text_is(pod.last_end.reason, "Error"));
    assert_true(text_is(pod.last_end.message, "Corefile:3 - Error"));
}

static void a_container_that_ended_says_how(void **state)
{
    (void)state;
    struct pod pod = pod_of("{'spec':{'containers':[{'name':'dns'}]},'status':{'phase':'Failed',"
                            "'conditions':[{'type':'Ready','status':'False'}],'containerStatuses':["
                            "{'name':'dns','state':{'terminated':{'exitCode':137}}}]}}");
    assert_false(pod.is_ready);
    assert_true(pod.end.is_known);
    assert_int_equal(pod.end.exit_code, 137);
    assert_int_equal(pod.end.finished_s, 0);
    assert_null(pod.end.message.at);
    assert_false(pod.last_end.is_known);
}

static void a_pod_that_is_not_scheduled_has_nothing(void **state)
{
    (void)state;
    struct pod pod = pod_of("{'spec':{'containers':[{'name':'dns','image':'d:1'}]},'status':{"
                            "'phase':'Pending','containerStatuses':[{'restartCount':3}]}}");
    assert_null(pod.ip.at);
    assert_null(pod.node.at);
    assert_false(pod.is_ready || pod.end.is_known || pod.last_end.is_known);
    assert_null(pod_of("{}").phase.at);
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    assert_true(
        labels_match("dns.operator.openshift.io/daemonset-dns", spec_body_of(&pod_kind, running)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(where_it_runs_and_what_is_kept),
        UNIT(ends_are_those_of_the_first_container_of_the_spec),
        UNIT(a_container_that_ended_says_how),
        UNIT(a_pod_that_is_not_scheduled_has_nothing),
        UNIT(inputs_may_select_by_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
