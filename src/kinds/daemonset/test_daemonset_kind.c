#include "kinds/daemonset/daemonset_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static struct daemonset daemonset_of(const char *json)
{
    struct daemonset set;
    daemonset_unpack(arena, spec_body_of(&daemonset_kind, json), &set);
    return set;
}

static const char full[] =
    "{'metadata':{'generation':4,'labels':{'dns.operator.openshift.io/owning-dns':'default'}},"
    "'spec':{'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'maxUnavailable':'10%'}},"
    "'template':{'metadata':{'annotations':{'dns.homelab.mortenolsen.pro/config-id':'0a','x':'y'}},"
    "'spec':{'nodeSelector':{'kubernetes.io/os':'linux','pool':'infra'},"
    "'tolerations':[{'operator':'Exists','key':'k'}],"
    "'volumes':[{'name':'c','configMap':{'name':'dns-default','items':[]}},{'emptyDir':{}},"
    "{'configMap':{'name':'ca-corp'}}],"
    "'containers':[{'name':'proxy','image':'p:1'},{'name':'dns','image':'coredns:1.14.7'}]}}},"
    "'status':{'observedGeneration':3,'desiredNumberScheduled':9,'currentNumberScheduled':8,"
    "'updatedNumberScheduled':7,'numberAvailable':6,'numberReady':5,'numberMisscheduled':1}}";

static void the_template_is_kept(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of(full);
    assert_true(text_is(set.image, "coredns:1.14.7"));
    assert_int_equal(set.node_selector_count, 2);
    assert_true(text_is(set.node_selector[1].key, "pool"));
    assert_true(text_is(set.node_selector[1].value, "infra"));
    assert_true(text_is(set.tolerations, quote_text(arena, "[{'key':'k','operator':'Exists'}]")));
    assert_true(text_is(set.config_id, "0a"));
    assert_true(text_is(set.max_unavailable, "10%"));
    assert_int_equal(set.config_map_count, 2);
    assert_true(text_is(set.config_maps[0], "dns-default"));
    assert_true(text_is(set.config_maps[1], "ca-corp"));
}

static void each_number_is_kept_as_itself(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of(full);
    assert_int_equal(set.generation, 4);
    assert_int_equal(set.observed_generation, 3);
    assert_int_equal(set.desired, 9);
    assert_int_equal(set.current, 8);
    assert_int_equal(set.updated, 7);
    assert_int_equal(set.available, 6);
    assert_int_equal(set.ready, 5);
}

static void an_empty_object_has_nothing(void **state)
{
    (void)state;
    struct daemonset set = daemonset_of("{'spec':{'template':7,'updateStrategy':{'rollingUpdate':"
                                        "{'maxUnavailable':1}}},'status':{'numberReady':'5'}}");
    assert_null(set.image.at);
    assert_int_equal(set.node_selector_count + set.config_map_count, 0);
    assert_true(text_is(set.tolerations, "[]"));
    assert_null(set.config_id.at);
    assert_true(text_is(set.max_unavailable, "1"));
    assert_int_equal(set.generation + set.desired + set.ready, 0);
    assert_null(daemonset_of("{}").max_unavailable.at);
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    assert_true(labels_match("dns.operator.openshift.io/owning-dns=default",
                             spec_body_of(&daemonset_kind, full)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_template_is_kept),
        UNIT(each_number_is_kept_as_itself),
        UNIT(an_empty_object_has_nothing),
        UNIT(inputs_may_select_by_its_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
