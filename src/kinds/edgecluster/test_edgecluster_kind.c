#include "kinds/edgecluster/edgecluster_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

static void a_cluster_survives_packing(void **state)
{
    struct edgecluster cluster;
    (void)state;
    edgecluster_unpack(
        arena,
        spec_body_of(&edgecluster_kind,
                     "{'metadata':{'name':'vendor-a.edge01'},'spec':{'provider':'vendor-a',"
                     "'cluster':'edge01','local':true,'labels':['east','5g'],'kubeconfigSecret':{"
                     "'namespace':'n','name':'s'},'kvPairs':[{'name':'a','kv':[{'k':'v'}]}]}}"),
        &cluster);
    assert_true(text_is(cluster.metadata.name, "edge01"));
    assert_true(text_is(cluster.provider, "vendor-a"));
    assert_true(cluster.is_local);
    assert_int_equal(cluster.label_count, 2);
    assert_true(text_is(cluster.labels[1], "5g"));
    assert_true(text_is(cluster.kubeconfig_namespace, "n"));
    assert_true(text_is(cluster.kubeconfig_name, "s"));
    assert_true(text_is(cluster.kubeconfig_key, "kubeconfig"));
    assert_true(text_is(kv_sets_find(&cluster.kv, TEXT("k")), "v"));
}

static void a_cluster_need_not_be_reached(void **state)
{
    struct edgecluster cluster;
    (void)state;
    edgecluster_unpack(arena, spec_body_of(&edgecluster_kind, "{'spec':{'provider':'a'}}"),
                       &cluster);
    assert_false(cluster.is_local);
    assert_null(cluster.kubeconfig_name.at);
    assert_int_equal(cluster.label_count, 0);
}

static void a_status_survives_packing(void **state)
{
    struct edgecluster_status back;
    struct edgecluster_status status = {.version = TEXT("v1.33.1"), .observed_generation = 3};
    (void)state;
    conditions_set(&status.conditions, NULL,
                   (struct condition){.type = "Reachable",
                                      .status = CONDITION_FALSE,
                                      .reason = REASON_SERVER_UNREACHABLE,
                                      .message = "connection refused"},
                   1767088800);
    struct value *object =
        manifest_of(&edgecluster_kind, "'name':'p.c'", "{'provider':'p','cluster':'c'}");
    value_set(object, TEXT("status"), value_copy(arena, edgecluster_status_encode(arena, &status)));
    assert_findings(&edgecluster_kind, object, FINDING_ERROR, NULL);
    struct bodies bodies = bodies_of(&edgecluster_kind, object);
    edgecluster_status_unpack(arena, bodies.spec, bodies.ours, &back);
    assert_true(text_is(back.version, "v1.33.1"));
    assert_int_equal(back.observed_generation, 3);
    assert_int_equal(conditions_find(&back.conditions, "Reachable")->reason,
                     REASON_SERVER_UNREACHABLE);
}

static void only_a_cluster_with_a_kubeconfig_has_to_be_reached(void **state)
{
    static const struct {
        const char *spec;
        bool is_over;
    } rows[] = {
        {"{'provider':'p','cluster':'c'}", true},
        {"{'provider':'p','cluster':'c','kubeconfigSecret':{'namespace':'n','name':'s'}}", false},
        {"{'provider':'p','cluster':'c','local':true,'kubeconfigSecret':{'namespace':'n','name':"
         "'s'}}",
         true},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct edgecluster cluster;
        edgecluster_unpack(
            arena,
            spec_body_of(&edgecluster_kind, arena_printf(arena, "{'spec':%s}", rows[i].spec)),
            &cluster);
        assert_int_equal(edgecluster_is_remote(&cluster), !rows[i].is_over);
        assert_int_equal(
            edgecluster_kind.is_over(manifest_of(&edgecluster_kind, "'name':'p.c'", rows[i].spec)),
            rows[i].is_over);
    }
}

#define L32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L128 L32 L32 L32 L32

static void each_rule_has_its_words(void **state)
{
    static const char *const faults[][2] = {
        {"{'provider':'p','cluster':'c','labels':['a','b'],'local':false}", NULL},
        {"{'provider':'p','cluster':'d'}",
         "metadata.name: must be p.d, which is made of spec.provider and spec.cluster"},
        {"{'provider':'p','cluster':'c','labels':['a','b','a']}",
         "spec.labels[2]: stands in the list before: remove it"},
        {"{'provider':'p','cluster':'c','kubeconfigSecret':{'name':'s'}}",
         "spec.kubeconfigSecret.namespace is required"},
        {"{'provider':'p','cluster':'c','kvPairs':[{'name':'a','kv':[{}]}]}",
         "spec.kvPairs[0].kv[0] cannot be empty"},
        {"{'provider':'p','cluster':'c','kubeconfigSecret':{'namespace':'N','name':'a_b','key':'/"
         "'}}",
         "spec.kubeconfigSecret.namespace: must match " KIND_NAMESPACE_PATTERN
         "; spec.kubeconfigSecret.name: must match " KIND_NAME_PATTERN
         "; spec.kubeconfigSecret.key: must match " KIND_KEY_PATTERN},
        {"{'provider':'p','cluster':'c','kubeconfigSecret':{'namespace':'n-1','name':'a.b-c'}}",
         NULL},
        {"{'provider':'p','cluster':'c','kvPairs':[{'name':'a','kv':[{'k':'" L128 "'}]}]}", NULL},
        {"{'provider':'p','cluster':'c','kvPairs':[{'name':'a','kv':[{'k':'" L128 "b'}]}]}",
         "spec.kvPairs[0].kv[0].k: must have at most 128 octets, has 129"},
        {"{'cluster':'c'}", "spec.provider is required"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        assert_findings(&edgecluster_kind,
                        manifest_of(&edgecluster_kind, "'name':'p.c'", faults[i][0]), FINDING_ERROR,
                        faults[i][1]);
}

static void each_part_of_its_name_is_made_for_itself(void **state)
{
    (void)state;
    const char *name = edgecluster_object_name(arena, TEXT("A_b.C"), TEXT("edge01"));
    assert_string_equal(name, "a-b-c-cec53d90.edge01");
    assert_findings(&edgecluster_kind,
                    manifest_of(&edgecluster_kind, arena_printf(arena, "'name':'%s'", name),
                                "{'provider':'A_b.C','cluster':'edge01'}"),
                    FINDING_ERROR, NULL);
}

static void a_cluster_never_becomes_another(void **state)
{
    (void)state;
    struct findings findings = {.arena = arena};
    kind_check_update(
        &edgecluster_kind,
        manifest_of(&edgecluster_kind, "'name':'p.c'", "{'provider':'p','cluster':'c'}"),
        manifest_of(&edgecluster_kind, "'name':'p.c'", "{'provider':'q','cluster':'d'}"),
        &findings);
    assert_int_equal(findings_errors(&findings), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_cluster_survives_packing),
        UNIT(a_cluster_need_not_be_reached),
        UNIT(each_rule_has_its_words),
        UNIT(each_part_of_its_name_is_made_for_itself),
        UNIT(a_cluster_never_becomes_another),
        UNIT(a_status_survives_packing),
        UNIT(only_a_cluster_with_a_kubeconfig_has_to_be_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
