#include "kinds/logicalcloud/logicalcloud_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

#define REFERENCE(member)                                                                          \
    "{'clusterReferences':[{'name':'r','clusterProvider':'p','cluster':'c'," member "}]}"

static void clusters_and_sets_survive_packing(void **state)
{
    struct logicalcloud cloud;
    (void)state;
    const char *json =
        "{'metadata':{'name':'edge','annotations':{'dns.homelab.mortenolsen.pro/name':'Edge'}},"
        "'spec':{'namespace':'shop','description':'d','clusterReferences':["
        "{'name':'r1','clusterProvider':'vendor-a','cluster':'edge01','loadBalancerIP':"
        "'192.0.2.1','userData1':'u'},{'name':'r2','clusterProvider':'vendor-a','cluster':"
        "'edge02','loadBalancerIP':'0.0.0.0'},{'name':'r3','clusterProvider':'b','cluster':'c'}],"
        "'kvPairs':[{'name':'b','kv':[{'k':'v'}]},{'name':'a'}]}}";
    logicalcloud_unpack(arena, spec_body_of(&logicalcloud_kind, json), &cloud);
    assert_true(text_is(cloud.metadata.name, "Edge"));
    assert_true(text_is(cloud.namespace_, "shop"));
    assert_int_equal(cloud.reference_count, 3);
    assert_true(text_is(cloud.references[0].metadata.user_data1, "u"));
    assert_true(text_is(cloud.references[0].load_balancer, "192.0.2.1"));
    assert_true(text_is(cloud.references[1].cluster, "edge02"));
    assert_null(cloud.references[1].load_balancer.at);
    assert_null(cloud.references[2].load_balancer.at);
    assert_true(text_is(cloud.kv.items[0].metadata.name, "a"));
    assert_true(text_is(kv_sets_find(&cloud.kv, TEXT("k")), "v"));
}

static void an_empty_object_has_nothing(void **state)
{
    struct logicalcloud cloud;
    (void)state;
    logicalcloud_unpack(arena, spec_body_of(&logicalcloud_kind, "{}"), &cloud);
    assert_int_equal(cloud.reference_count + cloud.kv.count, 0);
}

static void each_rule_has_its_words(void **state)
{
    static const char *const faults[][2] = {
        {"{'extra':{'level':'1'},'kvPairs':[{'name':'a','kv':[{'x':'y'}]}]}", NULL},
        {REFERENCE("'loadBalancerIP':'0.0.0.0','extra':{}"), NULL},
        {REFERENCE("'loadBalancerIP':'2001:db8::1'"), NULL},
        {REFERENCE("'loadBalancerIP':'lb.example'"),
         "spec.clusterReferences[0].loadBalancerIP: must be an IPv4 or IPv6 address"},
        {"{'clusterReferences':[{'name':'r','cluster':'c'}]}",
         "spec.clusterReferences[0].clusterProvider is required"},
        {"{'kvPairs':[{'name':'a'},{'name':'a'}]}",
         "spec.kvPairs[1]: the same name stands in the list before"},
        {"{'kvPairs':[{'name':'a','extra':1}]}", "spec.kvPairs[0].extra: unknown field"},
        {"{'kvPairs':[{'name':'a','kv':[{'x':7}]}]}",
         "spec.kvPairs[0].kv[0].x: expected text, found a number"},
        {"{'namespace':'Shop'}", "spec.namespace: must match ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        assert_findings(&logicalcloud_kind,
                        manifest_of(&logicalcloud_kind, "'name':'a'", faults[i][0]), FINDING_ERROR,
                        faults[i][1]);
    assert_non_null(findings_of(
        &logicalcloud_kind, manifest_of(&logicalcloud_kind, "'name':'a.b'", "{}"), FINDING_ERROR));
}

static void each_set_and_reference_may_have_an_owner_of_its_own(void **state)
{
    AUTO_BUFFER crd = {0};
    (void)state;
    kind_write_crd(&crd, &logicalcloud_kind);
    assert_non_null(strstr(crd.at, "x-kubernetes-list-type: map\n"));
    assert_non_null(strstr(crd.at, "- name\n"));
    assert_null(strstr(crd.at, "- type\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(clusters_and_sets_survive_packing),
        UNIT(an_empty_object_has_nothing),
        UNIT(each_rule_has_its_words),
        UNIT(each_set_and_reference_may_have_an_owner_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
